"""Cases, simulated machines and oracles shared by test modules."""
