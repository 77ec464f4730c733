"""What is measured of slices over time: how many are of use, and how evenly they fall."""

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.quanta.metrics:METRICS",
    metrics_at="analysis.quanta.metrics:metrics",
    facts_at="analysis.quanta.metrics:facts",
    answer_picture_at="analysis.quanta.drawing:answer_picture",
    reports_at="analysis.quanta.metrics:REPORTS",
)
