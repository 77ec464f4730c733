"""Local search: move, bring in and swap jobs between VMs, each VM's cores shared in the best
way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Integers, check
from ...instances.admission.rules import total_speed
from ...instances.problem.base import Solution
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ..outcome import Clock
from .partial_assignment import serial_dictatorship

_WORTH = 1e-9  # a move must gain more than this times the fastest core's speed


SWAPS_UP_TO = 500
"""Jobs up to which swaps are looked at: they take a table of jobs x jobs."""

AT_ONCE = 8
"""Jobs of a VM whose leaving is worked out between two looks at the clock."""


@validate_options
def local_search(
    instance: Admission,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Solution | None = None,
    kicks: Annotated[int, AtLeast(0)] = 50,
) -> Assignment:
    """Most total speed by moving, bringing in and swapping jobs until nothing helps, then shaking
    and trying again.

    The jobs of a VM share its cores in the best way (a transportation problem solved exactly), not
    first come first served. The best single move of a job to another VM (or into one), or swap of
    two jobs, is made until none gains (swaps for at most 500 jobs); then a few jobs are thrown onto
    random VMs and the descent is repeated from there, worse results being taken back.

    Parameters
    ----------
    rng : of the shaking; `default_rng(0)` when not given.
    time_limit : seconds.
    start : an assignment to begin from; jobs by decreasing threads, each to its fastest VM, when
        not given.
    kicks : how often, at most, jobs are moved at random to begin again.

    Raises
    ------
    InvalidOption
        Kicks below 0, a start that is no assignment, or a time limit out of range.

    Notes
    -----
    A move costs two VMs' tables again: about J C^2 operations for each job on them.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("admission/tiny"), "local-search")
    >>> print(result.status, round(result.objective, 3))
    feasible 24.0
    """
    search = LocalSearch(instance, Clock(time_limit))
    return improved(instance, start_assignment(instance, start), search, rng, kicks)[0]


def improved(
    instance: Admission,
    first: Assignment,
    search: LocalSearch,
    rng: np.random.Generator | None,
    kicks: int,
) -> tuple[Assignment, bool]:
    """Assignment improved by `local_search`, and whether the search was interrupted."""
    draw = rng or np.random.default_rng(0)
    kept, total, interrupted = first.machine, -np.inf, False
    try:
        search.place(first.machine)
        search.descend()
        kept, total = search.machine.copy(), search.total
        for _ in range(kicks):
            if search.clock.expired or (instance.machines == 1 and instance.jobs == 1):
                break
            search.shake(draw)
            search.descend()
            if not search.known:  # time was up before it was clear what the shaking came to
                break
            if search.total < total:
                search.place(kept)
            else:
                kept, total = search.machine.copy(), search.total
    except KeyboardInterrupt:  # the best so far is in hand
        interrupted = True
        kept = search.machine if total == -np.inf else kept  # the first descent only ever gains
    found = best_cores(instance, kept)
    return (
        found if total_speed(instance, found) >= total_speed(instance, first) else first
    ), interrupted


def start_assignment(instance: Admission, start: Solution | None) -> Assignment:
    """Return the given start after checking it; without one, assign jobs by decreasing threads,
    each to its fastest VM (serial dictatorship).
    """
    if start is not None:
        if not isinstance(start, Assignment):
            raise InvalidOption(f"start is {type(start).__name__}; expected an Assignment")
        check(instance, start)
        return start
    return serial_dictatorship(instance)


def best_cores(instance: Admission, machine: Integers) -> Assignment:
    """Assignment of most total speed with each job on the VM given (-1 for none); a job without a
    core is dropped.
    """
    from .kernels import RELATIVE, share

    noise = RELATIVE * instance.fastest
    cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
    for v in np.unique(machine[machine >= 0]).tolist():
        here = np.flatnonzero(machine == v)
        used_cores = np.empty((len(here), instance.types), dtype=np.int64)
        share(
            instance.speed[here],
            instance.threads[here],
            instance.cores[v],
            used_cores,
            np.empty_like(used_cores[0]),
            len(here),
            noise,
        )
        cores[here] = used_cores
    return Assignment(np.where(cores.any(axis=1), machine, -1), cores)


class LocalSearch:
    """State of the local search: the VM of each job, and the gain of each change.

    Attributes
    ----------
    known : whether `total` is that of the VMs as they are; not when time was up in the middle of
        working it out.
    """

    def __init__(self, instance: Admission, clock: Clock) -> None:
        from .kernels import RELATIVE, changes

        self.instance = instance
        self.machine = np.full(instance.jobs, -1)
        self.clock = clock
        self._changes = changes
        self._noise = RELATIVE * instance.fastest
        self._least = _WORTH * instance.fastest
        swaps = instance.jobs if instance.jobs <= SWAPS_UP_TO else 0
        self._value = np.zeros(instance.machines)
        self._add = np.zeros((instance.machines, instance.jobs))
        self._remove = np.zeros(instance.jobs)
        self._swap = np.zeros((instance.jobs, swaps))
        self.known = True

    @property
    def total(self) -> float:
        """Total speed with the best sharing of each VM's cores."""
        return float(self._value.sum())

    def place(self, machine: Integers) -> None:
        """Set the VM of each job from which the search starts."""
        self.machine = np.array(machine, dtype=np.int64)
        self._refresh(range(self.instance.machines))

    def descend(self) -> None:
        """Make the best move or swap until none gains, or the time is up."""
        while not self.clock.expired:
            j, v, gain = self._best_move()
            i, k, other = self._best_swap()
            if max(gain, other) <= self._least:
                return
            if gain >= other:
                touched = {int(self.machine[j]), v}
                self.machine[j] = v
            else:
                touched = {int(self.machine[i]), int(self.machine[k])}
                self.machine[i], self.machine[k] = self.machine[k], self.machine[i]
            self._refresh(touched)

    def shake(self, draw: np.random.Generator) -> None:
        """Move a few jobs to random VMs."""
        number = min(self.instance.jobs, int(draw.integers(2, 5)))
        jobs = draw.choice(self.instance.jobs, number, replace=False)
        before = set(self.machine[jobs].tolist())
        self.machine[jobs] = draw.integers(0, self.instance.machines, number)
        self._refresh(before | set(self.machine[jobs].tolist()))

    def _refresh(self, machines: Iterable[int]) -> None:
        given = self.instance
        for index, v in enumerate(machines):
            if v < 0:
                continue
            if index and self.clock.expired:  # no change is looked at any more
                self.known = False
                break
            size = int((self.machine == v).sum())
            for first in range(
                0, max(size, 1), AT_ONCE
            ):  # a crowded VM takes seconds: the clock is looked at in between
                if first and self.clock.expired:
                    break
                self._value[v] = self._changes(
                    given.speed, given.threads, given.cores[v], self.machine, v, self._noise,
                    first, first + AT_ONCE, self._add[v], self._remove, self._swap,
                )  # fmt: skip
        away = self.machine < 0
        self._remove[away] = 0.0
        self._swap[away] = 0.0

    def _best_move(self) -> tuple[int, int, float]:
        worth = self._add + self._remove
        here = self.machine >= 0
        worth[self.machine[here], np.flatnonzero(here)] = -np.inf
        v, j = np.unravel_index(int(worth.argmax()), worth.shape)
        return int(j), int(v), float(worth[v, j])

    def _best_swap(self) -> tuple[int, int, float]:
        if not self._swap.shape[1]:
            return 0, 0, -np.inf
        worth = self._swap + self._swap.T
        worth[self.machine[:, None] == self.machine[None, :]] = -np.inf
        i, k = np.unravel_index(int(worth.argmax()), worth.shape)
        return int(i), int(k), float(worth[i, k])
