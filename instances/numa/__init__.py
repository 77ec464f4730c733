"""Refusal scheduling on NUMA blade servers (thesis chapter 4)."""

from ..problem.registry import CsvForm, Problem
from .bounds import scale
from .feasible import answer_table, check
from .instance import POLICIES, Flow, Numa, Simulation
from .technology import THESIS, Technology

PROBLEM = Problem(
    title="refusal scheduling on NUMA blade servers",
    instance=Numa,
    solutions=(Simulation, Flow),
    check=check,
    answer_table=answer_table,
    generators={"blade-server": "instances.numa.generators:blade_server"},
    formats={"classes-csv": "instances.numa.formats:classes_csv"},
    csv_form=CsvForm(
        "classes-csv",
        "classes.csv",
        ("class", "service_mean"),
        "class,share,service_mean,ht1,pcie,bandwidth",
    ),
    scale=scale,
)

__all__ = ["POLICIES", "PROBLEM", "THESIS", "Flow", "Numa", "Simulation", "Technology", "check"]
