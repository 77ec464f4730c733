"""Scheduling: metrics, windows of a trace, strategy-resistance, the price of fairness, and the audit of a log."""
