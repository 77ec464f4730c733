"""A feasible pairing: from nothing, or from a partial one with as much of it kept as possible."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Pairing, check
from ...instances.problem.errors import InvalidOption, NoSolution
from ...models.colocation import PairingProgram, repair_program
from ..engines import solve_program
from ..outcome import Status

_ALL_PAIRS = 20_000  # up to so many pairs of types the repair sees them all at once
_PARTNERS = 8  # else so many partners of each type, then more and more


def feasible_pairing(instance: Colocation) -> Pairing:
    """Any feasible pairing.

    Raises
    ------
    NoSolution
        There is none: proved by the assignment program over types.
    """
    nothing = np.zeros(0, dtype=np.int64)
    return complete(instance, Pairing(nothing, nothing, nothing, np.zeros(instance.types, dtype=np.int64)))


def complete(instance: Colocation, partial: Pairing) -> Pairing:
    """A feasible pairing that keeps as many agents of a partial one where they are as possible.

    Forbidden pairs, and more agents than there are, are dropped first. Agents without a place are then paired greedily
    by least penalty; only if that gets stuck are pairs taken apart again, by an integer program over types that keeps
    the most agents (over all pairs of types when there are at most 20,000; else over a sparse set that grows until it
    holds a pairing, so that for thousands of different agents one or two pairs more than necessary may change).

    Parameters
    ----------
    instance : what is given.
    partial : pairs and singles of its types, perhaps not everyone placed, or too many alone.

    Raises
    ------
    InvalidOption
        The pairing is not over this instance's types.
    NoSolution
        The instance has no feasible pairing: proved by the assignment program over types.
    """
    trimmed = _trimmed(instance, partial)
    whole = _greedily_filled(instance, trimmed)
    if (whole.agents_used() == instance.count).all():
        check(instance, whole)
        return whole
    for keep in _growing(instance, trimmed):
        repaired = _solved(repair_program(instance, trimmed, keep))
        if repaired is not None:
            check(instance, repaired)
            return repaired
    raise NoSolution(
        "no feasible pairing exists: whoever is paired with whom, some job is left with forbidden co-runners only "
        "(proved over all pairs of types). Allow more pairs, or give more machines so that jobs may run alone"
    )


def _trimmed(instance: Colocation, partial: Pairing) -> Pairing:
    """The part of a pairing that breaks no rule."""
    if len(partial.single) != instance.types or (len(partial.first) and partial.second.max() >= instance.types):
        raise InvalidOption(f"the pairing has {len(partial.single)} types; the instance has {instance.types}")
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


def _greedily_filled(instance: Colocation, partial: Pairing) -> Pairing:
    """Pair the agents without a place among themselves, those with fewest possible partners first; the rest alone."""
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
    return Pairing(np.array(first, dtype=np.int64), np.array(second, dtype=np.int64), np.array(pairs, dtype=np.int64), single)


def _growing(instance: Colocation, partial: Pairing) -> Iterator[Booleans | None]:
    """The sets of pairs of types to try: ever denser ones around a partial pairing, at last all (None)."""
    present = instance.count > 0
    types = int(present.sum())
    if types * (types + 1) // 2 > _ALL_PAIRS:
        together = np.where(instance.allowed & present, instance.penalty + instance.penalty.T, np.inf)
        unplaced = instance.count > partial.agents_used()
        number = _PARTNERS
        while number < instance.types:
            keep = np.zeros_like(instance.allowed)
            np.put_along_axis(keep, np.argpartition(together, number, axis=1)[:, :number], True, axis=1)
            keep |= keep.T
            keep[unplaced] = True
            keep[:, unplaced] = True
            keep[partial.first, partial.second] = True
            yield np.triu(keep)
            number *= 6
    yield None


def _solved(program: PairingProgram) -> Pairing | None:
    """The pairing of a program, None when it has none (proved)."""
    answer = solve_program(program.program)
    if answer.point is not None:
        return program.pairing(answer.point)
    if answer.status is Status.INFEASIBLE:
        return None
    second = solve_program(program.program, engine="cp-sat")  # HiGHS gave up; the other engine decides
    if second.point is not None:
        return program.pairing(second.point)
    if second.status is Status.INFEASIBLE:
        return None
    raise NoSolution(f"no feasible pairing was found, and none was ruled out (HiGHS: {answer.message})")
