"""POP: the cluster is divided into parts, and each part is solved separately."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.accelerators.feasible import within_limits
from ...instances.accelerators.instance import Accelerators, Integers, TimeShares
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.accelerators.max_min import max_min
from ...solvers.outcome import Clock


@validate_options
def partitioned(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    parts: Annotated[int, AtLeast(1)] = 2,
) -> TimeShares:
    """Jobs and devices divided into parts at random, each solved by max-min fairness (POP).

    Parameters
    ----------
    rng : draws the parts of jobs; the devices of each kind are divided as evenly as can be.
    time_limit : seconds, for all parts together.
    parts : how many; no more than there are jobs or devices.

    Notes
    -----
    Narayanan et al., POP (SOSP 2021), section 3. Its point is time: a part has a k-th of the jobs.
    Over types it saves nothing; here it is to be compared with.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "POP", seed=0)
    >>> print(result.status, round(result.objective, 4))
    feasible 0.6319
    """
    parts = min(parts, instance.jobs, instance.all_devices)
    draw, clock = rng or np.random.default_rng(0), Clock(time_limit)
    order = draw.permutation(np.repeat(np.arange(instance.types), instance.count))
    jobs = [np.bincount(own, minlength=instance.types) for own in np.array_split(order, parts)]
    return solved_in_parts(instance, jobs, _divided(instance.devices, parts), clock)


def solved_in_parts(
    instance: Accelerators, jobs: list[Integers], devices: list[Integers], clock: Clock
) -> TimeShares:
    """Max-min fair time shares of each part of jobs (T,) on its own devices (D,), joined."""
    found: list[TimeShares] = []
    for own, kinds in zip(jobs, devices, strict=True):
        fits = (instance.workers[:, None] <= kinds) & (instance.throughput > 0)
        count = np.where(fits.any(axis=1), own, 0)
        if count.any():
            outcome = max_min(instance.replace(count=count, devices=kinds), time_limit=clock.left)
            assert isinstance(outcome.solution, TimeShares)
            found.append(outcome.solution)
    rows = [np.column_stack([one.first, one.second, one.device]) for one in found]
    every = np.concatenate([*rows, np.empty((0, 3), dtype=np.int64)])
    share = np.concatenate([*(one.share for one in found), np.empty(0)])
    keys, place = np.unique(every, axis=0, return_inverse=True)
    total = np.bincount(place.reshape(-1), weights=share, minlength=len(keys)).astype(float)
    first, second, device = keys.T
    return within_limits(instance, first, second, device, total)


def _divided(devices: Integers, parts: int) -> list[Integers]:
    """Divide the devices of each kind over parts whose sizes differ by at most one."""
    ends = np.cumsum(devices) - devices
    number = np.arange(parts)[:, None]
    over = (number - ends) % parts < devices % parts
    return list(devices // parts + over)
