"""Large-neighborhood search for fair attribution: a few types are paired anew by a program while
the others stay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Integers, Pairing
from ...instances.colocation.objective import (
    attribution_slack,
    mean_penalty,
    scale,
    type_penalties,
    within_slack,
)
from ...models.colocation import Surroundings, fair_program
from ..engines import solve_program
from ..incumbent import Incumbent
from ..outcome import LEAST_SECONDS, Clock, Stop, raise_if_interrupted

FEWEST, LARGEST = 4, 24
"""Types in the first and in the largest parts: beyond, HiGHS rarely looks at its clock."""

SECONDS, QUICK, FAILURES = 0.5, 0.05, 20
"""Time for one part; parts that take less than the second are made larger, and so are parts after
so many in a row that improve nothing.
"""


def objective(instance: Colocation, slack: float | None) -> Callable[[Pairing], float]:
    """Function that gives a pairing's slack; within a slack its mean penalty, else infinity."""

    def value(pairing: Pairing) -> float:
        if slack is None:
            return attribution_slack(instance, pairing)
        return mean_penalty(instance, pairing) if within_slack(instance, pairing, slack) else np.inf

    return value


def improve(
    instance: Colocation,
    begin: Pairing,
    clock: Clock,
    seconds: float,
    rng: np.random.Generator,
    *,
    slack: float | None = None,
    bound: float | None = None,
) -> Incumbent[Pairing, float]:
    """Reduce the slack, or the mean penalty within a slack, until the time is up or the largest
    neighborhoods bring nothing; return the finished search.

    Parameters
    ----------
    instance : with bandwidth.
    begin : a feasible pairing; with no more than `slack` if that is given.
    seconds : time for it, besides the clock's.
    bound : what is proved of the slack, or of the mean penalty; the search ends there.
    """
    search: Incumbent[Pairing, float] = Incumbent(
        instance, clock, objective(instance, slack), bound=bound,
        then=partial(mean_penalty, instance),
        scale=scale(instance, "slack" if slack is None else "penalty"),
    )  # fmt: skip
    present = len(instance.present)
    search.begin(begin)
    size, failures, until = min(FEWEST, present), 0, clock.seconds + seconds
    with search.keeping_best():
        while search.open and clock.seconds < until and size <= min(LARGEST, present):
            best, began = search.best, clock.seconds
            assert best is not None
            left = min(SECONDS, max(LEAST_SECONDS, until - began))
            found, stop = _paired_anew(
                instance, best, _part(instance, best, rng, size, slack is None), slack, left
            )
            failures += 1
            if stop is not Stop.FINISHED:
                size, failures = max(min(FEWEST, present), size - 2), 0
            elif clock.seconds - began < QUICK or failures >= FAILURES:
                size, failures = size + 1, 0
            if search.offer(found, "some types paired anew"):
                failures = 0
            raise_if_interrupted(stop)
    return search


def _part(
    instance: Colocation, pairing: Pairing, rng: np.random.Generator, size: int, worst: bool
) -> Integers:
    """Random types for a neighborhood, grown by partners and types next in bandwidth from one type
    or, with `worst`, from the two that set the slack of fair attribution.
    """
    assert instance.bandwidth is not None
    mean = type_penalties(instance, pairing)
    present = instance.present
    bandwidth, chosen = instance.bandwidth[present], [int(rng.choice(present))]
    if worst:
        low = int(np.argmax(_limits(bandwidth, mean[present], bandwidth)[0] - mean[present]))
        high = int(np.argmax(np.where(bandwidth < bandwidth[low], mean[present], -np.inf)))
        chosen = [int(present[low]), int(present[high])]
    order = present[np.argsort(instance.bandwidth[present], kind="stable")]
    place = np.empty(instance.types, dtype=np.int64)
    place[order] = np.arange(len(order))
    while len(chosen) < min(size, len(present)):
        at = chosen[int(rng.integers(len(chosen)))]
        kind = rng.random()
        if kind < 0.5:
            near = np.concatenate(
                [pairing.second[pairing.first == at], pairing.first[pairing.second == at]]
            )
        elif kind < 0.8:
            near = order[max(0, place[at] - 2) : place[at] + 3]
        else:
            near = present
        new = np.setdiff1d(near, chosen)
        if len(new):
            chosen.append(int(rng.choice(new)))
    return np.sort(np.array(chosen))


