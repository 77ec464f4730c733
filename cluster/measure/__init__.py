"""Measurement of the user's own commands, alone and together, on one machine."""
