"""Gavel (Narayanan et al., OSDI 2020) and POP (Narayanan et al., SOSP 2021)."""
