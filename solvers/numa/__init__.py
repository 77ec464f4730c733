"""Simulation of tasks that refuse remote cores (NUMA), and a linear program of their flow."""
