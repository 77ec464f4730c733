"""Exact methods."""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import Choice, Groups, scale
from ...models.groups import choice_program
from ..engines import solve_program
from ..outcome import Outcome, Report, Status, agree


def optimal(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """The items of most value that fit.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("groups/tiny"), "optimal").objective
    8.0
    """
    answer = solve_program(choice_program(instance), time_limit=time_limit, report=report)
    chosen = Choice([] if answer.point is None else np.flatnonzero(answer.point > 0.5))
    value = float(instance.value[chosen.items].sum())
    bound = None if answer.bound is None else max(value, -answer.bound)
    proved = bound is not None and agree(value, bound, scale(instance, "value"))
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return Outcome(chosen, bound, status, answer.stop, {"engine": answer.message})
