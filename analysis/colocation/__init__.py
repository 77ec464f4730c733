"""Colocation: metrics, frontiers, attribution, prediction, recommendation and the epoch loop."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.colocation.metrics:METRICS",
    metrics_at="analysis.colocation.metrics:metrics",
    claims_at="analysis.colocation.claims:claims",
    record_at="analysis.colocation.pictures:record",
    pictures_at="analysis.colocation.pictures:pictures",
    frontiers_at="analysis.colocation.frontier:price_frontiers",
    predicted_at="analysis.colocation.prediction:predicted_instance",
)
