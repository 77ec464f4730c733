"""Amdahl's speedup, users' utilities, and best replies to prices in closed form.

With price p per core a user maximizes sum w s(x) subject to sum p x <= B. The conditions w s'(x) <=
1 / y^2 x price, with s'(x) = f / (f + (1 - f) x)^2 and y the inverse square root of the marginal
utility of money, give for f < 1

    x = f / (1 - f) (y / theta - 1)   where y > theta = sqrt(f p / w), else 0,

so money spent is piecewise linear and increasing in y, and one y per user is found in a few passes.
Jobs with f = 1 are linear: y never passes their least theta, and the money left there is theirs (a
set of best replies when several tie). Jobs with f = 0 run at full speed on any core at all: they
need no more than a sliver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem.fields import shaped
from ..problem.option_types import validate_options
from .instance import Booleans, Floats, Integers, Market, ratio, total_by

TIE = 1e-12
"""Linear jobs whose value for money differs by no more than this, relatively, tie for the best."""

_FREE = 1e-30
"""A price of 0 is replied to as this fraction of the highest price, so that replies stay finite."""


def speedup(cores: Floats, fraction: Floats) -> Floats:
    """Speedup s(x) = x / (f + (1 - f) x) on x cores (thesis equation 3.1); 0 at x = 0 for any f."""
    rate = ratio(cores, fraction + (1 - fraction) * cores)
    return rate if np.min(cores, initial=0) == 0 else np.where(cores > 0, rate, 0.0)


def marginal_speedup(cores: Floats, fraction: Floats) -> Floats:
    """Derivative s'(x) = f / (f + (1 - f) x)^2 of the speedup on x cores; 0 for f = 0."""
    return ratio(fraction, (fraction + (1 - fraction) * cores) ** 2)


def job_utilities(market: Market, cores: Floats) -> Floats:
    """(k,) work done by each job per unit of time on its cores."""
    return market.work * speedup(cores, market.parallel_fraction)


@validate_options
def user_utilities(market: Market, cores: Floats) -> Floats:
    """(n,) utility of each user, the sum over its jobs (thesis section 3.3.1); 0 without jobs."""
    cores = shaped("cores", cores, market.jobs)
    return total_by(market.user, job_utilities(market, cores), market.users)


@dataclass(frozen=True, eq=False)
class Fill:
    """Optimal division of each group's budget over the items of the group.

    Attributes
    ----------
    amount : (items,) how much of each.
    level : (groups,) y; inf for a group that has no use for money beyond slivers.
    """

    amount: Floats
    level: Floats


def fill(work: Floats, fraction: Floats, price: Floats, group: Integers, budget: Floats) -> Fill:
    """Maximize the total work x speedup(amount) of each group's items within the group's budget.

    Parameters
    ----------
    work, fraction, price : (items,), price above 0.
    group : (items,) which group an item belongs to.
    budget : (groups,) money, 0 or more.

    Items of work 0 or fraction 0 get nothing. Linear items (fraction 1) that tie share what is left
    for them equally in money. O(items x passes); the passes (Michelot's method: drop the items
    whose amount would be negative, solve again) are few, for the level falls monotonically to the
    answer and stops exactly there.
    """
    groups = len(budget)
    curved = (fraction < 1) & (fraction > 0) & (work > 0)
    linear = (fraction == 1) & (work > 0)
    some = curved | linear
    threshold = np.where(some, np.sqrt(fraction * price / np.where(some, work, 1.0)), 1.0)
    cap = np.full(groups, np.inf)  # level at which linear items take all money that is left
    if linear.any():
        np.minimum.at(cap, group[linear], threshold[linear])
    base, gap = lowest(threshold, group, groups, curved)
    bend = fraction / np.where(curved, 1 - fraction, 1.0) / threshold
    rise = rise_of(price * bend, gap, group, budget, curved)
    capped = rise > cap - base
    rise = np.where(capped, cap - base, rise)
    with np.errstate(invalid="ignore"):  # both are inf for an item that is not curved
        above = rise[group] - gap
    amount = bend * np.where(above > 0, above, 0.0)
    spent = total_by(group, price * amount, groups)
    if linear.any():
        best = linear & (threshold <= cap[group] * (1 + TIE)) & capped[group]
        ties = np.bincount(group[best], minlength=groups)
        left = np.maximum(budget - spent, 0.0)
        amount[best] = (left / np.maximum(ties, 1))[group[best]] / price[best]
    # Rounding: what is spent is the budget to the last digits, also when 1 - f is tiny.
    amount *= np.where(capped | (spent == 0), 1.0, ratio(budget, spent))[group]
    return Fill(amount, np.where(capped, cap, base + rise))


def lowest(
    threshold: Floats, group: Integers, groups: int, active: Booleans
) -> tuple[Floats, Floats]:
    """Water level (groups,) at which each group begins to buy, 0 for never, and items' excess."""
    base = np.full(groups, np.inf)
    high = threshold if active.all() else np.where(active, threshold, np.inf)
    np.minimum.at(base, group, high)
    base = np.where(np.isfinite(base), base, 0.0)
    return base, high - base[group]


def rise_of(
    slope: Floats, gap: Floats, group: Integers, budget: Floats, active: Booleans
) -> Floats:
    """Solve for how far each group's water level rises above its lowest threshold, (groups,).

    At this level the group's active items cost its budget; inf without items. It is the rise, not
    the level, as a small budget would drown in the level where 1 - f is tiny.

    Parameters
    ----------
    slope : (items,) money per unit of rise, above 0 for active items.
    gap : (items,) from `lowest`, 0 for at least one item of a group.
    """
    groups = len(budget)
    if not active.all():
        slope, gap, group = slope[active], gap[active], group[active]
    rest = gap * slope
    while True:
        total = total_by(group, slope, groups)
        rise = ratio(budget + total_by(group, rest, groups), total, np.inf)
        stays = gap < rise[group]
        stays |= gap == 0
        if stays.all():
            return rise
        left = np.flatnonzero(stays)
        slope, rest, gap, group = slope[left], rest[left], gap[left], group[left]


def least_price(price: Floats) -> float:
    """Least price of a core that a best reply assumes, also where the actual price is 0."""
    return _FREE * max(float(price.max()), 1e-200)


@validate_options
def best_reply(market: Market, price: Floats) -> Fill:
    """Best use of each user's budget at given prices, as a price taker (thesis equation 3.4).

    Jobs with f = 1 that tie have a set of best replies; this one spreads the money over them
    equally. Jobs with f = 0 get nothing here, for what they want costs as little as one likes
    (`reply_utilities` counts them at full speed).
    """
    price = shaped("price", price, market.servers)
    asked = np.maximum(price, least_price(price))[market.server]
    return fill(market.work, market.parallel_fraction, asked, market.user, market.budget)


def reply_utilities(market: Market, reply: Fill) -> Floats:
    """(n,) utility of each user's best reply, jobs with f = 0 at full speed."""
    serial = np.where(market.parallel_fraction == 0, market.work, 0.0)
    return user_utilities(market, reply.amount) + total_by(market.user, serial, market.users)


def nash_welfare(market: Market, utility: Floats) -> float:
    """Nash welfare exp(sum B_i log u_i / sum B_i) over users with a useful job; 1 if there is
    none.
    """
    active = market.active
    if not active.any():
        return 1.0
    budget, worth = market.budget[active], utility[active]
    if (worth <= 0).any():
        return 0.0
    return float(np.exp((budget * np.log(worth)).sum() / budget.sum()))
