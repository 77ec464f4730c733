"""Metrics, audits and experiments of core allocation."""
