"""Prices and cores are their own proof of a market equilibrium; the verifier measures how near they
are to one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ... import verify
from ...instances.market.utility import best_reply
from ...instances.problem.proof import Level, Proof, multipliers
from . import Claimed, Task
from .market_cores import ATTEMPTS, case_of, fractional_cores, points
from .rounding import on_grid

ENOUGH = 1e-9
"""An error that is not worth more digits, nor points of their own for the tangents."""


def fisher(task: Task) -> Proof:
    """Of `fisher`: see `verify.market_equilibrium` for what its three numbers mean."""
    return _equilibrium(task, "fisher")


def fisher_convex(task: Task) -> Proof:
    """Of `fisher-convex`, as of `fisher`."""
    return _equilibrium(task, "fisher-convex")


def _equilibrium(task: Task, method: str) -> Proof:
    solution: Any = task.outcome.solution
    if task.options.get("rounding", "none") != "none":
        raise Claimed("an equilibrium in whole cores is none; leave rounding at none")
    if solution is None or solution.price is None:
        raise Claimed("there are no prices")
    # Cores that nobody has a use for beyond a sliver are free: the verifier refuses only what would
    # be of use.
    market = task.instance
    moving = market.useful & (market.parallel_fraction > 0)
    wanted = np.bincount(market.server[moving], minlength=market.servers) > 0
    price = np.where(wanted, solution.price, 0.0)
    least = price[price > 0].min(initial=1.0)
    best: Proof | None = None
    with suppress(KeyboardInterrupt):  # the best by then
        for digits, own in ATTEMPTS:
            per = 10 ** max(0, digits + 2 - int(np.floor(np.log10(least))))
            witness = {
                "cores": fractional_cores(task, solution.cores, digits),
                "price": multipliers(on_grid(price, per), per),
            }
            step: dict[str, Any] = {"kind": "equilibrium"}
            if own:  # tangents where nobody would change anything at these prices
                step["at"] = points(best_reply(market, price).amount, witness["cores"]["over"])
            try:
                [found] = verify.market_equilibrium(case_of(task, witness, {}, [step]))
            except verify.Refused:  # a price rounded to 0, of cores that are of use
                continue
            level = Level(
                "equilibrium_error", "min", found.value, found.bound, (step,), epsilon=found.epsilon
            )
            if best is None or _error(level) < _error(best.levels[0]) / 2:
                best = Proof("market", method, (level,), {}, witness)
            if _error(level) <= ENOUGH or task.clock.expired:
                break
    if best is None:
        raise Claimed("numbers so unequal, or so little time, allow no fractions that prove")
    return best


def _error(level: Level) -> float:
    return float(level.value or 0)
