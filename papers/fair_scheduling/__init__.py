"""Skowron and Rzadca, Non-monetary fair scheduling: a cooperative game theory approach."""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "fair-scheduling",
    "Skowron and Rzadca, Non-monetary fair scheduling: a cooperative game theory approach",
    "Skowron and Rzadca",
    "scheduling",
    guide="Guide: [scheduling](../scheduling.md), and [where the text cannot be "
    "followed](../errata.md#non-monetary-fair-scheduling).",
    not_determined=(
        ("Skowron and Rzadca figs. 4, 5 and 8",
         "sketches of schedules inside proofs, of no particular instance"),
        ("Skowron and Rzadca tables 1 and 2, columns PIK-IPLEX, SHARCNET-Whale and RICC",
         "the traces have to be fetched by hand from the Parallel Workloads Archive: -o trace=RICC "
         "-o log=FILE"),
        ("Skowron and Rzadca fig. 10, its values",
         "only a picture; that the ratio grows is what scheduling-figure-10 tests"),
    ),
)  # fmt: skip
