"""Proofs by recomputation or by steps that the search stored: REF, fluid bounds of schedules, the
play of FUGA, slices of quanta, and peaks and server-times (`verify.lifetimes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...instances.problem.proof import Proof, multipliers
from ...instances.quanta import Slices
from ...instances.scheduling.instance import Schedule
from . import Claimed, Task, strongest_proof
from .rounding import option, over_common
from .schedule_prices import machine_time_steps

STEP: dict[str, Any] = {"kind": "recompute"}


def ref(task: Task) -> Proof:
    """Proof of `REF`: the verifier computes the schedule again from the play of all coalitions."""
    if task.options.get("utility", "throughput") != "throughput":
        raise Claimed("only the utility of the paper, throughput, is recomputed")
    reading = task.options.get("reading", "figure")
    options = {} if reading == "figure" else {"reading": reading}
    proof = strongest_proof(task, [[STEP]], options=options, witness=_schedule(task))
    if proof.levels[0].bound is None:
        raise Claimed("no work is done before the horizon, so that unfairness has no unit")
    return proof


def most(task: Task) -> Proof:
    """Proof of scheduling's `max-utilization` and `max-utility`: the fluid bound, or prices of
    machine time.
    """
    solution, utility = task.outcome.solution, task.method == "max-utility"

    def tries() -> Iterator[list[dict[str, Any]]]:
        yield [STEP]
        if isinstance(solution, Schedule):
            for step in machine_time_steps(
                task.instance, solution.start, task.clock, utility=utility
            ):
                yield [step]

    return strongest_proof(task, tries(), witness=_schedule(task))


def _schedule(task: Task) -> dict[str, Any] | None:
    """Schedule in the verifier's format; None without a schedule."""
    shown = task.witness
    return None if shown is None else {name: list(shown[name]) for name in ("start", "machine")}


def play(task: Task) -> Proof:
    """Proof of `FUGA` and `FUGA-tree`: the subgame-perfect play."""
    proof = _of_game(task)
    if proof.levels[0].epsilon is None:
        raise Claimed("the method did not finish: this is not the subgame-perfect play")
    return proof


def joint_optimum(task: Task) -> Proof:
    """Proof of `joint-optimum`: the minimum over all plays."""
    return _of_game(task)


def _of_game(task: Task) -> Proof:
    given = {name: task.options.get(name) for name in ("alpha", "eta", "overload")}
    options = {
        name: value if isinstance(value, str) else option(value)
        for name, value in given.items()
        if value is not None and value != float("inf")
    }
    return strongest_proof(task, [[STEP]], options=options)


def stored_steps(task: Task) -> Proof:
    """Proof of `min-peak` and `hindsight` by the steps in the method's certificate."""
    certificate = task.outcome.certificate
    steps = certificate.get("search", certificate).get("steps", ())
    return strongest_proof(task, [steps])


def greedy_slices(task: Task) -> Proof:
    """Proof of `horizon` and `leximin` of quanta by fractional slices, which give the bound too."""
    assert isinstance(task.outcome.solution, Slices)
    rows = task.outcome.solution.exact()
    witness = {"slices": [multipliers(*over_common(row)) for row in rows]}
    return strongest_proof(task, [[{"kind": "greedy"}]], witness=witness)
