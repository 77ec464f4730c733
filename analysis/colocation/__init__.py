"""Colocation: metrics, frontiers, attribution, prediction, recommendation, batches of a queue."""
