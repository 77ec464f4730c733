"""Proofs where rules say where VMs may run: trees over programs of servers and VMs by class.

The programs are the verifier's own, `verify.placing_program` and `verify.moves_program`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ... import verify
from ...instances.problem.proof import Level, Proof
from ..outcome import Status
from ..packing.aggregate import aggregate_bound
from ..packing.constrained import reduce_ruled
from ..packing.moves import moves_bound
from . import Claimed, Task, patience
from .tree import tree_step

FEW_COUNTS = 1_500
"""Servers times types up to which servers are told apart in a program."""

MOST_NODES = 4_000
"""Cases of a tree after which it is given up."""

Steps = tuple[dict[str, Any], ...]


def servers_steps(task: Task, claimed: int | None, *, costs: bool) -> Steps:
    """A tree that shows that no answer costs less than a method told, or that there is none at all,
    where nothing is told.
    """
    given = _given(task)
    cost = given.cost if costs else [1] * len(given.room)

    def tree(below: int | None, head: dict[str, Any]) -> dict[str, Any] | None:
        return _step(task, verify.servers_program(given, cost, below, head), below, head)

    def known() -> int:
        problem = reduce_ruled(task.instance, costs=costs)
        return aggregate_bound(
            problem, task.clock, upper=claimed, seconds=task.clock.time_slice(2)
        ).bound

    return _best(task, given, tree, claimed, known)


def fewest_moves(task: Task) -> Proof:
    """Of `fewest-moves`: on so many servers as it found, or was given."""
    given, outcome = _given(task), task.outcome
    servers = int(outcome.certificate["servers"])
    options, infeasible = {"servers": servers}, outcome.status is Status.INFEASIBLE
    steps: Steps = ()
    if outcome.solution is not None:
        steps = ({"kind": "witness", "on": list(map(int, outcome.certificate["on"]))},)
    claimed = 0 if outcome.bound is None else math.ceil(outcome.bound - 1e-6)

    def tree(below: int | None, head: dict[str, Any]) -> dict[str, Any] | None:
        return _step(task, verify.moves_program(given, servers, below, head), below, head)

    def known() -> int:
        return moves_bound(task.instance, servers, task.clock.time_slice(2))

    if claimed > 0 or infeasible:
        steps += _best(task, given, tree, None if infeasible else claimed, known)
    [shown] = verify.packing_moves(task.case(options, steps))
    if infeasible and not shown.infeasible:
        raise Claimed("that the servers are too few is not proved by a tree")
    level = Level("moves", "min", shown.value, shown.bound, steps, shown.infeasible)
    if shown.infeasible:
        level = Level("moves", "min", None, None, steps, infeasible=True)
    return Proof("packing", "fewest-moves", (level,), options, task.witness)


def _given(task: Task) -> verify.Packing:
    try:
        with patience():
            return verify.Packing(task.case({}, []), ruled=True)
    except verify.Refused as why:
        raise Claimed(str(why)) from None


def _best(
    task: Task,
    given: verify.Packing,
    tree: Callable[[int | None, dict[str, Any]], dict[str, Any] | None],
    claimed: int | None,
    known: Callable[[], int],
) -> Steps:
    """The tree over classes of what a method told; else, where servers are few, over these; else
    over classes of what the aggregate program says.
    """
    found, weaker = None, None
    with suppress(KeyboardInterrupt):  # what there is by then is proved
        if (found := tree(claimed, {})) is not None:
            return (found,)
        if claimed is not None and not task.clock.expired and 0 < (bound := known()) < claimed:
            weaker = tree(bound, {})
        vms = sum(int(number or 0) for number in given.request)
        servers = sum(vms if number is None else number for number in given.servers)
        if servers * len(given.size) <= FEW_COUNTS and not task.clock.expired:
            found = tree(claimed, {"each": True})
    return tuple(step for step in [found or weaker] if step is not None)


def _step(
    task: Task,
    built: tuple[verify.Program, verify.Kinds],
    below: int | None,
    head: dict[str, Any],
) -> dict[str, Any] | None:
    program, kinds = built
    last = program.rows.pop() if below is not None else None
    at = None if "each" in head else [used for _, used, _ in kinds]
    tree = tree_step(program, last, task.clock, at, MOST_NODES)
    step = {"kind": "prop", **head} | ({} if below is None else {"below": below})
    return None if tree is None else step | tree
