"""Layer 5, in packages that import downwards: analyses, reporting, running, metrics."""
