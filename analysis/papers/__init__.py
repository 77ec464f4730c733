"""The old place of `cotenant.papers`."""
