"""Answers about a cluster as text, as an HTML page, and as commands to run."""
