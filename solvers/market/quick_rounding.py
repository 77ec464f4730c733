"""Rounding to integer cores by rules: every job's cores are rounded down, and spare cores are given
out in an order.
"""

from __future__ import annotations

import heapq
from typing import Literal

import numpy as np

from ...instances.market.instance import Allocation, Floats, Integers, Market, total_by
from ...instances.market.utility import job_utilities, user_utilities

Rule = Literal["largest-remainder", "user-deficit"]

_NOISE = 1e-9  # 2.9999999999 cores are three


def round_by(market: Market, allocation: Allocation, rule: Rule) -> Allocation:
    """Allocation in integer cores by a rule (see `round_cores`), with unchanged prices."""
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
