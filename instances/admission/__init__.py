"""Admission: jobs apply to virtual machines with typed cores (Hines and Romano)."""

from ..problem.registry import CsvForm, Problem
from .instance import Admission, Assignment, answer_table, check
from .rules import (
    BlockingPairs,
    blocking_pairs,
    job_speeds,
    scale,
    speeds_at_home,
    speeds_on,
    total_speed,
)  # fmt: skip

PROBLEM = Problem(
    title="jobs to virtual machines with typed cores",
    instance=Admission,
    solutions=(Assignment,),
    check=check,
    answer_table=answer_table,
    generators={
        "table-i": "instances.admission.generators:table_i",
        "uniform": "instances.admission.generators:uniform",
    },
    formats={"admission-csv": "instances.admission.formats:admission_csv"},
    csv_form=CsvForm("admission-csv", "cores.csv", ("vm",), "vm,TYPE,TYPE,..."),
    scale=scale,
)

__all__ = [
    "PROBLEM",
    "Admission",
    "Assignment",
    "BlockingPairs",
    "blocking_pairs",
    "check",
    "job_speeds",
    "speeds_at_home",
    "speeds_on",
    "total_speed",
]
