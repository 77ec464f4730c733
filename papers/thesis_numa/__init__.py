"""Llull, Microeconomic Models for Managing Shared Datacenters, chapter 4: refusal scheduling."""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "thesis",
    "Llull, Microeconomic Models for Managing Shared Datacenters (thesis, Duke University, 2017)",
    "Llull (thesis 2017)",
    "numa",
    guide="Guides: [market](../market.md) and [NUMA](../numa.md); where the text cannot be "
    "followed: [market](../errata.md#thesis-chapter-3-the-fisher-market), "
    "[refusal scheduling](../errata.md#thesis-chapter-4-refusal-scheduling). Chapter 2 is Cooper, "
    "which has [a page of its own](cooper.md).",
    not_determined=(
        ("Llull (thesis 2017) fig. 4.1",
         "a sketch of another paper's architecture (scale-out NUMA); there is nothing to compute"),
        ("Llull (thesis 2017) fig. 4.3",
         "bars read off Micron's data sheets; the text prints one of them, 2 W per GB "
         "(numa-table-4.1)"),
        ("Llull (thesis 2017) fig. 4.5",
         "a sketch of the queues; its policies are what numa-figure-4.7 to numa-figure-4.9 run"),
        ("Llull (thesis 2017) fig. 4.6",
         "shares of local and remote accesses of each benchmark, from processor simulation; none "
         "is printed"),
        ("Llull (thesis 2017) figs. 4.10 to 4.12, the bars of each benchmark",
         "they need the data accessed for each byte of a page (D_access / D_page), printed for no "
         "benchmark; drawn instead is the whole curve over that number"),
    ),
)  # fmt: skip
