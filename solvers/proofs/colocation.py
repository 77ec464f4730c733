"""Proofs of colocation's answers: see the part of `verify.py` with that name for what each kind of step proves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ... import verify
from ...instances.problem.proof import Level, Proof
from ...models.program import LinearProgram
from ..colocation.matching import Multipliers, multipliers
from ..engines import solve_refined
from ..outcome import Status
from . import Claimed, Task
from .rounding import on_grid, option

if TYPE_CHECKING:
    from ...instances.colocation.instance import Pairing

GRID = 10**6
"""Parts of the last decimal of the instance in which multipliers are written: far finer than what a bound is rounded up by."""


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


def optimal(task: Task) -> Proof:
    """Of `optimal`: multipliers of the relaxation with odd sets, in whole numbers (`verify.pairing_bound`)."""
    if task.outcome.solution is None:
        raise Claimed("that there is no pairing at all is not proved as a file")
    given = verify.Colocation(task.case({}, []))
    best: tuple[Fraction | None, tuple[dict[str, Any], ...]] = (None, ())
    try:
        found = multipliers(task.instance, cast("Pairing", task.outcome.solution), task.clock)
        for again in (False, True):
            if found is None or best[0] == given.mean() or (again and task.clock.over):
                break
            step = _dual(given, _refined(found, task) if again else found)
            bound = verify.pairing_bound(given, step)
            best = (bound, (step,)) if best[0] is None or bound > best[0] else best
    except KeyboardInterrupt:
        pass  # what there is by now proves a gap
    level = Level("penalty", "min", given.mean(), *best)
    return Proof("colocation", "optimal", (level,), {}, task.witness)


def _dual(given: verify.Colocation, found: Multipliers) -> dict[str, Any]:
    """The multipliers as a step, in parts of the instance's last decimal."""
    sets = [(on_grid(price * given.unit, GRID)[0], members) for price, members in found.sets]
    return {
        "kind": "dual",
        "over": GRID,
        "prices": on_grid(found.prices * given.unit, GRID),
        "rent": max(0, on_grid(found.rent * given.unit, GRID)[0]),
        "sets": [
            [price, *np.flatnonzero(members).tolist()] for price, members in sets if price > 0
        ],
    }


def _refined(found: Multipliers, task: Task) -> Multipliers:
    """The same to the last digits of a float: the relaxation with all rows as equalities, solved again."""
    from scipy.sparse import csr_array, hstack

    program = found.program.program
    loose = np.flatnonzero(program.row_lower != program.row_upper)
    at_least = np.isfinite(
        program.row_lower[loose]
    )  # the odd sets; the other one is the room for who is alone
    shape = (program.rows, len(loose))
    slack = csr_array((np.where(at_least, -1.0, 1.0), (loose, np.arange(len(loose)))), shape=shape)
    columns = program.columns + len(loose)
    right = np.where(np.isfinite(program.row_lower), program.row_lower, program.row_upper)
    equal = LinearProgram(
        hstack([program.matrix, slack]).tocsr(),
        right,
        right,
        np.append(program.cost, np.zeros(len(loose))),
        np.zeros(columns),
        np.full(columns, np.inf),
        np.zeros(columns, dtype=bool),
    )
    answer = solve_refined(equal, time_limit=task.clock.share())
    if answer.status is not Status.OPTIMAL or answer.row_dual is None:
        return found
    present = np.flatnonzero(task.instance.count > 0)
    prices = np.zeros(task.instance.types)
    prices[present] = answer.row_dual[: len(present)]
    first_set = program.rows - len(found.sets)
    rent = -float(answer.row_dual[len(present)]) if first_set > len(present) else 0.0
    prices_of_sets = answer.row_dual[first_set:].tolist()
    sets = [
        (price, members) for price, (_, members) in zip(prices_of_sets, found.sets, strict=True)
    ]
    return replace(found, prices=prices, rent=rent, sets=sets)
