"""Policies for elastic jobs: first come, equal split, utility per device, marginal gains."""

from __future__ import annotations

import heapq

import numpy as np

from ..instances.elastic import Configured, Elastic, Floats
from ..instances.problem.option_types import validate_options


@validate_options
def fifo(
    instance: Elastic, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Configured:
    """Give each job in turn the configuration of most utility for which devices are left.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "FIFO").objective
    9.5
    """
    return _in_order(instance, instance.utility)


@validate_options
def equal_split(
    instance: Elastic, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Configured:
    """Give each job in turn the configuration of most utility that has no more devices than there
    are for a job on average, rounded down, but at least one.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "equal-split").objective
    9.0
    """
    share = max(1, int(instance.devices.sum()) // instance.jobs)
    return _in_order(instance, np.where(instance.workers <= share, instance.utility, 0.0))


@validate_options
def density(
    instance: Elastic, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Configured:
    """Take jobs with configurations in the order of utility per device, the most first, each job
    once, as long as devices are left.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "density").objective
    9.0
    """
    left, idle = instance.devices.tolist(), instance.count.tolist()
    number = np.zeros(instance.utility.shape, dtype=np.int64)
    rate = instance.utility / instance.workers
    order = np.argsort(-rate, axis=None, kind="stable")
    kinds, workers = instance.kind.tolist(), instance.workers.tolist()
    for place in order[: np.count_nonzero(rate)].tolist():
        if not any(left):
            break
        i, c = divmod(place, len(workers))
        jobs = min(idle[i], left[kinds[c]] // workers[c])
        if jobs:
            number[i, c] = jobs
            idle[i] -= jobs
            left[kinds[c]] -= jobs * workers[c]
    return Configured.of(number)


@validate_options
def marginal(
    instance: Elastic, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Configured:
    """Begin with all jobs idle and change, again and again, the job that gains most utility per
    further device, on the kind that it has begun on (as the greedy algorithm of Optimus, EuroSys
    2018, section 4.1).

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("elastic/tiny"), "marginal").objective
    12.0
    """
    left, workers, kind = instance.devices.copy(), instance.workers, instance.kind
    number = np.zeros(instance.utility.shape, dtype=np.int64)
    idle = instance.count.copy()

    def best(i: int, now: int) -> tuple[float, int]:
        """The most utility per further device, and its configuration, for a job of a type that is
        in a configuration now (-1: idle).
        """
        have, size = (0.0, 0) if now < 0 else (instance.utility[i, now], workers[now])
        more = workers - size
        fits = (more > 0) & (more <= left[kind]) & ((now < 0) | (kind == kind[now]))
        rate = np.where(fits, (instance.utility[i] - have) / np.maximum(more, 1), 0.0)
        c = int(rate.argmax())
        return float(rate[c]), c

    # what is left only falls, and with it every rate: the first that is still so good is the best
    heap = [(-best(i, -1)[0], i, -1) for i in np.flatnonzero(idle).tolist()]
    heapq.heapify(heap)
    while heap:
        known, i, now = heapq.heappop(heap)
        rate, c = best(i, now)
        if rate <= 0:
            continue
        if rate < -known:
            heapq.heappush(heap, (-rate, i, now))
            continue
        more = int(workers[c] - (0 if now < 0 else workers[now]))
        there = int(idle[i] if now < 0 else number[i, now])
        jobs = min(there, int(left[kind[c]]) // more)
        left[kind[c]] -= jobs * more
        number[i, c] += jobs
        if now < 0:
            idle[i] -= jobs
        else:
            number[i, now] -= jobs
        for state, some in ((now, there > jobs), (c, jobs > 0)):
            if some:
                heapq.heappush(heap, (-best(i, state)[0], i, state))
    return Configured.of(number)


def _in_order(instance: Elastic, utility: Floats) -> Configured:
    """The jobs in turn, each in the configuration of most utility that fits into what is left."""
    left, number = instance.devices.copy(), np.zeros(utility.shape, dtype=np.int64)
    for i, jobs in enumerate(instance.count.tolist()):
        while jobs and left.any():
            fits = np.where(instance.workers <= left[instance.kind], utility[i], 0.0)
            c = int(fits.argmax())
            if fits[c] <= 0:
                break
            placed = min(jobs, int(left[instance.kind[c]] // instance.workers[c]))
            number[i, c] += placed
            left[instance.kind[c]] -= placed * instance.workers[c]
            jobs -= placed
    return Configured.of(number)
