"""A feasible pairing: from nothing, or from a partial one with as much of it kept as possible."""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Pairing, check
from ...instances.problem.errors import InvalidOption, NoSolution
from ...models.colocation import penalty_program, repair_program
from ..engines import solve_program
from ..outcome import Clock, Status, Stop
from ..roommates import ranks_from_cost
from ..roommates.perfect import largest_matching
from .matching import least_penalty_matching

_ALL_PAIRS = 20_000  # up to so many pairs of types the repair sees them all at once
_PARTNERS = 8  # else so many partners of each type
_JOB_BY_JOB = 3_000  # up to so many jobs a largest matching is found job by job
# seconds for a program that only improves what is in hand, or decides what nothing else could
_UNDECIDED = 30.0


def feasible_pairing(instance: Colocation) -> Pairing:
    """Any feasible pairing.

    Raises
    ------
    NoSolution
        There is none: proved by odd sets of jobs, as many as would have to run alone.
    """
    nothing = np.zeros(0, dtype=np.int64)
    return complete(
        instance, Pairing(nothing, nothing, nothing, np.zeros(instance.types, dtype=np.int64))
    )


def complete(instance: Colocation, partial: Pairing) -> Pairing:
    """A feasible pairing that keeps as many agents of a partial one where they are as possible.

    Forbidden pairs, and more agents than there are, are dropped first. Agents without a place are
    then paired greedily by least penalty; only if that gets stuck are pairs taken apart again, by
    an integer program over types that keeps the most agents. With more than 20,000 pairs of types
    simple exchanges are tried first and the program sees a sparse set that holds a pairing, so that
    for hundreds of different agents a pair more than necessary may change.

    Parameters
    ----------
    instance : what is given.
    partial : pairs and singles of its types, perhaps not everyone placed, or too many alone.

    Raises
    ------
    InvalidOption
        The pairing is not over this instance's types.
    NoSolution
        The instance has no feasible pairing: proved by odd sets of jobs.
    """
    trimmed = _trimmed(instance, partial)
    whole = greedily_filled(instance, trimmed)
    if (whole.agents_used() == instance.count).all():
        check(instance, whole)
        return whole
    present = int((instance.count > 0).sum())
    if present * (present + 1) // 2 > _ALL_PAIRS:
        exchanged = _exchanged(instance, whole)
        if exchanged is not None:
            check(instance, exchanged)
            return exchanged
    fallback = _any_pairing(instance, whole)
    if fallback is not None:
        repaired = _repaired(instance, trimmed, fallback)
        check(instance, repaired)
        return repaired
    raise NoSolution(
        "no feasible pairing exists: whoever is paired with whom, some job is left with "
        "forbidden co-runners only "
        "(proved over all pairs of types). Allow more pairs, or give more machines so that "
        "jobs may run alone"
    )


def _trimmed(instance: Colocation, partial: Pairing) -> Pairing:
    """The part of a pairing that breaks no rule."""
    if len(partial.single) != instance.types or (
        len(partial.first) and partial.second.max() >= instance.types
    ):
        raise InvalidOption(
            f"the pairing has {len(partial.single)} types; the instance has {instance.types}"
        )
    left = instance.count.copy()
    pairs = np.zeros(len(partial.pairs), dtype=np.int64)
    for index, (a, b, number) in enumerate(
        zip(partial.first.tolist(), partial.second.tolist(), partial.pairs.tolist(), strict=True)
    ):
        room = left[a] // 2 if a == b else min(left[a], left[b])
        pairs[index] = min(number, room) if instance.allowed[a, b] else 0
        left[a] -= pairs[index]
        left[b] -= pairs[index]
    single = np.minimum(partial.single, left)
    excess = single.sum() - instance.singles_allowed
    for a in np.flatnonzero(single).tolist():
        if excess > 0:
            off = min(int(single[a]), int(excess))
            single[a] -= off
            excess -= off
    return Pairing(partial.first, partial.second, pairs, single)


def greedily_filled(instance: Colocation, partial: Pairing) -> Pairing:
    """Pair the agents without a place among themselves, those with fewest possible partners first;
    the rest alone.
    """
    left = instance.count - partial.agents_used()
    together = np.where(instance.allowed, instance.penalty + instance.penalty.T, np.inf)
    first, second, pairs = list(partial.first), list(partial.second), list(partial.pairs)
    waiting = np.flatnonzero(left)
    choices = instance.allowed[np.ix_(waiting, waiting)].sum(axis=1)
    for a in waiting[np.argsort(choices, kind="stable")].tolist():
        while left[a]:
            room = left > 0
            room[a] = left[a] >= 2
            price = np.where(room, together[a], np.inf)
            b = int(np.argmin(price))
            if price[b] == np.inf:
                break
            number = left[a] // 2 if a == b else min(left[a], left[b])
            first.append(a)
            second.append(b)
            pairs.append(number)
            left[a] -= number
            left[b] -= number
    single = partial.single.copy()
    spare = instance.singles_allowed - single.sum()
    if left.sum() <= spare:
        single = single + left
    return Pairing(
        np.array(first, dtype=np.int64),
        np.array(second, dtype=np.int64),
        np.array(pairs, dtype=np.int64),
        single,
    )


