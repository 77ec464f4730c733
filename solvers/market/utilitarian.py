"""Most total work of any allocation, fractional or in integer cores."""

from __future__ import annotations

import numpy as np

from ...instances.market.instance import Allocation, Floats, Integers, Market, total_by
from ...instances.market.utility import fill, job_utilities, speedup
from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Outcome, Report, Status
from .scaled_market import EPSILON_BUDGET


@validate_options
def utilitarian(
    instance: Market,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    whole: bool = False,
) -> Outcome:
    """Maximize the total utility, server by server.

    Fractional: on each server the jobs' marginal utilities are made equal, in closed form as in a
    best reply. The bound is the Lagrangian dual at that marginal utility, computed on its own.

    Whole cores (`whole`): each core in turn to the job that gains most by it (G-II of the thesis,
    section 3.4.1). That is exact: let the gains of each job fall with its cores (s is concave), so
    the gains the greedy takes are the C largest of all gains on the server. Any allocation of C
    whole cores collects, for each job, its first x_k gains: a set of C gains, worth no more than
    the C largest. Ties go to the lowest job. A server uses the whole part of its capacity.

    Parameters
    ----------
    whole : give whole cores only.

    Notes
    -----
    O(jobs) times about ten passes; whole cores O(jobs) times about sixty (bisection on the last
    gain), whatever the cores. Jobs with f = 0 run at full speed on a sliver of a core, or, in whole
    cores, on one.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "utilitarian", whole=True)
    >>> print(result.status, round(result.objective, 3))
    optimal 17.766
    """
    clock = Clock(time_limit, report)
    cores, bound = _whole(instance) if whole else _fractional(instance, instance.work)
    value = float(job_utilities(instance, cores).sum())
    bound = max(value, bound)
    clock.note(value, bound, "filled")
    certificate = {
        "cores": "whole" if whole else "fractional",
        "bound": "Lagrangian dual at the price of the last core",
    }
    return Outcome(
        Allocation(cores), bound, Status.OPTIMAL, certificate=certificate, trace=tuple(clock.trace)
    )


def greedy_cores(market: Market) -> Allocation:
    """Integer cores, each in turn to the job that gains most: see `utilitarian`."""
    return Allocation(_whole(market)[0])


def weighted_optimum(market: Market, weight: Floats) -> tuple[Floats, float]:
    """Cores (k,) with the maximum weighted sum of the jobs' values, and a bound on that sum."""
    return _fractional(market, market.work * weight)


def _fractional(market: Market, work: Floats) -> tuple[Floats, float]:
    """Divisible cores of the largest total utility when a job's work is `work`, and a dual bound.
    The bound is sum_j mu_j C_j + sum_k max_x (w s(x) - mu x) at core prices mu.
    """
    # 1. a sliver of each server is set aside for its serial jobs, all of it if it has no others
    useful = work > 0
    serial = useful & (market.parallel_fraction == 0)
    moving = useful & ~serial
    number = np.bincount(market.server[serial], minlength=market.servers)
    alone = (number > 0) & (np.bincount(market.server[moving], minlength=market.servers) == 0)
    kept = market.capacity * np.where(alone, 1.0, EPSILON_BUDGET) * (number > 0)
    # 2. water-filling of the other cores; mu is the dual price of a core of each server
    paid = np.ones(market.jobs)
    answer = fill(work, market.parallel_fraction, paid, market.server, market.capacity - kept)
    cores = answer.amount + np.where(serial, (kept / np.maximum(number, 1))[market.server], 0.0)
    mu = np.divide(
        1.0, answer.level**2, out=np.zeros(market.servers), where=np.isfinite(answer.level)
    )
    # 3. the dual bound: each job's largest net gain at these prices
    price = np.where(moving, mu[market.server], 0.0)
    gain = np.zeros(market.jobs)
    gain[serial] = work[serial]
    f, w = market.parallel_fraction, work
    # Linear jobs: mu is at least their work by the cap on the level, up to rounding, and their best
    # net gain is 0.
    curved = moving & (f < 1)
    best = np.zeros(market.jobs)
    root = np.sqrt(w[curved] * f[curved] / np.where(price[curved] > 0, price[curved], 1.0))
    best[curved] = np.maximum(0.0, (root - f[curved]) / (1 - f[curved]))
    gain[curved] = np.maximum(
        0.0, w[curved] * speedup(best[curved], f[curved]) - price[curved] * best[curved]
    )
    lift = np.zeros(
        market.servers
    )  # rounding of mu below a linear job's work would make the dual unbounded
    np.maximum.at(lift, market.server[moving & (f == 1)], w[moving & (f == 1)])
    bound = float((np.maximum(mu, lift) * market.capacity).sum() + gain.sum())
    return cores, bound


