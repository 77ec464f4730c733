"""What is measured of an assignment of jobs to VMs, its frontiers, rounds and completion times."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.admission.metrics:METRICS",
    metrics_at="analysis.admission.metrics:metrics",
    claims_at="analysis.admission.claims:claims",
    record_at="analysis.admission.pictures:record",
    pictures_at="analysis.admission.pictures:pictures",
    frontiers_at="analysis.admission.frontier:price_frontiers",
)
