"""Questions about a cluster, answered from a file of its state by plans with proofs. Subpackages in
the order of imports: `state`, `judge`, `plan`, `report`, `fairness`; and for real jobs `measure`
and `run`. Nothing connects to a cluster.
"""
