"""Measuring the user's own commands alone and together, on one machine, into a store."""
