"""Advice for a cluster: its own state in, a plan with a proof out. Files only: nothing here
connects to a cluster, and nothing is run.
"""
