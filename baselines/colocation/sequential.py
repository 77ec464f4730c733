"""Policies that place one task after the other: greedy and threshold."""

from __future__ import annotations

from collections import deque
from typing import Annotated

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers, Pairing
from ...instances.problem.option_types import Above, validate_options
from ..job_order import Order, job_order, runs
from .partial_pairing import Draft, added_penalty


@validate_options
def greedy(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    order: Order = "index",
    fill: bool = False,
) -> Pairing:
    """GR: each task in turn goes to the processor where it adds the least penalty, given the tasks
    placed before it.

    The added penalty is the newcomer's beside the resident plus the resident's beside the newcomer;
    an empty processor adds 0. Ties go to the lowest processor, and the lowest empty one is opened
    first, so that (pairs hardly ever adding nothing) the first tasks spread out until every
    processor holds one. With spare machines they spread out further; with as many machines as tasks
    everyone runs alone, unless a pair adds a negative penalty. `unpaired`: half as many processors
    as agents, rounded up.

    The papers do not say in which order tasks come. In index order, the default, they come type by
    type, so the first half of the types become residents and the others choose among them; the
    papers' populations are drawn at random, which `order="random"` is nearer to.

    Parameters
    ----------
    order : "index", type by type, or "random".
    fill : fill processors instead of spreading out: each task in turn takes its free partner of
        least added penalty (ties to the lowest type) among the tasks not placed yet.

    Notes
    -----
    O(n T) at most; in index order runs of one type are placed together. Source: Cooper section
    IV.C, GR.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "GR", fill=True)
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0525
    """
    tasks = job_order(instance.count, order, rng)
    draft = Draft(instance)
    if fill:
        draft.in_turn(runs(tasks))
    else:
        _place(draft, tasks, tolerance=None)
    return draft.finished()


@validate_options
def threshold(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    tolerance: Annotated[float, Above(0, "a fraction of throughput lost", most=1)] = 0.10,
    order: Order = "index",
) -> Pairing:
    """Colocate two tasks when both their penalties are under a tolerance, else start another
    machine.

    Each task in turn joins the first processor (lowest index) whose resident and itself would both
    lose less than `tolerance`; when there is none it opens another machine. When the machines run
    out, it joins the resident with whom it adds the least penalty, above the tolerance: give
    `machines` above half the number of agents to let the rule work. `unpaired`: half as many
    processors as agents, rounded up.

    Parameters
    ----------
    tolerance : fraction of throughput lost, above 0 and at most 1.
    order : "index", type by type, or "random".

    Notes
    -----
    Source: the threshold schemes of Cooper sections IV.C and VII (Bubble-Up, 10 %), which do not
    say which of several tolerable machines is taken.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "threshold", tolerance=0.2)
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0525
    """
    draft = Draft(instance)
    _place(draft, job_order(instance.count, order, rng), tolerance)
    return draft.finished()


class _Processors:
    """Processors numbered as they are opened, and which of them hold a single task of each type."""

    def __init__(self, instance: Colocation) -> None:
        everyone = instance.agents
        half = (everyone + 1) // 2
        self.empty = half if instance.machines is None else int(min(instance.machines, everyone))
        self.used = 0
        # lowest processor with one task of this type
        self.head = np.full(instance.types, np.iinfo(np.int64).max)
        # ranges [first, how many]
        self._lone: list[deque[list[int]]] = [deque() for _ in range(instance.types)]

    def open(self, a: int, number: int) -> None:
        """Place each of `number` tasks of type a on a new processor."""
        self._lone[a].append([self.used, number])
        self.head[a] = self._lone[a][0][0]
        self.used += number
        self.empty -= number

    def join(self, b: int, number: int) -> int:
        """Add a task to each of up to `number` processors that hold a single task of type b, the
        lowest first; return how many were added.
        """
        block = self._lone[b][0]
        number = min(number, block[1])
        block[0] += number
        block[1] -= number
        if block[1] == 0:
            self._lone[b].popleft()
        self.head[b] = self._lone[b][0][0] if self._lone[b] else np.iinfo(np.int64).max
        return number

    @property
    def lone(self) -> Booleans:
        """Whether some task of each type (T,) is alone on its processor."""
        return self.head < np.iinfo(np.int64).max


def _place(draft: Draft, tasks: Integers, tolerance: float | None) -> None:
    """Place tasks in turn, greedily or under a tolerance, and add their pairs to the draft."""
    processors = _Processors(draft.instance)
    for a, run in runs(tasks):
        while run > 0:
            lone = np.flatnonzero(processors.lone)
            added = added_penalty(draft.instance, a, lone)
            b = _choice(processors, lone, added, _tolerable(draft.instance, a, lone, tolerance))
            if b >= 0:
                number = processors.join(b, run)
                draft.pair(a, b, number)
            elif processors.empty > 0:
                # A task that opens a processor changes the choice of the next one only if the two
                # would share it.
                itself = np.array([a])
                tolerable = _tolerable(draft.instance, a, itself, tolerance)
                alike = added_penalty(draft.instance, a, itself) <= 0
                shares = bool((alike if tolerable is None else tolerable)[0])
                number = min(max(1, run // 2) if shares else run, processors.empty)
                processors.open(a, number)
            else:
                break
            run -= number


def _choice(
    processors: _Processors, lone: Integers, added: Floats, tolerable: Booleans | None
) -> int:
    """Type of the single task that the next task joins; -1 to open a processor, or when it can join
    none. `lone` (L,) are the types with a single task; `added` and `tolerable` (L,) belong to them.
    """
    head = processors.head[lone]
    if tolerable is not None and tolerable.any():
        return int(lone[np.argmin(np.where(tolerable, head, np.iinfo(np.int64).max))])
    least = added.min(initial=np.inf)
    if least == np.inf or (processors.empty > 0 and (tolerable is not None or least > 0)):
        return -1
    return int(lone[np.argmin(np.where(added == least, head, np.iinfo(np.int64).max))])


def _tolerable(
    instance: Colocation, a: int, others: Integers, tolerance: float | None
) -> Booleans | None:
    """Whether a task of type a and one of each other type both lose less than a tolerance."""
    if tolerance is None:
        return None
    under: Booleans = (
        instance.allowed[a, others]
        & (instance.penalty[a, others] < tolerance)
        & (instance.penalty[others, a] < tolerance)
    )
    return under
