"""Proofs that are a definition worked out again: REF, what fluid work bounds, and the play of
FUGA.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...instances.problem.proof import Proof
from ...instances.scheduling.instance import Schedule
from . import Claimed, Task, checked_proof, claimed_if_refused
from .rounding import option
from .schedule_prices import machine_time_steps

STEP: dict[str, Any] = {"kind": "recompute"}


def ref(task: Task) -> Proof:
    """Of `REF`: the schedule that all coalitions' play leads to."""
    if task.options.get("utility", "throughput") != "throughput":
        raise Claimed("only the utility of the paper, throughput, is recomputed")
    reading = task.options.get("reading", "figure")
    proof = _of_schedule(task, STEP, {} if reading == "figure" else {"reading": reading})
    if proof.levels[0].bound is None:
        raise Claimed("no work is done before the horizon, so that unfairness has no unit")
    return proof


def most(task: Task) -> Proof:
    """Of scheduling's `max-utilization` and `max-utility`: the fluid bound, or prices of machines'
    time.
    """
    best, solution = _of_schedule(task, STEP), task.outcome.solution
    if best.complete or not isinstance(solution, Schedule):
        return best
    utility = task.method == "max-utility"
    for step in machine_time_steps(task.instance, solution.start, task.clock, utility=utility):
        proof = _of_schedule(task, step)
        if (proof.levels[0].bound or 0) < (best.levels[0].bound or 0):
            best = proof
    return best


def _of_schedule(
    task: Task, step: dict[str, Any], options: Mapping[str, Any] | None = None
) -> Proof:
    solution = task.outcome.solution
    shown = None if solution is None else solution.document()
    witness = None if shown is None else {name: list(shown[name]) for name in ("start", "machine")}
    with claimed_if_refused(task.patience):
        return checked_proof(task, [step], options=options, witness=witness)


def play(task: Task) -> Proof:
    """Of `FUGA` and `FUGA-tree`: the subgame-perfect play."""
    proof = _of_game(task)
    if proof.levels[0].epsilon is None:
        raise Claimed("the method did not finish: this is not the subgame-perfect play")
    return proof


def joint_optimum(task: Task) -> Proof:
    """Of `joint-optimum` over the game's own plays: the least."""
    if task.options.get("over", "top") != "top":
        raise Claimed("only plays of the game are looked at again, not all combinations that fit")
    return _of_game(task)


def _of_game(task: Task) -> Proof:
    given = {name: task.options.get(name) for name in ("alpha", "eta", "overload")}
    options = {
        name: value if isinstance(value, str) else option(value)
        for name, value in given.items()
        if value is not None and value != float("inf")
    }
    with claimed_if_refused(task.patience):
        return checked_proof(task, [STEP], options=options)
