"""Compiled loops over users whose jobs stand together: the sums and products of `proportional`,
`utility.fill` and `linear` in the same order, hence to the last bit.

User i has the jobs from starts[i] to starts[i + 1].
"""

from __future__ import annotations

import math

import numpy as np

from ...instances.market.instance import Floats, Integers
from ..compiled import compiled


@compiled
def respond(
    starts: Integers, server: Integers, fraction: Floats, factor: Floats, budget: Floats,
    price: Floats, bids: Floats, least: float,
) -> Floats:  # fmt: skip
    """(j,) the bids of a round of proportional response (see `proportional.rebid`)."""
    after = np.empty(len(bids))
    for user in range(len(starts) - 1):
        total = 0.0
        for job in range(starts[user], starts[user + 1]):
            linear = fraction[job] * price[server[job]]
            worth = math.sqrt(linear) * factor[job] * bids[job]
            after[job] = worth / (linear + (1 - fraction[job]) * bids[job])
            total += after[job]
        scale = budget[user] / total if total > 0 else 0.0
        for job in range(starts[user], starts[user + 1]):
            after[job] = max(after[job] * scale, least)
    return after


@compiled
def fill(
    starts: Integers, work: Floats, fraction: Floats, price: Floats, budget: Floats
) -> tuple[Floats, Floats]:
    """Amounts (j,) and levels (n,) of `utility.fill` for jobs with f in (0, 1) and work above 0, at
    prices (j,).
    """
    amount, level = np.empty(len(work)), np.empty(len(budget))
    gap, active = np.empty(len(work)), np.ones(len(work), dtype=np.bool_)
    for user in range(len(budget)):
        jobs = range(starts[user], starts[user + 1])
        base = math.inf if len(jobs) else 0.0
        for job in jobs:
            gap[job] = math.sqrt(fraction[job] * price[job] / work[job])
            amount[job] = fraction[job] / (1 - fraction[job]) / gap[job]
            base = min(base, gap[job])
        for job in jobs:
            gap[job] -= base
        before, number, rise = -1, len(jobs), math.inf
        while number != before:
            total, rest = 0.0, 0.0
            for job in jobs:
                if active[job]:
                    total += price[job] * amount[job]
                    rest += gap[job] * (price[job] * amount[job])
            rise = (budget[user] + rest) / total if total > 0 else math.inf
            before, number = number, 0
            for job in jobs:
                active[job] = active[job] and (gap[job] < rise or gap[job] == 0)
                number += active[job]
        spent = 0.0
        for job in jobs:
            amount[job] *= rise - gap[job] if rise > gap[job] else 0.0
            spent += price[job] * amount[job]
        for job in jobs:
            amount[job] *= budget[user] / spent if spent > 0 else 1.0
        level[user] = base + rise
    return amount, level


@compiled
def outer(
    starts: Integers, server: Integers, left: Floats, right: Floats, vector: Floats
) -> Floats:
    """(m,) the users' blocks of `linear.UserBlocks` times a vector (m,)."""
    product = np.zeros(len(vector))
    for user in range(len(starts) - 1):
        inner = 0.0
        for job in range(starts[user], starts[user + 1]):
            inner += right[job] * vector[server[job]]
        for job in range(starts[user], starts[user + 1]):
            product[server[job]] += left[job] * inner
    return product
