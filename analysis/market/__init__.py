"""Metrics, audits and profiles of core allocation."""
