"""Colocation: metrics, frontiers, attribution, prediction, recommendation, batches of a queue."""

from ..registry import Analysis

ANALYSIS = Analysis.usual(
    "colocation",
    predicted_at="analysis.colocation.prediction:predicted_instance",
    reports_at="analysis.colocation.metrics:REPORTS",
)
