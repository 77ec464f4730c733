"""Admission: metrics, frontiers, rounds and completion times."""
