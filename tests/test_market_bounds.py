"""The duals that bound what a market can do, apart from the methods that keep a bound from falling
below their value.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cotenant.instances.market import Market
from cotenant.instances.market.generators import population
from cotenant.instances.market.utility import job_utilities
from cotenant.solvers.engines import solve_program
from cotenant.solvers.market import nash_welfare
from cotenant.solvers.market.utilitarian import _whole
from cotenant.solvers.outcome import Status, Stop

SEEDS = range(12)


def mixed(seed: int, **options: Any) -> Market:
    """Jobs of every kind: f = 0 (alone on its server and beside others), f = 1, in between, and
    useless ones.
    """
    settings: dict[str, Any] = {
        "users": 4,
        "servers": 3,
        "jobs": 2,
        "work": "lognormal",
        "low": 0.1,
        "high": 0.95,
        "cores": 5.0,
    }
    market = population(**settings | options, rng=np.random.default_rng([61, seed]))
    fraction, work = market.parallel_fraction.copy(), market.work.copy()
    kinds = np.random.default_rng([67, seed]).integers(0, 6, market.jobs)
    fraction[kinds == 0], fraction[kinds == 1], work[kinds == 2] = 0.0, 1.0, 0.0
    if seed % 3 == 0:
        fraction[market.server == 0] = 0.0
    return market.replace(parallel_fraction=fraction, work=work)


@pytest.mark.parametrize("seed", SEEDS)
def test_integer_dual_equals_best_integer_allocation(seed: int) -> None:
    market = mixed(seed, users=3, servers=2, cores=4.0)
    best = 0.0
    for server in range(market.servers):
        jobs = np.flatnonzero(market.server == server)
        worth = []
        for given in itertools.product(range(5), repeat=len(jobs)):
            if sum(given) <= 4:
                cores = np.zeros(market.jobs)
                cores[jobs] = given
                worth.append(float(job_utilities(market, cores)[jobs].sum()))
        best += max(worth)
    assert _whole(market)[1] == pytest.approx(best, rel=1e-12)
    assert _whole(market)[1] >= best * (1 - 1e-14)


def test_integer_welfare_at_time_limit_is_not_optimal(engines: Any) -> None:
    market = population(
        users=3, servers=2, jobs=2, low=0.2, high=0.9, cores=4.0, rng=np.random.default_rng(5)
    )
    best = nash_welfare(market, whole=True)

    def cut(
        program: Any, **options: Any
    ) -> Any:  # the bound is worth one part in fifty more than the truth
        answer = solve_program(program, **options)
        return replace(
            answer,
            bound=answer.bound - 0.02 * market.budget.sum(),
            status=Status.FEASIBLE,
            stop=Stop.TIME_LIMIT,
        )

    engines(solve_program=cut)
    outcome = nash_welfare(market, whole=True)
    assert outcome.bound > best.bound
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
