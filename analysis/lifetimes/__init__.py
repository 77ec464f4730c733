"""What is measured of VMs on servers over time: how long servers are on, and how many at once."""

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.lifetimes.metrics:METRICS",
    metrics_at="analysis.lifetimes.metrics:metrics",
    record_at="analysis.lifetimes.drawing:record",
    pictures_at="analysis.lifetimes.drawing:pictures",
    answer_picture_at="analysis.lifetimes.drawing:answer_picture",
)
