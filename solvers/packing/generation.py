"""Column generation for the relaxation over patterns, with a valid bound in every round."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ..outcome import Clock
from .patterns import (
    ACCURACY,
    Pool,
    dearest,
    disjoint_patterns,
    penalty_of,
    price_patterns,
    scale_of,
)
from .presolve import UNLIMITED, Reduced
from .restricted_master import RestrictedMaster

INWARD = 0.5
"""How far prices are moved from the master's duals towards those of the best bound at first."""

QUICK, MANY = 3_000, 30
"""Nodes of a search for columns alone; it suffices where it finds one for so many types."""

IMPROVEMENTS, SPREAD = 8, 1_000
"""Patterns that a short search and a long one keep of what they find, the latest."""

LOOSEST, FINEST_GAP = 1e-2, 1e-8
"""Relative gaps to which an interior point solves the master, first and last."""

ROUNDING = 1e-5
"""By how much an interior point's value may be above one that is met."""

LEAST = 0.2
"""Seconds for the vertex that dives begin at."""

LONGEST = 16
"""Searches for a bound that are cut off and find no column take twice as long the next time, up to
so many times.
"""


@dataclass(frozen=True, eq=False)
class Prices:
    """Integer dual prices with the bound they prove.

    Attributes
    ----------
    profit : (s,) price of a VM of each type.
    scale : what a server of cost 1 is worth in the same unit.
    rent : (p,) premium on a class of limited number.
    value : (sum of profit x request - sum of rent x servers) / scale, a lower bound on the cost of
        any answer.
    """

    profit: Integers
    scale: int
    rent: tuple[int, ...]
    value: Fraction


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Result of column generation: the pool, dual prices with their bound, and weights.

    Attributes
    ----------
    pool : every pattern met.
    prices : the dual prices of the best bound.
    bound : that bound rounded up to a whole cost.
    value : the relaxation over the patterns met, in floats; None when it was never solved.
    weight : (n,) its solution over the pool.
    complete : whether the relaxation was solved to its optimum.
    rounds : how often it was solved.
    """

    pool: Pool
    prices: Prices
    bound: int
    value: float | None
    weight: Floats
    complete: bool
    rounds: int


def generate(
    problem: Reduced,
    pool: Pool,
    clock: Clock,
    *,
    upper: int | None,
    enough: float | None = None,
    seconds: float | None = None,
    nodes: int = 200_000,
    master: RestrictedMaster | None = None,
) -> Relaxation:
    """Solve the relaxation over all patterns by column generation.

    It ends when no pattern improves it, when its bound (rounded up) meets the value of the patterns
    met (rounded up) or `upper`, or when `seconds` are over; the bound holds in each case (Farley
    1990, Lagrange with limited classes).

    Parameters
    ----------
    pool : patterns to begin with; grows. Every type gets one of its own.
    upper : cost of the best answer known.
    enough : stop as soon as the patterns met cost no more than this.
    nodes : of one pricing search at first; where it is cut, its bound is what the relaxed knapsacks
        give for what was not searched.
    master : of the relaxation over the pool, to go on from; a new one where not given.
    """
    # the restricted master: the patterns of the pool, with a penalty for what is not served
    _singles(problem, pool)
    deadline = np.inf if seconds is None else clock.seconds + seconds
    penalty, scale = float(penalty_of(problem)), scale_of(problem)
    begun = RestrictedMaster(problem, pool, penalty, clock) if master is None else master
    restricted = begun if master is None else master.turn_to(problem)
    # the best bound so far; all prices 0 prove 0
    best = Prices(
        np.zeros(problem.types, dtype=np.int64), scale, (0,) * len(problem.price), Fraction(0)
    )
    value, complete, rounds = None, False, 0
    longest, accuracy = nodes, LOOSEST
    center: Prices | None = None
    while True:
        # 1. solve the master, the more accurately the nearer the bound is
        answer = restricted.solve(accuracy, None if seconds is None else deadline - clock.seconds)
        if answer is None:
            break
        rounds += 1
        value, entered = answer.value, len(pool)
        # 2. price patterns of every class in integers: columns at the master's duals by a short
        # search; where it finds few, more and a bound by a long one, at prices between the duals
        # and those of the best bound, nearer to the duals each time that there is no column
        outer = _whole_duals(problem, answer.duals, scale, penalty)
        _price_all(problem, pool, *outer, scale, min(QUICK, nodes))
        few = (len(pool) - entered) * MANY < problem.types
        inward, exact, late = (0.0 if center is None else INWARD), False, False
        while few:
            profit, rent = _between(center, outer, scale, inward)
            tops, exact = _price_all(problem, pool, profit, rent, scale, longest, spread=True)
            prices = prices_of(problem, profit, tops, scale)
            if prices.value > best.value:
                best = prices
                # of a coarser scale rents are what counts: not prices of the master's kind
                center = prices if 2 * prices.scale >= scale else center
            if not exact and len(pool) == entered:
                longest = min(2 * longest, LONGEST * nodes)
            late = clock.expired or _ceil(best.value) >= np.ceil(value - 1e-6)
            if len(pool) > entered or inward == 0 or late:
                break
            inward = inward / 2 if inward > 0.1 else 0.0
        # 3. why to stop: good enough, the bound meets the value, time is over, or no new column at
        # multipliers that are accurate
        if enough is not None and value <= enough + ROUNDING:
            break
        if upper is not None and _ceil(best.value) >= upper:
            break
        if late or clock.expired or clock.seconds >= deadline:
            break
        if len(pool) == entered and (not restricted.central or accuracy <= FINEST_GAP):
            complete = exact and inward == 0
            break
        gap = float((value - best.value) / max(value, 1.0)) / 10
        accuracy = min(accuracy, max(gap, FINEST_GAP)) * (0.1 if len(pool) == entered else 1.0)
    left = None if seconds is None else max(deadline - clock.seconds, LEAST)
    return Relaxation(
        pool, best, _ceil(best.value), value, restricted.weights(left), complete, rounds
    )


def prices_of(
    problem: Reduced, profit: Integers, tops: list[int], scale: int, income: int | None = None
) -> Prices:
    """Lower bound on the servers' cost that integer prices of VMs prove. `tops` bounds the profit
    of a pattern by class; `income` is the value of all requests if not the sum of their prices.

    Cost x scale >= profit of a pattern - rent of its class, for every pattern, so
    cost >= (sum profit x request - sum rent x servers) / scale; the scale is the least that classes
    without limit allow, or a larger one at which a limited class needs no rent, whichever proves
    more.
    """
    if income is None:
        income = sum(
            int(price) * int(number) for price, number in zip(profit, problem.request, strict=True)
        )
    needed = [
        (top, int(price), int(number))
        for top, price, number in zip(tops, problem.price, problem.servers, strict=True)
    ]
    floor = max(
        (-(-top // price) for top, price, number in needed if number >= UNLIMITED), default=1
    )
    best: Prices | None = None
    for unit in {
        max(floor, 1),
        *(max(floor, -(-top // price), 1) for top, price, _ in needed),
        max(floor, scale),
    }:
        rent = tuple(
            0 if number >= UNLIMITED else max(0, top - price * unit)
            for top, price, number in needed
        )
        value = Fraction(
            income - sum(r * number for r, (_, _, number) in zip(rent, needed, strict=True)), unit
        )
        if best is None or value > best.value:
            best = Prices(profit, unit, rent, value)
    assert best is not None
    return best


def _whole_duals(
    problem: Reduced, duals: Floats, scale: int, penalty: float
) -> tuple[Integers, Integers]:
    """Prices (s,) of VMs and rents (p,) of classes as integers over `scale`; any such prices prove
    a bound.
    """
    highest = min(penalty, float(dearest(problem, scale)))
    profit = np.floor(np.clip(duals[: problem.types], 0.0, highest) * scale).astype(np.int64)
    premium = np.clip(
        -duals[problem.types : problem.types + len(problem.price)],
        0.0,
        min(penalty, 2.0**61 / scale),
    )
    return profit, np.floor(np.where(problem.servers >= UNLIMITED, 0.0, premium) * scale).astype(
        np.int64
    )


def _between(
    center: Prices | None, outer: tuple[Integers, Integers], scale: int, inward: float
) -> tuple[Integers, Integers]:
    """Prices and rents between those of the master and those of the best bound (in-out separation,
    Ben-Ameur and Neto 2007).
    """
    if center is None or inward == 0:
        return outer
    unit, near = scale / center.scale, (center.profit, np.array(center.rent))
    profit, rent = (
        np.floor(inward * unit * inner.astype(float) + (1.0 - inward) * away).astype(np.int64)
        for inner, away in zip(near, outer, strict=True)
    )
    return profit, rent


def _price_all(
    problem: Reduced, pool: Pool, profit: Integers, rent: Integers, scale: int, nodes: int,
    *, spread: bool = False,
) -> tuple[list[int], bool]:  # fmt: skip
    """Add the best patterns of every class (with `spread`, of every type) to the pool; return upper
    bounds on their profit, and whether these are tight.
    """
    tops, exact = [], True
    slack = scale // ACCURACY
    for kind in range(len(problem.price)):
        least = int(problem.price[kind]) * scale + int(rent[kind]) + slack
        priced = price_patterns(
            problem, kind, profit, least, slack=slack, nodes=nodes, spread=spread,
            keep=SPREAD if spread else IMPROVEMENTS,
        )  # fmt: skip
        tops.append(priced.best)
        exact &= priced.exact
        for pattern in priced.patterns:
            pool.add(pattern, kind)
        if len(priced.patterns) and not spread:
            for pattern in disjoint_patterns(problem, kind, profit, least, priced.patterns[-1]):
                pool.add(pattern, kind)
    return tops, exact


def _singles(problem: Reduced, pool: Pool) -> None:
    """Add to the pool, for each VM type and kind of server, the pattern of that type alone with as
    many VMs as fit and are requested.
    """
    for kind, capacity in enumerate(problem.capacity):
        for i in np.flatnonzero(problem.request).tolist():
            needs = problem.demand[i] > 0
            most = int(min((capacity[needs] // problem.demand[i][needs]).min(), problem.request[i]))
            if most > 0:
                row = np.zeros(problem.types, dtype=np.int64)
                row[i] = most
                pool.add(row, kind)


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
