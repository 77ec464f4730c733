"""Money and moves as one sum: the plan that costs least when each move has a price."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from ...instances.packing.instance import Integers
from .assembly import Translation
from .optimum import Found, fewest_moves
from .placing import cost_of, moves_of, whole_cost
from .solve_budget import SolveBudget


def fewest_within(
    plan: Translation, limit: int, start: Integers, work: SolveBudget, parts: float, at: str = ""
) -> Found:
    """The fewest moves while nodes cost at most so much, no more than in a placement that does."""
    total = limit + plan.waiting_servers
    one = work.find(f"the fewest moves{at}", parts, fewest_moves, plan, total, start)
    return replace(one, value=moves_of(plan, start), count=start) if one.count is None else one


def least_sum(
    first: Found, limit: int, floor: int, price: Fraction, work: SolveBudget
) -> tuple[Found, Fraction]:
    """The placement of the least sum of money and priced moves, and a bound on that sum.

    Between two limits a plan costs more than the lower one and moves no fewer pods than the higher
    one's bound. The gap between limits whose bound is least is halved, until it is no better than
    the best placement or the time is over.

    Parameters
    ----------
    first : the fewest moves while nodes cost at most `limit`, the least that was found, with the
        servers where pods wait fixed (`placing.with_waiting`).
    floor : no plan costs less.
    price : of a move, in the unit of the nodes' prices; of nodes where they have none.
    """
    plan, costs = first.plan, first.plan.costs

    def total(step: tuple[int, Found]) -> Fraction:
        assert step[1].count is not None
        cost = cost_of(plan, step[1].count) - plan.waiting_servers
        return costs.money(cost) + price * (step[1].value or 0)

    def within(limit: int, start: Found) -> tuple[int, Found]:
        assert start.count is not None
        at = f" at {float(costs.money(limit)):g}"
        return limit, fewest_within(plan, limit, start.count, work, 3, at)

    steps = [(limit, first)]
    loosest = whole_cost(plan) - plan.waiting_servers - plan.kept_cost
    if loosest > limit:
        steps.append(within(loosest, first))
    while True:
        best = min(steps, key=total)
        # the least that a plan can sum up to: within the first limit, and between two
        bounds = [costs.money(floor) + price * first.bound]
        for low, high in pairwise(steps):
            bounds.append(costs.money(low[0] + 1) + price * high[1].bound)
        bound = min(bounds)
        place = bounds.index(bound)
        if bound >= total(best) or work.interrupted or work.solving.expired or place == 0:
            return best[1], min(bound, total(best))
        low, high = steps[place - 1], steps[place]
        middle = costs.limit((low[0] + high[0]) // 2)
        if not low[0] < middle < high[0]:
            return best[1], bound
        limit, one = within(middle, low[1])
        # a looser limit needs no more moves
        steps.insert(place, (limit, replace(one, bound=max(one.bound, high[1].bound))))
