"""Policies that place one job after the other: greedy and threshold."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.groups.instance import FORBIDDEN, UNIT, Grouping, Groups, Integers, ascending
from ...instances.groups.penalties import units
from ...instances.problem.option_types import Above, validate_options
from ...solvers.groups.common import repaired
from ..job_order import Order, job_order, runs

_LAST = 1 << 62  # the rank of empty machines: after all others


@validate_options
def greedy(
    instance: Groups, *, rng: np.random.Generator | None = None, order: Order = "index"
) -> Grouping:
    """GR: each job in turn goes to the machine where it adds the least penalty, its own and that of
    the jobs there, given those placed before it.

    Machines that hold the same jobs count as one; ties go to the kind of machine that came about
    first, and to an empty one last, so that (groups hardly ever adding nothing) the first jobs
    spread out until every machine holds one.

    Parameters
    ----------
    order : in which the jobs come: "index", type by type, or "random".

    Notes
    -----
    Jobs of one type that follow each other are placed together. Source: Cooper section IV.C, GR,
    for machines of more seats.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "GR")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0862
    """
    return _placed(instance, job_order(instance.count, order, rng), None)


@validate_options
def threshold(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    tolerance: Annotated[float, Above(0, "a fraction of throughput lost", most=1)] = 0.10,
    order: Order = "index",
) -> Grouping:
    """A job joins others where all of them would lose less than a tolerance, else it starts another
    machine.

    Machines that hold the same jobs count as one, and the kind that came about first is taken. When
    the machines run out, a job goes where it adds the least penalty, above the tolerance: give more
    machines than are just enough to let the rule work.

    Parameters
    ----------
    tolerance : fraction of throughput lost, above 0 and at most 1.
    order : in which the jobs come: "index", type by type, or "random".

    Notes
    -----
    Source: the threshold schemes of Cooper sections IV.C and VII (Bubble-Up, 10 %), for machines of
    more seats.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "threshold", tolerance=0.2)
    >>> print(result.status, round(result.objective, 4))
    feasible 0.075
    """
    return _placed(instance, job_order(instance.count, order, rng), round(tolerance * UNIT))


class _Machines:
    """Kinds of machines by the jobs on them, in order of creation; the empty ones of each class
    first.

    Attributes
    ----------
    number : (K,) machines of each kind.
    added, worst : (K, T) what one more job adds, and what anyone would lose then at worst;
        `FORBIDDEN` where it may not join.
    """

    def __init__(self, instance: Groups) -> None:
        self.instance = instance
        self.kinds: list[tuple[int, tuple[int, ...]]] = []
        self.known: dict[tuple[int, tuple[int, ...]], int] = {}
        self.number = np.zeros(64, dtype=np.int64)
        self.added = np.zeros((64, instance.types), dtype=np.int64)
        self.worst = np.zeros((64, instance.types), dtype=np.int64)
        places = np.argsort(-instance.seats, kind="stable").tolist()
        for place in places:
            self.number[self.kind(place, ())] = instance.limits[place]
        self.empty = len(places)

    def kind(self, place: int, types: tuple[int, ...]) -> int:
        """Index of the kind of machines with given contents; new ones come last."""
        key = place, types
        if key not in self.known:
            at = self.known[key] = len(self.kinds)
            self.kinds.append(key)
            if at == len(self.number):
                self.number, self.added, self.worst = (
                    np.concatenate([part, np.zeros_like(part)])
                    for part in (self.number, self.added, self.worst)
                )
            self.added[at], self.worst[at] = self._joined(place, types)
        return self.known[key]

    def joined(self, at: int, kind: int) -> int:
        """Kind of machine that results when a job joins a machine."""
        place, types = self.kinds[at]
        return self.kind(place, tuple(sorted((*types, kind))))

    def _joined(self, place: int, types: tuple[int, ...]) -> tuple[Integers, Integers]:
        instance, seats = self.instance, int(self.instance.seats[place])
        never = np.full(instance.types, FORBIDDEN)
        if len(types) == seats:
            return never, never
        row = np.array([*types, *[-1] * (seats - len(types))], dtype=np.int64)
        rows = np.tile(row, (instance.types, 1))
        rows[:, -1] = np.arange(instance.types)
        lost = units(instance, place, ascending(rows))
        worst = lost.max(axis=1)
        before = int(units(instance, place, row[None, :]).sum()) if types else 0
        return np.where(worst < FORBIDDEN, lost.sum(axis=1) - before, FORBIDDEN), worst


def _placed(instance: Groups, jobs: Integers, tolerance: int | None) -> Grouping:
    """Place jobs one by one where they add least penalty, or where no penalty reaches `tolerance`.

    Where that fails the answer is another grouping.
    """
    machines = _Machines(instance)
    for kind, many in runs(jobs):
        while many > 0:
            best = _choice(machines, kind, tolerance)
            if best is None:
                break
            at, key = best
            # jobs of one type go on to the same machine as long as it stays the best: `length` of
            # them to each of `times` machines
            first, joined, length = at, machines.joined(at, kind), 1
            while length < many and _key(machines, joined, kind, tolerance) < key:
                joined, length = machines.joined(joined, kind), length + 1
            times = max(1, min(int(machines.number[first]), many // length))
            machines.number[first] -= times
            machines.number[joined] += times
            many -= times * length
    used = [machines.kinds[at] for at in range(machines.empty, len(machines.kinds))]
    width = int(instance.seats.max())
    grouping = Grouping(
        np.array([[*types, *[-1] * (width - len(types))] for _, types in used]),
        np.array([place for place, _ in used]),
        machines.number[machines.empty : len(used) + machines.empty],
    )
    return repaired(instance, grouping)


def _key(machines: _Machines, at: int, kind: int, tolerance: int | None) -> tuple[int, int, int]:
    """Sort key of a kind of machines for a job of a type: the job goes to the kind of least key."""
    added, empty = int(machines.added[at, kind]), at < machines.empty
    rank = _LAST + at if empty else at
    if added >= FORBIDDEN:
        return 3, 0, rank
    if tolerance is None:
        return 0, added, rank
    if not empty and machines.worst[at, kind] < tolerance:
        return 0, 0, rank
    return (1, 0, rank) if empty else (2, added, rank)


def _choice(
    machines: _Machines, kind: int, tolerance: int | None
) -> tuple[int, tuple[int, int, int]] | None:
    """Kind of machine that a job of a type joins, with its sort key; None if it may join none."""
    many = len(machines.kinds)
    added = machines.added[:many, kind]
    could = (machines.number[:many] > 0) & (added < FORBIDDEN)
    if tolerance is not None:
        under = could & (machines.worst[:many, kind] < tolerance)
        under[: machines.empty] = False
        could = under if under.any() else could
    here = np.flatnonzero(could)
    if not len(here):
        return None
    if tolerance is not None and not under.any() and here[0] < machines.empty:
        here = here[:1]
    elif tolerance is None or not under.any():
        here = here[added[here] == added[here].min()]
    filled = here[here >= machines.empty]
    at = int(filled[0] if len(filled) else here[0])
    return at, _key(machines, at, kind, tolerance)
