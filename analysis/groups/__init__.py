"""Groups: metrics, the price of stability, pictures, and residuals of the models."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("groups", reports_at="analysis.groups.metrics:REPORTS")
