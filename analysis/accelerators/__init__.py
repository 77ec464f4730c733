"""Metrics of a choice."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.accelerators.metrics:METRICS",
    metrics_at="analysis.accelerators.metrics:metrics",
)
