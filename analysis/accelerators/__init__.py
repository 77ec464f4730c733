"""Accelerators: metrics, the price of fairness, pictures, and whole rounds."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis.usual(
    "accelerators",
    rounds_at="analysis.accelerators.rounds:rounds_table",
    reports_at="analysis.accelerators.metrics:REPORTS",
)
