"""Refusal scheduling: the event simulation (compiled, and its plain-Python twin) and the fluid
linear program.
"""
