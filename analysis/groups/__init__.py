"""Groups: metrics, claims, the price of stability, pictures, and residuals of the models."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.groups.metrics:METRICS",
    metrics_at="analysis.groups.metrics:metrics",
    claims_at="analysis.groups.claims:claims",
    record_at="analysis.groups.pictures:record",
    pictures_at="analysis.groups.pictures:pictures",
    frontiers_at="analysis.groups.frontier:price_frontiers",
)
