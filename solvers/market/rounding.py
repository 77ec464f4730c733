"""Rounding of fractional cores: every job's cores are rounded down or up, and every server gives as
many as before; by rules, or with the least envy, exactly, for small markets.

The thesis (section 3.4.4) says that rounding brings slight envy, and not how it rounds. With fewer
cores than jobs no rounding can be fair: somebody gets nothing.
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np

from ...instances.market.envy import envy_index, pairs_on_servers
from ...instances.market.instance import Allocation, Floats, Integers, Market, total_by
from ...instances.market.utility import job_utilities, speedup, user_utilities
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.program import LinearProgram, ProgramBuilder
from ..engines import solve_program
from ..outcome import Clock, Outcome, Status, Stop

Rule = Literal["largest-remainder", "user-deficit"]
Rounding = Literal["none", "largest-remainder", "user-deficit", "least-envy"]

MOST_PAIRS = 20_000
"""Ordered pairs of users on a server beyond which the least envy is not sought."""

UNHURRIED_PAIRS = 1_000
"""Pairs beyond which a time limit must be given to seek it."""

_RULES: tuple[Rule, ...] = ("user-deficit", "largest-remainder")

_NOISE = 1e-9  # 2.9999999999 cores are three


def validate_rounding(market: Market, rounding: str, time_limit: float | None = None) -> None:
    """Refuse the least envy for a market in which it is undefined or too hard, or too large to run
    without a time limit.
    """
    if rounding != "least-envy":
        return
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


@validate_options
def round_cores(
    market: Market,
    allocation: Allocation,
    rounding: Rounding,
    time_limit: float | None = None,
    stop: Stop = Stop.FINISHED,
) -> tuple[Allocation, Stop]:
    """Round an allocation to integer cores at unchanged prices. Returns it, and why the method that
    made it, or else the rounding, stopped.

    Parameters
    ----------
    rounding : "largest-remainder": a server's spare cores go to its jobs with the largest fractions
        (ties: lowest job). "user-deficit": the user furthest below the utility it had takes the
        spare core that helps it most, again and again. "least-envy": exact, the rounding with the
        best envy index (small cases, see `least_envy`); "user-deficit" after an interrupt.
    time_limit : seconds, for "least-envy".
    stop : why the method that made the allocation ended.
    """
    if rounding == "least-envy" and stop is Stop.INTERRUPTED:
        rounding = "user-deficit"
    validate_rounding(market, rounding, time_limit)
    if rounding == "none":
        return allocation, stop
    if rounding == "least-envy":
        run = least_envy(market, allocation, time_limit=time_limit)
        assert isinstance(run.solution, Allocation)
        return run.solution, run.stop if run.stop is not Stop.FINISHED else stop
    return _by_rule(market, allocation, rounding), stop


def _by_rule(market: Market, allocation: Allocation, rule: Rule) -> Allocation:
    """Allocation in integer cores by a rule, with unchanged prices."""
    whole, spare, open_jobs = split(market, allocation)
    give = _by_remainder if rule == "largest-remainder" else _by_deficit
    return Allocation(give(market, allocation.cores, whole, spare, open_jobs), allocation.price)


def split(market: Market, allocation: Allocation) -> tuple[Floats, Integers, Integers]:
    """Cores rounded down (k,), spare cores of each server (m,), and the jobs that were rounded
    down.
    """
    whole = np.floor(allocation.cores + _NOISE)
    given = total_by(market.server, allocation.cores, market.servers)
    down = total_by(market.server, whole, market.servers)
    total = np.floor(np.minimum(given, market.capacity) * (1 + 1e-12) + _NOISE)
    spare = np.maximum(total - down, 0).astype(np.int64)
    open_jobs = np.flatnonzero(allocation.cores > whole + _NOISE)
    most = np.bincount(market.server[open_jobs], minlength=market.servers)
    return whole, np.minimum(spare, most), open_jobs


def _by_remainder(
    market: Market, cores: Floats, whole: Floats, spare: Integers, open_jobs: Integers
) -> Floats:
    server = market.server[open_jobs]
    order = np.lexsort((open_jobs, -np.round(cores[open_jobs] - whole[open_jobs], 9), server))
    ranked = open_jobs[order]
    number = np.bincount(server, minlength=market.servers)
    place = np.arange(len(ranked)) - np.repeat(np.cumsum(number) - number, number)
    result = whole.copy()
    result[ranked[place < spare[market.server[ranked]]]] += 1
    return result


def _by_deficit(
    market: Market, cores: Floats, whole: Floats, spare: Integers, open_jobs: Integers
) -> Floats:
    before = user_utilities(market, cores)
    now = user_utilities(market, whole)
    gain = job_utilities(market, whole + 1) - job_utilities(market, whole)
    waiting: dict[int, list[int]] = {}
    for job in open_jobs[
        np.lexsort((open_jobs, gain[open_jobs]))
    ].tolist():  # a user's most helpful job last
        waiting.setdefault(int(market.user[job]), []).append(job)
    left = spare.copy()
    result = whole.copy()
    queue = [(now[user] / before[user], user) for user in waiting if before[user] > 0]
    heapq.heapify(queue)
    while queue:
        _, user = heapq.heappop(queue)
        jobs = waiting[user]
        while jobs and left[market.server[jobs[-1]]] == 0:
            jobs.pop()
        if jobs:
            job = jobs.pop()
            result[job] += 1
            left[market.server[job]] -= 1
            now[user] += gain[job]
            heapq.heappush(queue, (now[user] / before[user], user))
    return result


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
    validate_rounding(market, "least-envy", time_limit)
    clock = Clock(time_limit)
    best = max(
        (_by_rule(market, allocation, rule) for rule in _RULES),
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
    """Program that rounds cores to maximize the least excess of a user's utility over `theta` times
    that of another's cores; with its columns of jobs that may get a spare core, and these jobs.
    """
    whole, spare, open_jobs = split(market, allocation)
    builder = ProgramBuilder()
    # 1. which jobs get a spare core; every server gives all of its spare cores
    choice = builder.columns(len(open_jobs), upper=1.0, integer=True)
    of_job = np.full(market.jobs, -1)
    of_job[open_jobs] = choice
    least = int(builder.columns(1, lower=-1e3, upper=1e3, cost=-1.0)[0])
    servers, row = np.unique(market.server[open_jobs], return_inverse=True)
    builder.sums(len(servers), (row, choice, 1.0), lower=spare[servers], upper=spare[servers])
    # 2. the least excess of a user over what another's cores, as its budget would scale them, are
    # worth to it: `sure` is from cores rounded down, `scale` a measure of what the user can get
    useful = np.flatnonzero(market.useful)
    sure = total_by(market.user[useful], _value(market, useful, whole[useful]), market.users)
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
            sure_of_other = _value(market, mine, whole[theirs] * ratio)
            most_of_other = _value(market, mine, (whole[theirs] + 1) * ratio)
            gain = _value(market, jobs_of[user], whole[jobs_of[user]] + 1) - _value(
                market, jobs_of[user], whole[jobs_of[user]]
            )
            columns = np.concatenate([of_job[jobs_of[user]], of_job[theirs]])
            values = np.concatenate([gain, -theta * (most_of_other - sure_of_other)]) / scale[user]
            rounded = columns >= 0
            builder.row(
                np.concatenate([columns[rounded], [least]]),
                np.concatenate([values[rounded], [-1.0]]),
                lower=float(theta * sure_of_other.sum() - sure[user]) / scale[user],
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
