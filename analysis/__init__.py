"""Layer 5: analyses, reports, runs and metrics, in packages that import downwards."""
