"""Proofs of elastic jobs: prices of devices in whole numbers, or a tree of a small instance.

The theorems stand above `Jobs.most` and `Jobs.too_few` in the verifier.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ...instances.problem.proof import Proof, multipliers
from ...verify.elastic import Jobs
from ...verify.reading import Refused
from ..outcome import Status
from . import Task, checked_proof, claimed_if_refused, patience
from .rounding import as_written, option, over_common
from .tree import propagation_steps

DIGITS = 10**15
"""The largest price, in whole numbers."""

NICE = (1, 10, 10**2, 10**4)
"""Round data have round prices: these denominators may meet them exactly."""

MOST_NODES = 4_000
"""Cases of a tree after which it is given up."""


def elastic_prices(task: Task) -> Proof:
    """Of `optimal` and `max-min`."""
    certificate = task.outcome.certificate
    with claimed_if_refused():
        best = checked_proof(task, [])
    if "prices" not in certificate:
        return best
    fields = {}
    if task.method == "max-min":
        fields = {"least": option(as_written(certificate["ruled_out"]))}
    for numbers in _grids(certificate["prices"]):
        try:
            with patience():
                proof = checked_proof(task, [{"kind": "prices", "prices": numbers, **fields}])
        except Refused:  # rounded prices may rule out nothing
            continue
        bound, before = proof.levels[0].bound, best.levels[0].bound
        if before is None or (bound is not None and bound < before):
            best = proof
    level = best.levels[0]
    if task.outcome.status is Status.OPTIMAL and level.bound != level.value:
        with claimed_if_refused(), patience():
            given = Jobs(task.case())
            program = given.program()
            step = propagation_steps(
                program, (given.gains, -given.total - 1), task.clock, None, MOST_NODES,
                bound=given.total,
            )  # fmt: skip
            best = checked_proof(task, step) if step else best
    return best


def _grids(prices: list[float]) -> list[dict[str, Any]]:
    """The prices rounded up to many digits, and to small denominators."""
    exact = [Fraction(price) for price in prices]
    over = max(1, int(DIGITS / max(*exact, Fraction(1, DIGITS))))
    found = [multipliers([math.ceil(price * over) for price in exact], over)]
    for grid in NICE:
        found.append(multipliers(*over_common(price.limit_denominator(grid) for price in exact)))
    return found
