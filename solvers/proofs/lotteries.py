"""Prices and time shares are their own proof of an equilibrium; the verifier measures how near they
are to one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...instances.problem.proof import Proof, multipliers
from . import Task, checked_proof
from .rounding import on_grid
from .time_shares import whole_parts

DIGITS = 10**18
"""The denominator of prices, over the largest."""


def lotteries(task: Task) -> Proof:
    """Of `hylland-zeckhauser`: see `verify.accelerators_prices.equilibrium` for what the numbers
    mean.
    """
    solution: Any = task.outcome.solution
    over = max(1, int(DIGITS / Fraction(max(solution.price.max(), 1e-9))))
    price = multipliers(on_grid(solution.price, over), over)
    options = {name: value for name, value in task.options.items() if name == "budget"}
    witness = whole_parts(task.instance, solution)
    return checked_proof(
        task, [{"kind": "equilibrium", "price": price}], options=options, witness=witness
    )
