"""Refusal scheduling: metrics, sustained throughput, bursts, and the technology model."""
