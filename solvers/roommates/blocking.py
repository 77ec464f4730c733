"""Blocking pairs of a matching, counted by the definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from .arrays import UNRANKED, Ranks
from .ranks import as_ranks, mutual_ranks


@validate_options
def blocking_pairs(
    rank: ArrayLike, partner: ArrayLike, better: ArrayLike | None = None
) -> NDArray[np.int64]:
    """List the acceptable pairs that both strictly prefer each other to their partners. O(n²),
    plain numpy.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept.
    partner : (n,), -1 = without partner, which is worse than anyone acceptable.
    better : (n, n), for lists with ties: `better[i, j]` agents, the first so many by rank, i
        prefers to j (see `WeakLists`).

    Returns
    -------
    (k, 2), i < j, in lexicographic order.

    Raises
    ------
    InvalidInstance : `partner` is not a matching of acceptable pairs.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> ranks = ranks_from_lists([[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 1, 2]])
    >>> blocking_pairs(ranks, [1, 0, 3, 2]).tolist()
    [[1, 2]]
    """
    own = mutual_ranks(rank)
    chosen = valid_partner(own, partner)
    agents = np.arange(len(own))
    limit = own if better is None else shaped("better", as_ranks(better), *own.shape)
    what_it_has = np.where(chosen >= 0, limit[agents, chosen] if len(own) else 0, UNRANKED)
    prefers = own < what_it_has[:, None]
    return np.argwhere(np.triu(prefers & prefers.T))


def valid_partner(mutual: Ranks, partner: ArrayLike) -> Ranks:
    """Matching as int32, checked to be symmetric and acceptable to both agents of every pair."""
    given = np.asarray(partner)
    agents = np.arange(len(mutual))
    if given.shape != agents.shape or (given.size and given.dtype.kind not in "iu"):
        raise InvalidInstance(
            "partner", f"of shape {given.shape} and type {given.dtype}", f"{len(agents)} integers"
        )
    if ((given < -1) | (given >= len(agents))).any():
        raise InvalidInstance(
            "partner", given.tolist()[:10], f"agents of 0..{len(agents) - 1}, or -1 for none"
        )
    chosen = given.astype(np.int32)
    matched = agents[chosen >= 0]
    one_sided = matched[chosen[chosen[matched]] != matched]
    if one_sided.size:
        i = int(one_sided[0])
        raise InvalidInstance(
            f"partner[{i}]",
            int(chosen[i]),
            "symmetric: the partner of an agent's partner is the agent",
        )
    unacceptable = matched[mutual[matched, chosen[matched]] >= UNRANKED]
    if unacceptable.size:
        i = int(unacceptable[0])
        raise InvalidInstance(f"partner[{i}]", int(chosen[i]), "a pair that both accept")
    return chosen
