"""Rules shared by all admission methods: which free cores a job takes, its speed there, and the
rankings of jobs and VMs.

A job takes free cores in order of decreasing speed (ties: the lowest core type) until it has its
threads or none is left; its speed is their sum (section III.B, step 1). Every VM ranks jobs by
threads, most first, ties to the lowest job (the paper assumes no indifference, but thread counts
tie all the time in its own ranges).

Any nonnegative prices of cores bound the total speed.

Let every core of type c on VM v cost p[v, c]. A job that may take any cores of one VM at these
prices, however many others want them, gains at most

    m[j, v] = max { sum over c of (speed[j, c] - p[v, c]) y[c] : 0 <= y[c] <= cores[v, c], sum of y
    <= threads[j] },

found by taking cores in order of speed less price. Whatever the assignment, its total speed is at
most

    sum over v, c of p[v, c] cores[v, c]  +  sum over j of max(0, max over v of m[j, v]):

the speed of the cores held is what the jobs gain plus what they pay, and nobody pays for a core
twice. The least such bound over all prices is that of the linear relaxation of `models.admission`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..problem.fields import shaped
from ..problem.option_types import validate_options
from .instance import Admission, Assignment, Booleans, Floats, Integers

SCHEMES = ("SM", "DA1", "DA2", "proposed")
"""The four schemes of Hines and Romano, in their tables' order, by catalogue name."""

STRICTLY = 1e-9
"""A job is strictly faster elsewhere when it gains more than this, relative to its speed there."""


@dataclass(frozen=True)
class BlockingPairs:
    """Blocking pairs (job, VM) of an assignment of jobs to VMs.

    Attributes
    ----------
    job, machine : (K,) the pairs, sorted by job, then VM.
    """

    job: Integers
    machine: Integers

    @property
    def count(self) -> int:
        """Number of blocking pairs."""
        return len(self.job)


def core_order(speed: Floats) -> Integers:
    """(J, C) core types in each job's order of decreasing speed, ties to the lowest type."""
    order: Integers = np.argsort(-speed, axis=1, kind="stable")
    return order


def job_ranking(threads: Integers) -> Integers:
    """Jobs (J,) as every VM ranks them: decreasing threads, ties to the lowest job."""
    order: Integers = np.argsort(-threads, kind="stable")
    return order


def taken(free: Integers, order: Integers, threads: int) -> Integers:
    """Number of free cores of each type that a job takes, its fastest types first.

    Parameters
    ----------
    free : (..., C) free cores.
    order : (C,) the job's core types, fastest first.
    threads : the most it takes.
    """
    ordered = free[..., order]
    before = np.cumsum(ordered, axis=-1) - ordered
    result = np.empty_like(free)
    result[..., order] = np.clip(threads - before, 0, ordered)
    return result


def speed_on(free: Integers, speed: Floats, order: Integers, threads: int) -> Floats:
    """Speed (V,) of one job on the free cores (V, C) of each VM; 0 on a VM without free cores.

    Added up core type by core type, fastest first, so that the same free cores give the same float
    in every scheme.
    """
    cores = taken(free, order, threads)
    total = np.zeros(len(free))
    for c in order.tolist():
        total += speed[c] * cores[:, c]
    return total


_BLOCK = 1_000_000  # entries of the arrays that are looked at at once


