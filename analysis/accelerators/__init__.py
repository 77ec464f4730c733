"""Accelerators: metrics, the price of fairness, pictures, and whole rounds."""
