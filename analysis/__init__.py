"""Layer 5, in packages that import downwards: the papers redone, the problems' analyses, reporting,
running, metrics.
"""
