"""Shared parts of market proofs: fractional cores within capacities, the fewest decimals that prove
enough, and trees over boxes of integer cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.market.instance import Floats
from ...instances.problem.proof import Level, Proof, multipliers
from ...verify.market import Boxes, Conditions
from ...verify.reading import Refused, scaled
from ..outcome import Clock
from . import Claimed, Task
from .rounding import on_grid

FULL = 1e-9
"""A server that gives all its cores but for this fraction is meant to give all of them."""

ATTEMPTS = ((10, False), (10, True), (13, False), (13, True), (16, False), (16, True))
"""Decimals of cores, and whether tangents get points of their own: the first that proves enough
makes the smallest file.
"""


def fractional_cores(task: Task, cores: Floats, digits: int) -> dict[str, Any]:
    """Cores (k,) with at most `digits` decimals (more on servers smaller than a core), within
    capacities.

    What rounding leaves over on a server that is meant to be full, or takes too much, its largest
    job gets or gives.
    """
    market = task.instance
    digits += max(0, -int(np.floor(np.log10(market.capacity.min()))))
    over = 10**digits
    numbers = on_grid(np.maximum(cores, 0.0), over)
    for job in np.flatnonzero(market.useful & (cores > 0)).tolist():
        numbers[job] = max(1, numbers[job])  # a sliver may be all that a job with f near 0 needs
    written, unit = scaled(list(task.document["capacity"]), "capacity")  # type: ignore[call-overload]
    given, largest = [0] * market.servers, [-1] * market.servers
    for job, server in enumerate(market.server.tolist()):
        given[server] += numbers[job]
        if largest[server] < 0 or numbers[job] > numbers[largest[server]]:
            largest[server] = job
    for server, job in enumerate(largest):
        most = Fraction((written[server] or 0) * over, unit)
        left = int(most // 1) - given[server]
        if job >= 0 and numbers[job] and (left < 0 or left <= FULL * most):
            numbers[job] = max(0, numbers[job] + left)
    return multipliers(numbers, over)


def best_attempt(
    task: Task,
    attempt: Callable[[int, bool], Proof],
    error: Callable[[Level], float],
    enough: float,
    attempts: Iterable[tuple[int, bool]] = ATTEMPTS,
) -> Proof:
    """Proof by the first attempt of an error of at most `enough`, else of the least error."""
    best: Proof | None = None
    with suppress(KeyboardInterrupt):  # the best by then
        for digits, own in attempts:
            try:
                proof = attempt(digits, own)
            except Refused:  # numbers beyond all measure, before there are enough decimals
                continue
            if best is None or error(proof.levels[0]) < error(best.levels[0]) / 2:
                best = proof
            if error(proof.levels[0]) <= enough or task.clock.expired:
                break
    if best is None:
        raise Claimed("numbers so unequal, or so little time, allow no fractions that prove")
    return best


def box_tree(
    boxes: Boxes,
    goals: Conditions,
    clock: Clock,
    most_nodes: int,
    look: Callable[[list[int], list[int]], dict[str, Any] | tuple[int, int] | None],
) -> list[Any] | None:
    """Nodes of a proof tree over boxes of cores; None if a box stays open or time or nodes run out.

    `look` gives of a box, which is the least and the most of each job, its leaf, or the job and the
    cores at which it is split, or None where it stays open.
    """
    stack, nodes = [boxes.root()], list[Any]()
    while stack:
        if clock.expired or len(nodes) > most_nodes:
            return None
        least, most = stack.pop()
        if not boxes.squeeze(least, most, goals):
            nodes.append([])
            continue
        node = look(least, most)
        if node is None:
            return None
        if isinstance(node, dict):
            nodes.append(node)
            continue
        job, at = node
        above, below = list(least), list(most)
        above[job], below[job] = at + 1, at
        nodes.append([job, at])
        stack += [(above, most), (least, below)]
    return nodes


def points(cores: Floats, over: int) -> dict[str, Any]:
    """Tangent points near given cores: integers over `over`, at least 1."""
    return multipliers([max(1, number) for number in on_grid(cores, over)], over)
