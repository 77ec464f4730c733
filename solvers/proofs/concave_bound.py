"""Concave objectives of divided cores certify themselves: by tangents, and in whole cores by the
price of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ... import verify
from ...instances.market.instance import Floats, ratio
from ...instances.market.utility import user_utilities
from ...instances.problem.proof import Level, Proof, multipliers
from ..market.utilitarian import weighted_optimum
from . import Claimed, Task
from .market_cores import ATTEMPTS, case_of, fractional_cores, points
from .nash_tree import nash_tree
from .rounding import on_grid

ENOUGH = 5e-10
"""A gap, relative to the value, that is not worth more digits, nor points of their own for the
tangents.
"""


def utilitarian(task: Task) -> Proof:
    """Of `utilitarian`: cores with equal marginal utilities, or whole ones by the gain of the
    last.
    """
    cores = _cores(task)
    if not task.options.get("whole"):
        return _tangents(task, "utilitarian", "total_utility", {}, verify.market_utilitarian, None)
    options, steps = {"whole": True}, ({"kind": "dual"},)
    witness = {"cores": multipliers(on_grid(cores, 1), 1)}
    [found] = verify.market_utilitarian(case_of(task, witness, options, steps))
    level = Level("total_utility", "max", found.value, found.bound, steps)
    return Proof("market", "utilitarian", (level,), options, witness)


def nash_welfare(task: Task) -> Proof:
    """Of `nash-welfare` with Amdahl's utilities or linear ones; of whole cores, what no division
    passes either.
    """
    utility = task.options.get("utility", "amdahl")
    if utility not in ("amdahl", "linear"):
        raise Claimed(f"logarithms of {utility} utilities are not proved as a file")
    options: dict[str, Any] = {} if utility == "amdahl" else {"utility": utility}
    options |= {"whole": True} if task.options.get("whole") else {}
    at = _weighted if utility == "amdahl" else None
    made = _tangents(task, "nash-welfare", "nash_welfare", options, verify.market_nash_welfare, at)
    if not options.get("whole") or made.witness is None:
        return made
    market = verify.Market(case_of(task, dict(made.witness), options, []))
    nodes = nash_tree(task, market)
    if nodes is None:
        return made
    step = {"kind": "tree", "nodes": nodes}
    [found] = verify.market_nash_welfare(case_of(task, dict(made.witness), options, [step]))
    level = Level("nash_welfare", "max", found.value, found.bound, (step,))
    return replace(made, levels=(level,)) if _gap(level) < _gap(made.levels[0]) else made


def _tangents(
    task: Task,
    method: str,
    objective: str,
    options: dict[str, Any],
    checker: Callable[[verify.ProofCase], list[verify.CheckedLevel]],
    at: Callable[[Task, Floats], Floats] | None,
) -> Proof:
    cores = _cores(task)
    best: Proof | None = None
    with suppress(KeyboardInterrupt):  # the best by then
        for digits, own in ATTEMPTS:
            if own and at is None:
                continue
            whole = multipliers(on_grid(cores, 1), 1) if options.get("whole") else None
            witness = {"cores": whole or fractional_cores(task, cores, digits)}
            step: dict[str, Any] = {"kind": "tangent"}
            if own and at is not None:
                step["at"] = points(at(task, cores), 10**digits)
            try:
                [found] = checker(case_of(task, witness, options, [step]))
            except verify.Refused:  # numbers beyond all measure, before there are enough decimals
                continue
            level = Level(objective, "max", found.value, found.bound, (step,))
            if best is None or _gap(level) < _gap(best.levels[0]) / 2:
                best = Proof("market", method, (level,), options, witness)
            if _gap(level) <= ENOUGH or task.clock.expired:
                break
    if best is None:
        raise Claimed("numbers so unequal, or so little time, allow no fractions that prove")
    return best


def _cores(task: Task) -> Floats:
    solution: Any = task.outcome.solution
    if solution is None:
        raise Claimed("there is no answer")
    cores: Floats = solution.cores
    return cores


def _weighted(task: Task, cores: Floats) -> Floats:
    """Cores with the most utility at the weights B_i / u_i of some cores: where (2) of the verifier
    is tightest.
    """
    worth = user_utilities(task.instance, cores)
    weight = ratio(task.instance.budget, worth)
    optimum: Floats = weighted_optimum(task.instance, weight[task.instance.user])[0]
    return optimum


def _gap(level: Level) -> float:
    if level.value is None or level.bound is None:
        return np.inf
    gap = (level.bound - level.value) / (abs(level.value) or 1)
    return float(min(gap, Fraction(10**9)))
