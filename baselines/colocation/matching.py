"""Policies that match all tasks at once: complementary, stable marriage, stable roommates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Integers, Pairing
from ...instances.problem.errors import InvalidInstance, TimeLimitTooShort
from ...instances.problem.option_types import validate_options
from ...solvers.deferred_acceptance import deferred_acceptance, preference_order
from ..job_order import runs
from .partial_pairing import Draft

if TYPE_CHECKING:
    from ...solvers.roommates.arrays import Ranks
    from ...solvers.roommates.irving import RoommatesTable

AN_ENTRY, A_PROPOSAL = 5e-8, 4e-9
"""Seconds to sort an entry of a list, and for each pair of agents: proposals, rejections."""

Completion = Literal["individual", "pair"]
Ties = Literal["index", "own"]


@validate_options
def complementary(instance: Colocation) -> Pairing:
    """CO: the task of i-th lowest bandwidth demand shares with the one of i-th highest.

    Equal bandwidths are ordered by type. With an odd number of agents the middle one is left over,
    and so are both agents of a forbidden pair; the package's docstring says what becomes of them.

    Raises
    ------
    InvalidInstance
        The instance has no bandwidths.

    Notes
    -----
    O(T log T). Source: Cooper section IV.C, CO, which says that the sets are complementary, not who
    pairs with whom in them.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "CO")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.045
    """
    draft = Draft(instance)
    ascending = _by_bandwidth(instance)
    half = instance.agents // 2
    low = _first(half, ascending, instance.count)
    high = _first(half, ascending[::-1], instance.count)
    for a, b, number in _abreast(low, high):
        if instance.allowed[a, b]:
            draft.pair(a, b, number)
    return draft.finished()


@validate_options
def marriage_random(instance: Colocation, *, rng: np.random.Generator | None = None) -> Pairing:
    """SMR: split the tasks into random halves; one half, drawn at random, proposes by deferred
    acceptance.

    Ties between types go to the lowest type, ties inside a type to the lowest agent. With an odd
    number of agents one half is larger by one agent. Who is left over: see the package's docstring.

    Parameters
    ----------
    rng : draws the split and the proposing half; `default_rng(0)` when not given.

    Notes
    -----
    Matched over types, whatever the number of agents. Source: Cooper sections III.C (algorithm 1)
    and IV.C, SMR.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "SMR")
    >>> print(result.status, round(result.objective, 3))
    feasible 1.0
    """
    generator = rng or np.random.default_rng(0)
    proposing = generator.multivariate_hypergeometric(
        instance.count, instance.agents // 2, method="marginals"
    )
    if generator.random() < 0.5:
        proposing = instance.count - proposing
    return _marry(instance, proposing)


@validate_options
def marriage_partition(instance: Colocation) -> Pairing:
    """SMP: split the tasks by bandwidth demand; the upper half, the resource-intensive one,
    proposes.

    Equal bandwidths are ordered by agent, the later ones counting as more intensive. With an odd
    number of agents the middle one belongs to the lower half. Ties between types go to the lowest
    type, ties inside a type to the lowest agent.

    Raises
    ------
    InvalidInstance
        The instance has no bandwidths.

    Notes
    -----
    Source: Cooper sections III.C and IV.C, SMP.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "SMP")
    >>> print(result.status, round(result.objective, 3))
    feasible 1.0
    """
    upper = np.zeros(instance.types, dtype=np.int64)
    for kind, number in _first(instance.agents // 2, _by_bandwidth(instance)[::-1], instance.count):
        upper[kind] += number
    return _marry(instance, upper)


@validate_options
def roommates(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    completion: Completion = "individual",
    ties: Ties = "index",
) -> Pairing:
    """SR: Irving's algorithm on lists whose ties are broken; what it cannot settle is paired
    greedily.

    When the tie-broken lists have no stable matching, the pairs that Irving's reduction has settled
    by then are kept (`solvers.roommates.irving`) and the unsettled agents are paired by the
    completion rule. Agents that a stable matching leaves single (possible only with forbidden pairs
    or an odd number) are left over: see the package's docstring.

    Parameters
    ----------
    rng : draws the order of ties when they are the agents' own; `default_rng(0)` when not given.
    time_limit : seconds; what by its size would take longer is refused before it begins.
    completion : "individual": each unsettled agent, in index order, takes the unsettled partner
        beside whom its own penalty is least (Cooper section III.C); "pair": the pair of least
        summed penalty first (thesis section 2.2.3). Ties go to the lowest index.
    ties : how an agent ranks co-runners that cost it the same. "index": all agents alike, by index.
        "own": every agent at random on its own, as agents do who rank co-runners one by one and
        know no types. The papers do not say, and much hangs on it: by index a large population
        drawn from few types mostly has a stable matching, by own ties hardly ever.

    Raises
    ------
    TimeLimitTooShort
        The lists would take longer.

    Notes
    -----
    Ties by index: O(T n) memory and, mostly, time, since agents of one type have one list but for
    themselves. Own ties: O(n²) memory and O(n² log n) time, since they make the agents of one type
    differ. Source: Cooper sections III.C and IV.C, SR; R. W. Irving 1985.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/no-stable-4"), "SR", completion="pair")
    >>> print(result.status, round(result.objective, 3))
    feasible 1.0
    """
    types = instance.agent_types()
    lists = instance.types if ties == "index" else len(types)
    seconds = (AN_ENTRY * lists + A_PROPOSAL * len(types)) * len(types)
    if time_limit is not None and seconds > time_limit:
        raise TimeLimitTooShort(
            f"time_limit is {time_limit:g} s; {lists} lists over {len(types)} agents may take "
            f"SR {seconds:.2g} s. Give more "
            "time, group agents into fewer types, or use SMR, SMP or GR, which go by types"
        )
    table = _reduced(instance, ties, rng)
    draft = Draft(instance)
    first = np.flatnonzero(table.partner > np.arange(len(types)))
    pairs, number = np.unique(
        np.stack([types[first], types[table.partner[first]]]), axis=1, return_counts=True
    )
    for a, b, times in zip(*pairs.tolist(), number.tolist(), strict=True):
        draft.pair(a, b, times)
    if not table.stable:
        if completion == "individual":
            draft.in_turn(runs(types[table.unsettled]), instance.penalty)
        else:
            draft.least_first()
    return draft.finished()


@validate_options
def roommate_lists(
    instance: Colocation, ties: Ties = "index", rng: np.random.Generator | None = None
) -> Ranks:
    """Strict preference lists of the agents as ranks (n, n), agents numbered type by type;
    co-runners that cost the same are ranked by index or, for each agent, at random.
    """
    from ...solvers.roommates import ranks_from_cost

    types = instance.agent_types()
    every = np.arange(instance.types)
    cost = _mutual_cost(instance, every, every)
    if ties == "index":
        return ranks_from_cost(cost[np.ix_(types, types)])
    place = _places(cost)[np.ix_(types, types)]
    return ranks_from_cost(place + (rng or np.random.default_rng(0)).random(place.shape))


def _reduced(instance: Colocation, ties: Ties, rng: np.random.Generator | None) -> RoommatesTable:
    """Irving's algorithm on `roommate_lists`, with one list for all agents of a type if ties go by
    index.
    """
    from ...solvers.roommates.irving import irving_by_types

    if ties == "index":
        return irving_by_types(
            instance.count, lambda a: np.where(instance.allowed[a], instance.penalty[a], np.inf)
        )
    types, generator = instance.agent_types(), rng or np.random.default_rng(0)
    every = np.arange(instance.types)
    place = _places(_mutual_cost(instance, every, every))

    def own(i: int) -> Floats:
        cost: Floats = place[types[i], types] + generator.random(len(types))
        cost[i] = np.inf
        return cost

    return irving_by_types(np.ones(len(types), dtype=np.int64), own)


def _places(cost: Floats) -> Floats:
    """Rank finite costs by value, equal costs alike, as integers with room for tie-breaks."""
    return np.where(
        np.isfinite(cost), np.unique(cost, return_inverse=True)[1].reshape(cost.shape), np.inf
    )


def _marry(instance: Colocation, proposing: Integers) -> Pairing:
    """Run deferred acceptance between `proposing` (T,) agents of each type and all other agents."""
    receiving = instance.count - proposing
    left, right = np.flatnonzero(proposing), np.flatnonzero(receiving)
    draft = Draft(instance)
    if len(left) and len(right):
        match = deferred_acceptance(
            preference_order(_mutual_cost(instance, left, right)),
            _mutual_cost(instance, right, left),
            quota=receiving[right],
            supply=proposing[left],
        )
        for a, b, number in zip(
            left[match.proposer], right[match.receiver], match.units, strict=True
        ):
            draft.pair(int(a), int(b), int(number))
    return draft.finished()


def _mutual_cost(instance: Colocation, rows: Integers, columns: Integers) -> Floats:
    """Penalties of some types beside some other types, inf where the pair is forbidden."""
    block = np.ix_(rows, columns)
    return np.where(instance.allowed[block], instance.penalty[block], np.inf)


def _by_bandwidth(instance: Colocation) -> Integers:
    """Indices of the types by ascending bandwidth, equal ones by index."""
    if instance.bandwidth is None:
        raise InvalidInstance(
            "bandwidth", "not given",
            "the demand of each type in GB/s, by which this policy splits the tasks",
            "Add bandwidth to the instance, or use GR, SMR or SR, which do without",
        )  # fmt: skip
    return np.argsort(instance.bandwidth, kind="stable")


def _first(agents: int, order: Integers, count: Integers) -> list[tuple[int, int]]:
    """Pairs (type, number) of the first `agents` agents when types come in `order`."""
    ends = np.minimum(np.cumsum(count[order]), agents)
    number = np.diff(ends, prepend=0)
    return [(int(kind), int(k)) for kind, k in zip(order, number, strict=True) if k > 0]


def _abreast(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Align two run-length sequences of equal total: triples (left type, right type, agents)."""
    i = j = 0
    used_left = used_right = 0
    while i < len(left):
        number = min(left[i][1] - used_left, right[j][1] - used_right)
        yield left[i][0], right[j][0], number
        used_left += number
        used_right += number
        if used_left == left[i][1]:
            i, used_left = i + 1, 0
        if used_right == right[j][1]:
            j, used_right = j + 1, 0
