"""Colocation: metrics, frontiers, attribution, prediction, recommendation and the epoch loop."""
