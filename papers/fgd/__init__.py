"""Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent (ATC 2023).
"""