def _exchanged(instance: Colocation, stuck: Pairing) -> Pairing | None:
    """Two agents that may not share take one each of a pair that may, cheapest first; None where
    that does not do.
    """
    left = np.repeat(np.arange(instance.types), instance.count - stuck.agents_used()).tolist()
    if len(left) % 2:
        return None
    together = np.where(instance.allowed, instance.penalty + instance.penalty.T, np.inf)
    first, second, pairs = stuck.first.copy(), stuck.second.copy(), stuck.pairs.copy()
    added: list[tuple[int, int]] = []
    for a, b in zip(left[::2], left[1::2], strict=True):
        straight, crossed = (
            together[a, first] + together[b, second],
            together[a, second] + together[b, first],
        )
        price = np.where(pairs > 0, np.minimum(straight, crossed), np.inf)
        at = int(np.argmin(price)) if len(price) else -1
        if at < 0 or price[at] == np.inf:
            return None
        pairs[at] -= 1
        c, d = (
            (int(first[at]), int(second[at]))
            if straight[at] <= crossed[at]
            else (int(second[at]), int(first[at]))
        )
        added += [(a, c), (b, d)]
    more = np.array(added, dtype=np.int64).reshape(-1, 2)
    return Pairing(
        np.concatenate([first, more[:, 0]]), np.concatenate([second, more[:, 1]]),
        np.concatenate([pairs, np.ones(len(more), dtype=np.int64)]), stuck.single,
    )  # fmt: skip


def _any_pairing(instance: Colocation, start: Pairing) -> Pairing | None:
    """The pairing that leaves fewest jobs single, if those few may run alone; None when too many
    must (proved).

    Job by job where there are few enough (Edmonds's augmenting paths). Else over types:
    least-penalty matching with pairs for nothing and singles at 1, whose odd sets see at once what
    branching would not, two groups of an odd number of jobs that may not mix.
    """
    if instance.agents <= _JOB_BY_JOB:
        types = instance.agent_types()
        open_pairs = np.where(instance.allowed[np.ix_(types, types)], 0.0, np.inf)
        placed = start.replace(single=instance.count - (start.agents_used() - start.single))
        partner = largest_matching(ranks_from_cost(open_pairs), placed.partners(instance))
        largest = Pairing.from_partners(types, partner, instance.types)
        return largest if largest.single.sum() <= instance.singles_allowed else None
    alone = start.replace(single=start.single + instance.count - start.agents_used())
    count = Colocation(np.where(instance.allowed, 0.0, np.inf), instance.count, unpaired=1.0)
    found = least_penalty_matching(count, alone, Clock())
    if found.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    if found.pairing.single.sum() <= instance.singles_allowed:
        return found.pairing
    if found.bound > instance.singles_allowed + 1e-6:
        return None
    for engine in ("highs", "cp-sat"):  # the bound stuck in between
        program = penalty_program(instance)
        answer = solve_program(program.program, engine=engine, time_limit=_UNDECIDED)
        if answer.point is not None:
            return program.pairing(answer.point)
        if answer.status is Status.INFEASIBLE:
            return None
    raise NoSolution("no feasible pairing was found, and none was ruled out")


def _repaired(instance: Colocation, partial: Pairing, fallback: Pairing) -> Pairing:
    """The most of a partial pairing kept, over all pairs of types or a sparse set that contains a
    feasible pairing.
    """
    present = instance.count > 0
    types = int(present.sum())
    keep: Booleans | None = None
    if types * (types + 1) // 2 > _ALL_PAIRS:
        together = np.where(
            instance.allowed & present, instance.penalty + instance.penalty.T, np.inf
        )
        unplaced = instance.count > partial.agents_used()
        keep = np.zeros_like(instance.allowed)
        np.put_along_axis(
            keep, np.argpartition(together, _PARTNERS, axis=1)[:, :_PARTNERS], True, axis=1
        )
        if unplaced.sum() * types <= _ALL_PAIRS * 5:
            keep[unplaced] = True
        keep |= keep.T
        for known in (partial, fallback):
            keep[known.first, known.second] = True
        keep = np.triu(keep)
    program = repair_program(instance, partial, keep)
    answer = solve_program(program.program, time_limit=_UNDECIDED, start=program.point(fallback))
    return fallback if answer.point is None else program.pairing(answer.point)
