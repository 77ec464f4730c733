"""Feasibility of time shares, repair of rounding errors, and the answer as a table."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..problem.answer_table import AnswerTable, labels
from ..problem.errors import InfeasibleSolution
from ..problem.fields import raise_first_broken
from ..problem.option_types import validate_options
from .instance import MOST, Accelerators, Floats, Integers, TimeShares


def rates(instance: Accelerators, solution: TimeShares) -> tuple[Floats, Floats]:
    """Steps per second (k,) of the first and of the second job of each entry of time shares; NaN
    where the instance forbids the entry, 0 for a missing second job.
    """
    first, second, device = solution.first, solution.second, solution.device
    single = second < 0
    one = instance.alone[first, device]
    one = np.where(single & (one == 0), np.nan, one)
    two = np.zeros(len(first))
    if not single.all():
        if instance.together is None:
            return np.where(single, one, np.nan), two
        a, b, d = first[~single], second[~single], device[~single]
        mine, theirs = instance.together[a, b, d], instance.together[b, a, d]
        allowed = np.isfinite(mine) & np.isfinite(theirs)
        allowed &= instance.workers[a] == instance.workers[b]
        allowed &= instance.workers[a] <= instance.devices[d]
        allowed &= (a != b) | (instance.count[a] >= 2)
        one[~single] = np.where(allowed, mine, np.nan)
        two[~single] = np.where(allowed, theirs, np.nan)
    return one, two


@validate_options
def check(instance: Accelerators, solution: TimeShares) -> None:
    """Raise InfeasibleSolution unless time shares are feasible, naming the first broken rule; the
    sums are exact, with no tolerance.
    """
    for name, values, least, most in (
        ("first", solution.first, 0, instance.types),
        ("second", solution.second, -1, instance.types),
        ("device", solution.device, 0, len(instance.devices)),
    ):
        if ((values < least) | (values >= most)).any():
            raise InfeasibleSolution(f"{name} is not from {least} to {most - 1} everywhere")
    used = solution.share > 0
    one, _ = rates(instance, solution)
    raise_first_broken(used & np.isnan(one), lambda row: (
        f"{_jobs_of(instance, solution, row)} may not run on "
        f"{instance.device_names[solution.device[row]]!r}"
    ))  # fmt: skip
    limit, excess = _limits(instance), _excess(instance, solution)
    kinds = len(instance.devices)
    for row in np.flatnonzero(excess > 0)[:1].tolist():
        name, unit = (*instance.device_names, *instance.names)[row], "devices' work"
        what = f"{name!r} is given"
        if row >= kinds:
            what, unit = f"jobs of {name!r} are given", "jobs' time"
        raise InfeasibleSolution(
            f"{what} {limit[row]} + {excess[row]:.6g} {unit} at a time; there are {limit[row]}"
        )


def _jobs_of(instance: Accelerators, solution: TimeShares, row: int) -> str:
    """Names of the job, or of the two jobs of a pair, in one entry of time shares."""
    first, second = instance.names[solution.first[row]], solution.second[row]
    return f"{first!r} alone" if second < 0 else f"{first!r} beside {instance.names[second]!r}"


def _limits(instance: Accelerators) -> Integers:
    """Upper limits (D + T,) on time shares: devices of each kind, then jobs of each type."""
    return np.concatenate([instance.devices, instance.count])


def _excess(instance: Accelerators, solution: TimeShares) -> Floats:
    """Excess (D + T,) of time shares over the numbers of devices and jobs, rounded once."""
    share, kinds = np.minimum(solution.share, 2.0 * MOST), len(instance.devices)
    # products of shares in two halves and of workers in two halves are exact (Dekker 1971)
    high = share * (2**27 + 1) - (share * (2**27 + 1) - share)
    workers = instance.workers[solution.first].astype(float)
    small = workers % 2**15
    halves = [part * of for part in (high, share - high) for of in (small, workers - small)]
    pair, limit = solution.second >= 0, _limits(instance)
    places = [*[solution.device] * 4, kinds + solution.first, kinds + solution.second[pair]]
    places.append(np.arange(len(limit)))
    values = np.concatenate([*halves, share, share[pair], -limit.astype(float)])
    return sums_by(np.concatenate(places), values, len(limit))


def sums_by(places: Integers, values: Floats, number: int) -> Floats:
    """Sum the values that have equal indices, shape (number,), each sum rounded once."""
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(number + 1)).tolist()
    listed = values[order].tolist()
    return np.array([math.fsum(listed[a:b]) for a, b in pairwise(ends)])


def within_limits(
    instance: Accelerators, first: Integers, second: Integers, device: Integers, share: Floats
) -> TimeShares:
    """Time shares reduced by rounding errors such that they pass `check` exactly."""
    share = np.maximum(share, 0.0)
    rows = np.flatnonzero(share)
    answer = TimeShares(first[rows], second[rows], device[rows], share[rows])
    while True:
        excess = _excess(instance, answer)
        over = excess > 0
        if not over.any():
            return answer
        limit = _limits(instance)[over]
        smaller = float((limit / (limit + excess[over])).min()) * (1 - 2.0**-52)
        answer = answer.replace(share=answer.share * smaller)


def isolated_shares(instance: Accelerators) -> TimeShares:
    """Time shares of jobs that each run alone in 1/n of the cluster, for n jobs."""
    first, second, device, *_ = instance.placements
    part = np.minimum(1.0, instance.all_devices / (instance.jobs * instance.workers))
    share = instance.count[first] * part[first] * (instance.devices[device] / instance.all_devices)
    return within_limits(instance, first, second, device, np.where(second < 0, share, 0.0))


def proportional_shares(instance: Accelerators) -> TimeShares:
    """Time shares of jobs that each run alone, with time on each kind in proportion to its
    devices.
    """
    first, second, device, *_ = instance.placements
    asked = float(instance.count @ instance.workers)
    part = instance.devices[device] / max(asked, instance.all_devices)
    share = np.where(second < 0, instance.count[first] * part, 0.0)
    return within_limits(instance, first, second, device, share)


def answer_table(
    instance: Accelerators, solution: TimeShares, most: int | None = None
) -> AnswerTable:
    """Table of the time share of each type or pair on each kind of device, largest first."""
    types = labels("type", instance.names, instance.types)
    kinds = labels("device", instance.device_names, len(instance.devices))
    rows = []
    for row in np.argsort(-solution.share, kind="stable").tolist():
        first, second = int(solution.first[row]), int(solution.second[row])
        beside = "alone" if second < 0 else types[second]
        share = float(solution.share[row])
        rows.append((types[first], beside, kinds[int(solution.device[row])], share))
    used = float(instance.workers[solution.first] @ solution.share)
    paired = float(solution.share[solution.second >= 0].sum())
    sentence = f"{used:.6g} of {instance.all_devices} devices are in use"
    sentence += f", {paired:.6g} pairs at a time" if paired else ", every job alone"
    return AnswerTable(
        sentence, ("job", "beside", "device", "at a time"), tuple(rows[:most]), len(rows)
    )
