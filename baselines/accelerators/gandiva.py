"""Gandiva's packing: random pairs of jobs share devices."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.accelerators.feasible import rates, within_limits
from ...instances.accelerators.instance import Accelerators, Booleans, Floats, Integers, TimeShares
from ...instances.problem.option_types import AtLeast, validate_options
from .shares import proportional


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
