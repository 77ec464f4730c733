"""The equilibrium of Amdahl utilities by convex programs, independently of our Newton steps."""

from __future__ import annotations

import numpy as np

from cotenant.instances.market.equilibrium import money_spent
from cotenant.instances.market.instance import Allocation, Market
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.engines import solve_convex

PRECISE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def equilibrium_by_programs(market: Market, solves: int = 60) -> Allocation:
    """Cores and prices by the Eisenberg-Gale program with budgets that are corrected until every
    user spends its own: the weight beta_i of a user that spends s_i becomes beta_i B_i / s_i.
    """
    moving = np.where(market.parallel_fraction > 0, market.work, 0.0)
    serial = market.useful & (market.parallel_fraction == 0)
    cores, price = np.zeros(market.jobs), np.zeros(market.servers)
    if moving.any():
        program = eisenberg_gale(market.replace(work=moving))
        for _ in range(solves):
            assert solve_convex(program.problem, **PRECISE).objective is not None
            cores[program.job] = program.share.value * market.capacity[market.server[program.job]]
            price = np.maximum(program.capacity_row.dual_value, 0.0) / market.capacity
            spent = money_spent(market, cores, price)[program.user]
            part = market.budget[program.user] / spent
            if np.abs(part - 1).max() <= 1e-6:
                break
            program.weight.value = program.weight.value * part
    # a job that one core satisfies has a sliver
    cores[serial] = 1e-6 * market.capacity[market.server[serial]]
    return Allocation(np.maximum(cores, 0.0), price)