def _limits(bandwidth: Floats, mean: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Largest mean penalty of the types of lower bandwidth, and smallest of those of higher
    bandwidth, for each bandwidth in `at`.
    """
    order = np.argsort(bandwidth, kind="stable")
    highest = np.append(-np.inf, np.maximum.accumulate(mean[order]))
    lowest = np.append(np.minimum.accumulate(mean[order][::-1])[::-1], np.inf)
    ascending = bandwidth[order]
    return highest[np.searchsorted(ascending, at, "left")], lowest[
        np.searchsorted(ascending, at, "right")
    ]


def _paired_anew(
    instance: Colocation, pairing: Pairing, part: Integers, slack: float | None, seconds: float
) -> tuple[Pairing | None, Stop]:
    """Pair some types anew by a program: the pairing, None without one, and why that stopped."""
    assert instance.bandwidth is not None
    # 1. take the pairs within these types apart; all others stay paired
    member = np.zeros(instance.types, dtype=bool)
    member[part] = True
    inside = member[pairing.first] & member[pairing.second]
    outside = Pairing(
        pairing.first[~inside], pairing.second[~inside], pairing.pairs[~inside],
        np.where(member, 0, pairing.single),
    )  # fmt: skip
    free = instance.count - outside.agents_used()
    part = np.flatnonzero(free > 0)
    if len(part) == 0:
        return None, Stop.FINISHED
    # 2. bounds of the types outside on the means inside, and their own slack
    outer = np.setdiff1d(instance.present, part)
    mean = type_penalties(instance, pairing)
    bandwidth, means = instance.bandwidth[outer], mean[outer]
    least, most = _limits(bandwidth, means, instance.bandwidth[part])
    among = float((_limits(bandwidth, means, bandwidth)[0] - means).max(initial=0.0))
    loss = type_penalties(instance, outside)[part] * instance.count[part]
    around = Surroundings(instance.count[part], loss, least, most, among)
    # 3. stop where no slack can be won
    if slack is None and around.slack >= attribution_slack(instance, pairing):
        return None, Stop.FINISHED
    # 4. the free agents as an instance of their own, on the machines left
    alone = instance.singles_allowed - outside.single.sum()
    machines = instance.machines
    if machines is not None:
        machines = np.inf if np.isinf(alone) else (free.sum() + min(alone, free.sum())) / 2
    small = Colocation(
        instance.penalty[np.ix_(part, part)], free[part], instance.bandwidth[part],
        machines=machines, unpaired=instance.unpaired,
    )  # fmt: skip
    # 5. solve it, starting from the present pairs
    program = fair_program(small, slack, around=around)
    place = np.full(instance.types, -1)
    place[part] = np.arange(len(part))
    now = Pairing(
        place[pairing.first[inside]], place[pairing.second[inside]], pairing.pairs[inside],
        pairing.single[part]
    )  # fmt: skip
    answer = solve_program(program.program, time_limit=seconds, start=program.point(now))
    if answer.point is None:
        return None, answer.stop
    # 6. put the new pairs back beside the others
    new = program.pairing(answer.point)
    single = outside.single.copy()
    single[part] = new.single
    whole = Pairing(
        np.concatenate([outside.first, part[new.first]]),
        np.concatenate([outside.second, part[new.second]]),
        np.concatenate([outside.pairs, new.pairs]), single,
    )  # fmt: skip
    return whole, answer.stop
