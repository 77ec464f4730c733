"""Proofs that are a definition worked out again: REF, what fluid work bounds, and the play of
FUGA.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import verify
from ...instances.problem.proof import Level, Proof
from ...instances.scheduling.instance import Schedule
from . import Claimed, Task, patience
from .rounding import option
from .schedule_prices import machine_time_steps

STEP: tuple[dict[str, Any], ...] = ({"kind": "recompute"},)


def ref(task: Task) -> Proof:
    """Of `REF`: the schedule that all coalitions' play leads to."""
    if task.options.get("utility", "throughput") != "throughput":
        raise Claimed("only the utility of the paper, throughput, is recomputed")
    reading = task.options.get("reading", "figure")
    options = {} if reading == "figure" else {"reading": reading}
    proof = _recomputed(task, verify.scheduling_ref, "REF", "unfairness", "min", options, STEP)
    if proof.levels[0].bound is None:
        raise Claimed("no work is done before the horizon, so that unfairness has no unit")
    return proof


def max_utilization(task: Task) -> Proof:
    """Of scheduling's `max-utilization`: the fluid bound, or prices of machines' time."""
    return _most(task, "max-utilization", "utilization")


def max_utility(task: Task) -> Proof:
    """Of scheduling's `max-utility`: the fluid bound, or prices of machines' time."""
    return _most(task, "max-utility", "utility")


def _most(task: Task, method: str, objective: str) -> Proof:
    utility = objective == "utility"
    checker = partial(verify.scheduling_most, utility=utility)
    best = _recomputed(task, checker, method, objective, "max", {}, STEP)
    solution = task.outcome.solution
    if best.levels[0].claim_kind == "optimal" or not isinstance(solution, Schedule):
        return best
    for step in machine_time_steps(task.instance, solution.start, task.clock, utility=utility):
        found = _recomputed(task, checker, method, objective, "max", {}, (step,))
        if (found.levels[0].bound or 0) < (best.levels[0].bound or 0):
            best = found
    return best


def fuga(task: Task) -> Proof:
    """Of `FUGA`: the subgame-perfect play."""
    return _played(task, "FUGA")


def fuga_tree(task: Task) -> Proof:
    """Of `FUGA-tree`, which is the same play."""
    return _played(task, "FUGA-tree")


def joint_optimum(task: Task) -> Proof:
    """Of `joint-optimum` over the game's own plays: the least, by counts."""
    if task.options.get("over", "top") != "top":
        raise Claimed("only plays of the game are looked at again, not all combinations that fit")
    options = _of_game(task)
    try:
        with patience():
            [found] = verify.packing_joint(task.case(options, STEP))
    except verify.Refused as why:
        raise Claimed(str(why)) from None
    level = Level("disutility", "min", found.value, found.bound, STEP)
    return Proof("packing", "joint-optimum", (level,), options, task.witness)


def _of_game(task: Task) -> dict[str, Any]:
    """The options of the game, as proofs hold them."""
    given = {name: task.options.get(name) for name in ("alpha", "eta", "overload")}
    return {
        name: value if isinstance(value, str) else option(value)
        for name, value in given.items()
        if value is not None and value != float("inf")
    }


def _played(task: Task, method: str) -> Proof:
    options = _of_game(task)
    try:
        with patience():
            [found] = verify.packing_play(task.case(options, STEP))
    except verify.Refused as why:
        raise Claimed(str(why)) from None
    if found.epsilon is None:
        raise Claimed("the method did not finish: this is not the subgame-perfect play")
    level = Level("disutility", "min", None, None, STEP, epsilon=found.epsilon)
    return Proof("packing", method, (level,), options, task.witness)


def _recomputed(
    task: Task,
    checker: Callable[[verify.ProofCase], list[verify.CheckedLevel]],
    method: str,
    objective: str,
    sense: Any,
    options: dict[str, Any],
    steps: tuple[dict[str, Any], ...],
) -> Proof:
    case = task.case(options, steps)
    solution = task.outcome.solution
    if solution is not None:
        case.witness = {name: list(solution.document()[name]) for name in ("start", "machine")}
    try:
        with patience():
            [found] = checker(case)
    except verify.Refused as why:
        raise Claimed(str(why)) from None
    level = Level(objective, sense, found.value, found.bound, steps)
    return Proof("scheduling", method, (level,), options, case.witness)  # type: ignore[arg-type]
