"""Layer 5 of the package, which imports layers 1 to 4: analyses, reports, runs and metrics."""
