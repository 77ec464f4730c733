"""Core allocation as a Fisher market with Amdahl utilities (thesis chapter 3)."""

from ..problem.registry import CsvForm, Problem
from .equilibrium import Residuals, residuals
from .families import scale
from .instance import Allocation, Market, answer_table, check
from .utility import best_reply, user_utilities

PROBLEM = Problem(
    title="share the cores of servers among users' jobs",
    instance=Market,
    solutions=(Allocation,),
    check=check,
    answer_table=answer_table,
    generators={"population": "instances.market.generators:population"},
    formats={"jobs-csv": "instances.market.formats:jobs_csv"},
    csv_form=CsvForm(
        "jobs-csv", "jobs.csv", ("user", "server"), "user,server,parallel_fraction[,work]"
    ),
    scale=scale,
)

__all__ = [
    "PROBLEM",
    "Allocation",
    "Market",
    "Residuals",
    "best_reply",
    "check",
    "residuals",
    "user_utilities",
]
