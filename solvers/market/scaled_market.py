"""Scaled part of a market that determines prices (jobs that can use a second core), and the
conversion back to whole allocations.

Jobs of work 0 get nothing. Jobs of f = 0 run at full speed on any core at all, so each user that
has some spends the fraction `EPSILON_BUDGET` of its budget on them, equally, whatever the prices:
enough for a positive amount of a core, too little to be felt (a user without other jobs keeps the
rest of its money). A server whose tenants are all of work 0 has price 0.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from ...instances.market.instance import (
    Allocation,
    Booleans,
    Floats,
    Integers,
    Market,
    ratio,
    require_memory,
    total_by,
)
from ...instances.market.utility import marginal_speedup
from ...instances.problem.option_types import Above

EPSILON_BUDGET = 1e-10
"""Share of a user's budget that goes to its jobs with f = 0."""

COMPILED_FROM, LOADED_FROM = 500_000, 1_500_000
"""Jobs of a market from which compiled loops save more than it takes to load them, in a process
that has loaded numba before and in one that has not.
"""

_BYTES_PER_JOB = (
    400  # arrays of eight bytes alive at the widest point of the Newton method, counted generously
)


@dataclass(frozen=True, eq=False)
class ScaledMarket:
    """Jobs whose work and parallel fraction exceed 0, and the money spent on the other jobs.

    Attributes
    ----------
    market : the whole of it.
    job : (j,) which of its jobs these are.
    user, server, fraction, work : (j,) theirs; work scaled so that a user's largest is 1 (only
        ratios within a user matter).
    budget : (n,) money for these jobs, in units of the mean budget; 0 for a user without such jobs.
    unit : the mean budget.
    fixed : (m,) money spent on slivers.
    serial, epsilon_budget : indices of the jobs with f = 0, and the money each spends.
    starts : (n + 1,) where each user's jobs begin, in a large market where they stand together and
        have f < 1: compiled loops (`user_kernels`) then take the place of sums in numpy.
    """

    market: Market
    job: Integers
    user: Integers
    server: Integers
    fraction: Floats
    work: Floats
    budget: Floats
    unit: float
    fixed: Floats
    serial: Integers
    epsilon_budget: Floats
    starts: Integers | None = None

    @classmethod
    def of(cls, market: Market, unit: float | None = None) -> ScaledMarket:
        """Scaled form of a market; refuses one that exceeds the memory.

        Parameters
        ----------
        unit : in which money is counted; the mean budget when not given.
        """
        require_memory(_BYTES_PER_JOB * market.jobs, f"the equilibrium of {market.jobs} jobs")
        moving = market.useful & (market.parallel_fraction > 0)
        job, serial = np.flatnonzero(moving), np.flatnonzero(market.useful & ~moving)
        all_move = len(job) == market.jobs  # then nothing is copied
        user = market.user if all_move else market.user[job]
        server = market.server if all_move else market.server[job]
        work = market.work if all_move else market.work[job]
        fraction = market.parallel_fraction if all_move else market.parallel_fraction[job]
        largest = np.zeros(market.users)
        np.maximum.at(largest, user, work)
        unit = float(market.budget.mean()) if unit is None else unit
        number = np.bincount(market.user[serial], minlength=market.users)
        sliver = (
            EPSILON_BUDGET * (market.budget / unit / np.maximum(number, 1))[market.user[serial]]
        )
        budget = np.where(
            largest > 0, market.budget / unit * np.where(number > 0, 1 - EPSILON_BUDGET, 1.0), 0.0
        )
        many = COMPILED_FROM if "numba" in sys.modules else LOADED_FROM
        curved = market.jobs >= many and fraction.max(initial=0.0) < 1
        together = curved and (user[1:] >= user[:-1]).all()
        starts = np.searchsorted(user, np.arange(market.users + 1)) if together else None
        fixed = total_by(market.server[serial], sliver, market.servers)
        return cls(
            market,
            job,
            user,
            server,
            fraction,
            work / largest[user],
            budget,
            unit,
            fixed,
            serial,
            sliver,
            starts,
        )

    @cached_property
    def root_work(self) -> Floats:
        """(j,) square root of the jobs' work."""
        return np.sqrt(self.work)

    @cached_property
    def serial_share(self) -> Floats:
        """(j,) serial fraction 1 - f of each job."""
        return 1 - self.fraction

    @property
    def priced_servers(self) -> Booleans:
        """(m,) whether some user would pay for the server."""
        return (np.bincount(self.server, minlength=self.market.servers) > 0) | (self.fixed > 0)

    def by_user(self, values: Floats) -> Floats:
        """(n,) sums of the jobs' values (j,) by user."""
        return total_by(self.user, values, self.market.users)

    def by_server(self, values: Floats) -> Floats:
        """(m,) sums of the jobs' values (j,) by server."""
        return total_by(self.server, values, self.market.servers)

    def marginal(self, cores: Floats) -> Floats:
        """(j,) w s'(x), the marginal worth of a core for each job."""
        return self.work * marginal_speedup(cores, self.fraction)

    def curvature(self, cores: Floats, marginal: Floats) -> Floats:
        """(j,) -w s''(x), the rate at which the marginal worth falls."""
        return 2 * self.serial_share / (self.fraction + self.serial_share * cores) * marginal

    def price_of(self, bids: Floats) -> Floats:
        """Prices (m,): the money bid on each server over its cores (thesis section 3.3.2)."""
        total = self.by_server(bids) + self.fixed
        return total / self.market.capacity

    def allocation(self, cores: Floats, price: Floats) -> Allocation:
        """Allocation of the whole market from cores (j,); every priced server gives exactly its
        capacity.
        """
        market = self.market
        whole = np.zeros(market.jobs)
        whole[self.job] = cores
        paid = price[market.server[self.serial]]
        whole[self.serial] = ratio(self.epsilon_budget, paid)
        given = total_by(market.server, whole, market.servers)
        scale = ratio(market.capacity, given)
        return Allocation(cores=whole * scale[market.server], price=price * self.unit)


Tolerance = Annotated[float, Above(0, "a relative error", most=1e-3)]
"""How far from an equilibrium may still be called one."""
