"""Exact methods of admission: most total speed, most jobs served; and a local search."""
