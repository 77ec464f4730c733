"""Preference lists as a matrix of ranks, and as arrays for the algorithms; blocking pairs by the
definition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.documents import shortened
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.fields import shaped
from ...instances.problem.frames import first_labels
from ...instances.problem.option_types import validate_options
from .arrays import UNRANKED, Lists, Ranks


@dataclass(frozen=True, eq=False)
class WeakLists:
    """Preference lists with ties: certain preferences, and a strict order that agrees with them.

    For certain means by more than what counts as a tie; being tied need not be transitive (an
    interval order: a gain of less than alpha is none, two of them may be one). A *tie-breaking* is
    a strict list for every agent that keeps what is certain.

    Attributes
    ----------
    place : (n, n), a tie-breaking as ranks: position of j in i's list, UNRANKED where the pair is
        not acceptable to both.
    better : (n, n), how many agents i likes better than j for certain: those at positions below
        this. UNRANKED as in `place`.
    """

    place: Ranks
    better: Ranks

    @cached_property
    def order(self) -> Ranks:
        """Agent at each position of each list, shape (n, longest list); -1 behind the end."""
        length = (self.place < UNRANKED).sum(axis=1)
        who = np.argsort(self.place, axis=1, kind="stable")[:, : int(length.max(initial=0))].astype(
            np.int32
        )
        who[np.arange(who.shape[1]) >= length[:, None]] = -1
        return who

    @property
    def strict(self) -> bool:
        """Whether no list has ties, so that only the ranks of `place` are possible."""
        return bool((self.better == self.place).all())

    def tie_breaking(self, keys: NDArray[Any], favored: Ranks | None = None) -> Ranks:
        """Ranks of one tie-breaking of the lists. By its key an agent moves up, past those that are
        not certainly better.

        Parameters
        ----------
        keys : (n, n) shares from 0, all as in `place`, to 1.
        favored : (n,) partners, -1 for none, each as far up as can be in the other's list: who does
            not like somebody else better for certain then prefers its partner, and what blocks this
            matching here blocks it in the lists with ties.
        """
        ranked = self.place < UNRANKED
        position = np.where(ranked, self.place - keys * (self.place - self.better), np.inf)
        if favored is not None:
            paired = np.flatnonzero(favored >= 0)
            limit = self.better[paired, favored[paired]]
            rest = self.place[paired] >= limit[:, None]
            position[paired] = np.where(
                rest, np.maximum(position[paired], limit[:, None]), position[paired]
            )
            position[paired, favored[paired]] = limit - 0.5
        return ranks_from_cost(position)


@validate_options
def weak_lists(cost: ArrayLike, better: Callable[[NDArray[np.float64]], NDArray[Any]]) -> WeakLists:
    """Turn costs into preference lists with ties.

    Parameters
    ----------
    cost : as in `ranks_from_cost`; equal costs are ordered by the lower index in `place`.
    better : from the ascending costs of one list to how many of them, a prefix, each would
        certainly be left for; ascending.

    Raises
    ------
    InvalidInstance : not a square matrix, not a number, or `better` says what cannot be. O(n² log
        n).

    Examples
    --------
    >>> table = [[0, 2, 2], [5, 0, 5], [1, 2, 0]]
    >>> lists = weak_lists(table, lambda costs: np.searchsorted(costs, costs))
    >>> lists.better[0].tolist(), lists.strict
    ([1073741824, 0, 0], False)
    """
    prices, order, place = _ranked(cost)
    certain = np.full_like(place, UNRANKED)
    for i, length in enumerate((place < UNRANKED).sum(axis=1).tolist()):
        who = order[i, :length]
        counts = np.asarray(better(prices[i, who]))
        if (
            counts.shape != who.shape
            or (np.diff(counts, prepend=0) < 0).any()
            or (counts > np.arange(length)).any()
        ):
            seen = f"{counts.tolist()} for the costs {prices[i, who].tolist()} of agent {i}"
            raise InvalidInstance("better", seen, "ascending numbers of lower costs, one for each")
        certain[i, who] = counts
    return WeakLists(place, certain)


@validate_options
def ranks_from_cost(cost: ArrayLike) -> Ranks:
    """Strict ranks from costs; ties are broken by the lower index.

    Parameters
    ----------
    cost : (n, n), what agent i bears beside agent j; inf on either side forbids the pair, the
        diagonal is not looked at.

    Returns
    -------
    (n, n) int32, the position of j in i's list, 0 the best, UNRANKED where the pair is forbidden.

    Raises
    ------
    InvalidInstance : not a square matrix, or not a number. O(n² log n).

    Examples
    --------
    >>> ranks_from_cost([[0, 2, 1], [5, 0, 5], [1, 2, 0]]).tolist()
    [[1073741824, 1, 0], [0, 1073741824, 1], [0, 1, 1073741824]]
    """
    return _ranked(cost)[2]


def _ranked(cost: ArrayLike) -> tuple[NDArray[np.float64], NDArray[Any], Ranks]:
    """Costs with infinity for forbidden pairs, each agent's preference order, and its ranks."""
    prices = np.array(cost, dtype=np.float64)
    if prices.size == 0:
        prices = prices.reshape(0, 0)
    if prices.ndim != 2 or prices.shape[0] != prices.shape[1]:
        raise InvalidInstance("cost", f"of shape {prices.shape}", "(n, n)")
    np.fill_diagonal(prices, 0.0)
    broken = np.argwhere(np.isnan(prices))
    if len(broken):
        i, j = broken[0].tolist()
        raise InvalidInstance(f"cost[{i}, {j}]", prices[i, j], "a number")
    agents = len(prices)
    forbidden = np.isposinf(prices)
    forbidden |= forbidden.T
    np.fill_diagonal(forbidden, True)
    prices[forbidden] = np.inf
    order = np.argsort(prices, axis=1, kind="stable")
    rank = np.empty((agents, agents), dtype=np.int32)
    np.put_along_axis(rank, order, np.arange(agents, dtype=np.int32)[None, :], axis=1)
    rank[forbidden] = UNRANKED
    return prices, order, rank


