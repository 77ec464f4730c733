"""Cores of jobs from floats to fractions that overfill no server, and the verifier's case of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import verify
from ...instances.problem.proof import multipliers
from . import Task
from .rounding import on_grid

Floats = npt.NDArray[np.float64]

FULL = 1e-9
"""A server that gives all its cores but for this fraction is meant to give all of them."""

ATTEMPTS = ((10, False), (10, True), (13, False), (13, True), (16, False), (16, True))
"""Decimals of cores, and whether tangents get points of their own: the first that proves enough
makes the smallest file.
"""


def fractional_cores(task: Task, cores: Floats, digits: int) -> dict[str, Any]:
    """Cores (k,) with at most this many decimals, more where servers are smaller than a core.

    What rounding leaves over on a server that is meant to be full, or takes too much, its largest
    job gets or gives.
    """
    market = task.instance
    digits += max(0, -int(np.floor(np.log10(market.capacity.min()))))
    over = 10**digits
    numbers = on_grid(np.maximum(cores, 0.0), over)
    for job in np.flatnonzero(market.useful & (cores > 0)).tolist():
        numbers[job] = max(1, numbers[job])  # a sliver may be all that a job with f near 0 needs
    written, unit = verify.scaled(list(task.document["capacity"]), "capacity")  # type: ignore[call-overload]
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


def points(cores: Floats, over: int) -> dict[str, Any]:
    """Points of tangents near some cores, above 0: at 0 the tangent of a job with f near 0 is
    steep beyond all use.
    """
    return multipliers([max(1, number) for number in on_grid(cores, over)], over)


def case_of(
    task: Task,
    witness: Mapping[str, Any],
    options: Mapping[str, Any],
    *levels: Iterable[Mapping[str, Any]],
) -> verify.ProofCase:
    """What the verifier's checker will get: this answer, these options, and the steps of each
    level.
    """
    return verify.ProofCase(
        dict(task.document),
        dict(options),
        dict(witness),
        [[dict(s) for s in one] for one in levels],
    )
