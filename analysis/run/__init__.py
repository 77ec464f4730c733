"""Runs of one method on one instance, and comparisons in one process, several, or a cluster."""
