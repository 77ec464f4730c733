"""Floor 5, in rooms that import downwards: the papers redone, the problems' analyses, reporting,
running, metrics.
"""
