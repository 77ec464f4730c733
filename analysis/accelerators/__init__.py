"""Metrics of time shares, and what of their claims is worked out again."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.accelerators.metrics:METRICS",
    metrics_at="analysis.accelerators.metrics:metrics",
    claims_at="analysis.accelerators.claims:claims",
)
