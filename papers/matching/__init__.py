"""Hines and Romano, Matching Theory and Virtual Machines."""
