"""Packing: metrics, audits, sweeps, and the time-slotted simulation."""
