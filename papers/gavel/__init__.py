"""Narayanan et al.: POP (2021) and Gavel (2020), on the same measured throughputs."""

from __future__ import annotations

from ..experiment import Paper

POP = Paper(
    "pop",
    "Narayanan et al., Solving Large-Scale Granular Resource Allocation Problems Efficiently with "
    "POP (2021)",
    "Narayanan et al. (SOSP 2021)",
    "accelerators",
    guide="Guide: [accelerators](../accelerators.md).",
)
GAVEL = Paper(
    "gavel",
    "Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads "
    "(Gavel, 2020)",
    "Narayanan et al. (OSDI 2020)",
    "accelerators",
    guide=POP.guide,
)
