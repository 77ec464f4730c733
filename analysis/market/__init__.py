"""Market: metrics, audits and profiles of core allocations."""
