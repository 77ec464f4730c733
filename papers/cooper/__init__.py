"""Cooper: Task Colocation with Cooperative Games (2017), and chapter 2 of the thesis."""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "cooper",
    "Cooper: Task Colocation with Cooperative Games (2017)",
    "Cooper",
    "colocation",
    guide="The papers' measured penalties were never published: all but figures 5 and 14 run on a "
    "synthetic contention model. Guide: [colocation](../colocation.md), and [where the text "
    "cannot be followed](../errata.md#cooper-colocation).",
    not_determined=(
        ("Cooper figs. 2 and 3, thesis figs. 2.3 and 2.4",
         "the penalties of four users beside each other are only a picture; the text prints two "
         "numbers of them"),
        ("Cooper figs. 4 and 6, thesis figs. 2.5 and 2.7",
         "drawings of the architecture; there is nothing to compute"),
        ("Cooper figs. 7 to 13, the values of bars, boxes and points",
         "they come from those penalties; what is tested are the sentences about them"),
    ),
)  # fmt: skip
