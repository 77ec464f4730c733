"""Layer 5, in packages that import downwards: the problems' analyses, reporting, running,
metrics.
"""
