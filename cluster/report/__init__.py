"""Answers about a cluster as text, as a page, and as commands to run."""
