"""Hierarchical pairing: jobs are paired, then pairs, and so on up to the seats of a machine."""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import FORBIDDEN, UNIT, Grouping, Groups, Integers, ascending
from ...instances.groups.penalties import units
from ...instances.problem.option_types import validate_options
from ...models.program import Floats, ProgramBuilder
from ...solvers.blossom import MATCHED_FROM, Blossoms, first_mates, parts
from ...solvers.engines import solve_program
from ...solvers.groups.common import dealt, machines_used, repaired
from ...solvers.outcome import Clock

STAGE_SECONDS = 2.0
"""Time for the program of a stage; what it has found by then is taken."""


@validate_options
def hierarchical(instance: Groups, *, time_limit: float | None = None) -> Grouping:
    """Jobs are paired at least penalty, then the pairs, and so on up to the seats of a machine.

    A machine of k seats holds a group of k / 2, rounded up, beside one of k / 2, rounded down, each
    made the same way. A stage is a least-penalty matching of the groups before it, an integer
    program over their kinds, solved to the optimum where that takes `STAGE_SECONDS` at most. Seats
    that stay empty are matched like jobs that lose nothing. Several classes of machines: jobs are
    dealt to the classes first, as `serpentine` does.

    Parameters
    ----------
    time_limit : seconds, shared out among the stages.

    Notes
    -----
    Sources: thesis ch. 6 names it as a way to more than two jobs; Jiang, Shen, Chen and Tripathi
    (PACT 2008) show that the least penalty is NP-hard from three on, and match level by level.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "hierarchical")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0625
    """
    clock = Clock(time_limit)
    shared = dealt(instance)
    places, number = machines_used(instance)
    rows, where, many = [], [], []  # kinds of machines: types, class, number
    width = int(instance.seats.max())
    for place, machines in zip(places.tolist(), number.tolist(), strict=True):
        here = shared.where == place
        count = Grouping(shared.members[here], shared.where[here], shared.number[here]).placed(
            instance.types
        )
        groups = _matched(instance, place, count, machines, clock)
        if groups is None:
            return repaired(instance, shared)
        rows += [[*types, *[-1] * (width - len(types))] for types in groups]
        where += [place] * len(groups)
        many += list(groups.values())
    return repaired(instance, Grouping(ascending(np.array(rows)), np.array(where), np.array(many)))


Kinds = dict[tuple[int, ...], int]
"""Types of a group, -1 for an empty seat, and how many such groups there are."""


def _matched(
    instance: Groups, place: int, count: Integers, machines: int, clock: Clock
) -> Kinds | None:
    """Groups of one class of machines by repeated matching; None if a stage has no matching."""
    seats = int(instance.seats[place])
    spare = machines * seats - int(count.sum())
    kinds: Kinds = {(kind,): int(count[kind]) for kind in np.flatnonzero(count).tolist()}
    if spare:
        kinds[(-1,)] = spare
    stages = [{seats: machines}]  # how many groups of each size
    while max(stages[-1]) > 1:
        halves: dict[int, int] = {}
        for size, number in stages[-1].items():
            for half in {1} if size == 1 else (-(-size // 2), size // 2):
                halves[half] = halves.get(half, 0) + number
        stages.append(halves)
    for stage in reversed(stages[:-1]):
        matched = _stage(instance, place, kinds, stage, stage is stages[0], clock)
        if matched is None:
            return None
        kinds = matched
    return kinds


def _stage(
    instance: Groups, place: int, kinds: Kinds, wanted: dict[int, int], last: bool, clock: Clock
) -> Kinds | None:
    """Join groups in pairs at least total penalty, so that `wanted[size]` groups have each size."""
    # 1. pairs of groups whose sizes add up to a target
    groups = list(kinds)
    size = np.array([len(group) for group in groups])
    pairs: list[tuple[int, int, int]] = []  # two groups (the same twice for itself alone), target
    for row, target in enumerate(wanted):
        if target == 1:
            pairs += [(at, -1, row) for at in np.flatnonzero(size == 1).tolist()]
            continue
        large, small = -(-target // 2), target // 2
        pairs += [
            (one, other, row)
            for one in np.flatnonzero(size == large).tolist()
            for other in np.flatnonzero(size == small).tolist()
            if large > small or one <= other
        ]
    # 2. the penalty of each pair joined
    joined = [groups[one] + (groups[other] if other >= 0 else ()) for one, other, _ in pairs]
    width = max(wanted)
    rows = ascending(np.array([[*types, *[-1] * (width - len(types))] for types in joined]))
    lost = units(instance, place, rows)
    barred = (lost >= FORBIDDEN).any(axis=1) & (rows >= 0).any(axis=1)
    cost = np.where(barred, 0, np.where(lost < FORBIDDEN, lost, 0).sum(axis=1)) / UNIT
    # a group that a table lacks may be part of one that it has
    if not last and instance.model == "table":
        cost[barred], barred = width, np.zeros_like(barred)
    # 3. how often each is joined: a matching, or an integer program
    have = np.array([kinds[group] for group in groups])
    first, second, target_of = np.array(pairs).T
    paired = second >= 0
    use = np.where(first == second, 2, 1)
    number, lone = None, wanted.get(1, 0)
    if len(wanted) == 1 + (lone > 0) and len(have) >= MATCHED_FROM and sum(have) < 1.1 * len(have):
        usable = paired & ~barred
        made = _by_blossoms(first[usable], second[usable], cost[usable], have, lone, clock)
        number = None if made is None else made[first, second] // use
    if number is None:
        most = np.where(paired, np.minimum(have[first], have[second]), have[first]) // use
        builder = ProgramBuilder()
        x = builder.columns(len(pairs), upper=np.where(barred, 0, most), cost=cost, integer=True)
        both = (first, x, 1.0), (second[paired], x[paired], 1.0)
        builder.sums(len(have), *both, lower=have, upper=have)
        targets = np.array(list(wanted.values()))
        builder.sums(len(targets), (target_of, x, 1.0), lower=targets, upper=targets)
        answer = solve_program(builder.build(), time_limit=clock.time_slice(1, STAGE_SECONDS))
        if answer.point is None:
            return None
        number = np.rint(answer.point)
    # 4. the groups that this makes
    matched: Kinds = {}
    for at in np.flatnonzero(number).tolist():
        types = tuple(sorted(joined[at], reverse=True))
        matched[types] = matched.get(types, 0) + int(number[at])
    return matched


def _by_blossoms(
    first: Integers, second: Integers, cost: Floats, have: Integers, lone: int, clock: Clock
) -> Integers | None:
    """Match groups in pairs at least cost by the blossom algorithm; None if it cannot.

    Returns a table (kinds, kinds + 1): groups of each kind beside each kind and, last, alone.
    """
    from ...solvers.blossom_kernels import FORBIDDEN as NEVER

    square = np.full((len(have), len(have)), NEVER)
    whole = parts(sum(have), lone) * np.rint(cost * UNIT).astype(np.int64)
    square[first, second] = square[second, first] = whole
    kind = np.repeat(np.arange(len(have)), have)
    each = square[np.ix_(kind, kind)]
    np.fill_diagonal(each, NEVER)
    begin = first_mates(each)
    search = Blossoms(each, 0, lone, begin, Clock(clock.time_slice(1, STAGE_SECONDS)))
    if np.count_nonzero(begin < 0) <= lone:
        search.search()
    mate = search.mate
    if not search.suited or np.count_nonzero(mate < 0) != lone:
        return None
    number = np.zeros((len(have), len(have) + 1), dtype=np.int64)
    np.add.at(number, (kind, np.where(mate < 0, -1, kind[mate])), 1)
    return number
