"""Metrics, audits, phases and profiles of core allocation."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("market")
