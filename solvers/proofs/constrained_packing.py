"""Proofs for packing with placement rules: trees over programs of servers and VMs by class.

The programs are the verifier's own, `verify.placing_program` and `verify.moves_program`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...instances.problem.proof import Proof
from ...verify.packing import Packing
from ...verify.packing_servers import Kinds, moves_program, servers_program
from ...verify.program import Program
from ..outcome import Status
from ..packing.aggregate import aggregate_bound
from ..packing.moves import moves_bound
from ..packing.presolve import presolve
from . import Claimed, Task, checked_proof, claimed_if_refused
from .tree import propagation_steps

FEW_COUNTS = 1_500
"""Servers times types up to which servers are distinguished in a program."""

MOST_NODES = 4_000
"""Cases of a tree after which it is given up."""

Steps = tuple[dict[str, Any], ...]


def servers_steps(task: Task, claimed: int | None, *, costs: bool) -> Steps:
    """Tree which proves that no answer costs less than the reported one, or that there is no
    answer.
    """
    given = _given(task)
    cost = given.cost if costs else [1] * len(given.room)

    def tree(below: int | None, head: dict[str, Any]) -> Steps:
        return _step(task, servers_program(given, cost, below, head), below, head)

    def weaker_bound() -> int:
        problem = presolve(task.instance, costs=costs)
        return aggregate_bound(
            problem, task.clock, upper=claimed, seconds=task.clock.time_slice(2)
        ).bound

    return _best(task, given, tree, claimed, weaker_bound)


def fewest_moves(task: Task) -> Proof:
    """Proof of `fewest-moves` with its number of servers, or within the given limits."""
    given, outcome = _given(task), task.outcome
    stated = outcome.certificate
    options: dict[str, Any] = {
        name: int(stated[name]) for name in ("servers", "cost") if name in stated
    }
    infeasible = outcome.status is Status.INFEASIBLE
    steps: Steps = ()
    if outcome.solution is not None:
        steps = ({"kind": "witness", "on": list(map(int, outcome.certificate["on"]))},)
    claimed = 0 if outcome.bound is None else math.ceil(outcome.bound - 1e-6)

    def tree(below: int | None, head: dict[str, Any]) -> Steps:
        return _step(task, moves_program(given, options, below, head), below, head)

    def weaker_bound() -> int:
        limits = {"servers": None, **options}
        return moves_bound(task.instance, seconds=task.clock.time_slice(2), **limits)

    if claimed > 0 or infeasible:
        steps += _best(task, given, tree, None if infeasible else claimed, weaker_bound)
    proof = checked_proof(task, steps, options=options)
    if infeasible and not proof.levels[0].infeasible:
        raise Claimed("that the servers are too few, or too dear, is not proved by a tree")
    return proof


def _given(task: Task) -> Packing:
    with claimed_if_refused():
        return Packing(task.case({}, []), ruled=True)


def _best(
    task: Task,
    given: Packing,
    tree: Callable[[int | None, dict[str, Any]], Steps],
    claimed: int | None,
    weaker_bound: Callable[[], int],
) -> Steps:
    """Tree over classes for the reported value, else over single servers if there are few, else for
    the bound of the aggregate program.
    """
    steps, weaker = Steps(), Steps()
    with suppress(KeyboardInterrupt):  # what there is by then is proved
        if steps := tree(claimed, {}):
            return steps
        if claimed is not None and not task.clock.expired:
            bound = weaker_bound()
            weaker = tree(bound, {}) if 0 < bound < claimed else ()
        vms = sum(int(number or 0) for number in given.request)
        servers = sum(vms if number is None else number for number in given.servers)
        if servers * len(given.size) <= FEW_COUNTS and not task.clock.expired:
            steps = tree(claimed, {"each": True})
    return steps or weaker


def _step(
    task: Task, built: tuple[Program, Kinds], below: int | None, head: dict[str, Any]
) -> Steps:
    program, kinds = built
    last = program.rows.pop() if below is not None else None
    at = None if "each" in head else [used for _, used, _ in kinds]
    fields = head | ({} if below is None else {"below": below})
    return tuple(propagation_steps(program, last, task.clock, at, MOST_NODES, **fields))
