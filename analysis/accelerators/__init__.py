"""Accelerators: metrics, frontier of fairness, pictures, and rounds of integer placements."""
