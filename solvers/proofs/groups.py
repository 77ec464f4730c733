"""Proofs of `optimal` of groups: prices of jobs, and a tree over the groups that they leave; of
different jobs in pairs the multipliers of a matching.

The theorems stand above `Groups.priced` and `pairing_bound` in the verifier.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any, cast

import numpy as np

from ...instances.groups.instance import UNIT, Grouping, Integers
from ...instances.problem.proof import Proof, multipliers
from ...verify.groups import Groups
from ...verify.pairing import pairing_bound
from ..blossom import Blossoms, parts
from ..groups.common import whole_prices
from ..groups.optimal import mates
from ..outcome import Clock, Status
from . import Claimed, Task, checked_proof, claimed_if_refused
from .tree import propagation_steps, tree_step

COARSE = (1, 10, 1_000)
"""Parts of the instance's own unit of penalties in which prices are tried."""

MOST_PARTS = 2**53
"""Parts of 1 up to which whole numbers are matched by blossoms."""

MOST_LEFT = 3_000
"""Groups that prices leave up to which a tree is looked for."""


def optimal(task: Task) -> Proof:
    """Proof of `optimal`: the method's exact prices and, where they leave a gap, a tree over the
    groups that a better answer could use.
    """
    with claimed_if_refused(0.5):  # what is listed is gone through again for prices and a tree
        given = Groups(task.case({}, []))
    if task.outcome.solution is None:
        return _no_grouping(task, given)
    if steps := _by_pairs(task, given):
        return checked_proof(task, steps)
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
    steps = [{"kind": "propagation", **hint, "below": -(-total // over), "tree": []}]
    assert given.total is not None
    gap = (given.total - 1) * over - total
    if gap >= 0 and sum(extra <= gap for extra in more) <= MOST_LEFT:
        program, cost = given.program(hint, given.total - 1)
        objective, fields = (cost, given.total - 1), {**hint, "below": given.total}
        steps = propagation_steps(program, objective, task.clock, **fields) or steps
    return checked_proof(task, steps)


def _by_pairs(task: Task, given: Groups) -> list[dict[str, Any]]:
    """Step of dual prices of jobs and odd sets for a matching of different jobs in pairs; none for
    other instances, or if blossoms do not prove the value.
    """
    if max(given.count) > 1 or any(len(group) > 2 for _, group, _ in given.columns):
        return []
    step = pairing_step(
        given, mates(task.instance, cast("Grouping", task.outcome.solution)), task.clock
    )
    bound = None if step is None else pairing_bound(given.pairs(), step, [1] * len(given.count))
    return [] if step is None or bound != given.total else [step]


def pairing_step(given: Groups, mate: Integers, clock: Clock) -> dict[str, Any] | None:
    """Multipliers of a matching of different jobs in pairs as the verifier's integers; None without
    time or if numbers are too long.

    Parameters
    ----------
    mate : (n,) partners among the types that have jobs, -1 for a job alone.
    """
    from ..blossom_kernels import FORBIDDEN

    types = [a for a, number in enumerate(given.count) if number]
    pairs = given.pairs()
    over = parts(len(types), pairs.alone)
    if given.unit * over > MOST_PARTS:
        return None
    cost = np.full((len(types), len(types)), FORBIDDEN)
    for k, a in enumerate(types):
        for j, b in enumerate(types[:k]):
            one, other = pairs.penalty[a][b], pairs.penalty[b][a]
            if one is not None and other is not None:
                cost[k, j] = cost[j, k] = over * (one + other)
    search = Blossoms(cost, over * pairs.single, pairs.alone, mate, clock, most_free=1.0)
    with suppress(KeyboardInterrupt):
        search.search()
    if search.bound is None:
        return None
    prices = [0] * len(given.count)
    for a, price in zip(types, search.prices.tolist(), strict=True):
        prices[a] = price
    sets = [[price, *(types[k] for k in np.flatnonzero(inside))] for price, inside in search.sets]
    return {"kind": "dual", "over": over, "prices": prices, "rent": search.rent, "sets": sets}


def _hint(prices: list[Fraction], over: int) -> dict[str, Any]:
    """Proof field with prices of jobs as integers, in 1 / `over` of the instance's unit."""
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
