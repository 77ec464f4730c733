"""Packing: metrics, audits, sweeps, and the time-slotted simulation."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("packing", reports_at="analysis.packing.metrics:REPORTS")
