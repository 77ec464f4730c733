"""Proofs of `optimal` of groups: prices of jobs, and a tree over the groups that they leave.

The theorem stands above `Groups.priced` in the verifier.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ...instances.groups.instance import UNIT
from ...instances.problem.proof import Proof, multipliers
from ...verify.groups import Groups
from ..groups.common import whole_prices
from ..outcome import Status
from . import Claimed, Task, checked_proof, claimed_if_refused
from .tree import propagation_steps, tree_step

COARSE = (1, 10, 1_000)
"""Parts of the instance's own unit of penalties in which prices are tried."""

MOST_LEFT = 3_000
"""Groups that prices leave up to which a tree is looked for."""


def optimal(task: Task) -> Proof:
    """Of `optimal`: the method's own prices, exactly, and where they leave a gap a tree over the
    groups that an answer of less penalty could have.
    """
    with claimed_if_refused(0.5):  # what is listed is gone through again for prices and a tree
        given = Groups(task.case({}, []))
    if task.outcome.solution is None:
        return _no_grouping(task, given)
    if "prices" not in task.outcome.certificate:
        raise Claimed("the method had no time for prices of jobs")
    claimed_prices = [
        Fraction(price, UNIT) * given.unit
        for price in whole_prices(task.outcome.certificate["prices"])
    ]
    hints = [_hint(claimed_prices, over) for over in (*COARSE, UNIT // math.gcd(UNIT, given.unit))]
    # the shortest that prove what the prices as they are do
    bounds = [-(-total // over) for total, _, over in map(given.priced, hints)]
    hint = hints[bounds.index(bounds[-1])]
    total, more, over = given.priced(hint)
    steps: list[dict[str, Any]] = [
        {"kind": "propagation", **hint, "below": -(-total // over), "tree": []}
    ]
    assert given.total is not None
    gap = (given.total - 1) * over - total
    if gap >= 0 and sum(extra <= gap for extra in more) <= MOST_LEFT:
        program, cost = given.program(hint, given.total - 1)
        objective, fields = (cost, given.total - 1), {**hint, "below": given.total}
        steps = propagation_steps(program, objective, task.clock, **fields) or steps
    return checked_proof(task, steps)


def _hint(prices: list[Fraction], over: int) -> dict[str, Any]:
    """Prices rounded to parts of one unit of the instance."""
    numbers = [round(price * over) for price in prices]
    shared = math.gcd(over, *numbers)
    return {"prices": multipliers([number // shared for number in numbers], over // shared)}


def _no_grouping(task: Task, given: Groups) -> Proof:
    if task.outcome.status is not Status.INFEASIBLE:
        raise Claimed("no grouping was found, nor that there is none")
    tree = None
    if len(given.columns) <= MOST_LEFT:
        tree = tree_step(given.program(None, 0)[0], None, task.clock)
    if tree is None:
        raise Claimed("no tree shows that there is no grouping, or not in this time")
    return checked_proof(task, [{"kind": "infeasible", **tree}])
