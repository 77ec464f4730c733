"""Proofs of a market equilibrium: prices and cores, whose residuals the verifier computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.market.utility import best_reply
from ...instances.problem.proof import Proof, multipliers
from . import Claimed, Task, checked_proof
from .market_cores import best_attempt, fractional_cores, points
from .rounding import on_grid

ENOUGH = 1e-9
"""An error that is not worth more digits, nor points of their own for the tangents."""


def equilibrium(task: Task) -> Proof:
    """Proof of `fisher`; its three residuals are defined in `verify.market_equilibrium`."""
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

    def attempt(digits: int, own: bool) -> Proof:
        per = 10 ** max(0, digits + 2 - int(np.floor(np.log10(least))))
        cores = fractional_cores(task, solution.cores, digits)
        step: dict[str, Any] = {"kind": "equilibrium"}
        if own:  # tangents where nobody would change anything at these prices
            step["at"] = points(best_reply(market, price).amount, cores["over"])
        witness = {"cores": cores, "price": multipliers(on_grid(price, per), per)}
        return checked_proof(task, [step], witness=witness)

    return best_attempt(task, attempt, lambda level: float(level.value or 0), ENOUGH)
