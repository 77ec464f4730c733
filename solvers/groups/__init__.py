"""Exact methods of groups: least penalty, groupings in the core, and the least alpha."""
