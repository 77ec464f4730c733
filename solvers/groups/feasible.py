"""A grouping to begin with: what may be formed, of the jobs there are."""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import Grouping, Groups, check
from ...instances.problem.base import Solution
from ...instances.problem.errors import InfeasibleSolution, NoSolution
from ...models.groups.columns import Columns
from ..engines import solve_program
from ..outcome import Clock, Outcome, Status, Stop
from .common import dealt, greedy_number


def starting_grouping(
    instance: Groups, columns: Columns, start: Solution | None, clock: Clock
) -> Grouping | Outcome:
    """The start if it is feasible, else the cheapest groups first, else what an engine finds; an
    outcome without a solution where there is none, or none was found in time.
    """
    if isinstance(start, Grouping):
        try:
            check(instance, start)
        except InfeasibleSolution:
            pass
        else:
            return start
    if (found := dealt(instance)) is not None:
        return found
    number = greedy_number(instance, columns)
    if number is not None:
        return columns.grouping(instance, number)
    program = columns.program(instance)
    answer = solve_program(program, time_limit=clock.share())
    if answer.point is not None:
        made = columns.grouping(instance, np.rint(answer.point).astype(np.int64))
        check(instance, made)
        return made
    if answer.status is Status.INFEASIBLE:
        why = {"proof": "integer program over kinds of groups: no grouping keeps its rows"}
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, why)
    return Outcome(None, None, Status.UNKNOWN, answer.stop, {"engine": answer.message})


def feasible_grouping(instance: Groups, columns: Columns, clock: Clock) -> Grouping:
    """Some feasible grouping; raises NoSolution where there is none, or none was found."""
    found = starting_grouping(instance, columns, None, clock)
    if isinstance(found, Grouping):
        return found
    sure = found.status is Status.INFEASIBLE
    raise NoSolution(
        "the jobs cannot be grouped: too many groups are forbidden"
        if sure
        else "no grouping was found among those that are not forbidden; try optimal"
    )
