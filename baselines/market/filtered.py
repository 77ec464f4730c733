"""G-I: the greedy policy on utilities that a collaborative filter predicts from a sample."""

from __future__ import annotations

import heapq
from typing import Annotated

import numpy as np

from ...instances.market.instance import Allocation, Floats, Integers, Market, require_memory
from ...instances.market.utility import speedup
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, validate_options
from ...solvers.filtering import fill, sample_mask

_COLUMNS = 128  # core counts profiled at most; more cores are interpolated between
_MOST_STEPS = 20_000_000


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
