"""Metrics, audits and profiles of core allocation."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("market", reports_at="analysis.market.metrics:REPORTS")
