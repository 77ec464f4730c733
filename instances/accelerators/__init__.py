"""Jobs that share accelerators of several kinds: who gets which kind, alone or beside whom."""

from ..problem.registry import CsvForm, Problem
from .feasible import answer_table, check
from .instance import Accelerators, TimeShares
from .measures import scale

PROBLEM = Problem(
    title="share accelerators of several kinds in time",
    instance=Accelerators,
    solutions=(TimeShares,),
    check=check,
    answer_table=answer_table,
    generators={"random": "instances.accelerators.generators:random"},
    formats={
        "accelerators-csv": "instances.accelerators.formats:accelerators_csv",
        "gavel": "instances.accelerators.formats:gavel",
    },
    csv_form=CsvForm(
        "accelerators-csv", "throughputs.csv", ("job", "device"), "job,device,throughput"
    ),
    scale=scale,
)

__all__ = ["PROBLEM", "Accelerators", "TimeShares", "check"]
