"""Questions about a cluster: its own state in, a plan with a proof out, in the order of imports:
`state`, `judge`, `plan`, `report`, `fairness`, and real jobs: `measure`, `run`. Nothing connects to
a cluster.
"""
