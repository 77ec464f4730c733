"""Greedy packers that respect placement rules, if there are any: first fit, best fit, dot product,
square norm, random fit.

They open servers in one order of classes: cheapest per capacity first, capacity being the sum over
resources of the share of all demand that one server could take; ties to the lowest class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from ...instances.packing.instance import Integers
from .bounds import volume_bound
from .presolve import Counts, Reduced
from .rule_arrays import Room, empty_room

MOST_RECOLORED = 2_000_000
"""Servers in use times servers there are up to which VMs get cheaper ones."""

FIRST_ROWS = 1000
"""Servers that there is room for at first; four times as many where they do not suffice."""

MOST_STEPS = 5_000_000_000
"""VMs times servers up to which VMs are placed one by one."""


def fit(
    problem: Reduced,
    order: Integers,
    number: Integers | None = None,
    *,
    rule: Literal["first", "best", "random"] = "first",
    rng: np.random.Generator | None = None,
) -> Counts | None:
    """Place runs of equal VMs, each on the first, the fullest or a random server that can take it;
    None if servers or zones are exhausted.

    The fullest is measured by the free shares of a server's capacity added up; ties to the first. A
    VM that rules keep out of all servers waits for the next ones to be placed: a skew may let it in
    then.

    Parameters
    ----------
    order, number : (r,) type of each run, and how many VMs it has; all of its type when not given.
    rng : for "random".
    """
    from . import fitting_kernels as kernels

    opened, share = preference(problem), 1.0 / np.maximum(problem.capacity, 1)
    times = problem.request[order] if number is None else number
    draw = np.zeros(0) if rng is None else rng.random(int(times.sum()))
    if rule == "random" and not problem.ruled:
        each = np.repeat(order, times)
        return _packed(
            problem,
            lambda room: kernels.place_at_random(problem.arrays, room, each, draw, opened),
        )
    mode = ("first", "best", "random").index(rule)
    return _packed(
        problem,
        lambda room: kernels.place_runs(
            problem.arrays, room, order, times, mode, draw, opened, share, not problem.ruled
        ),
    )


def fill(problem: Reduced, rule: Literal["dot", "L2"]) -> Counts | None:
    """Fill one server after the other by a vector rule (dot product or norm); None if servers or
    zones are exhausted.

    Parameters
    ----------
    rule : "dot", the largest weighted dot product with what is free; "L2", the least weighted norm
        of what is left. A resource weighs the total demand for it over the capacity of a server.
    """
    from .fitting_kernels import fill_servers

    total = (problem.demand * problem.request[:, None]).sum(axis=0)
    weight = total / np.maximum(problem.capacity.max(axis=0), 1)
    scale = np.sqrt(weight / max(float(weight.max()), 1e-12))[None, :] / np.maximum(
        problem.capacity, 1
    )
    norm, opened, plain = rule == "L2", preference(problem), not problem.ruled
    return _packed(
        problem,
        lambda room: fill_servers(
            problem.arrays, room, problem.request, scale, norm, opened, plain
        ),
    )


def runs(problem: Reduced) -> Integers:
    """Type of each VM, shape (n,), type by type."""
    return np.repeat(np.arange(problem.types), problem.request)


def large(problem: Reduced) -> bool:
    """Return whether packers that place VM by VM would take minutes."""
    servers = volume_bound(replace(problem, price=np.ones_like(problem.price)))
    return problem.vms * servers > MOST_STEPS


def preference(problem: Reduced) -> Integers:
    """Order in which server classes are opened, shape (p,)."""
    total = np.maximum((problem.demand * problem.request[:, None]).sum(axis=0), 1)
    volume = (problem.capacity / total).sum(axis=1)
    return np.argsort(problem.price / volume, kind="stable")


def decreasing(problem: Reduced) -> Integers:
    """Types by decreasing size (sum of shares of the largest capacities), ties by index, shape
    (s,).
    """
    size = (problem.demand / np.maximum(problem.capacity.max(axis=0), 1)).sum(axis=1)
    return np.argsort(-size, kind="stable")


def trimmed(count: Integers, kind: Integers, request: Integers) -> Counts:
    """Remove surplus VMs from the last servers that hold them, and servers that hold none."""
    before = np.cumsum(count, axis=0) - count
    kept = np.clip(request - before, 0, count)
    full = kept.any(axis=1)
    return kept[full], kind[full]


def recolored(problem: Reduced, counts: Counts) -> Counts:
    """Assign the same groups of VMs to the cheapest servers that can hold them: an assignment
    problem.
    """
    from scipy.optimize import linear_sum_assignment

    count, kind = counts
    limit = np.minimum(problem.limit, len(kind))
    if (problem.price == problem.price[0]).all() or len(kind) * limit.sum() > MOST_RECOLORED:
        return counts
    server = np.repeat(np.arange(len(limit)), limit)
    price = problem.price.astype(float)
    cost = np.where(problem.able(count, kind), price, price.sum() * len(kind) + 1.0)
    return count, server[linear_sum_assignment(cost[:, server])[1]]


def _packed(problem: Reduced, pack: Callable[[Room], int]) -> Counts | None:
    """Run a packer with space for some servers, and again with more while they do not suffice."""
    most_rows = int(min(problem.limit.sum(), problem.vms))
    rows = min(most_rows, FIRST_ROWS)
    while True:
        room = empty_room(problem.arrays, problem.limit, rows)
        used = pack(room)
        if used >= 0:
            return room.vms[:used], room.kind[:used]
        if rows == most_rows:
            return None
        rows = min(most_rows, 4 * rows)
