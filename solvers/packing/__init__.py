"""Packing: fewest servers proved, and the fairness-utilization game played exactly."""
