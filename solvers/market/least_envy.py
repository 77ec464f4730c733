"""Rounding to integer cores with the least envy, exactly, for small markets."""

from __future__ import annotations

import numpy as np

from ...instances.market.envy import envy_index, pairs_on_servers
from ...instances.market.instance import Allocation, Floats, Integers, Market, total_by
from ...instances.market.utility import speedup
from ...instances.problem.errors import InvalidOption
from ...models.program import LinearProgram, ProgramBuilder
from ..engines import solve_program
from ..outcome import Clock, Outcome, Status, Stop
from .quick_rounding import Rule, round_by, split

MOST_PAIRS = 20_000
"""Ordered pairs of users on a server beyond which the least envy is not sought."""

UNHURRIED_PAIRS = 1_000
"""Pairs beyond which a time limit must be given to seek it."""

_RULES: tuple[Rule, ...] = ("user-deficit", "largest-remainder")


def validate_least_envy(market: Market, time_limit: float | None) -> None:
    """Refuse a market whose least envy is undefined or too hard, or too large to run without a time
    limit.
    """
    if market.places.number.max(initial=0) > 1:
        raise InvalidOption(
            "rounding least-envy needs at most one job per user and server; use user-deficit"
        )
    pairs = pairs_on_servers(market)
    if pairs > MOST_PAIRS:
        raise InvalidOption(
            f"least-envy takes at most {MOST_PAIRS} pairs of users on a server, not {pairs}"
        )
    if time_limit is None and pairs > UNHURRIED_PAIRS:
        raise InvalidOption(
            f"least-envy over {pairs} pairs of users on a server; beyond {UNHURRIED_PAIRS} "
            "give a time limit"
        )


def least_envy(
    market: Market, allocation: Allocation, *, time_limit: float | None = None
) -> Outcome:
    """Round every job's cores down or up so that the worst pair's envy index is as large as
    possible.

    A user's utility and what another's cores are worth to it are linear in the 0/1 choices (one job
    per user and server). With theta the best index known, a MIP maximizes the least u_i(x_i) -
    theta u_i(x_l) over pairs: above 0 its point has a better index, which becomes theta; at 0 or
    below no rounding is better (Dinkelbach's method, a few MIPs). The bound is theta then, and 1
    before.
    """
    validate_least_envy(market, time_limit)
    clock = Clock(time_limit)
    best = max(
        (round_by(market, allocation, rule) for rule in _RULES),
        key=lambda rounded: envy_index(market, rounded),
    )
    theta = envy_index(market, best)
    status, stop, steps = Status.OPTIMAL, Stop.FINISHED, 0
    while theta < 1 - 1e-9:
        if clock.expired:
            status, stop = Status.FEASIBLE, Stop.TIME_LIMIT
            break
        steps += 1
        program, choice, open_jobs = _program(market, allocation, theta)
        answer = solve_program(program, time_limit=clock.left)
        if answer.point is None or answer.bound is None or answer.status is not Status.OPTIMAL:
            status, stop = Status.FEASIBLE, answer.stop
            break
        whole = split(market, allocation)[0]
        whole[open_jobs] += np.round(answer.point[choice])
        candidate = Allocation(whole, allocation.price)
        index = envy_index(market, candidate)
        clock.note(index, None, "rounding")
        if index <= theta * (1 + 1e-9):
            break
        best, theta = candidate, index
    bound = theta if status is Status.OPTIMAL else 1.0
    return Outcome(best, bound, status, stop, {"programs": steps}, tuple(clock.trace))


def _program(
    market: Market, allocation: Allocation, theta: float
) -> tuple[LinearProgram, Integers, Integers]:
    """Maximize the least relative excess u_i(x_i) - theta u_i(x_l); returns it with the columns of
    the jobs rounded down.
    """
    whole, spare, open_jobs = split(market, allocation)
    builder = ProgramBuilder()
    choice = builder.columns(len(open_jobs), upper=1.0, integer=True)
    of_job = np.full(market.jobs, -1)
    of_job[open_jobs] = choice
    least = int(builder.columns(1, lower=-1e3, upper=1e3, cost=-1.0)[0])
    busy, place = np.unique(market.server[open_jobs], return_inverse=True)
    if len(busy):
        builder.block(place, choice, 1.0, spare[busy].astype(float), spare[busy].astype(float))
    useful = np.flatnonzero(market.useful)
    own = total_by(market.user[useful], _value(market, useful, whole[useful]), market.users)
    scale = total_by(market.user[useful], _value(market, useful, whole[useful] + 1), market.users)
    jobs_of = [useful[market.user[useful] == user] for user in range(market.users)]
    for user in range(market.users):
        for other in range(market.users):
            if user == other or scale[user] == 0:
                continue
            mine, theirs = _shared(market, jobs_of[user], jobs_of[other])
            if len(mine) == 0:
                continue
            ratio = market.budget[user] / market.budget[other]
            low = _value(market, mine, whole[theirs] * ratio)
            high = _value(market, mine, (whole[theirs] + 1) * ratio)
            gain = _value(market, jobs_of[user], whole[jobs_of[user]] + 1) - _value(
                market, jobs_of[user], whole[jobs_of[user]]
            )
            columns = np.concatenate([of_job[jobs_of[user]], of_job[theirs]])
            values = np.concatenate([gain, -theta * (high - low)]) / scale[user]
            kept = columns >= 0
            builder.row(
                np.concatenate([columns[kept], [least]]),
                np.concatenate([values[kept], [-1.0]]),
                lower=float(theta * low.sum() - own[user]) / scale[user],
            )
    return builder.build(), choice, open_jobs


def _shared(market: Market, mine: Integers, theirs: Integers) -> tuple[Integers, Integers]:
    """Jobs of two users on the servers that they share, as parallel arrays."""
    _, first, second = np.intersect1d(
        market.server[mine], market.server[theirs], return_indices=True
    )
    return mine[first], theirs[second]


def _value(market: Market, job: Integers, cores: Floats) -> Floats:
    return market.work[job] * speedup(cores, market.parallel_fraction[job])
