"""Groups: more than two jobs on a machine (Cooper, HPCA 2017, section VII; thesis chapter 6)."""

from ..problem.registry import CsvForm, Problem
from .conversion import groups_from, residuals, scale
from .feasible import answer_table, check
from .instance import Grouping, Groups
from .penalties import rising
from .stability import BlockingGroups, blocking_groups

PROBLEM = Problem(
    title="group jobs on machines of several seats",
    instance=Groups,
    solutions=(Grouping,),
    check=check,
    document="instances.groups.document:GroupsDocument",
    answer_table=answer_table,
    generators={
        "additive": "instances.groups.generators:additive",
        "pressure": "instances.groups.generators:pressure",
        "table": "instances.groups.generators:table",
    },
    formats={
        "groups-csv": "instances.groups.formats:groups_csv",
        "curves-csv": "instances.groups.formats:curves_csv",
        "colocation": "instances.groups.formats:colocation",
    },
    csv_form=CsvForm(
        "groups-csv", "groups.csv", ("group", "job"), "group,job,penalty|slowdown[,class]"
    ),
    scale=scale,
)

__all__ = [
    "PROBLEM",
    "BlockingGroups",
    "Grouping",
    "Groups",
    "blocking_groups",
    "check",
    "groups_from",
    "residuals",
    "rising",
]
