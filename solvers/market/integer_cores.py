"""Integer cores with the most Nash welfare, exactly, for small markets."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.market.families import scale
from ...instances.market.instance import Allocation, Floats, Integers, Market
from ...instances.market.sharing import WholeRatios
from ...instances.market.utility import nash_welfare as welfare_of
from ...instances.market.utility import user_utilities
from ...models.market.whole_cores import CoreColumns, core_columns, require_small
from ..engines import EngineAnswer, solve_program
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, Status, Stop
from .utilitarian import greedy_cores

_MOST_ROUNDS = 200  # programs solved, one for each allocation that is weighed


def in_whole_cores(
    market: Market, allocation: Allocation, *, whole: bool = False
) -> tuple[()] | None:
    """Return () if an allocation is feasible, which with `whole` takes integer cores, else None."""
    return None if whole and (allocation.cores != np.round(allocation.cores)).any() else ()


def least_first(market: Market, allocation: Allocation) -> tuple[Fraction, ...] | None:
    """Values that `leximin` compares: the sharing ratios, the least first, negated so that less is
    better; None for an allocation with fractional cores.
    """
    if in_whole_cores(market, allocation, whole=True) is None or not market.active.any():
        return None
    return tuple(-ratio for ratio in sorted(WholeRatios(market).all(allocation.cores)))


def whole_nash_welfare(
    market: Market, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Integer allocation with the most Nash welfare, by a MIP whose logarithms are bounded by
    tangents.

    log u lies below each of its tangents, so the program with some tangents bounds the welfare from
    above, and its point bounds it from below. Tangents at that point are added and the point
    itself, whose welfare is then known, is excluded, until no other allocation can be better than
    the best one seen: an engine's tolerance leaves no gap between the two. A market where no
    allocation gives every user a core has welfare 0, proved by the program without objective.
    """
    require_small(market, time_limit)
    clock = Clock(time_limit, report)
    # begin at the greedy allocation, whose point gives the first tangents
    users = np.flatnonzero(market.active)
    total = float(market.budget[users].sum())
    best = greedy_cores(market)
    if len(users) == 0:
        return Outcome(best, 1.0, Status.OPTIMAL)
    cuts = [np.maximum(user_utilities(market, best.cores)[users], 1e-3 * market.work.max())]
    seen: list[Floats] = []
    search: Incumbent[Allocation, float] = Incumbent(
        market, clock, lambda answer: welfare_of(market, user_utilities(market, answer.cores)),
        sense="max", scale=scale(market, "nash_welfare"),
    )  # fmt: skip
    search.begin(best)
    with search.keeping_best():
        for _ in range(_MOST_ROUNDS):
            # the program with the tangents so far, without the allocations weighed already
            columns, program = _tangent_program(market, users, cuts, seen)
            answer = EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT)
            if not clock.expired:
                answer = solve_program(program, time_limit=clock.left)
            if answer.status is Status.INFEASIBLE:
                if not seen:
                    zero = {"zero": "some user must go without a core"}
                    return Outcome(best, 0.0, Status.OPTIMAL, certificate=zero)
                search.raise_bound(search.value)  # every allocation was weighed
                break
            search.stop = answer.stop
            if answer.point is not None:  # weigh its allocation
                cores = columns.cores(market, answer.point)
                search.offer(Allocation(cores), f"{len(cuts)} tangents")
            # the engine bounds what was not weighed before; what is weighed has its own value
            if answer.bound is not None:
                reached = float(np.exp(-answer.bound / total))
                search.raise_bound(max(search.value, reached), f"{len(cuts)} tangents")
            if answer.point is None or search.closed or search.stop is not Stop.FINISHED:
                break
            # cut it off, and bend the logarithms at its utilities
            cuts.append(user_utilities(market, cores)[users])
            seen.append(cores)
    return search.finish({"tangents": len(cuts)})


def _tangent_program(
    market: Market, users: Integers, cuts: list[Floats], seen: list[Floats]
) -> tuple[CoreColumns, Any]:
    """Minimize -sum B_i t_i with t_i below the tangents of log u_i at the points given; everybody
    gets a core.

    The allocations `seen`, cores (k,) each, are excluded: one column at least is another one.
    """
    columns = core_columns(market)
    builder = columns.builder
    lowest, highest = (
        np.log(market.work[market.useful].min()) - 50.0,
        np.log(market.work.sum() * market.capacity.max() + 1) + 1,
    )
    level = builder.columns(len(users), lower=lowest, upper=highest, cost=-market.budget[users])
    for index, user in enumerate(users.tolist()):
        mine = np.flatnonzero(columns.user == user)
        own, gain = columns.column[mine], columns.gain[mine]
        builder.row(own, lower=1.0)
        for point in {float(cut[index]) for cut in cuts if cut[index] > 0}:
            # t <= log v + (u - v) / v
            builder.row(
                np.concatenate([own, [level[index]]]),
                np.concatenate([gain / point, [-1.0]]),
                lower=1.0 - float(np.log(point)),
            )
    for cores in seen:
        taken = columns.core <= cores[columns.job]
        builder.row(columns.column, np.where(taken, -1.0, 1.0), lower=1.0 - float(taken.sum()))
    return columns, builder.build()
