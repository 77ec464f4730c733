"""Proofs of colocation's answers: see the part of `verify.py` with that name for what each kind of step proves."""

from __future__ import annotations

from typing import Any

from ... import verify
from ...instances.problem.proof import Level, Proof
from . import Claimed, Task
from .rounding import option


def stable(task: Task) -> Proof:
    """Of `stable`: a pairing without blocking pairs is its own proof."""
    if task.outcome.solution is None:
        raise Claimed("that there is no pairing at all is not proved as a file")
    options: dict[str, Any] = {}
    if task.options.get("alpha"):
        options["alpha"] = option(task.options["alpha"])
        options["alpha_mode"] = task.options.get("alpha_mode", "penalty-points")
    steps: tuple[tuple[dict[str, Any], ...], ...] = (({"kind": "witness"},),)
    [found] = verify.colocation_stable(task.case(options, *steps))
    level = Level("blocking_pairs", "min", found.value, found.bound, steps[0])
    return Proof("colocation", "stable", (level,), options, task.witness)
