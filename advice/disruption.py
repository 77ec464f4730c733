"""Money and moves as one sum: the plan that costs least when each move has a price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from ..instances.packing.instance import Integers
from ..solvers.outcome import Clock
from .assembly import Translation
from .optimum import Found, fewest_moves
from .placing import cost_of, moves_of, whole_cost


@dataclass(frozen=True)
class Step:
    """A limit on the cost of nodes, the fewest moves within it, and what is proved of them."""

    limit: int
    count: Integers
    moves: int
    bound: int


def least_sum(
    plan: Translation,
    cheapest: Step,
    floor: int,
    price: Fraction,
    clock: Clock,
    say: Callable[[str], None],
) -> tuple[Step, Fraction]:
    """The placement of the least sum of money and priced moves, and a bound on that sum.

    Between two limits a plan costs more than the lower one and moves no fewer pods than the higher
    one's bound. The gap between limits whose bound is least is halved, until it is no better than
    the best placement or the time is over.

    Parameters
    ----------
    plan : with the servers where pods wait fixed (`placing.with_waiting`).
    cheapest : the fewest moves at the least cost that was found.
    floor : no plan costs less.
    price : of a move, in the unit of the nodes' prices; of nodes where they have none.
    """
    costs, waiting = plan.costs, plan.waiting_servers

    def total(step: Step) -> Fraction:
        return costs.money(cost_of(plan, step.count) - waiting) + price * step.moves

    def within(limit: int, start: Step) -> Step:
        say(f"the fewest moves at {float(costs.money(limit)):g}")
        seconds = clock.time_slice(3)
        known = Found(start.moves, 0, start.count)
        one = fewest_moves(plan.instance, limit + waiting + plan.kept_cost, seconds, known)
        count = start.count if one.count is None else one.count
        return Step(limit, count, moves_of(plan, count), max(one.bound, 0))

    steps = [cheapest]
    loosest = whole_cost(plan) - waiting - plan.kept_cost
    if loosest > cheapest.limit:
        steps.append(within(loosest, cheapest))
    while True:
        best = min(steps, key=total)
        # the least that a plan can sum up to: within the first limit, and between two
        bounds = [costs.money(floor) + price * steps[0].bound]
        for low, high in pairwise(steps):
            bounds.append(costs.money(low.limit + 1) + price * high.bound)
        bound = min(bounds)
        place = bounds.index(bound)
        if bound >= total(best) or clock.expired or place == 0:
            return best, min(bound, total(best))
        low, high = steps[place - 1], steps[place]
        middle = costs.limit((low.limit + high.limit) // 2)
        if not low.limit < middle < high.limit:
            return best, bound
        steps.insert(place, within(middle, low))
        if steps[place].bound < high.bound:  # a looser limit needs no more moves
            steps[place] = replace(steps[place], bound=high.bound)
