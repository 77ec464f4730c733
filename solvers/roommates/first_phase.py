"""First phase of Irving's algorithm, with or without ties: pairs that a stable matching can
contain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import UNRANKED
from .ranks import WeakLists


def possible_pairs(lists: WeakLists) -> NDArray[np.bool_]:
    """Pairs left after the first phase: every stable matching uses only these, and no other pair
    can block it.

    If agent i likes one of those left to it, c, better than all the others for certain, then in a
    stable matching it has c or would have c rather; so c has nobody whom it likes less than i for
    certain, and refuses all of these. Nor does a pair refused by c block a matching of the pairs
    that are left: whom c refused it likes less than i, and what it has it does not like less than
    i. Without ties this is Irving's first phase, each agent's first choice being certain. O(n²).

    Parameters
    ----------
    lists : being without partner is worse than anyone acceptable, for certain.

    References
    ----------
    R. W. Irving, J. Algorithms 6 (1985) 577-595, section 3; incomplete lists cf. Gusfield and
    Irving (1989), section 4.5.
    """
    from . import tie_kernels

    place, agents = lists.place, len(lists.place)
    last = np.empty(agents, dtype=np.int32)
    length = (place < UNRANKED).sum(axis=1).astype(np.int32)
    tie_kernels.refuse(
        lists.order, place, lists.better, length, last, np.empty((2, agents), dtype=np.int32)
    )
    kept = place < last[:, None]
    return np.asarray(kept & kept.T)
