"""What a schedule is worth to an organization: the strategy-resistant utility of section 4, and the
classic ones.

A utility takes an organization's started jobs as (start, processing, release) and a time t, sees
only what has happened before t (the paper's jobs are non-clairvoyant), and is a whole number of
which more is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import numpy as np
import numpy.typing as npt

from .instance import Integers, Schedule, Scheduling

Started = tuple[int, int, int]
Utility = Callable[[Iterable[Started], int], int]


def throughput(jobs: Iterable[Started], t: int) -> int:
    """psi_sp of equation 3: every unit of work done before t is worth its age at t, t minus the
    time it began.

    Theorem 4.1 with K1 = t, K2 = 1, K3 = 0 (the paper prints K1 = 1, K2 = t, which does not give
    its equation 3).
    """
    total = 0
    for start, processing, _ in jobs:
        if start < t:
            end = min(start + processing, t)
            total += (end - start) * (2 * t - start - end + 1) // 2
    return total


def utilization(jobs: Iterable[Started], t: int) -> int:
    """Units of work done before t."""
    return sum(min(processing, t - start) for start, processing, _ in jobs if start < t)


def flow_time(jobs: Iterable[Started], t: int) -> int:
    """Minus the total flow time (completion minus release) of the jobs completed by t."""
    return -sum(
        start + processing - release
        for start, processing, release in jobs
        if start + processing <= t
    )


def tardiness(jobs: Iterable[Started], t: int) -> int:
    """Minus the total tardiness of the jobs completed by t, each due after twice its processing
    time from its release.
    """
    return -sum(
        max(0, start - release - processing)
        for start, processing, release in jobs
        if start + processing <= t
    )


UTILITIES: dict[str, Utility] = {
    "throughput": throughput,
    "utilization": utilization,
    "flow-time": flow_time,
    "tardiness": tardiness,
}


def psi(start: npt.ArrayLike, processing: npt.ArrayLike, t: int) -> Integers:
    """(j,) psi_sp of each job at time t (equation 3), 0 for a job that is not started (start -1) or
    starts at t or later.
    """
    begin = np.asarray(start, dtype=np.int64)
    runs = (begin >= 0) & (begin < t)
    begin = np.where(runs, begin, t)
    done = np.where(runs, np.minimum(np.asarray(processing, dtype=np.int64), t - begin), 0)
    return done * (2 * (t - begin) - done + 1) // 2


def units_done(start: npt.ArrayLike, processing: npt.ArrayLike, t: int) -> Integers:
    """(j,) units of each job done before time t."""
    begin = np.asarray(start, dtype=np.int64)
    left = np.where(begin >= 0, np.maximum(t - begin, 0), 0)
    return cast("Integers", np.minimum(np.asarray(processing, dtype=np.int64), left))


def utilities(instance: Scheduling, schedule: Schedule, t: int | None = None) -> Integers:
    """(k,) psi_sp of each organization at time t, the horizon when not given; exact."""
    worth = psi(schedule.start, instance.processing, instance.horizon if t is None else t)
    return per_organization(instance, worth)


def per_organization(instance: Scheduling, values: Integers) -> Integers:
    """(k,) sums of the jobs' whole numbers over each organization, without passing through
    floats.
    """
    total = np.zeros(instance.organizations, dtype=np.int64)
    np.add.at(total, instance.organization, values)
    return total
