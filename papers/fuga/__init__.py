"""Xu and Yu, A Game Theory Approach to Fair and Efficient Resource Allocation in Cloud Computing
(2014).
"""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "fuga",
    "Xu and Yu, A Game Theory Approach to Fair and Efficient Resource Allocation in Cloud "
    "Computing (2014)",
    "Xu and Yu (2014)",
    "packing",
    guide="Guide: [packing](../packing.md), and [where the text cannot be followed]"
    "(../errata.md#fuga-the-fairness-utilization-game).",
    not_determined=(
        ("Xu and Yu (2014) fig. 4",
         "what the three services consume over ten minutes: only a picture"),
        ("Xu and Yu (2014) fig. 5, over time",
         "it follows the consumption of fig. 4, which is not printed; packing-figure-5 has elastic "
         "users"),
        ("Xu and Yu (2014) figs. 6 and 7, their values",
         "driven by the Google trace of 2011, in a form the text does not determine"),
    ),
)  # fmt: skip
