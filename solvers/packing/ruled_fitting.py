"""Greedy packers of all requests that keep the rules on where VMs may run."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.packing.instance import Integers
from .fitting import Counts, decreasing, preference
from .ruled import Room, Ruled

MOST_VMS = 5_000_000
"""The packers with rules go VM by VM: more are refused."""


def fit_ruled(
    problem: Ruled,
    order: Integers,
    rule: Literal["first", "best", "random"] = "first",
    rng: np.random.Generator | None = None,
) -> Counts | None:
    """Place VMs one by one, each on the first, the fullest or a drawn server that can take it; None
    when servers or zones do not allow it.

    Parameters
    ----------
    order : (n,) type of each VM. One that no server can take waits for the next ones to be placed:
        a skew that keeps it out may let it in then.
    rng : for "random".
    """
    from .ruled_kernels import place_vms

    share = 1.0 / np.maximum(problem.capacity, 1)
    draw = np.zeros(1) if rng is None else rng.random(len(order))
    mode = ("first", "best", "random").index(rule)
    draw = np.zeros(len(order)) if rng is None else draw
    room = empty_room(problem)
    used = place_vms(problem.arrays, room, 0, order, mode, draw, preference(problem), share)
    return None if used < 0 else (room.count[:used], room.kind[:used])


def fill_ruled(problem: Ruled, rule: Literal["dot", "L2"]) -> Counts | None:
    """Fill one server after the other by a rule on vectors, as `fitting.fill` does; None when
    servers or zones do not allow it.
    """
    from .ruled_kernels import fill_by

    total = (problem.demand * problem.request[:, None]).sum(axis=0)
    weight = total / np.maximum(problem.capacity.max(axis=0), 1)
    scale = np.sqrt(weight / max(float(weight.max()), 1e-12))[None, :] / np.maximum(
        problem.capacity, 1
    )
    room = empty_room(problem)
    used = fill_by(problem.arrays, room, problem.request, scale, rule == "L2", preference(problem))
    return None if used < 0 else (room.count[:used], room.kind[:used])


def runs(problem: Ruled, order: Integers | None = None) -> Integers:
    """(n,) type of each VM, type by type; the largest first when no order is given."""
    types = decreasing(problem) if order is None else order
    return np.repeat(types, problem.request[types])


def empty_room(problem: Ruled, servers: int | None = None) -> Room:
    """Room for so many servers, or as many as an answer could use, none of them open."""
    rows = int(min(problem.limit.sum(), problem.vms)) if servers is None else servers
    arrays = problem.arrays
    return Room(
        count=np.zeros((rows, problem.types), dtype=np.int64),
        kind=np.zeros(rows, dtype=np.int64),
        free=np.zeros((rows, problem.demand.shape[1]), dtype=np.int64),
        held=np.zeros((rows, len(arrays.group_most)), dtype=np.int64),
        total=np.zeros(arrays.row_cap.shape, dtype=np.int64),
        left=problem.limit.copy(),
    )
