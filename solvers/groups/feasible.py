"""Feasible groupings to begin with."""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import Grouping, Groups
from ...instances.problem.base import Solution
from ...instances.problem.errors import NoSolution
from ...instances.problem.registry import feasible
from ...models.groups.columns import Columns, columns_of
from ..engines import solve_program
from ..outcome import Clock, Outcome, Status, Stop
from .common import dealt, greedy_number


def starting_grouping(
    instance: Groups, columns: Columns | None, start: Solution | None, clock: Clock
) -> Grouping | Outcome:
    """The start if feasible, else jobs sorted by pressure, else greedy groups, else an engine's
    answer; an outcome without solution if there is none.

    Parameters
    ----------
    columns : None where there is no time to list them.
    """
    for begin in (start, dealt(instance)):
        if isinstance(begin, Grouping) and feasible(instance, begin):
            return begin
    if columns is None:
        why = {"proof": "none: there is no time to list the kinds of groups"}
        return Outcome(None, None, Status.UNKNOWN, Stop.TIME_LIMIT, why)
    missing = np.setdiff1d(instance.present, columns.members)
    if len(missing):
        why = {"proof": f"no group that may be formed holds {instance.names[missing[0]]!r}"}
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, why)
    number = greedy_number(instance, columns)
    if number is not None:
        return columns.grouping(instance, number)
    answer = solve_program(columns.program(instance), time_limit=clock.time_slice())
    if answer.point is not None:
        made = columns.grouping(instance, np.rint(answer.point).astype(np.int64))
        if feasible(instance, made):
            return made
    if answer.status is Status.INFEASIBLE:
        why = {
            "proof": "integer program: the groups that may be formed do not place all jobs; allow "
            "more groups or give more machines"
        }
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, why)
    return Outcome(None, None, Status.UNKNOWN, answer.stop, {"engine": answer.message})


def repaired(instance: Groups, found: Grouping) -> Grouping:
    """A policy's grouping if feasible, else another feasible one.

    Raises
    ------
    NoSolution
        There is none, or none was found.
    """
    if feasible(instance, found):
        return found
    other = starting_grouping(instance, columns_of(instance), None, Clock())
    if isinstance(other, Grouping):
        return other
    raise NoSolution(
        "no grouping exists: too many groups are forbidden"
        if other.status is Status.INFEASIBLE
        else "no grouping was found among those that are not forbidden; try optimal"
    )
