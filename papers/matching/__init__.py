"""Hines and Romano, Matching Theory and Virtual Machines."""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper(
    "matching",
    "Hines and Romano, Matching Theory and Virtual Machines",
    "Hines and Romano,",
    "admission",
    guide="Guide: [admission](../admission.md), and [where the text cannot be followed]"
    "(../errata.md#matching-jobs-to-virtual-machines).",
)
