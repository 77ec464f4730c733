"""Scheduling: metrics, windows, strategy-resistance, price of fairness, audit of a log."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.scheduling.metrics:METRICS",
    metrics_at="analysis.scheduling.metrics:metrics",
    claims_at="analysis.scheduling.claims:claims",
    record_at="analysis.scheduling.pictures:record",
    pictures_at="analysis.scheduling.pictures:pictures",
    frontiers_at="analysis.scheduling.frontier:price_frontiers",
)
