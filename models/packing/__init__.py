"""Packing programs: assignment, columns, joint optimum, fixed servers' shares."""
