"""Running: one method on one instance, and comparisons, here, in processes, on a cluster."""
