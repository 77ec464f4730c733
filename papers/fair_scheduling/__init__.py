"""Skowron and Rzadca, Non-monetary fair scheduling: a cooperative game theory approach."""
