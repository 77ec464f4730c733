"""Audits of an allocation: envy between users, and the effect of rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.market.envy import envy_matrix, user_envy
from ...instances.market.instance import Allocation, Floats, Integers, Market, total_by

NASH_ENVY_FREENESS = 0.828
"""What thesis section 3.4.4 claims of a Nash equilibrium such as XC-M's: 2 sqrt(2) - 2."""


@dataclass(frozen=True, eq=False)
class EnvyAudit:
    """Envy between users of an allocation: the worst pair's index, and a matrix of its group.

    Attributes
    ----------
    index : the worst pair's e_il (thesis eq. 3.5); 1 when nobody envies anybody.
    group : the users who have jobs on exactly the servers that the envious one of that pair has, in
        order (it is among them).
    matrix : (group, group) their pairwise indices: one panel of thesis fig. 3.12.
    """

    index: float
    group: Integers
    matrix: Floats


def envy_audit(market: Market, allocation: Allocation) -> EnvyAudit:
    """Envy index of the most envious user, and the envy among users on the same servers."""
    index, _ = user_envy(market, allocation)
    worst = int(np.argmin(np.where(market.active, index, np.inf)))
    group = users_alike(market, worst)
    return EnvyAudit(float(index[worst]), group, envy_matrix(market, allocation, group))


def users_alike(market: Market, user: int) -> Integers:
    """Users with useful jobs on exactly the same servers as `user`, who is one of them."""
    useful = market.useful
    mine = np.unique(market.server[useful & (market.user == user)])
    key = np.unique(market.user[useful] * market.servers + market.server[useful])
    owner, place = key // market.servers, key % market.servers
    inside = total_by(owner, np.isin(place, mine), market.users)
    every = np.bincount(owner, minlength=market.users)
    return np.flatnonzero((inside == len(mine)) & (every == len(mine)))


def work_conserving(capacity: Floats, server: Integers, demand: Floats) -> Floats:
    """Cores (k,) when each server is divided equally among its jobs, and unused shares go to the
    others.

    The work-conserving policy of thesis section 3.1.2: max-min fair per server, jobs capped.

    Examples
    --------
    Alice's jobs want 2 and 8 cores, Bob's 8 and 8, on two servers of 10: Alice gets 7, Bob 13.

    >>> server, demand = np.array([0, 1, 0, 1]), np.array([2.0, 8.0, 8.0, 8.0])
    >>> work_conserving(np.array([10.0, 10.0]), server, demand).tolist()
    [2.0, 5.0, 8.0, 5.0]
    """
    cores = np.zeros(len(demand))
    for index, size in enumerate(capacity):
        jobs = np.flatnonzero(server == index)
        left = float(size)
        for job, waiting in zip(
            jobs[np.argsort(demand[jobs], kind="stable")], range(len(jobs), 0, -1), strict=True
        ):
            cores[job] = min(demand[job], left / waiting)
            left -= cores[job]
    return cores
