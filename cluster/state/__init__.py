"""Readers of a cluster's state, and whether a file shows all of it."""
