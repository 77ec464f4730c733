"""What is measured of elastic jobs: utilities, jobs without devices, devices in use."""

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.elastic.metrics:METRICS",
    metrics_at="analysis.elastic.metrics:metrics",
    answer_picture_at="analysis.elastic.metrics:answer_picture",
)
