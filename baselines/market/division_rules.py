"""Policies that share each server by a rule, without a market: ES, PF, G-I, G-II."""

from __future__ import annotations

import heapq
from typing import Annotated

import numpy as np

from ...instances.market.instance import (
    Allocation,
    Floats,
    Integers,
    Market,
    ratio,
    require_memory,
    total_by,
)
from ...instances.market.sharing import equal_cores
from ...instances.market.utility import speedup
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, validate_options
from ...solvers.filtering import fill, sample_mask
from ...solvers.market.rounding import Rounding, round_cores
from ...solvers.market.utilitarian import greedy_cores
from ...solvers.outcome import Outcome, Status

_COLUMNS = 128  # core counts profiled at most; more cores are interpolated between
_MOST_STEPS = 20_000_000


@validate_options
def equal_share(
    instance: Market, *, time_limit: float | None = None, rounding: Rounding = "none"
) -> Allocation | Outcome:
    """ES: a server's cores split equally among the jobs on it.

    The thesis (section 3.4.1) apportions "to applications equally"; jobs of work 0 get nothing
    here. It does not say how whole cores come about: fractions by default, see `rounding`. With
    "least-envy", which may be cut short, an Outcome that says why it stopped.

    Parameters
    ----------
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.
    time_limit : seconds, for "least-envy".

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "ES", rounding="largest-remainder")
    >>> print(result.status, round(result.objective, 3))
    feasible 15.591
    """
    return _rounded(instance, equal_cores(instance), rounding, time_limit)


@validate_options
def proportional_share(
    instance: Market, *, time_limit: float | None = None, rounding: Rounding = "none"
) -> Allocation | Outcome:
    """PF: a server's cores split in proportion to the jobs' parallel fractions.

    Thesis section 3.4.1. A server whose useful jobs all have f = 0 is split equally: the text does
    not say. With `rounding` "least-envy", which may be cut short, an Outcome that says why it
    stopped.

    Parameters
    ----------
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.
    time_limit : seconds, for "least-envy".

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "PF")
    >>> print(result.status, round(result.objective, 3))
    feasible 16.443
    """
    weight = np.where(instance.useful, instance.parallel_fraction, 0.0)
    total = total_by(instance.server, weight, instance.servers)
    share = ratio(instance.capacity, total)
    cores = np.where(
        (total > 0)[instance.server], weight * share[instance.server], equal_cores(instance)
    )
    return _rounded(instance, cores, rounding, time_limit)


@validate_options
def greedy_oracle(instance: Market) -> Allocation:
    """G-II: each core in turn to the job whose utility it raises most, utilities known.

    Thesis section 3.4.1. Exact for whole cores (`utilitarian` with `whole` proves it and gives the
    bound); ties go to the lowest job, which the text leaves open.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "G-II")
    >>> print(result.status, round(result.objective, 3))
    feasible 17.766
    """
    return greedy_cores(instance)


def _rounded(
    market: Market, cores: Floats, rounding: Rounding, time_limit: float | None
) -> Allocation | Outcome:
    """Allocation with shares rounded to integer cores if requested, and why rounding stopped."""
    allocation, stop = round_cores(market, Allocation(cores), rounding, time_limit)
    return (
        Outcome(allocation, None, Status.FEASIBLE, stop) if rounding == "least-envy" else allocation
    )


@validate_options
def greedy_filtered(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
    sampled: Annotated[float, Above(0, "a share", most=1)] = 0.2,
) -> Allocation:
    """G-I: each core in turn to the job whose predicted utility it raises most.

    Thesis section 3.4.1: performance is profiled at 20 % of all (application, core count) pairs,
    drawn at random, and a collaborative filter fills in the rest; utilities are its ratings. The
    thesis's filter is a library's; ours is `solvers.filtering.fill`, item-based, with core counts
    as items. Profiles are taken to be exact (Amdahl's law, no noise). What the text leaves open:
    rows are jobs; core counts are 1, 2, ... up to the largest server, or 128 of them, evenly spread
    on a logarithmic scale and interpolated between; a predicted curve may fall, and every core is
    given away nevertheless, ties to the lowest job.

    Parameters
    ----------
    rng : draws the sample; `default_rng(0)` when not given.
    sampled : share of the pairs that is profiled, above 0 and at most 1.

    Raises
    ------
    InvalidOption
        A share out of range, or more cores than a greedy can give away one by one.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "G-I")
    >>> print(result.status, round(result.objective, 3))
    feasible 15.486
    """
    total = np.floor(instance.capacity + 1e-9).astype(np.int64)
    if total.sum() > _MOST_STEPS:
        raise InvalidOption(
            f"G-I gives cores one by one; the market has {total.sum()}, {_MOST_STEPS} at "
            "most; use utilitarian"
        )
    jobs = np.flatnonzero(instance.useful)
    if len(jobs) == 0 or total.max() < 1:
        return Allocation(np.zeros(instance.jobs))
    # all core counts up to the most of a server are profiled, or 128 of them
    most = int(total.max())
    counts = np.arange(1, most + 1)
    if most > _COLUMNS:
        counts = np.unique(np.round(np.geomspace(1, most, _COLUMNS)).astype(np.int64))
    require_memory(
        60.0 * len(jobs) * len(counts),
        f"the filter of {len(jobs)} jobs at {len(counts)} core counts",
    )
    true = instance.work[jobs, None] * speedup(
        counts[None, :].astype(float), instance.parallel_fraction[jobs, None]
    )
    mask = sample_mask(true.shape, sampled, rng or np.random.default_rng(0))
    predicted = fill(true, mask)
    return Allocation(_greedy(instance, jobs, total, counts, predicted))


def _greedy(
    market: Market, jobs: Integers, total: Integers, counts: Integers, predicted: Floats
) -> Floats:
    """Give each server's cores one by one to the largest gain on predicted speedup curves."""
    points = np.concatenate([[0], counts])
    cores = np.zeros(market.jobs)
    order = np.argsort(market.server[jobs], kind="stable")
    ends = np.cumsum(np.bincount(market.server[jobs], minlength=market.servers))
    for index, (end, left) in enumerate(zip(ends.tolist(), total.tolist(), strict=True)):
        here = order[(ends[index - 1] if index else 0) : end]
        if len(here) == 0:
            continue
        curves = [
            np.interp(np.arange(left + 1), points, np.concatenate([[0.0], predicted[row]])).tolist()
            for row in here
        ]
        given_cores = [0] * len(here)
        queue = [(curve[0] - curve[min(1, left)], number) for number, curve in enumerate(curves)]
        heapq.heapify(queue)
        for _ in range(left):
            _, number = heapq.heappop(queue)
            given_cores[number] += 1
            have, curve = given_cores[number], curves[number]
            if have < left:
                heapq.heappush(queue, (curve[have] - curve[have + 1], number))
        cores[jobs[here]] = given_cores
    return cores
