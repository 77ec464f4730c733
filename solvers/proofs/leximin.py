"""Proofs of leximin with integer cores: for each level a tree of boxes that are empty after
propagation.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ...instances.market.instance import Floats, ratio
from ...instances.market.sharing import static_utilities
from ...instances.market.utility import user_utilities
from ...instances.problem.proof import Level, Proof, multipliers
from ...verify.market import Boxes, Market
from ...verify.reading import Refused
from ..market.utilitarian import weighted_optimum
from . import Claimed, Task, checked_proof
from .market import ATTEMPTS, points
from .nash_tree import box_tree
from .rounding import on_grid

_WEIGHT = 2**40  # of the largest weight
_STEPS = 300  # towards the best weights

MOST_NODES = 20_000
"""Nodes of a level's tree beyond which the level stays open."""


def leximin(task: Task) -> Proof:
    """Proof of the levels of `leximin` in order, as far as time allows."""
    solution: Any = task.outcome.solution
    if solution is None:
        raise Claimed("there is no answer")
    witness = {"cores": multipliers(on_grid(solution.cores, 1), 1)}
    case = task.case({}, [])
    case.witness = witness
    try:
        boxes = Boxes(Market(case))
    except Refused as why:
        raise Claimed(str(why)) from None
    levels: list[Level] = []
    least = Level("sharing_index", "max", boxes.order[0], None)
    with suppress(KeyboardInterrupt):  # what there is by then is proved
        least = checked_proof(task, [_weights(task)], witness=witness).levels[0]
        for value in sorted(set(boxes.order)):
            goals, look = boxes.conditions(value), partial(_branch, boxes)
            nodes = box_tree(boxes, goals, task.clock, MOST_NODES, look)
            if nodes is None:
                break
            objective = "sharing_ratio" if levels else "sharing_index"
            step = {"kind": "tree", "nodes": nodes}
            levels.append(Level(objective, "max", value, value, (step,)))
    return Proof(task.instance.problem, "leximin", tuple(levels or [least]), {}, witness)


def _weights(task: Task) -> dict[str, Any]:
    """Proof step of users' weights that make the best weighted sum of sharing indices small, with
    tangent points. The weights are found by gradient steps.
    """
    from scipy.optimize import minimize

    market = task.instance
    static = static_utilities(market)
    best: list[Any] = [np.inf]

    def most(logs: Floats) -> tuple[float, Floats]:
        share = np.where(static > 0, np.exp(logs - logs.max()), 0.0)
        share /= share.sum()
        weight = ratio(share, static)
        cores, value = weighted_optimum(market, weight[market.user])
        if value < best[0]:
            best[:] = value, weight, cores
        return value, share * (ratio(user_utilities(market, cores), static) - value)

    minimize(most, np.zeros(market.users), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    _, weight, cores = best
    return {
        "kind": "tangent",
        "weights": on_grid(weight / weight.max(), _WEIGHT),
        "at": points(cores, 10 ** ATTEMPTS[0][0]),
    }


def _branch(boxes: Boxes, least: list[int], most: list[int]) -> tuple[int, int] | None:
    """Job to branch on, whose box matters most to its user's ratio, and the number of cores at
    which to split it; None if no job has a choice.
    """

    def matters(job: int) -> float:
        unit = boxes.worth[boxes.market.user[job]] * boxes.market.unit
        return float((boxes.low[job][most[job]] - boxes.low[job][least[job]]) / unit)

    job = max((job for job in boxes.low if least[job] < most[job]), key=matters, default=None)
    if job is None:
        return None
    low, at = boxes.low[job], least[job]
    while at < most[job] - 1 and 2 * low[at + 1] < low[least[job]] + low[most[job]]:
        at += 1
    return job, at