def _whole(market: Market) -> tuple[Floats, float]:
    """Integer cores of most total utility, by the largest marginal gains, and its dual bound."""
    total = np.floor(market.capacity + 1e-9).astype(np.int64)
    useful = np.bincount(market.server[market.useful], minlength=market.servers) > 0
    total = np.where(useful, total, 0)
    work = market.work
    high = np.zeros(market.servers)  # above every gain: nothing is taken
    np.maximum.at(high, market.server, work)
    high = high * (1 + 1e-12) + np.finfo(float).tiny
    low = np.zeros(market.servers)  # at or below the last gain taken: at least `total` are
    for _ in range(200):
        middle = np.where(low > 0, np.sqrt(low) * np.sqrt(high), high * 2.0**-60)
        taken = total_by(
            market.server, _count(market, middle[market.server], total), market.servers
        )
        enough = taken >= total
        low, high = np.where(enough, np.maximum(low, middle), low), np.where(enough, high, middle)
        if (high <= low * (1 + 4e-16)).all() or not (high > 1e-290).any():
            break
    cores = _count(market, high[market.server], total)
    left = total - total_by(market.server, cores, market.servers).astype(np.int64)
    most = _count(market, low[market.server], total)
    # The dual at the price `low` of a core: every job buys while it gains at least that, and cores
    # are paid for.
    paid = low[market.server]
    bound = float((job_utilities(market, most) - paid * most).sum() + (low * total).sum())
    return _fill_ties(market, cores, left, most), bound


def _count(market: Market, least: Floats, total: Integers) -> Floats:
    """(k,) number of cores that each add at least `least` to a job's value. The first adds w, the
    (c+1)st w f / ((f + (1-f) c)(f + (1-f)(c+1))), for work w and fraction f.
    """
    f, w = market.parallel_fraction, market.work
    most = total[market.server].astype(float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # (f + (1-f) c)(f + (1-f) c + 1 - f) <= w f / least, a quadratic in u = f + (1-f) c
        u = (np.sqrt((1 - f) ** 2 + 4 * w * f / least) - (1 - f)) / 2
        count = np.floor((u - f) / (1 - f)) + 1
    count = np.where(f == 1, np.where(w >= least, most, 0.0), count)
    count = np.clip(np.nan_to_num(count, posinf=1e300), 0.0, most)
    for _ in range(2):  # the square root may be off by one either way
        count = np.where((count > 0) & (gain_of_core(market, count - 1) < least), count - 1, count)
        count = np.where((count < most) & (gain_of_core(market, count) >= least), count + 1, count)
    return np.where(w > 0, count, 0.0)


def gain_of_core(market: Market, cores: Floats) -> Floats:
    """(k,) gain of one more core for a job with `cores` integer cores."""
    f = market.parallel_fraction
    before, after = f + (1 - f) * cores, f + (1 - f) * (cores + 1)
    later = f / np.where(before * after > 0, before * after, 1.0)
    return market.work * np.where(cores <= 0, 1.0, later)


def _fill_ties(market: Market, cores: Floats, left: Integers, most: Floats) -> Floats:
    """Give the cores that remain on each server to jobs whose next gain equals, to rounding, the
    last gain taken; the lowest job first.
    """
    room = np.maximum(most - cores, 0)
    order = np.lexsort((np.arange(market.jobs), market.server))
    filled = np.cumsum(room[order])
    number = np.bincount(market.server, minlength=market.servers)
    ends = np.cumsum(number)
    start = np.concatenate([[0.0], filled])[ends - number]
    before = filled - room[order] - np.repeat(start, number)
    extra = np.clip(left[market.server[order]] - before, 0, room[order])
    result = cores.copy()
    result[order] += extra
    return result
