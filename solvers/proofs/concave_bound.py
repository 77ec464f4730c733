"""Proofs of `utilitarian` and `nash-welfare`: tangents of concave objectives and, for integer
cores, the gain of the last core or a tree.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.market.instance import Floats, ratio
from ...instances.market.utility import user_utilities
from ...instances.problem.proof import Level, Proof, multipliers
from ...verify.market import Market
from ..market.utilitarian import weighted_optimum
from . import Claimed, Task, checked_proof
from .market_cores import ATTEMPTS, best_attempt, fractional_cores, points
from .nash_tree import nash_tree
from .rounding import on_grid

ENOUGH = 5e-10
"""A gap, relative to the value, that is not worth more digits, nor points of their own for the
tangents.
"""


def utilitarian(task: Task) -> Proof:
    """Proof of `utilitarian`: cores with equal marginal utilities, or integer cores by the gain of
    the last core.
    """
    if not task.options.get("whole"):
        return _tangents(task, {})
    witness = {"cores": multipliers(on_grid(_cores(task), 1), 1)}
    options = {"whole": True}
    return checked_proof(task, [{"kind": "dual"}], options=options, witness=witness)


def nash_welfare(task: Task) -> Proof:
    """Proof of `nash-welfare` with Amdahl or linear utilities; for integer cores the bound of
    fractional ones.
    """
    utility = task.options.get("utility", "amdahl")
    if utility not in ("amdahl", "linear"):
        raise Claimed(f"logarithms of {utility} utilities are not proved as a file")
    options: dict[str, Any] = {} if utility == "amdahl" else {"utility": utility}
    options |= {"whole": True} if task.options.get("whole") else {}
    proof = _tangents(task, options, own_points=utility == "amdahl")
    if not options.get("whole"):
        return proof
    case = task.case(options, [])
    case.witness = proof.witness
    nodes = nash_tree(task, Market(case))
    if nodes is None:
        return proof
    step = {"kind": "tree", "nodes": nodes}
    other = checked_proof(task, [step], options=options, witness=proof.witness)
    return other if _gap(other.levels[0]) < _gap(proof.levels[0]) else proof


def _tangents(task: Task, options: dict[str, Any], own_points: bool = False) -> Proof:
    """Proof by tangents at the cores or, with `own_points`, also at the optimum for weights budget
    / utility of the users, where the verifier's bound is tightest.
    """
    cores, given = _cores(task), task.instance

    def attempt(digits: int, own: bool) -> Proof:
        whole = multipliers(on_grid(cores, 1), 1) if options.get("whole") else None
        witness = {"cores": whole or fractional_cores(task, cores, digits)}
        step: dict[str, Any] = {"kind": "tangent"}
        if own:
            weight = ratio(given.budget, user_utilities(given, cores))
            step["at"] = points(weighted_optimum(given, weight[given.user])[0], 10**digits)
        return checked_proof(task, [step], options=options, witness=witness)

    attempts = [(digits, own) for digits, own in ATTEMPTS if own_points or not own]
    return best_attempt(task, attempt, _gap, ENOUGH, attempts)


def _cores(task: Task) -> Floats:
    solution: Any = task.outcome.solution
    if solution is None:
        raise Claimed("there is no answer")
    cores: Floats = solution.cores
    return cores


def _gap(level: Level) -> float:
    if level.value is None or level.bound is None:
        return np.inf
    gap = (level.bound - level.value) / (abs(level.value) or 1)
    return float(min(gap, Fraction(10**9)))
