"""Running: one method on one instance, and comparisons of many, in this process, in others or on a
cluster.
"""
