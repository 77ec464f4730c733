"""Which pairs a stable matching can contain: the table after the first phase of Irving's algorithm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .ranks import UNRANKED, lists_of, mutual_ranks


def possible_pairs(rank: ArrayLike) -> NDArray[np.bool_]:
    """The pairs left after the first phase: every stable matching uses only these, and no other pair can block one of them.

    An agent keeps whoever it likes no better than the one that holds its proposal (it was refused by all before) and no
    worse than the one whose proposal it holds (it refuses all after). A pair outside has a member whose whole remaining
    list is better. O(n²).

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept.

    References
    ----------
    R. W. Irving, J. Algorithms 6 (1985) 577-595, section 3; incomplete lists cf. Gusfield and Irving (1989), section 4.5.
    """
    from . import kernels

    lists = lists_of(rank)
    first, last = np.empty((2, lists.agents), dtype=np.int32)
    kernels.propose_all(lists.choice, lists.back, lists.length, first, last)
    own = mutual_ranks(rank)
    kept = (own < UNRANKED) & (own >= first[:, None]) & (own <= last[:, None])
    return np.asarray(kept & kept.T)
