"""Fairness between the accounts of a cluster: debts computed from the logs of its scheduler, and
weights that would reduce them.
"""
