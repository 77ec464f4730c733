"""Compiled loops over users with contiguous jobs: sums and products of `proportional`,
`utility.fill` and `linear` in the same order, hence equal to the last bit.

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
) -> tuple[Floats, Floats]:  # fmt: skip
    """(j,) the bids of a round of proportional response (see `proportional.rebid`), and (m,) the
    money on each server.
    """
    after, money = np.empty(len(bids)), np.zeros(len(price))
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
            money[server[job]] += after[job]
    return after, money


@compiled
def fill(
    first: int, last: int, work: Floats, fraction: Floats, price: Floats, budget: float,
    amount: Floats, gap: Floats, slope: Floats,
) -> float:  # fmt: skip
    """Divide one user's budget over its jobs, `first` to before `last`; return the level, as
    `utility.fill` does. Parallel fractions are in (0, 1), and work is above 0.

    Parameters
    ----------
    price : of a core for each of these jobs.
    amount : what each of them gets; written.
    gap, slope : room to work in.
    """
    number = last - first
    base = math.inf if number else 0.0
    for k in range(number):
        job = first + k
        gap[k] = math.sqrt(fraction[job] * price[k] / work[job])
        amount[k] = fraction[job] / (1 - fraction[job]) / gap[k]
        slope[k] = price[k] * amount[k]
        base = min(base, gap[k])
    for k in range(number):
        gap[k] -= base
    # jobs whose gap the least rise so far, `most`, does not exceed count no more
    rise, most, before, active = math.inf, math.inf, -1, number
    while active != before:
        total, rest = 0.0, 0.0
        for k in range(number):
            if gap[k] < most or gap[k] == 0:
                total += slope[k]
                rest += gap[k] * slope[k]
        rise = (budget + rest) / total if total > 0 else math.inf
        most = min(most, rise)
        before, active = active, 0
        for k in range(number):
            active += gap[k] < most or gap[k] == 0
    spent = 0.0
    for k in range(number):
        amount[k] *= rise - gap[k] if rise > gap[k] else 0.0
        spent += price[k] * amount[k]
    for k in range(number):
        amount[k] *= budget / spent if spent > 0 else 1.0
    return base + rise


@compiled
def reply(
    starts: Integers, server: Integers, work: Floats, fraction: Floats, budget: Floats,
    price: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:  # fmt: skip
    """Best replies of all users to prices (compiled part of `exchange.reply`): cores (j,) and bids
    (j,) of their jobs, users' levels (n,), and the money (m,) on each server.
    """
    cores, bids = np.empty(len(work)), np.empty(len(work))
    level, money = np.empty(len(budget)), np.zeros(len(price))
    room = np.diff(starts).max()
    paid, amount, gap, slope = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    for user in range(len(budget)):
        first, last = starts[user], starts[user + 1]
        for k in range(last - first):
            paid[k] = price[server[first + k]]
        level[user] = fill(
            first, last, work, fraction, paid, budget[user], amount, gap, slope
        )  # fmt: skip
        for k in range(last - first):
            cores[first + k] = amount[k]
            bids[first + k] = paid[k] * amount[k]
            money[server[first + k]] += bids[first + k]
    return cores, level, bids, money


@compiled
def jacobian(
    starts: Integers, server: Integers, work: Floats, fraction: Floats, price: Floats, bids: Floats
) -> tuple[Floats, Floats]:
    """Entries (j,) of two vectors of each user, whose product is its part of the Jacobian."""
    share, gain = np.empty(len(bids)), np.empty(len(bids))
    for user in range(len(starts) - 1):
        total = 0.0
        for job in range(starts[user], starts[user + 1]):
            share[job], gain[job] = 0.0, 0.0
            if bids[job] > 0:
                paid, serial = price[server[job]], 1 - fraction[job]
                share[job] = math.sqrt(work[job] * fraction[job] * paid) / serial
                gain[job] = (bids[job] - fraction[job] * paid / serial) / 2
            total += share[job]
        for job in range(starts[user], starts[user + 1]):
            share[job] /= total if total > 0 else 1.0
    return share, gain


@compiled
def account(
    starts: Integers, server: Integers, work: Floats, fraction: Floats, budget: Floats,
    price: Floats, least_price: float, cores: Floats,
) -> tuple[Floats, Floats, float, float, float]:  # fmt: skip
    """Cores (m,) given and demanded by server, and the largest overspending, regret and unspent
    share of a budget, as of `equilibrium.account`.

    Parameters
    ----------
    least_price : what best replies pay for a core at least.
    """
    given, asked = np.zeros(len(price)), np.zeros(len(price))
    overspending, regret, unspent = 0.0, 0.0, 0.0
    room = np.diff(starts).max()
    paid, amount, gap, slope = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    for user in range(len(budget)):
        first, last = starts[user], starts[user + 1]
        if first == last:
            continue
        for k in range(last - first):
            paid[k] = max(price[server[first + k]], least_price)
        fill(first, last, work, fraction, paid, budget[user], amount, gap, slope)
        spent, own, best = 0.0, 0.0, 0.0
        for k in range(last - first):
            job = first + k
            given[server[job]] += cores[job]
            asked[server[job]] += amount[k]
            spent += price[server[job]] * cores[job]
            if cores[job] > 0:
                serial = (1 - fraction[job]) * cores[job]
                own += work[job] * (cores[job] / (fraction[job] + serial))
            if amount[k] > 0:
                serial = (1 - fraction[job]) * amount[k]
                best += work[job] * (amount[k] / (fraction[job] + serial))
        overspending = max(overspending, (spent - budget[user]) / budget[user])
        unspent = max(unspent, -(spent - budget[user]) / budget[user])
        if best > 0:
            regret = max(regret, 1 - own / best)
    return given, asked, overspending, regret, unspent


@compiled
def outer(
    starts: Integers, server: Integers, left: Floats, right: Floats, vector: Floats
) -> Floats:
    """(m,) users' blocks of `linear.UserBlocks` times a vector (m,)."""
    product = np.zeros(len(vector))
    for user in range(len(starts) - 1):
        inner = 0.0
        for job in range(starts[user], starts[user + 1]):
            inner += right[job] * vector[server[job]]
        for job in range(starts[user], starts[user + 1]):
            product[server[job]] += left[job] * inner
    return product
