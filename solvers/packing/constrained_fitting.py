"""Greedy packers of all requests that keep the rules on where VMs may run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...instances.packing.instance import Integers
from .bounds import volume_bound
from .constrained import Room, Ruled
from .fitting import Counts, decreasing, preference

FIRST_ROWS = 1000
"""Servers that there is room for at first; four times as many where they do not suffice."""

MOST_STEPS = 5_000_000_000
"""VMs times servers up to which VMs are placed one by one."""


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
    from .constrained_kernels import place_vms

    share = 1.0 / np.maximum(problem.capacity, 1)
    mode = ("first", "best", "random").index(rule)
    draw = np.zeros(len(order)) if rng is None else rng.random(len(order))

    def pack(room: Room) -> int:
        opened = preference(problem)
        return int(place_vms(problem.arrays, room, 0, order, mode, draw, opened, share))

    return _packed(problem, pack)


def fill_ruled(problem: Ruled, rule: Literal["dot", "L2"]) -> Counts | None:
    """Fill one server after the other by a rule on vectors, as `fitting.fill` does; None when
    servers or zones do not allow it.
    """
    from .constrained_kernels import fill_by

    total = (problem.demand * problem.request[:, None]).sum(axis=0)
    weight = total / np.maximum(problem.capacity.max(axis=0), 1)
    scale = np.sqrt(weight / max(float(weight.max()), 1e-12))[None, :] / np.maximum(
        problem.capacity, 1
    )

    def pack(room: Room) -> int:
        norm, opened = rule == "L2", preference(problem)
        return int(fill_by(problem.arrays, room, problem.request, scale, norm, opened))

    return _packed(problem, pack)


def runs(problem: Ruled, order: Integers | None = None) -> Integers:
    """(n,) type of each VM, type by type; the largest first when no order is given."""
    types = decreasing(problem) if order is None else order
    return np.repeat(types, problem.request[types])


def large(problem: Ruled) -> bool:
    """Whether packers that go VM by VM would take minutes."""
    return problem.vms * volume_bound(problem) > MOST_STEPS


def _packed(problem: Ruled, pack: Callable[[Room], int]) -> Counts | None:
    """Run a packer with room for some servers, and for more as long as they do not suffice."""
    most = int(min(problem.limit.sum(), problem.vms))
    rows = min(most, FIRST_ROWS)
    while True:
        room = empty_room(problem, rows)
        used = pack(room)
        if used >= 0:
            return room.vms[:used], room.kind[:used]
        if rows == most:
            return None
        rows = min(most, 4 * rows)


def empty_room(problem: Ruled, rows: int) -> Room:
    """Room for so many servers, none of them open."""
    arrays = problem.arrays
    return Room(
        vms=np.zeros((rows, problem.types), dtype=np.int64),
        kind=np.zeros(rows, dtype=np.int64),
        free=np.zeros((rows, problem.demand.shape[1]), dtype=np.int64),
        group_count=np.zeros((rows, len(arrays.group_most)), dtype=np.int64),
        total=np.zeros(arrays.row_cap.shape, dtype=np.int64),
        left=problem.limit.copy(),
    )
