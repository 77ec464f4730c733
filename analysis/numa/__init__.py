"""Refusal scheduling: metrics, sustained throughput, bursts, the technology model, and the thesis's figures."""
