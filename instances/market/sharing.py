"""Sharing index of thesis equation 3.6 under three definitions of a user's static share of the
cores.

The index is u_i(allocation) over u_i(static share); a mechanism's index is its least over users.
The static share is

    endowment   C_j B_i / sum B of every server, whether i has jobs there or not: the share that the
                equilibrium is proven to beat, for i could buy it;
    tenants     an equal split of each server among the users who have jobs there;
    jobs        an equal split of each server among the jobs on it (the thesis's ES).

The thesis's claim that the market's index is always above 1 is true of the first and not of the
other two. A user's own share of a server is split over its jobs there as well as possible, except
in the last. Users without useful jobs hold no share and are left out; jobs of work 0 do not count
as tenants.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from ..problem.option_types import validate_options
from ..problem.quantities import as_written
from .envy import place_values
from .instance import Allocation, Floats, Integers, Market, ratio, total_by
from .utility import user_utilities

Share = Literal["endowment", "tenants", "jobs"]


@validate_options
def static_utilities(market: Market, share: Share = "endowment") -> Floats:
    """(n,) utility of each user's static share of the cores; 0 for a user without useful jobs."""
    if share == "jobs":
        return user_utilities(market, equal_cores(market))
    where = market.places
    if share == "endowment":
        entitled = (
            market.capacity[where.server]
            * market.budget[where.user]
            / market.budget[market.active].sum()
        )
    else:
        tenants = np.bincount(where.server, minlength=market.servers)
        entitled = market.capacity[where.server] / tenants[where.server]
    value = place_values(market, where, np.arange(len(where.user)), entitled)
    return total_by(where.user, value, market.users)


def equal_cores(market: Market) -> Floats:
    """(k,) cores of each job if every server is split equally among the useful jobs on it."""
    useful = market.useful
    number = np.bincount(market.server[useful], minlength=market.servers)
    return np.where(useful, (market.capacity / np.maximum(number, 1))[market.server], 0.0)


def sharing_ratios(market: Market, allocation: Allocation, share: Share = "endowment") -> Floats:
    """Utility of each user over that of its static share, shape (n,); NaN for users without useful
    jobs.
    """
    utility = user_utilities(market, allocation.cores)
    return ratio(utility, static_utilities(market, share), np.nan)


def sharing_index(market: Market, allocation: Allocation, share: Share = "endowment") -> float:
    """Least ratio over users of utility to that of the static share; inf without useful jobs."""
    return least_ratio(market, user_utilities(market, allocation.cores), share)


def least_ratio(market: Market, utility: Floats, share: Share) -> float:
    """Least ratio of users' utilities (n,) to those of their static shares: the sharing index."""
    return float(np.nanmin(ratio(utility, static_utilities(market, share), np.nan), initial=np.inf))


_DIGITS = 12
"""Significant digits of a static utility that is a square root: below are only roundings."""


class WholeRatios:
    """Sharing ratios of integer cores as fractions: a user's utility over that of its endowment.

    Where a user has several jobs on one server its endowment is worth a square root; those
    utilities are floats rounded to twelve significant digits, and fractions from there on.

    Parameters
    ----------
    market : with at least one useful job.

    Attributes
    ----------
    users : the users with a useful job; ratios come in their order.
    jobs, static : for each of them its useful jobs, and the exact utility of its endowment.
    """

    def __init__(self, market: Market) -> None:
        self._fraction = [as_written(value) for value in market.parallel_fraction.tolist()]
        self._work = [as_written(value) for value in market.work.tolist()]
        self.users: list[int] = np.flatnonzero(market.active).tolist()
        useful = np.flatnonzero(market.useful)
        self.jobs: list[Integers] = [useful[market.user[useful] == user] for user in self.users]
        static = self._static(market)
        self.static = [static[user] for user in self.users]
        self._known: dict[tuple[int, int], Fraction] = {}

    def all(self, cores: Floats) -> list[Fraction]:
        """Sharing ratios of all `users` for integer cores (k,) of the jobs."""
        whole = cores.astype(np.int64).tolist()
        return [
            sum((self._worth(job, whole[job]) for job in jobs.tolist()), Fraction(0)) / static
            for jobs, static in zip(self.jobs, self.static, strict=True)
        ]

    def _worth(self, job: int, cores: int) -> Fraction:
        if (job, cores) not in self._known:
            self._known[job, cores] = self._work[job] * _speedup(
                Fraction(cores), self._fraction[job]
            )
        return self._known[job, cores]

    def _static(self, market: Market) -> dict[int, Fraction]:
        where = market.places
        total = sum((as_written(market.budget[user]) for user in self.users), Fraction(0))
        job_at = dict(zip(where.of_job.tolist(), range(market.jobs), strict=True))
        static = dict.fromkeys(self.users, Fraction(0))
        for index, (user, server) in enumerate(
            zip(where.user.tolist(), where.server.tolist(), strict=True)
        ):
            entitled = as_written(market.capacity[server]) * as_written(market.budget[user]) / total
            if where.number[index] == 1:
                job = job_at[index]
                static[user] += self._work[job] * _speedup(entitled, self._fraction[job])
            else:
                value = place_values(market, where, np.array([index]), np.array([float(entitled)]))
                static[user] += as_written(float(f"{value[0]:.{_DIGITS}g}"))
        return static


def _speedup(cores: Fraction, fraction: Fraction) -> Fraction:
    """Speedup s(x) of thesis equation 3.1 as a fraction, see `utility.speedup`."""
    return cores / (fraction + (1 - fraction) * cores) if cores > 0 else Fraction(0)
