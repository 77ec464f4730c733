"""Packing: metrics, audits, sweeps, the time-slotted simulation, the paper's experiments."""
