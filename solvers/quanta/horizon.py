"""The fairest slices over all quanta when demands are known beforehand: cuts, in whole numbers.

What users can have in all are the u >= 0 with sum of u_i over S <= f(S) for every set S of them,
f(S) = sum over t of min(C, sum of d_it over S). As f is submodular, one u is there that is best for
the least total, for all of them from the least up (leximin) and for Nash welfare (Fujishige,
Mathematics of Operations Research 5(2), 1980). If all of S can have f(S) / |S|, that is it; else
those on the source's side of a least cut have less, take all they want, and leave the rest to the
others: both parts are the same question again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.quanta.instance import Floats, Quanta, Slices, exact_rows, scale
from ...verify.quanta import bounds
from ..engines.max_flow import two_layer_flow
from ..outcome import Clock, Outcome, Report, Status, Stop, agree
from .levels import max_min_slices


@validate_options
def horizon(
    instance: Quanta,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Find the equilibrium over the whole horizon, which has the most Nash welfare: each user
    spends one budget on the slices of all quanta, known beforehand.

    The certificate's `prices` are those of a slice in each quantum, in budgets: the inverse of the
    least total of the users who want more there, 0 where nobody does. A user pays the inverse of
    its own total for every slice; what that is above the price is the price of its own demand.

    Parameters
    ----------
    time_limit : seconds; what is not settled by then is shared by max-min in each quantum.

    Notes
    -----
    The optimum of Eisenberg and Gale (1959), where slices and each user's right to use as many as
    it wants in a quantum are goods with prices. At the prices of slices alone a user may have money
    left: with limits in each quantum such an equilibrium is not a convex program (Vazirani and
    Yannakakis, Journal of the ACM 58(3), 2011).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("quanta/tiny"), "horizon")
    >>> print(result.status, result.solution.slices.sum(axis=1).tolist())
    optimal [24.0, 24.0, 24.0]
    """
    return _outcome(instance, Clock(time_limit, report), "nash_welfare")


@validate_options
def leximin(
    instance: Quanta,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Find the most for the user with the fewest slices in all, then for the next, when all demands
    are known beforehand.

    Parameters
    ----------
    time_limit : seconds; what is not settled by then is shared by max-min in each quantum.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("quanta/tiny"), "leximin").objective
    24.0
    """
    return _outcome(instance, Clock(time_limit, report), "least_total")


def _outcome(instance: Quanta, clock: Clock, objective: str) -> Outcome:
    """The answer with its bound on one of the objectives that it is best for."""
    slices, stop = fairest(instance, clock)
    solution = Slices(slices)
    value, bound = values(instance, solution)[objective]
    proved = agree(value, bound, scale(instance, objective))
    certificate = {"prices": slice_prices(instance, solution)} if proved else {}
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return Outcome(solution, bound, status, stop, certificate, tuple(clock.trace))


def slice_prices(instance: Quanta, solution: Slices) -> list[float]:
    """The price of a slice in each quantum, in budgets: the inverse of the least total of those who
    want more there; 0 where nobody does.
    """
    total = solution.slices.sum(axis=1, keepdims=True)
    worth = 1 / np.where(total > 0, total, np.inf)
    prices: list[float] = (
        np.where(instance.demand > solution.slices, worth, 0.0).max(axis=0).tolist()
    )
    return prices


def values(instance: Quanta, solution: Slices) -> dict[str, tuple[float, float]]:
    """What an answer is worth by `least_total`, `nash_welfare` and `total`, and the bounds on them
    that it proves by the theorem of `verify.quanta`.
    """
    rows, active = exact_rows(instance, solution), instance.active
    totals = [sum(row, Fraction(0)) for row, wants in zip(rows, active, strict=True) if wants]
    least, excess = bounds(instance.demand[active].tolist(), instance.capacity, totals)
    welfare, most = 0.0, instance.most_useful / len(totals)  # at most the mean of the totals
    if excess is not None:
        welfare = math.exp(math.fsum(map(math.log, totals)) / len(totals))
        most = min(most, welfare * math.exp(min(700.0, float(excess / len(totals)))))
    return {
        "least_total": (float(min(totals)), float(least)),
        "nash_welfare": (welfare, most),
        "total": (float(sum(totals)), float(instance.most_useful)),
    }


def fairest(instance: Quanta, clock: Clock) -> tuple[Floats, Stop]:
    """The (n, T) slices with the best total for the least user, then for the next, and so on."""
    slices, stop = np.zeros(instance.demand.shape), Stop.FINISHED
    # users, and the slices that are there for them in each quantum
    parts = [(np.flatnonzero(instance.active), np.full(slices[0].size, instance.capacity))]
    while parts:
        users, room = parts.pop()
        wanted = instance.demand[users]
        try:
            clock.note(None, None, f"{len(users)} users share what is left")
            if clock.expired:
                stop = Stop.TIME_LIMIT
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        if stop is not Stop.FINISHED:
            slices[users] = max_min_slices(wanted, room)
            continue
        # 1. can all of them have the mean? In units of 1 / |S| everything is whole
        mean = int(np.minimum(wanted.sum(axis=0), room).sum())
        number = len(users)
        flow, poor = two_layer_flow(np.full(number, mean), wanted * number, room * number)
        if flow.sum() == mean * number:
            slices[users] = flow / number
            continue
        # 2. those behind the cut take all they want; the others what is then left
        taken = wanted[poor].sum(axis=0)
        parts += [
            (users[~poor], np.maximum(room - taken, 0)),
            (users[poor], np.minimum(room, taken)),
        ]
    return slices, stop


@lru_cache(maxsize=4)
def most_welfare(instance: Quanta) -> float:
    """The most Nash welfare of a clairvoyant."""
    return values(instance, Slices(fairest(instance, Clock())[0]))["nash_welfare"][1]
