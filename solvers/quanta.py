"""Fairest slices over all quanta when all demands are known in advance: minimum cuts, in integers.

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

from ..instances.problem.option_types import validate_options
from ..instances.quanta import Floats, Integers, Quanta, Slices, scale
from ..verify.logarithms import GRID
from ..verify.quanta import bounds
from .engines.max_flow import two_layer_flow
from .outcome import Clock, Outcome, Report, Status, Stop, agree


@validate_options
def horizon(
    instance: Quanta, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Find the equilibrium over the whole horizon, which has the most Nash welfare: each user
    spends one budget on the slices of all quanta, known in advance.

    The certificate's `prices` are those of `slice_prices`. A user pays the inverse of its total for
    every slice; what that is above the price is the price of its own demand, a good that only it
    can use. At the prices of slices alone it need not be an equilibrium.

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
    instance: Quanta, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Maximize the total of the user with the fewest slices, then of the next one, when all demands
    are known in advance.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("quanta/tiny"), "leximin").objective
    24.0
    """
    return _outcome(instance, Clock(time_limit, report), "least_total")


def _outcome(instance: Quanta, clock: Clock, objective: str) -> Outcome:
    solution, stop = fairest(instance, clock)
    value, bound = values(instance, solution)[objective]
    proved = agree(value, bound, scale(instance, objective))
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    certificate = {"prices": slice_prices(instance, solution)}
    return Outcome(solution, bound, status, stop, certificate, tuple(clock.trace))


def slice_prices(instance: Quanta, solution: Slices) -> list[float]:
    """Price of a slice in each quantum, in budgets: the inverse of the least total of the users who
    want more in it; 0 where no user does.
    """
    total = solution.slices.sum(axis=1, keepdims=True)
    worth = 1 / np.where(total > 0, total, np.inf)
    unmet = np.where(instance.demand > solution.slices, worth, 0.0)
    prices: list[float] = unmet.max(axis=0).tolist()
    return prices


def values(instance: Quanta, solution: Slices) -> dict[str, tuple[float, float]]:
    """Values of an answer by `least_total`, `nash_welfare` and `total`, with the bounds that it
    proves by the theorem of `verify.quanta`.
    """
    rows, active = solution.exact(), instance.active
    totals = [_total(row) for row, wants in zip(rows, active, strict=True) if wants]
    least, excess = bounds(instance.demand[active].tolist(), instance.capacity, totals)
    welfare, most = 0.0, instance.most_useful / len(totals)  # at most the mean of the totals
    if excess is not None:
        welfare = math.exp(math.fsum(map(math.log, totals)) / len(totals))
        most = min(most, welfare * math.exp(min(700.0, excess / GRID / len(totals))))
    return {
        "least_total": (float(min(totals)), float(least)),
        "nash_welfare": (welfare, most),
        "total": (float(sum(totals)), float(instance.most_useful)),
    }


def _total(parts: list[Fraction]) -> Fraction:
    """Sum of fractions over one denominator, many times as fast as one by one."""
    over = math.lcm(*{part.denominator for part in parts})
    return Fraction(sum(part.numerator * (over // part.denominator) for part in parts), over)


@lru_cache(maxsize=4)
def most_welfare(instance: Quanta) -> float:
    """Maximum Nash welfare of a policy that knows all demands."""
    return values(instance, fairest(instance, Clock())[0])["nash_welfare"][1]


def fairest(instance: Quanta, clock: Clock) -> tuple[Slices, Stop]:
    """Slices that maximize the total of the user with the fewest, then of the next one, and so on;
    users not settled at the time limit share each quantum by max-min.
    """
    slices, stop = np.zeros(instance.demand.shape), Stop.FINISHED
    everything = np.full(instance.demand.shape[1], instance.capacity)
    # users, and the slices that are there for them in each quantum
    parts = [(np.flatnonzero(instance.active), everything)]
    while parts:
        users, room = parts.pop()
        wanted, number = instance.demand[users], len(users)
        # 1. can all of them have the mean? In units of 1 / |S| everything is whole
        mean = int(np.minimum(wanted.sum(axis=0), room).sum())
        try:
            clock.note(None, None, f"{number} users share what is left")
            stop = Stop.TIME_LIMIT if clock.expired else stop
            if stop is Stop.FINISHED:
                flow, poor = two_layer_flow(np.full(number, mean), wanted * number, room * number)
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        if stop is not Stop.FINISHED:
            slices[users] = max_min_slices(wanted, room)
        elif flow.sum() == mean * number:
            slices[users] = flow / number
        else:  # 2. those behind the cut take all they want; the others what is then left
            left = np.maximum(room - wanted[poor].sum(axis=0), 0)
            parts += [(users[~poor], left), (users[poor], room)]
    return Slices(slices), stop


def raised(start: Integers, room: Integers, amount: int) -> Integers:
    """Increase (n,) of each level when `amount` units go one by one to the lowest level.

    Parameters
    ----------
    start : (n,) levels before; of equal ones the first is served first.
    room : (n,) units that each can take at most.
    """
    if amount >= room.sum():
        return room
    # 1. the highest level to which all that lie below it can be raised
    low, high = int(start.min()), int((start + room).max())
    while high - low > 1:
        middle = (low + high) // 2
        enough = np.clip(middle - start, 0, room).sum() <= amount
        low, high = (middle, high) if enough else (low, middle)
    taken = np.clip(low - start, 0, room)
    # 2. what is left goes to the first of those that stand there and can take more
    able = np.flatnonzero((start + taken == low) & (taken < room))
    taken[able[: amount - int(taken.sum())]] += 1
    return taken


def max_min_slices(demand: Integers, room: Integers) -> Floats:
    """Integer max-min fair slices (n, T) of the (T,) `room` of each quantum, each quantum on its
    own.
    """
    columns, nothing = zip(demand.T, room.tolist(), strict=True), 0 * demand[:, 0]
    return np.stack([raised(nothing, *column) for column in columns], axis=1).astype(float)
