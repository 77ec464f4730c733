"""Proofs of accelerators' time shares: exact shares, and integer prices.

The theorem stands above `Shares.worth` in the verifier.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.accelerators.instance import Accelerators, TimeShares
from ...instances.problem.proof import Proof, multipliers
from ...verify.reading import Refused
from ..accelerators.programs import SMALL
from ..outcome import Status
from . import Claimed, Task, checked_proof, strongest_proof
from .rounding import option, over_common

PARTS = 10**13
"""So many parts is one job, or one device."""

DIGITS = 10**24
"""The largest price, in whole numbers."""

UP = 1 + 2.0**-50
"""What a step is worth is raised by this, so that it is not below what it is in the objective: the
prices leave four times as much.
"""

NICE = (10**2, 10**4, 10**6)
"""Round data have round answers: these denominators may meet them exactly."""

FEW = 1000
"""Placements up to which that is tried."""

MARGINS = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-9)
"""By how much less than the bound, as a fraction, the ratio is that is ruled out."""

Step = dict[str, Any]


def time_shares(task: Task) -> Proof:
    """Proof of `max-min`, `makespan`, `max-throughput`, `min-cost` and `finish-time`: exact shares
    and integer prices.
    """
    given = {name: value for name, value in task.options.items() if name == "least"}
    options = {name: option(value) for name, value in given.items()}
    infeasible = task.outcome.status is Status.INFEASIBLE
    witness = None if infeasible else _best_witness(task, options)
    kind = "infeasible" if infeasible else "prices"
    made = _steps(task, kind, task.outcome.certificate["prices"])
    tries = [(), *([step] for step in made)]
    shown = witness if _alone(task) else None
    [level] = strongest_proof(task, tries, options=options, witness=shown).levels
    if infeasible and not level.infeasible:
        raise Claimed("what is asked is so near to what can be had that prices do not rule it out")
    return checked_proof(task, level.steps, options=options, witness=witness)


def levels(task: Task) -> Proof:
    """Proof of `leximin` and `hierarchical` of accelerators, level by level."""
    instance: Accelerators = task.instance
    steps, last = list[list[Step]](), list[Step]()
    places = {name: index for index, name in enumerate(instance.names)}
    for level in task.outcome.certificate["levels"]:
        types = [places[name] for name in level["types"]]
        prices = [next(_steps(task, "prices", each)) for each in level["prices"]]
        if _alone(task):  # the last prices of a level are those of the next ones too
            prices, last = [each for each in prices[-1:] if [each] != last], prices[-1:]
        steps.append([{"kind": "types", "types": types}, *prices])
    witness = _best_witness(task, {}, steps)
    while True:
        try:
            return checked_proof(task, *steps, witness=witness)
        except Refused:
            if len(steps) == 1:
                raise
            steps.pop()  # levels so near to each other that the shares in parts mix them up


def _alone(task: Task) -> bool:
    """Whether a proof needs prices of devices only, because the verifier completes the prices of
    single jobs.
    """
    return task.instance.together is None and task.instance.types > SMALL


def _grids(task: Task) -> tuple[int | None, ...]:
    """Precisions at which prices become integers: None for many digits, a number for the largest
    denominator of fractions.
    """
    small = len(task.instance.placements.first) <= FEW and not _alone(task)
    return (None, *NICE) if small and task.method not in ("leximin", "hierarchical") else (None,)


def _steps(task: Task, kind: str, prices: Mapping[str, Any]) -> Iterator[Step]:
    """Candidate proof steps with the method's prices rounded to integers at several precisions; for
    `finish-time` each with ratios just below the bound.
    """
    alone = _alone(task)
    worth = np.array([] if alone else prices["step"])
    charges = np.array([*prices["device"], *([] if alone else prices["job"])])
    for grid in _grids(task):
        made: Step = {"kind": kind}
        if grid is None:
            up = [Fraction(value) * Fraction(UP) for value in worth.tolist()]
            parts = [Fraction(value) for value in charges.tolist()]
            over = max(1, int(DIGITS / max(*up, *parts, Fraction(1, DIGITS))))
            scale = max(1, int(DIGITS / min((part for part in up if part), default=Fraction(1))))
            step = multipliers([math.ceil(part * scale) for part in up], scale)
            made["prices"] = multipliers([math.ceil(part * over) for part in parts], over)
        else:
            step, made["prices"] = (
                multipliers(*over_common(_near(value, grid) for value in values.tolist()))
                for values in (worth, charges)
            )
        made |= {} if alone else {"worth": step}
        if task.method != "finish-time":
            yield made
            continue
        bound = Fraction(task.outcome.bound or 0.0)
        for margin in MARGINS:
            ratio = Fraction(math.floor(bound * (1 - Fraction(margin)) * PARTS**2), PARTS**2)
            yield made | {"ratio": option(ratio)}


def _near(value: float, grid: int) -> Fraction:
    return Fraction(value).limit_denominator(grid)


def _best_witness(
    task: Task, options: Mapping[str, Any], steps: list[list[Step]] | None = None
) -> Step | None:
    """Exact time shares of the best value; None if rounding leaves a job below its guarantee."""
    solution: Any = task.outcome.solution
    best: float | Fraction = -math.inf
    chosen: Step | None = None
    for grid in _grids(task) if solution is not None else ():
        witness = whole_parts(task.instance, solution, grid)
        with suppress(Refused):
            [level, *_] = checked_proof(
                task, *(steps or [[]]), options=options, witness=witness
            ).levels
            if level.value is not None:
                value = level.value if level.sense == "max" else -level.value
                best, chosen = (value, witness) if value >= best else (best, chosen)
    return chosen


def whole_parts(instance: Accelerators, solution: TimeShares, grid: int | None = None) -> Step:
    """Time shares as integers over one denominator, which is so large that no limit is exceeded."""
    values = [Fraction(value) for value in solution.share.tolist()]
    near = values if grid is None else [_near(float(value), grid) for value in values]
    parts, over = over_common(near) if grid else ([int(value * PARTS) for value in values], PARTS)
    first, second, device = (
        array.tolist() for array in (solution.first, solution.second, solution.device)
    )
    used = [0] * (len(instance.devices) + instance.types)
    for i, j, d, part in zip(first, second, device, parts, strict=True):
        used[d] += int(instance.workers[i]) * part
        for k in (i, j) if j >= 0 else (i,):
            used[len(instance.devices) + k] += part
    there = [*instance.devices.tolist(), *instance.count.tolist()]
    needed = max((-(-u // n) for u, n in zip(used, there, strict=True) if n), default=1)
    rows = zip(first, second, device, parts, strict=True)
    return {"over": max(over, needed), "shares": [list(row) for row in rows if row[3]]}
