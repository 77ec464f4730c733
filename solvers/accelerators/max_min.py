"""Most of the least: max-min fairness, makespan, and what else asks for equal ratios."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.feasible import isolated_shares
from ...instances.accelerators.instance import Accelerators, Floats
from ...instances.accelerators.measures import (
    entitlements,
    throughputs,
)
from ...instances.problem.errors import EngineError
from ...instances.problem.option_types import validate_options
from ...models.accelerators import Prices, ShareProgram, share_program
from ..engines import EngineAnswer, solve_refined
from ..outcome import Clock, Outcome, Status, Stop, agree
from .prices import ROUNDING, covering, most_worth


class Optimum(NamedTuple):
    """An answer, prices that bound what others are worth, and why the search ended."""

    solution: TimeShares
    prices: Prices
    stop: Stop
    message: str


def solved(
    instance: Accelerators, program: ShareProgram, clock: Clock, *, money: float = 0.0
) -> Optimum:
    """The optimum of a program; where the engine has none, the isolated shares, and prices of which
    a job's time alone has one.
    """
    answer: EngineAnswer | None = None
    message, stop = "the time was up", Stop.TIME_LIMIT
    if not clock.expired:
        try:
            answer = solve_refined(program.program, time_limit=clock.left)
            message, stop = answer.message, answer.stop
        except EngineError as error:
            message, stop = str(error), Stop.FINISHED
    if answer is None or answer.point is None or answer.row_dual is None:
        none = Prices(
            (instance.count > 0) / (program.unit * instance.jobs),
            np.zeros(len(instance.devices)),
            np.zeros(instance.types),
        )
        return Optimum(isolated_shares(instance), covering(instance, none, money), stop, message)
    prices = covering(instance, program.prices(instance, answer.row_dual), money)
    done = answer.status is Status.OPTIMAL
    return Optimum(program.answer(instance, answer.point), prices, stop, "" if done else message)


def least_ratio(instance: Accelerators, solution: TimeShares, unit: Floats) -> float:
    """The least throughput of a job, in the unit (T,) of its type."""
    ratio = throughputs(instance, solution) / unit
    return float(ratio[instance.count > 0].min())


def most_ratio(instance: Accelerators, prices: Prices, unit: Floats) -> float:
    """What no least ratio is above: what all is worth over what a ratio of 1 of all is worth."""
    return most_worth(instance, prices) / (
        float(prices.step @ (instance.count * unit)) * (1 - ROUNDING)
    )


def _most_least(
    instance: Accelerators, unit: Floats, clock: Clock, start: TimeShares | None
) -> tuple[Optimum, float, float]:
    """The optimum of the least ratio, its value and its bound."""
    best = solved(instance, share_program(instance, unit), clock)
    value = least_ratio(instance, best.solution, unit)
    bound = most_ratio(instance, best.prices, unit)
    if start is not None and (other := least_ratio(instance, start, unit)) > value:
        best, value = best._replace(solution=start), other
    return best, value, max(bound, value)


def _certificate(best: Optimum) -> dict[str, Any]:
    """The prices that prove the bound, and the engine's words where it did not end."""
    found: dict[str, Any] = {"prices": {k: v.tolist() for k, v in best.prices._asdict().items()}}
    return found | ({"engine": best.message} if best.message else {})


@validate_options
def max_min(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: TimeShares | None = None,
) -> Outcome:
    """The most that the worst-off job's normalized throughput can be (a linear program).

    A job's normalized throughput is its throughput over that of its proportional time alone, times
    the workers it needs, over its weight.

    Parameters
    ----------
    rng : not needed; nothing is drawn.
    time_limit : seconds.
    start : an answer, returned where it is better than what was found.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `worst_throughput` that rests on the prices in the certificate
        alone. When the time is up before the program is solved: every job in 1/n of the cluster.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    Gavel (OSDI 2020), sections 4.1 and 4.2: a variable for each type and kind of device and each
    pair of types and kind, however many jobs there are.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "max-min")
    >>> print(result.status, round(result.objective, 6))
    optimal 1.0
    """
    unit = entitlements(instance)
    best, value, bound = _most_least(instance, unit, Clock(time_limit), start)
    status = Status.OPTIMAL if agree(value, bound) else Status.FEASIBLE
    return Outcome(best.solution, bound, status, best.stop, _certificate(best))
