"""Refusal scheduling: metrics, sustained throughput, bursts, and the technology model."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.numa.metrics:METRICS",
    metrics_at="analysis.numa.metrics:metrics",
    claims_at="analysis.numa.claims:claims",
    record_at="analysis.numa.pictures:record",
    pictures_at="analysis.numa.pictures:pictures",
    frontiers_at="analysis.numa.frontier:price_frontiers",
)
