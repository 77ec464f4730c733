"""Llull, Microeconomic Models for Managing Shared Datacenters, chapter 3: the Fisher market."""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "thesis",
    "Llull, Microeconomic Models for Managing Shared Datacenters (thesis, Duke University, 2017)",
    "thesis",
    "market",
    not_determined=(
        ("thesis fig. 2.8",
         "the measured 20 x 20 penalties are only a picture; a stated contention model stands in "
         "for them"),
        ("thesis figs. 3.1, 3.2 and 3.7",
         "drawings of the architecture; there is nothing to compute"),
        ("thesis figs. 3.3 to 3.5 and 3.10, their values",
         "measured run times of 22 workloads, of which the text prints none"),
        ("thesis fig. 3.6",
         "measured run times of svm and correlation on sampled data sets; the text says only that "
         "they grow linearly with size"),
        ("thesis figs. 3.8 and 3.9",
         "measured run times on sampled and full data sets, none of them printed; "
         "analysis.market.profiles.prediction_errors does it for any profile with several sizes"),
    ),
)  # fmt: skip
