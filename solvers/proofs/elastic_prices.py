"""Proofs of elastic jobs: integer prices of devices, or a tree for a small instance.

The theorems stand above `Jobs.most` and `Jobs.too_few` in the verifier.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ...instances.problem.proof import Proof, multipliers
from ...verify.elastic import Jobs
from ..outcome import Status
from . import Task, checked_proof, claimed_if_refused, patience, strongest_proof
from .rounding import option, over_common
from .tree import propagation_steps

DIGITS = 10**15
"""The largest price, in whole numbers."""

NICE = (1, 10, 10**2, 10**4)
"""Round data have round prices: these denominators may meet them exactly."""

MOST_NODES = 4_000
"""Cases of a tree after which it is given up."""


def elastic_prices(task: Task) -> Proof:
    """Proof of `optimal` and `max-min` of elastic jobs: integer prices of devices, or a tree."""
    certificate = task.outcome.certificate
    if "prices" not in certificate:
        return strongest_proof(task, [()])
    step: dict[str, Any] = {"kind": "prices"}
    if task.method == "max-min":
        step["least"] = option(certificate["ruled_out"])
    grids = _grids(certificate["prices"])
    best = strongest_proof(task, [(), *([{**step, "prices": numbers}] for numbers in grids)])
    level = best.levels[0]
    if task.outcome.status is Status.OPTIMAL and level.bound != level.value:
        with claimed_if_refused(), patience():
            given = Jobs(task.case())
            program = given.program()
            tree = propagation_steps(
                program, (given.gains, -given.total - 1), task.clock, None, MOST_NODES,
                bound=given.total,
            )  # fmt: skip
            best = checked_proof(task, tree) if tree else best
    return best


def _grids(prices: list[float]) -> list[dict[str, Any]]:
    """Integer prices to try: rounded up to many digits, and near fractions of few digits."""
    exact = [Fraction(price) for price in prices]
    over = max(1, int(DIGITS / max(*exact, Fraction(1, DIGITS))))
    found = [multipliers([math.ceil(price * over) for price in exact], over)]
    for grid in NICE:
        found.append(multipliers(*over_common(price.limit_denominator(grid) for price in exact)))
    return found
