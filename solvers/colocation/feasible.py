"""Feasible pairings, from nothing or from a partial pairing of which as much as possible is
kept.
"""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Pairing, blocks, check
from ...instances.problem.base import Solution
from ...instances.problem.errors import InvalidOption, NoSolution
from ...models.colocation import PairingProgram, penalty_program, repair_program
from ..engines import EngineAnswer, EngineName
from ..outcome import Clock, Outcome, Status, Stop, raise_if_interrupted
from ..roommates import ranks_from_cost
from ..roommates.partition import largest_matching
from ..roommates.ranks import lists_of
from .common import PROGRAM_LIMITS, infeasible, run
from .matching import least_penalty_matching

NO_PAIRING = "fewest jobs without a co-runner, by odd sets: more of them than may run alone"
"""What proves that an instance has no feasible pairing at all."""

_ALL_PAIRS = 20_000  # up to so many pairs of types the repair sees them all at once
_PARTNERS = 8  # else so many partners of each type
_MATCHED_JOBS = 3_000  # up to so many jobs a largest matching is found job by job
# seconds for a program that only improves what is in hand, or decides what nothing else could
_UNDECIDED = 30.0


class Undecided(NoSolution):
    """Raised when no feasible pairing was found or excluded within the time limit."""


def starting_pairing(
    instance: Colocation, start: Solution | None, clock: Clock
) -> Pairing | Outcome:
    """Feasible pairing to begin with: the given start, repaired if necessary; or an outcome if
    there is none or none was found in time.

    Raises
    ------
    InvalidOption
        The start is no pairing of this instance's types.
    """
    if start is not None and (
        not isinstance(start, Pairing) or len(start.single) != instance.types
    ):
        raise InvalidOption(
            f"start is {type(start).__name__}; expected a Pairing of {instance.types} types"
        )
    try:
        return (
            feasible_pairing(instance, clock) if start is None else complete(instance, start, clock)
        )
    except Undecided as error:
        stop = Stop.TIME_LIMIT if clock.expired else Stop.FINISHED
        facts = {"proof": f"none: {error}"}
        return Outcome(None, None, Status.UNKNOWN, stop, facts, tuple(clock.trace))
    except NoSolution:
        return infeasible(clock, NO_PAIRING)


def feasible_pairing(instance: Colocation, clock: Clock | None = None) -> Pairing:
    """Any feasible pairing of an instance; clock and errors as in `complete`."""
    nothing = np.zeros(0, dtype=np.int64)
    empty = Pairing(nothing, nothing, nothing, np.zeros(instance.types, dtype=np.int64))
    return complete(instance, empty, clock)


def complete(instance: Colocation, partial: Pairing, clock: Clock | None = None) -> Pairing:
    """Feasible pairing that keeps as many agents of a partial pairing in place as possible.

    Forbidden pairs, and more agents than there are, are dropped first. Agents without a place are
    then paired greedily by least penalty; only if that gets stuck are pairs taken apart again, by
    an integer program over types that keeps the most agents. With more than 20,000 pairs of types
    simple exchanges are tried first and the program sees a sparse set that holds a pairing, so that
    for hundreds of different agents a pair more than necessary may change.

    Parameters
    ----------
    instance : what is given.
    partial : pairs and singles of its types, perhaps not everyone placed, or too many alone.
    clock : whose time the programs keep to; without one, half a minute each where they only
        improve what is in hand.

    Raises
    ------
    InvalidOption
        The pairing is not over this instance's types.
    NoSolution
        The instance has no feasible pairing: proved by odd sets of jobs.
    Undecided
        Time was up before one was found or ruled out; a NoSolution too.
    """
    clock = Clock() if clock is None else clock
    trimmed = _trimmed(instance, partial)
    filled = greedily_filled(instance, trimmed)
    if (filled.agents_used() == instance.count).all():
        check(instance, filled)
        return filled
    present = len(instance.present)
    if present * (present + 1) // 2 > _ALL_PAIRS:
        exchanged = _exchanged(instance, filled)
        if exchanged is not None:
            check(instance, exchanged)
            return exchanged
    fallback = _any_pairing(instance, filled, clock)
    if fallback is not None:
        repaired = _repaired(instance, trimmed, fallback, clock)
        check(instance, repaired)
        return repaired
    raise NoSolution(
        "no feasible pairing exists: in every pairing some job has only forbidden co-runners "
        "left (proved over all pairs of types). Allow more pairs, or give more machines so that "
        "jobs may run alone"
    )


def _trimmed(instance: Colocation, partial: Pairing) -> Pairing:
    """Remove from a pairing the pairs and single agents that break a rule of the instance."""
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
    excess = max(0, single.sum() - instance.singles_allowed)  # of the first types
    single -= np.diff(np.minimum(single.cumsum(), excess), prepend=0).astype(np.int64)
    return Pairing(partial.first, partial.second, pairs, single)


