"""Refusal scheduling: metrics, sustained throughput, bursts, and the technology model."""

from ..registry import Analysis

ANALYSIS = Analysis.usual("numa")
