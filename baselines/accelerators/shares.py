"""Policies that divide the cluster into fixed parts for jobs, pairs of jobs, or many jobs (POP)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.accelerators.feasible import (
    isolated_shares,
    proportional_shares,
    rates,
    within_limits,
)
from ...instances.accelerators.instance import Accelerators, Booleans, Floats, Integers, TimeShares
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.accelerators.max_min import max_min
from ...solvers.outcome import Clock


@validate_options
def isolated(instance: Accelerators) -> TimeShares:
    """Every job alone in its own 1/n of the cluster, n the number of jobs.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "isolated")
    >>> round(result.objective, 6)
    0.5
    """
    return isolated_shares(instance)


@validate_options
def proportional(instance: Accelerators) -> TimeShares:
    """Every job alone for the same part of its time on each kind of device, in proportion to the
    devices of the kind.

    Where all jobs need one worker this is `isolated`; else who needs more workers has more of the
    devices.

    Notes
    -----
    Gavel (OSDI 2020), section 4.1, its equal allocation; the part is the largest that all jobs can
    have at once.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "proportional")
    >>> round(result.objective, 6)
    0.5
    """
    return proportional_shares(instance)


@validate_options
def gandiva(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    redraws: Annotated[int, AtLeast(0)] = 0,
) -> TimeShares:
    """Jobs in random pairs, each pair with the same part of the cluster (Gandiva's packing).

    Where there are devices for all jobs, every job runs alone, as `proportional`. Else jobs that
    need equally many workers are paired at random, and each pair, and who is left, has one part of
    the workers of every kind, at most all of its time. A pair has nothing of a kind on which it
    does not fit.

    Parameters
    ----------
    rng : draws the pairs.
    redraws : how often the jobs of pairs are drawn again whose throughputs, each over that alone,
        are together less than 1, on average over the devices.

    Notes
    -----
    Xiao et al., Gandiva (OSDI 2018), as Gavel and POP compare with it, whose first allocation has
    no redraws. O(n log n).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "Gandiva", seed=0)
    >>> print(result.status, round(result.objective, 4))
    feasible 0.6667
    """
    if int(instance.count @ instance.workers) <= instance.all_devices:
        return proportional(instance)
    pairs = random_pairs(instance, rng or np.random.default_rng(0), redraws)
    kinds, number = np.unique(pairs, axis=0, return_counts=True)
    workers = instance.workers[kinds[:, 0]]
    part = instance.devices / (len(pairs) * workers[:, None])
    part /= np.maximum(part.sum(axis=1, keepdims=True), 1.0)
    # where a pair, or a job alone, may run
    row, device = np.nonzero(~np.isnan(pair_rates(instance, kinds)).any(axis=0))
    first, second = kinds[row].T
    return within_limits(instance, first, second, device, number[row] * part[row, device])


def random_pairs(instance: Accelerators, rng: np.random.Generator, redraws: int = 0) -> Integers:
    """Types (m, 2) of jobs in random pairs, the second -1 for a single job."""
    waiting = np.repeat(np.arange(instance.types), instance.count)
    done: list[Integers] = []
    for turn in range(redraws + 1):
        drawn = _drawn(instance, waiting, rng)
        again = np.zeros(len(drawn), dtype=bool) if turn == redraws else _losing(instance, drawn)
        done.append(drawn[~again])
        waiting = drawn[again].ravel()
        if not len(waiting):
            break
    return np.concatenate(done)


def _drawn(instance: Accelerators, jobs: Integers, rng: np.random.Generator) -> Integers:
    """Random pairs of jobs (types) that need equally many workers."""
    order = rng.permutation(jobs)
    found: list[Integers] = [np.empty((0, 2), dtype=np.int64)]
    for size in np.unique(instance.workers[order]).tolist():
        own = order[instance.workers[order] == size]
        own = np.append(own, -1) if len(own) % 2 else own
        pairs = np.sort(own.reshape(-1, 2), axis=1)
        found.append(np.where(pairs[:, :1] < 0, pairs[:, ::-1], pairs))
    return np.concatenate(found)


def pair_rates(instance: Accelerators, pairs: Integers) -> Floats:
    """Steps a second (2, m, D) of both jobs of each pair; NaN for an impossible pair."""
    kinds = len(instance.devices)
    shares = TimeShares(
        np.repeat(pairs[:, 0], kinds),
        np.repeat(pairs[:, 1], kinds),
        np.tile(np.arange(kinds), len(pairs)),
        np.zeros(len(pairs) * kinds),
    )
    return np.array(rates(instance, shares)).reshape(2, len(pairs), kinds)


def _losing(instance: Accelerators, pairs: Integers) -> Booleans:
    """Whether each pair (m,) does less together than one job alone, on average over devices."""
    kinds, place = np.unique(pairs, axis=0, return_inverse=True)
    alone = np.array([instance.alone[kinds[:, 0]], instance.alone[kinds[:, 1]]])
    rate = np.nan_to_num(pair_rates(instance, kinds))
    gain = np.divide(rate, alone, out=np.zeros_like(rate), where=alone > 0).sum(axis=0)
    less = gain @ instance.devices < instance.all_devices
    return np.asarray((less & (kinds[:, 1] >= 0))[place.reshape(-1)])


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
