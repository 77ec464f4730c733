"""Leximin of whole cores: for each level a tree of boxes, whose leaves are empty or refuted by
weights of users.

The weights are multipliers of a linear program over a box: cores of falling gains as columns from 0
to 1, and a column for each user that says how far it is to meet the goal of a condition. Its value
is by how much, relative to its endowment's utility, every user could exceed what is asked of it;
where that is below 0, its multipliers refute the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ... import verify
from ...instances.market.instance import Floats
from ...instances.problem.proof import Level, Proof, multipliers
from ...models.program import ProgramBuilder
from ..engines.highs import LivingProgram
from . import Claimed, Task
from .cores import case_of
from .rounding import on_grid

MOST_NODES = 20_000
"""Nodes of a level's tree beyond which the level stays open."""

_WEIGHT = 2**30  # the largest weight of a leaf
_NEAR = 1e-6  # cores this near to a whole number are not branched on

Node = dict[str, Any] | list[int]


def leximin(task: Task) -> Proof:
    """Of `leximin`: its levels in order, as far as time allows."""
    solution: Any = task.outcome.solution
    if solution is None:
        raise Claimed("there is no answer")
    witness = {"cores": multipliers(on_grid(solution.cores, 1), 1)}
    try:
        boxes = verify.Leximin(verify.Market(case_of(task, witness, {}, [])))
    except verify.Refused as why:
        raise Claimed(str(why)) from None
    levels: list[Level] = []
    for value in sorted(set(boxes.order)):
        nodes = _Search(task, boxes).tree(value)
        if nodes is None and levels:
            break
        objective = "sharing_ratio" if levels else "sharing_index"
        steps = () if nodes is None else ({"kind": "tree", "nodes": nodes},)
        levels.append(Level(objective, "max", value, None if nodes is None else value, steps))
        if nodes is None:
            break
    return Proof("market", "leximin", tuple(levels), {}, witness)


class _Search:
    """Branching on cores until every box is refuted.

    Parameters
    ----------
    task : for its clock.
    boxes : the verifier's own, which squeezes and judges.
    """

    def __init__(self, task: Task, boxes: verify.Leximin) -> None:
        self._clock, self._boxes = task.clock, boxes
        market = boxes.market
        self._room = boxes.room
        self._server = {job: market.server[job] for job in boxes.low}
        self._gains: dict[int, Floats] = {}  # ratio that each core of a job adds for its user
        for user, jobs in boxes.jobs.items():
            unit = boxes.worth[user] * market.unit
            for job in jobs:
                self._gains[job] = np.diff([float(low / unit) for low in boxes.low[job]])

    def tree(self, value: Fraction) -> list[Node] | None:
        """The nodes that prove a level; None when time or nodes run out, or a better answer is
        met.
        """
        boxes = self._boxes
        places, goals = boxes.conditions(value)
        stack = [boxes.root()]
        nodes: list[Node] = []
        while stack:
            if self._clock.over or len(nodes) > MOST_NODES:
                return None
            least, most = stack.pop()
            missing = boxes.squeeze(least, most, goals)
            if missing is None:
                nodes.append([])
                continue
            seats = [(goal[0], short) for goal, short in zip(goals, missing, strict=True)]
            weights, cores = self._weights(least, most, places, seats)
            if boxes.largest(weights, least, most) < boxes.asked(weights, places, seats):
                nodes.append({"weights": weights})
                continue
            if not cores:  # a better answer, so there is nothing to prove
                return None
            job, at = _branch(cores, least, most)
            nodes.append([job, at])
            above, below = list(least), list(most)
            above[job], below[job] = at + 1, at
            stack += [(above, list(most)), (list(least), below)]
        return nodes

    def _weights(
        self,
        least: list[int],
        most: list[int],
        places: list[Fraction],
        seats: list[tuple[int, set[int]]],
    ) -> tuple[list[int], dict[int, float]]:
        """Weights of all users, and the program's cores of each job that has a choice in the
        box.
        """
        boxes, builder = self._boxes, ProgramBuilder()
        excess = int(builder.columns(1, lower=-np.inf, upper=1.0, cost=-1.0)[0])
        rows = {user: _Row([excess], [-1.0], 0.0) for user in boxes.jobs}
        column: dict[int, Any] = {}
        left, on_server = list(self._room), [[] for _ in self._room]  # type: ignore[var-annotated]
        for user, jobs in boxes.jobs.items():
            for job in jobs:
                gains, server = self._gains[job], self._server[job]
                rows[user].least -= float(gains[: least[job]].sum())
                left[server] -= least[job]
                if most[job] > least[job]:
                    column[job] = builder.columns(most[job] - least[job], upper=1.0)
                    rows[user].add(column[job], gains[least[job] : most[job]])
                    on_server[server] += column[job].tolist()
        before = 0.0
        for below, short in seats:
            step, before = float(places[below]) - before, float(places[below])
            free = [user for user in boxes.jobs if user not in short]
            if below == len(short):
                for user in free:
                    rows[user].least += step
            elif step > 0:
                meets = builder.columns(len(free), upper=1.0)
                builder.row(meets, lower=float(len(places) - below))
                for user, one in zip(free, meets, strict=True):
                    rows[user].add([one], [-step])
        place = [builder.row(row.columns, row.entries, lower=row.least) for row in rows.values()]
        for columns, number in zip(on_server, left, strict=True):
            if columns:
                builder.row(columns, upper=float(number))
        answer = LivingProgram(builder.build()).solve(self._clock.share())
        weights = [0] * len(boxes.market.budget)
        cores = {job: float(least[job]) for job in column}
        if answer.row_dual is not None and answer.point is not None:
            per_unit = [
                max(0.0, dual) / float(boxes.worth[user])
                for user, dual in zip(rows, answer.row_dual[place], strict=True)
            ]
            for user, weight in zip(rows, per_unit, strict=True):
                weights[user] = round(weight / (max(per_unit) or 1.0) * _WEIGHT)
            for job, columns in column.items():
                cores[job] += float(answer.point[columns].sum())
        return weights, cores


@dataclass
class _Row:
    """A user's row: its ratio, less what is asked of it, is at least `least`."""

    columns: list[int]
    entries: list[float]
    least: float

    def add(self, columns: Any, entries: Any) -> None:
        self.columns += list(columns)
        self.entries += list(entries)


def _branch(cores: dict[int, float], least: list[int], most: list[int]) -> tuple[int, int]:
    """The job whose cores are farthest from whole numbers, and where to cut; the widest one when
    all are whole.
    """
    job = max(cores, key=lambda one: abs(cores[one] - round(cores[one])))
    if abs(cores[job] - round(cores[job])) > _NEAR:
        return job, int(cores[job])
    job = max(cores, key=lambda one: most[one] - least[one])
    return job, min(max(round(cores[job]), least[job]), most[job] - 1)
