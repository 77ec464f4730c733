"""Optima, equilibria and rules by enumeration or by a second route, written apart from the package."""
