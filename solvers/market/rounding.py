"""Whole cores from fractions: every job gets its cores rounded down or up, every server what it gave before.

The thesis (section 3.4.4) says that rounding brings slight envy, and not how it rounds. With fewer cores than jobs no
rounding can be fair: somebody gets nothing.
"""

from __future__ import annotations

import heapq
from typing import Literal, get_args

import numpy as np

from ...instances.market.envy import pairs_on_servers, places
from ...instances.market.instance import Allocation, Floats, Integers, Market, total_by
from ...instances.market.utility import job_utilities, user_utilities
from ...instances.problem.errors import InvalidOption
from ..outcome import Stop

Quick = Literal["none", "largest-remainder", "user-deficit"]
Rounding = Literal["none", "largest-remainder", "user-deficit", "least-envy"]

_NOISE = 1e-9  # 2.9999999999 cores are three


MOST_PAIRS = 20_000
"""Ordered pairs of users on a server beyond which the least envy is not sought."""

UNHURRIED_PAIRS = 1_000
"""Pairs beyond which a time limit must be given to seek it."""


def validate_rounding(market: Market, rounding: str, time_limit: float | None = None) -> None:
    """Refuse a rounding that is not known, that the market does not allow, or that may take for ever without a time limit."""
    if rounding not in get_args(Rounding):
        raise InvalidOption(f"rounding is {rounding!r}; expected one of {', '.join(get_args(Rounding))}")
    if rounding == "least-envy":
        number = np.bincount(places(market).of_job[market.useful])
        if number.max(initial=0) > 1:
            raise InvalidOption("rounding least-envy needs at most one job per user and server; use user-deficit")
        pairs = pairs_on_servers(market)
        if pairs > MOST_PAIRS:
            raise InvalidOption(f"least-envy takes at most {MOST_PAIRS} pairs of users on a server, not {pairs}")
        if time_limit is None and pairs > UNHURRIED_PAIRS:
            raise InvalidOption(f"least-envy over {pairs} pairs of users on a server; beyond {UNHURRIED_PAIRS} give a time limit")


def round_cores(market: Market, allocation: Allocation, rounding: Rounding, time_limit: float | None = None) -> Allocation:
    """The allocation in whole cores, prices kept.

    Parameters
    ----------
    rounding : "largest-remainder": a server's spare cores go to its jobs with the largest fractions (ties: lowest job).
        "user-deficit": the user furthest below the utility it had takes the spare core that helps it most, again and
        again. "least-envy": exact, the rounding with the best envy index (small cases, see `least_envy`).
    time_limit : seconds, for "least-envy".
    """
    return round_until(market, allocation, rounding, time_limit)[0]


def round_until(
    market: Market, allocation: Allocation, rounding: Rounding, time_limit: float | None = None, stop: Stop = Stop.FINISHED
) -> tuple[Allocation, Stop]:
    """As `round_cores`, for a method that stopped with `stop`; beside the answer, why the two together stopped.

    After an interrupt the least envy is no longer sought: the user-deficit rule takes its place.
    """
    if rounding == "least-envy" and stop is Stop.INTERRUPTED:
        return round_until(market, allocation, "user-deficit", stop=stop)
    validate_rounding(market, rounding, time_limit)
    if rounding == "none":
        return allocation, stop
    if rounding == "least-envy":
        from .least_envy import least_envy

        left = None if time_limit is None else max(time_limit, 0.1)  # what a clock has left may be nothing
        run = least_envy(market, allocation, time_limit=left)
        assert isinstance(run.solution, Allocation)
        return run.solution, run.stop if run.stop is not Stop.FINISHED else stop
    whole, spare, open_jobs = split(market, allocation)
    give = _by_remainder if rounding == "largest-remainder" else _by_deficit
    return Allocation(give(market, allocation.cores, whole, spare, open_jobs), allocation.price), stop


def split(market: Market, allocation: Allocation) -> tuple[Floats, Integers, Integers]:
    """Cores rounded down (k,), cores each server has left to give (m,), and the jobs that were rounded down."""
    whole = np.floor(allocation.cores + _NOISE)
    given = total_by(market.server, allocation.cores, market.servers)
    down = total_by(market.server, whole, market.servers)
    total = np.floor(np.minimum(given, market.capacity) * (1 + 1e-12) + _NOISE)
    spare = np.maximum(total - down, 0).astype(np.int64)
    open_jobs = np.flatnonzero(allocation.cores > whole + _NOISE)
    most = np.bincount(market.server[open_jobs], minlength=market.servers)
    return whole, np.minimum(spare, most), open_jobs


def _by_remainder(market: Market, cores: Floats, whole: Floats, spare: Integers, open_jobs: Integers) -> Floats:
    server = market.server[open_jobs]
    order = np.lexsort((open_jobs, -np.round(cores[open_jobs] - whole[open_jobs], 9), server))
    ranked = open_jobs[order]
    number = np.bincount(server, minlength=market.servers)
    place = np.arange(len(ranked)) - np.repeat(np.cumsum(number) - number, number)
    result = whole.copy()
    result[ranked[place < spare[market.server[ranked]]]] += 1
    return result


def _by_deficit(market: Market, cores: Floats, whole: Floats, spare: Integers, open_jobs: Integers) -> Floats:
    before = user_utilities(market, cores)
    now = user_utilities(market, whole)
    gain = job_utilities(market, whole + 1) - job_utilities(market, whole)
    waiting: dict[int, list[int]] = {}
    for job in open_jobs[np.lexsort((open_jobs, gain[open_jobs]))].tolist():  # a user's most helpful job last
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
