"""Greedy packers of all requests: first fit, best fit, dot product, square norm, random fit.

They open servers in one order of classes: cheapest per capacity first, capacity being the sum over
resources of the share of all demand that one server could take; ties to the lowest class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...instances.packing.instance import Floats, Integers
from .presolve import Reduced

MOST_RECOLORED = 2_000_000
"""Servers in use times servers there are up to which VMs get cheaper ones."""

Counts = tuple[Integers, Integers]
"""(n, s) VMs of each type on each server, and (n,) the servers' classes, of a `Reduced`."""


def fit(
    problem: Reduced, order: Integers, number: Integers, *, best: bool = False
) -> Counts | None:
    """Place runs of VMs, each on the first (or the fullest) server where it fits; None when servers
    run out.

    Parameters
    ----------
    order, number : (r,) type of each run, and how many VMs it has.
    best : fullest, measured by the free shares of a server's capacity added up; ties to the first.
    """
    from .fitting_kernels import place_runs

    share = 1.0 / np.maximum(problem.capacity, 1)
    preferred = preference(problem)

    def pack(count: Integers, kind: Integers, free: Integers) -> int:
        return int(
            place_runs(
                order,
                number,
                problem.demand,
                problem.capacity,
                problem.limit,
                preferred,
                share,
                best,
                count,
                kind,
                free,
            )
        )

    return _packed(problem, pack)


def fill(
    problem: Reduced, rule: Literal["dot", "L2"], weights: Floats | None = None
) -> Counts | None:
    """Fill one server after the other by a rule on vectors; None when servers run out.

    Parameters
    ----------
    rule : "dot", the largest weighted dot product with what is free; "L2", the least weighted norm
        of what is left.
    weights : (k,) of the resources; the total demand for each over the capacity of a server when
        not given.
    """
    from .fitting_kernels import fill_servers

    total = (problem.demand * problem.request[:, None]).sum(axis=0)
    weight = total / np.maximum(problem.capacity.max(axis=0), 1) if weights is None else weights
    scale = np.sqrt(weight / max(float(weight.max()), 1e-12))[None, :] / np.maximum(
        problem.capacity, 1
    )
    preferred = preference(problem)

    def pack(count: Integers, kind: Integers, free: Integers) -> int:
        return int(
            fill_servers(
                problem.request,
                problem.demand,
                problem.capacity,
                problem.limit,
                preferred,
                scale,
                rule == "L2",
                count,
                kind,
            )
        )

    return _packed(problem, pack)


def fit_at_random(problem: Reduced, rng: np.random.Generator) -> Counts | None:
    """Place VMs in random order, each on a server drawn among the open ones where it fits; None
    when servers run out.
    """
    from .fitting_kernels import place_at_random

    order = rng.permutation(np.repeat(np.arange(problem.types), problem.request))
    draw = rng.random(len(order))
    preferred = preference(problem)

    def pack(count: Integers, kind: Integers, free: Integers) -> int:
        return int(
            place_at_random(
                order,
                draw,
                problem.demand,
                problem.capacity,
                problem.limit,
                preferred,
                count,
                kind,
                free,
            )
        )

    return _packed(problem, pack)


def preference(problem: Reduced) -> Integers:
    """(p,) classes in the order in which servers are opened."""
    total = np.maximum((problem.demand * problem.request[:, None]).sum(axis=0), 1)
    volume = (problem.capacity / total).sum(axis=1)
    return np.argsort(problem.price / volume, kind="stable")


def decreasing(problem: Reduced) -> Integers:
    """(s,) types by decreasing size, the sum of their shares of the largest capacities; ties by
    index.
    """
    size = (problem.demand / np.maximum(problem.capacity.max(axis=0), 1)).sum(axis=1)
    return np.argsort(-size, kind="stable")


def trimmed(count: Integers, kind: Integers, request: Integers) -> Counts:
    """Without VMs beyond the request, taken from the last servers, and without servers that hold
    nothing.
    """
    before = np.cumsum(count, axis=0) - count
    kept = np.clip(request - before, 0, count)
    full = kept.any(axis=1)
    return kept[full], kind[full]


def recolored(problem: Reduced, counts: Counts) -> Counts:
    """The same VMs together on the cheapest servers that can hold them: an assignment problem."""
    from scipy.optimize import linear_sum_assignment

    count, kind = counts
    limit = np.minimum(problem.limit, len(kind))
    if (problem.price == problem.price[0]).all() or len(kind) * limit.sum() > MOST_RECOLORED:
        return counts
    server = np.repeat(np.arange(len(limit)), limit)
    price = problem.price.astype(float)
    cost = np.where(problem.able(count, kind), price, price.sum() * len(kind) + 1.0)
    return count, server[linear_sum_assignment(cost[:, server])[1]]


def _packed(problem: Reduced, pack: Callable[[Integers, Integers, Integers], int]) -> Counts | None:
    """Run a packer on arrays for some servers, and on larger ones as long as they are too small."""
    from .fitting_kernels import FULL

    most = int(min(problem.limit.sum(), problem.vms))
    room = min(most, 1000)
    while True:
        count = np.zeros((room, problem.types), dtype=np.int64)
        kind = np.zeros(room, dtype=np.int64)
        used = pack(count, kind, np.zeros((room, problem.demand.shape[1]), dtype=np.int64))
        if used != FULL:
            return None if used < 0 else (count[:used], kind[:used])
        room = min(most, 4 * room)
