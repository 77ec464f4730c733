"""Cutting-plane method for the dual prices of a few shared resources.

Parts k = 1, ..., K (jobs, users) each choose a reply z in a set of their own, which is worth v_k(z)
and uses u_k(z) of m resources, of which there are `capacity`. At prices y >= 0 a part gains at most
g_k(y) = max over z of v_k(z) - y . u_k(z). Weak duality: whatever the parts choose within the
capacity is worth at most

    capacity . y + sum over k of g_k(y),                                                         (1)

which is convex in y and has the subgradient capacity - sum over k of u_k at the best replies. Every
reply is a cut of a linear program in y and g, whose optimum is a lower bound on the least of (1)
(Kelley 1960); the next prices lie between that program's optimum and the best prices so far (in-out
separation, Ben-Ameur and Neto 2007). The multipliers of the cuts in use are weights of replies: an
average of replies that keeps the capacity and is worth the least of (1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..instances.problem.errors import EngineError
from ..models.program import ProgramBuilder
from .engines import WarmStartedProgram
from .outcome import Clock, Status

Floats = npt.NDArray[np.float64]

NEAR = 0.5
"""How far from the best prices so far towards the optimum of the cuts the next prices lie."""

STALLED = 1e-3
"""Part of the gap by which the lower bound rises at least, or the next prices are that optimum."""


ROUNDING = 4e-15
"""More than a few products of floats, and their sum rounded once, are off by, as a fraction: bounds
are moved by it to the side where they claim less.
"""


class Reply(NamedTuple):
    """Best choices of users or jobs at given prices, by group: their gains and resource use.

    Attributes
    ----------
    price : (m,) of a unit of each resource.
    gain : (k,) what each group gains at most.
    use : (k, m) what it then uses.
    """

    price: Floats
    gain: Floats
    use: Floats


class Prices(NamedTuple):
    """Dual prices that bound the total worth of all users' or jobs' choices.

    Attributes
    ----------
    price : (m,) at which (1) is the least that was met.
    bound : (1) there, in floats.
    lower : no prices make (1) less than this.
    weights : (weight, index into `met`, group) of the cuts in use; those of a group sum to 1.
    met : every reply, for `known` of the next search.
    """

    price: Floats
    bound: float
    lower: float
    weights: list[tuple[float, int, int]]
    met: list[Reply]


def search(
    replies: Callable[[Floats], tuple[Any, Any]],
    capacity: Floats,
    most: Floats,
    *,
    start: Floats,
    tolerance: float = 1e-9,
    scale: float | None = None,
    enough: float = -math.inf,
    rounds: int = 400,
    known: Sequence[Reply] = (),
    clock: Clock,
) -> Prices:
    """Minimize the dual function of the resources' prices, from 0 to `most`.

    Parameters
    ----------
    replies : the gains (k,) and uses (k, m) of k groups of parts at prices; one group, or some
        hundred where there are more than ten resources.
    capacity, most, start : (m,) units of each resource, its highest price, its first price.
    tolerance, scale : the search ends where bound and lower bound differ by `tolerance` x `scale`;
        the sum of the sizes of the first terms of (1) when not given.
    enough : or where (1) is below this, or no prices make it so.
    rounds : or after so many new replies.
    known : replies of an earlier search that hold here too: cuts to begin with.

    Returns
    -------
    Prices
        The best that was met when the time was up, after one reply at least.
    """
    price, met = np.asarray(start, dtype=float), list[Reply]()  # met: all replies so far
    best, at, lower = math.inf, price, -math.inf
    while True:
        # 1. the replies at these prices
        index, old = len(met), len(met) < len(known)
        met.append(known[index] if old else _reply(replies, price))
        price, gain, _ = met[-1]
        value = float(capacity @ price) + math.fsum(gain)
        if index == 0:
            unit = scale or max(float(capacity @ price) + math.fsum(abs(gain)), 1e-300)
            program = _Cuts(capacity, most, len(gain), unit)
        improved = value < best - tolerance * unit
        if value < best:
            best, at = value, price
        if best < enough or (clock.expired and not old):
            break
        # 2. their cuts, and the best prices by all cuts so far
        program.add(index, met[-1])
        if index + 1 < len(known):
            continue
        before, lower = lower, program.solve()
        settled = best - lower <= tolerance * unit or lower >= enough > -math.inf
        if settled or index + 1 - len(known) >= rounds:
            break
        stalled = not improved and lower - before < STALLED * (best - lower)
        price = program.price if stalled else NEAR * program.price + (1 - NEAR) * at
    return Prices(at, best, lower, program.weights, met)


def _reply(replies: Callable[[Floats], tuple[Any, Any]], price: Floats) -> Reply:
    gain, use = replies(price)
    gains = np.atleast_1d(np.asarray(gain, dtype=float))
    return Reply(price, gains, np.asarray(use, dtype=float).reshape(len(gains), len(price)))


class _Cuts:
    """Cutting-plane program over resource prices y and gains g of groups, in scaled units. It
    minimizes capacity . y + sum of g, with cuts g_k + use . y >= gain + use . price.
    """

    def __init__(self, capacity: Floats, most: Floats, groups: int, unit: float) -> None:
        builder = ProgramBuilder()
        self.unit, self.size = unit, np.where(capacity > 0, capacity, 1.0)
        builder.columns(len(most), upper=most * self.size / unit, cost=capacity / self.size)
        builder.columns(groups, lower=-np.inf, cost=1.0)
        self.program, self.cuts = WarmStartedProgram(builder.build()), list[tuple[int, int]]()
        self.price, self.gain = np.zeros(len(most)), np.full(groups, -np.inf)
        self.weights = list[tuple[float, int, int]]()

    def add(self, index: int, reply: Reply) -> None:
        """Add a cut for each group whose reply to the prices the last optimum violates."""
        right = reply.gain + reply.use @ reply.price
        for group in np.flatnonzero(right > reply.use @ self.price + self.gain).tolist():
            columns = np.append(np.arange(len(self.price)), len(self.price) + group)
            row = np.append(reply.use[group] / self.size, 1.0)
            self.program.add_rows(right[[group]] / self.unit, [0], columns, row)
            self.cuts.append((index, group))

    def solve(self) -> float:
        """Solve the master program; sets `price`, `gain` and `weights`."""
        answer = self.program.solve()
        if answer.status is not Status.OPTIMAL or answer.point is None or answer.row_dual is None:
            raise EngineError(f"HiGHS did not solve the cuts of prices: {answer.message}")
        prices = len(self.price)
        self.price = answer.point[:prices] * self.unit / self.size
        self.gain = answer.point[prices:] * self.unit
        used = zip(answer.row_dual.tolist(), self.cuts, strict=True)
        self.weights = [(weight, *cut) for weight, cut in used if weight > 0]
        assert answer.objective is not None
        return answer.objective * self.unit
