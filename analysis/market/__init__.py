"""Metrics, audits, phases and profiles of core allocation."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.market.metrics:METRICS",
    metrics_at="analysis.market.metrics:metrics",
    claims_at="analysis.market.claims:claims",
    record_at="analysis.market.pictures:record",
    pictures_at="analysis.market.pictures:pictures",
    frontiers_at="analysis.market.frontier:price_frontiers",
)
