"""Quanta: useful slices and their distribution over users."""
