"""Admission, exactly: most total speed, most jobs served, and a local search to begin with."""