def greedily_filled(instance: Colocation, partial: Pairing) -> Pairing:
    """Pair unplaced agents greedily; those left over run alone if all of them may."""
    left = instance.count - partial.agents_used()
    first, second, pairs = list(partial.first), list(partial.second), list(partial.pairs)
    waiting = np.flatnonzero(left)
    choices = np.zeros(len(waiting), dtype=np.int64)
    for rows in blocks(len(waiting)):
        choices[rows] = instance.allowed[np.ix_(waiting[rows], waiting)].sum(axis=1)
    for a in waiting[np.argsort(choices, kind="stable")].tolist():
        while left[a]:
            room = left > 0
            room[a] = left[a] >= 2
            others = np.flatnonzero(room & instance.allowed[a])
            if len(others) == 0:
                break
            price = instance.penalty[a, others] + instance.penalty[others, a]
            b = int(others[np.argmin(price)])
            number = left[a] // 2 if a == b else min(left[a], left[b])
            first.append(a)
            second.append(b)
            pairs.append(number)
            left[a] -= number
            left[b] -= number
    fits = left.sum() <= instance.singles_allowed - partial.single.sum()
    return Pairing(
        np.array(first, dtype=np.int64), np.array(second, dtype=np.int64),
        np.array(pairs, dtype=np.int64), partial.single + left if fits else partial.single,
    )  # fmt: skip


def _exchanged(instance: Colocation, stuck: Pairing) -> Pairing | None:
    """Pair each two unplaced agents with the members of an existing pair, which is split, at least
    penalty; None if impossible.
    """
    left = np.repeat(np.arange(instance.types), instance.count - stuck.agents_used()).tolist()
    if len(left) % 2:
        return None
    together = np.where(instance.allowed, instance.penalty + instance.penalty.T, np.inf)
    first, second, pairs = stuck.first.copy(), stuck.second.copy(), stuck.pairs.copy()
    added: list[tuple[int, int]] = []
    for a, b in zip(left[::2], left[1::2], strict=True):
        straight = together[a, first] + together[b, second]
        crossed = together[a, second] + together[b, first]
        price = np.where(pairs > 0, np.minimum(straight, crossed), np.inf)
        at = int(np.argmin(price)) if len(price) else -1
        if at < 0 or price[at] == np.inf:
            return None
        pairs[at] -= 1
        c, d = (first[at], second[at]) if straight[at] <= crossed[at] else (second[at], first[at])
        added += [(a, int(c)), (b, int(d))]
    more = np.array(added, dtype=np.int64).reshape(-1, 2)
    return Pairing(
        np.concatenate([first, more[:, 0]]), np.concatenate([second, more[:, 1]]),
        np.concatenate([pairs, np.ones(len(more), dtype=np.int64)]), stuck.single,
    )  # fmt: skip


def _any_pairing(instance: Colocation, start: Pairing, clock: Clock) -> Pairing | None:
    """Pairing with the fewest single jobs, if so many may run alone; None if proved that too many
    must.

    Job by job where there are few enough (Edmonds's augmenting paths). Else over types:
    least-penalty matching with pairs for nothing and singles at 1, whose odd sets see at once what
    branching would not, two groups of an odd number of jobs that may not mix.
    """
    if instance.agents <= _MATCHED_JOBS:
        types = instance.agent_types()
        open_pairs = np.where(instance.allowed[np.ix_(types, types)], 0.0, np.inf)
        placed = start.replace(single=instance.count - (start.agents_used() - start.single))
        lists = lists_of(ranks_from_cost(open_pairs))
        partner = largest_matching(lists, placed.partners(instance))
        largest = Pairing.from_partners(types, partner, instance.types)
        return largest if largest.single.sum() <= instance.singles_allowed else None
    alone = start.replace(single=start.single + instance.count - start.agents_used())
    count = Colocation(np.where(instance.allowed, 0.0, np.inf), instance.count, unpaired=1.0)
    found = least_penalty_matching(count, alone, clock)
    raise_if_interrupted(found.stop)
    if found.best.single.sum() <= instance.singles_allowed:
        return found.best
    if found.bound > instance.singles_allowed + 1e-6:
        return None
    program = None if clock.expired else penalty_program(instance)
    engines: tuple[EngineName, ...] = () if program is None else ("highs", "cp-sat")
    for engine in engines:  # the bound stuck in between
        assert program is not None
        answer = _run(program, clock, engine=engine)
        if answer.point is not None:
            return program.pairing(answer.point)
        if answer.status is Status.INFEASIBLE:
            return None
    raise Undecided(
        "no feasible pairing was found in the given time, but there may be one. Give more "
        "time, or more machines so that jobs may run alone"
    )


def _run(
    program: PairingProgram,
    clock: Clock,
    *,
    engine: EngineName = "highs",
    start: Pairing | None = None,
) -> EngineAnswer:
    """Solve a pairing program within the clock's time, at most `_UNDECIDED` seconds."""
    large = program.program.columns > PROGRAM_LIMITS.keeps_time
    answer = run(program, clock, engine=engine, start=start, most=_UNDECIDED, apart=large)
    raise_if_interrupted(answer.stop)
    return answer


def _repaired(instance: Colocation, partial: Pairing, fallback: Pairing, clock: Clock) -> Pairing:
    """Keep as much of a partial pairing as possible, by a program over all pairs of types or a
    sparse feasible subset.
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
    answer = _run(program, clock, start=fallback)
    return fallback if answer.point is None else program.pairing(answer.point)
