"""Refusal scheduling: compiled event simulation and fluid linear program."""
