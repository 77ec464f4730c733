"""Utilities without sharing: three readings of the sharing index of thesis equation 3.6.

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

from typing import Literal

import numpy as np

from ..problem.option_types import validate_options
from .envy import place_values
from .instance import Allocation, Floats, Market, ratio, total_by
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
