"""Scheduling: metrics, windows, strategy-resistance, price of fairness, audit of a log."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("scheduling", reports_at="analysis.scheduling.strategy:REPORTS")