@validate_options
def ranks_from_lists(lists: Sequence[Sequence[int]] | Mapping[str, Sequence[str]]) -> Ranks:
    """Ranks from preference lists, best first; agents missing from a list are unacceptable.

    Parameters
    ----------
    lists : n lists of agents 0..n-1 without repetition and without the agent itself; or the list of
        each agent by its name, as names: agents are then numbered in the order of the names.

    Returns
    -------
    (n, n) int32, not yet mutual: every algorithm here ignores a pair that is ranked on one side
    only.

    Raises
    ------
    InvalidInstance : a list names itself, a stranger, or somebody twice, or holds a tie.

    Examples
    --------
    >>> ranks_from_lists([[1], [0]]).tolist()
    [[1073741824, 0], [0, 1073741824]]

    With names, and the answer by name:

    >>> from cotenant.solvers.roommates import irving
    >>> lists = {"ann": ["bob", "cat"], "bob": ["ann", "cat"], "cat": ["ann"]}
    >>> names = list(lists)
    >>> {a: names[b] for a, b in zip(names, irving(ranks_from_lists(lists)).partner) if b >= 0}
    {'ann': 'bob', 'bob': 'ann'}
    """
    named = isinstance(lists, Mapping)
    place: dict[Any, int] = {who: i for i, who in enumerate(lists if named else range(len(lists)))}
    agents = len(place)
    rank = np.full((agents, agents), UNRANKED, dtype=np.int32)
    for (who, i), liked in zip(
        place.items(), lists.values() if isinstance(lists, Mapping) else lists, strict=True
    ):
        if isinstance(liked, str) or not isinstance(liked, Iterable):
            raise InvalidInstance(f"lists[{who!r}]", shortened(liked), "a list of other agents")
        for position, other in enumerate(liked):
            if isinstance(other, list | tuple | set | np.ndarray):
                raise InvalidInstance(
                    f"lists[{who!r}][{position}]", f"{shortened(other)}, a tie", "one agent",
                    "Lists with ties are made by weak_lists, and solved by fewest_with_ties",
                )  # fmt: skip
            j = place.get(other) if isinstance(other, Hashable) else None
            if j is None or j == i or rank[i, j] != UNRANKED:
                expected = f"another agent of {first_labels(list(place))}, named once"
                cure = (
                    ""
                    if named or not isinstance(other, str)
                    else ('With names, give a dict: {"ann": ["bob", ...], ...}')
                )
                raise InvalidInstance(
                    f"lists[{who!r}][{position}]", shortened(other), expected, cure
                )
            rank[i, j] = position
    return rank


def as_ranks(rank: ArrayLike) -> Ranks:
    """Matrix as contiguous int32, without copy if possible; only the shape is checked."""
    given: NDArray[Any] = np.asarray(rank)
    if given.size == 0:
        return np.empty((0, 0), dtype=np.int32)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise InvalidInstance("rank", f"of shape {given.shape}", "(n, n)")
    if given.dtype.kind not in "iu":
        raise InvalidInstance(
            "rank", f"of type {given.dtype}", "integers", "ranks_from_cost turns costs into ranks."
        )
    return np.ascontiguousarray(given, dtype=np.int32)


def mutual_ranks(rank: ArrayLike) -> Ranks:
    """Copy of ranks in which each pair is ranked on both sides or on neither; the diagonal is
    UNRANKED.
    """
    own = as_ranks(rank).copy()
    own[(own >= UNRANKED) | (own.T >= UNRANKED)] = UNRANKED
    np.fill_diagonal(own, UNRANKED)
    return own


def lists_of(rank: ArrayLike) -> Lists:
    """Convert ranks to list arrays, and check that every list is strict. O(n²)."""
    from . import kernels

    own = as_ranks(rank)
    if not own.flags.writeable:
        own = own.copy()  # numba would compile once more for arrays that are read-only
    agents = len(own)
    theirs = np.ascontiguousarray(own.T)
    width = kernels.longest_list(own, theirs)
    if width < 0:
        i, j = divmod(-1 - width, agents)
        expected = f"a position 0..{agents - 1}, or UNRANKED ({UNRANKED})"
        raise InvalidInstance(f"rank[{i}, {j}]", own[i, j], expected)
    choice = np.zeros((agents, width), dtype=np.int32)
    back = np.full((agents, width), UNRANKED, dtype=np.int32)
    length = np.zeros(agents, dtype=np.int32)
    clash = kernels.fill_lists(own, theirs, choice, back, length)
    if clash >= 0:
        i, j = divmod(clash, agents)
        raise InvalidInstance(
            f"rank[{i}, {j}]",
            f"{own[i, j]} like another of row {i}",
            "strict lists",
            "Break ties first.",
        )
    return Lists(choice, back, length)


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
    from . import list_kernels

    place, agents = lists.place, len(lists.place)
    last = np.empty(agents, dtype=np.int32)
    length = (place < UNRANKED).sum(axis=1).astype(np.int32)
    list_kernels.refuse(
        lists.order, place, lists.better, length, last, np.empty((2, agents), dtype=np.int32)
    )
    kept = place < last[:, None]
    return np.asarray(kept & kept.T)


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
