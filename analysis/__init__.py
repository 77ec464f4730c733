"""Floor 5: metrics, gaps, comparisons, sweeps and the papers' experiments."""
