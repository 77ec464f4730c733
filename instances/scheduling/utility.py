"""Utilities of a schedule for an organization: the strategy-resistant utility of section 4, and the
classic ones. psi_sp counts the units of all processors that a job takes; a unit on a fast machine
counts as many times as the machine's speed.

A utility takes an organization's started jobs as (start, processing, release) and a time t, sees
only what has happened before t (the paper's jobs are non-clairvoyant), and is a whole number of
which more is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidInstance
from ..problem.option_types import validate_options
from .instance import Integers, Schedule, Scheduling

Started = tuple[int, int, int]
Utility = Callable[[Iterable[Started], int], int]


@validate_options
def throughput(jobs: Iterable[Started], t: int) -> int:
    """Utility psi_sp of equation 3: every unit of work done before t is worth its age at t, t minus
    the time it began.

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
    """Utility that counts the units of work done before time t."""
    return sum(min(processing, t - start) for start, processing, _ in jobs if start < t)


def flow_time(jobs: Iterable[Started], t: int) -> int:
    """Minus the total flow time (completion minus release) of the jobs completed by t."""
    return -sum(
        start + processing - release
        for start, processing, release in jobs
        if start + processing <= t
    )


def tardiness(jobs: Iterable[Started], t: int) -> int:
    """Minus the total tardiness of jobs done by t, each due at release + 2 x processing."""
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


@validate_options
def psi(start: Integers, work: Integers, t: int, rate: Integers | None = None) -> Integers:
    """Utility psi_sp (j,) of each job at time t (equation 3), 0 for a job that is not started
    (start -1) or starts at t or later.

    Parameters
    ----------
    work : units of work of each job: its processing time, of a sequential one.
    rate : units done in each unit of time but the last, where what is left is done; 1 when not
        given. A unit done in [i, i + 1) is worth t - i, whatever the rate.
    """
    begin = np.asarray(start, dtype=np.int64)
    units = np.asarray(work, dtype=np.int64)
    runs = (begin >= 0) & (begin < t)
    begin = np.where(runs, begin, t)
    full = units if rate is None else units // np.asarray(rate, dtype=np.int64)
    done = np.where(runs, np.minimum(full, t - begin), 0)
    worth = done * (2 * (t - begin) - done + 1) // 2
    if rate is None:
        return worth
    left = t - begin - full
    rest = np.where(runs & (left > 0), units - full * np.asarray(rate, dtype=np.int64), 0)
    return cast("Integers", worth * np.asarray(rate, dtype=np.int64) + rest * left)


def units_done(
    start: npt.ArrayLike, work: npt.ArrayLike, t: int, rate: npt.ArrayLike | None = None
) -> Integers:
    """Units (j,) of each job done before time t; work and rate as for `psi`."""
    begin, units = np.asarray(start, dtype=np.int64), np.asarray(work, dtype=np.int64)
    left = np.where(begin >= 0, np.maximum(t - begin, 0), 0)
    if rate is not None:
        each = np.asarray(rate, dtype=np.int64)
        left = np.minimum(left, -(-units // each)) * each
    return cast("Integers", np.minimum(units, left))


def rates(instance: Scheduling, machine: npt.ArrayLike | None = None) -> Integers | None:
    """Units of work (j,) that each job does in a unit of time: its number of processors, or the
    speed of its machine; None if every job does one.

    Parameters
    ----------
    machine : (j,) of each job, -1 for one that is not started; needed when machines have speeds.
    """
    if instance.speed is None:
        return instance.processors
    if machine is None:
        raise InvalidInstance(
            "speed", "given", "machines of one speed where it is not known which one a job took",
            "Leave it out",
        )  # fmt: skip
    place = np.asarray(machine, dtype=np.int64)
    return np.where(place >= 0, instance.speed[np.maximum(place, 0)], 1)


def durations(instance: Scheduling, machine: npt.ArrayLike | None = None) -> Integers:
    """Duration (j,) of each job on its machine, which is needed when machines have speeds."""
    each = rates(instance, machine)
    if instance.speed is None or each is None:
        return instance.processing
    return cast("Integers", -(-instance.processing // each))


def job_psi(instance: Scheduling, schedule: Schedule, t: int) -> Integers:
    """Utility psi_sp (j,) of each job of a schedule at time t."""
    return psi(schedule.start, instance.work, t, rates(instance, schedule.machine))


def job_units(instance: Scheduling, schedule: Schedule, t: int) -> Integers:
    """Units of work (j,) of each job that a schedule has done before time t."""
    return units_done(schedule.start, instance.work, t, rates(instance, schedule.machine))


@validate_options
def utilities(instance: Scheduling, schedule: Schedule, t: int | None = None) -> Integers:
    """Utility psi_sp (k,) of each organization at time t, the horizon when not given; exact."""
    worth = job_psi(instance, schedule, instance.horizon if t is None else t)
    return per_organization(instance, worth)


def per_organization(instance: Scheduling, values: Integers) -> Integers:
    """Sums (k,) of the jobs' integers over each organization, not through floats."""
    total = np.zeros(instance.organizations, dtype=np.int64)
    np.add.at(total, instance.organization, values)
    return total


def scale(instance: Scheduling, objective: str, **options: object) -> float:
    """Upper bound on the utilization, as if no job waited for another; 1 for other objectives."""
    if objective != "utilization":
        return 1.0
    left = np.maximum(instance.horizon - instance.release, 0)
    rate = (instance.width * int(instance.pace.max())).astype(float)
    work = float(np.minimum(instance.work, left * rate).sum())
    return min(1.0, work / (instance.capacity * instance.horizon))
