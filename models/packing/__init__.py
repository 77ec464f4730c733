"""Packing programs: assignment, columns, arc-flow, joint optimum, fixed servers' shares."""
