"""Matchings of most weight in whole numbers of any length (Edmonds 1965)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def heaviest_matching(weight: NDArray[Any], allowed: NDArray[np.bool_], perfect: bool) -> Any:
    """Find a matching of most total weight, or of those that leave fewest agents over. O(n³).

    networkx does it by blossoms, and checks its own multipliers, which prove the answer, where all
    weights are whole numbers.

    Parameters
    ----------
    weight : (n, n) whole numbers of any length, of each agent beside each, more being better.
    allowed : (n, n) symmetric, which pairs there are.
    perfect : only matchings of most pairs; else pairs that weigh nothing, or less, are not formed.

    Returns
    -------
    (n,) partners, -1 for none.
    """
    from networkx import Graph, max_weight_matching

    graph = Graph()
    for i, j in np.argwhere(np.triu(allowed, 1)).tolist():
        together = int(weight[i, j]) + int(weight[j, i])
        if perfect or together > 0:
            graph.add_edge(i, j, weight=together)
    partner = np.full(len(allowed), -1, dtype=np.int64)
    for i, j in max_weight_matching(graph, maxcardinality=perfect):
        partner[i], partner[j] = j, i
    return partner