@validate_options
def speeds_on(instance: Admission, free: Integers, jobs: Integers | None = None) -> Floats:
    """(J, V) speed of each job (or of `jobs`) on the free cores (V, C) of each VM; O(J V C)."""
    shaped("free", free, len(free), instance.cores.shape[1])
    chosen = np.arange(instance.jobs) if jobs is None else jobs
    found = np.zeros((len(chosen), len(free)))
    orders, kind = np.unique(core_order(instance.speed[chosen]), axis=0, return_inverse=True)
    step = max(1, _BLOCK // max(1, len(free)))
    for number, order in enumerate(orders):
        alike = np.flatnonzero(kind.reshape(-1) == number)
        for first in range(0, len(alike), step):
            rows = alike[first : first + step]
            threads, speed = instance.threads[chosen[rows]], instance.speed[chosen[rows]]
            # added up fastest first, as in `speed_on`
            left = np.repeat(threads[:, None], len(free), axis=1)
            for c in order.tolist():
                cores = np.minimum(left, free[:, c])
                found[rows] += speed[:, c, None] * cores
                left -= cores
    return found


@validate_options
def speeds_at_home(instance: Admission, jobs: Integers, machine: Integers) -> Floats:
    """Speed (K,) of each of the given jobs when it alone uses the VM given for it."""
    order = core_order(instance.speed[jobs])
    found, left = np.zeros(len(jobs)), instance.threads[jobs].copy()
    rows = np.arange(len(jobs))
    for c in order.T:
        cores = np.minimum(left, instance.cores[machine, c])
        found += instance.speed[jobs, c][rows] * cores
        left -= cores
    return found


@validate_options
def job_speeds(instance: Admission, assignment: Assignment) -> Floats:
    """Speed (J,) of each job on the cores it holds; 0 for a job that is not assigned."""
    speeds: Floats = (instance.speed * assignment.cores).sum(axis=1)
    return speeds


@validate_options
def total_speed(instance: Admission, assignment: Assignment) -> float:
    """Sum of the speeds of all jobs: the objective of `optimal`."""
    return float(job_speeds(instance, assignment).sum())


@validate_options
def blocking_pairs(instance: Admission, assignment: Assignment) -> BlockingPairs:
    """Pairs (job j, VM v) that block: j is not at v and would be strictly faster there (Definition
    4).

    What v offers j are its cores that are free or held by jobs it ranks below j; what jobs ranked
    above j hold is not offered. Strictly: by more than `STRICTLY`. O(J V C).
    """
    now = job_speeds(instance, assignment)
    order = core_order(instance.speed).tolist()
    threads = instance.threads.tolist()
    offered = np.array(instance.cores.T, order="C")  # (C, V)
    blocks: Booleans = np.zeros((instance.jobs, instance.machines), dtype=bool)
    for j in job_ranking(instance.threads).tolist():
        there, left = np.zeros(instance.machines), np.full(instance.machines, threads[j])
        for c in order[j]:
            cores = np.minimum(left, offered[c])
            there += instance.speed[j, c] * cores
            left -= cores
        blocks[j] = there - now[j] > STRICTLY * there
        at = assignment.machine[j]
        if at >= 0:
            blocks[j, at] = False
            offered[:, at] -= assignment.cores[j]
    job, machine = np.nonzero(blocks)
    return BlockingPairs(job, machine)


def scale(instance: Admission, objective: str, **options: object) -> float:
    """Total speed if each job ran alone on its fastest VM: an upper bound on objectives that are
    speeds; 1 for shares and counts.
    """
    if objective != "total_speed":
        return 1.0
    return float(speeds_on(instance, instance.cores).max(axis=1).sum())


class Stopped(Exception):
    """Exception that stops a price search at its time limit."""


def gains_at_prices(
    instance: Admission, prices: Floats, over: Callable[[], bool] = lambda: False
) -> tuple[Floats, Integers]:
    """Gain of each job on each VM at prices of cores, and the cores it takes on its best VM.

    Parameters
    ----------
    prices : (V, C) price of one core, 0 or more.
    over : asked again and again; when it says so, `Stopped` is raised.

    Returns
    -------
    (J, V) m[j, v]; (J, C) cores taken on the VM of the largest gain (the lowest such VM).
    """
    gain = np.empty((instance.jobs, instance.machines))
    cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
    step = max(1, _BLOCK // (instance.machines * instance.types))
    for first in range(0, instance.jobs, step):
        if over():
            raise Stopped
        rows = slice(first, first + step)
        margin = instance.speed[rows, None, :] - prices[None]
        order = np.argsort(-margin, axis=2)
        margin = np.take_along_axis(margin, order, axis=2)
        there = np.take_along_axis(np.broadcast_to(instance.cores, margin.shape), order, axis=2)
        before = np.cumsum(there, axis=2) - there
        take = np.clip(instance.threads[rows, None, None] - before, 0, there) * (margin > 0)
        gain[rows] = (take * margin).sum(axis=2)
        best = gain[rows].argmax(axis=1)
        number = np.arange(len(best))
        block = np.zeros((len(best), instance.types), dtype=np.int64)
        np.put_along_axis(block, order[number, best], take[number, best], axis=1)
        cores[rows] = block
    return gain, cores


@validate_options
def price_bound(instance: Admission, prices: Floats) -> float:
    """Upper bound on the total speed of any assignment from prices (V, C) of cores."""
    prices = shaped("prices", prices, *instance.cores.shape)
    gain, _ = gains_at_prices(instance, prices)
    return float((prices * instance.cores).sum() + np.maximum(gain.max(axis=1), 0.0).sum())


def pair_bounds(instance: Admission, prices: Floats) -> Floats:
    """Upper bound on the total speed with job j on VM v, shape (J, V), from prices as in
    `price_bound`.
    """
    gain, _ = gains_at_prices(instance, prices)
    best = np.maximum(gain.max(axis=1), 0.0)
    bounds: Floats = (prices * instance.cores).sum() + best.sum() - best[:, None] + gain
    return bounds
