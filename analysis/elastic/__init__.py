"""Elastic jobs: utilities, idle jobs, and devices in use."""
