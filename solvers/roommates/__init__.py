"""Stable roommates: Irving's algorithm, Tan's stable partition, and the fewest blocking pairs.

Everything works on one array: `rank`, (n, n) integers, `rank[i, j]` the position of j in i's strict
list (0 the best), and `UNRANKED` for whom i does not accept and on the diagonal. A pair ranked on
one side only is not acceptable.
"""

from .almost_stable import fewest_blocking_pairs
from .arrays import UNRANKED
from .irving import RoommatesTable, irving
from .matching_search import AlmostStable
from .partition import StablePartition, stable_partition
from .ranks import WeakLists, blocking_pairs, ranks_from_cost, ranks_from_lists, weak_lists
from .ties_search import fewest_with_ties

__all__ = [
    "UNRANKED",
    "AlmostStable",
    "RoommatesTable",
    "StablePartition",
    "WeakLists",
    "blocking_pairs",
    "fewest_blocking_pairs",
    "fewest_with_ties",
    "irving",
    "ranks_from_cost",
    "ranks_from_lists",
    "stable_partition",
    "weak_lists",
]
