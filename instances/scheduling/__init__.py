"""Scheduling: organizations that share machines (Skowron and Rzadca)."""

from ..problem.registry import CsvForm, Problem
from .feasibility import answer_table, assign_machines, check, is_greedy, schedule_of
from .instance import Schedule, Scheduling
from .utility import UTILITIES, psi, scale, utilities

PROBLEM = Problem(
    title="organizations sharing machines",
    instance=Scheduling,
    solutions=(Schedule,),
    check=check,
    answer_table=answer_table,
    generators={
        "workload": "instances.scheduling.generators:workload",
        "unit-jobs": "instances.scheduling.generators:unit_jobs",
        "figure-2": "instances.scheduling.generators:figure_2",
        "figure-7": "instances.scheduling.generators:figure_7",
        "not-supermodular": "instances.scheduling.generators:not_supermodular",
        "subset-sum": "instances.scheduling.generators:subset_sum",
    },
    formats={
        "organizations-csv": "instances.scheduling.formats:organizations_csv",
        "swf": "instances.scheduling.formats:swf",
        "sacct": "instances.scheduling.accounts:sacct",
    },
    csv_form=CsvForm(
        "organizations-csv",
        "jobs.csv",
        ("organization", "release", "processing"),
        "organization,release,processing",
    ),
    scale=scale,
)

__all__ = [
    "PROBLEM",
    "UTILITIES",
    "Schedule",
    "Scheduling",
    "assign_machines",
    "check",
    "is_greedy",
    "psi",
    "schedule_of",
    "utilities",
]
