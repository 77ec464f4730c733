"""Exact methods for sharing accelerators: linear programs over types, with bounds by prices."""
