"""Filters and scores of the Kubernetes default scheduler, and an order of moves in which every step
passes them.
"""
