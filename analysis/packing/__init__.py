"""Packing: metrics, audits, sweeps, and the time-slotted simulation."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.packing.metrics:METRICS",
    metrics_at="analysis.packing.metrics:metrics",
    claims_at="analysis.packing.claims:claims",
    record_at="analysis.packing.pictures:record",
    pictures_at="analysis.packing.pictures:pictures",
    frontiers_at="analysis.packing.frontier:price_frontiers",
)
