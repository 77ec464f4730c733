"""Convex and integer programs of market allocations."""
