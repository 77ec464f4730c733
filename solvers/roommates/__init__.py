"""Stable roommates: Irving's algorithm, Tan's stable partition, and the fewest blocking pairs."""
