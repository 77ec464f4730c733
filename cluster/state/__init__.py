"""Readers of a cluster state, and warnings where a file does not show all of it."""
