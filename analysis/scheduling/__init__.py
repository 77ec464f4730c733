"""Scheduling: metrics, windows, strategy-resistance, price of fairness, audit of a log."""
