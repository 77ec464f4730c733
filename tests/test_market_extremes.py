"""A misreport of the fractions, and the ends of a market's range: money, fractions and numbers far
apart, each certified.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cotenant
from cotenant.analysis.manipulation import Manipulation, best_misreport
from cotenant.analysis.market.metrics import SHIFTS
from cotenant.instances.market import Market, user_utilities
from cotenant.instances.market.generators import population
from cotenant.solvers.market import fisher


def shifted(market: Market) -> Manipulation:
    return best_misreport(market, "fisher", "0", None, kinds=("odds",))


def test_market_misreport_is_measured_by_true_utility() -> None:
    market = population(users=3, servers=3, jobs=3, work="lognormal", rng=np.random.default_rng(1))
    found = shifted(market)
    assert found.gain > 0
    assert found.tried == len(SHIFTS)
    fraction, reported = market.parallel_fraction, found.witness.parallel_fraction
    odds = np.log(reported / (1 - reported)) - np.log(fraction / (1 - fraction))
    assert odds == pytest.approx(np.where(market.user == 0, odds[market.user == 0][0], 0))
    assert np.isclose(SHIFTS, odds[market.user == 0][0]).any()
    told = fisher(found.witness).solution
    honest = user_utilities(market, fisher(market).solution.cores)[0]
    gain = user_utilities(market, told.cores)[0] / honest
    assert gain == pytest.approx(found.ratio, rel=1e-6)


@pytest.mark.slow
def test_market_misreport_gain_falls_with_budget_share() -> None:
    def gain(users: int) -> float:
        draws = (
            population(users=users, servers=3, jobs=3, rng=np.random.default_rng(seed))
            for seed in range(3)
        )
        return float(np.mean([shifted(market).ratio - 1 for market in draws]))

    assert gain(100) < 0.2 * gain(4)


# Ends of the range.


@pytest.mark.parametrize(("seed", "rest"), [*product(range(2), ["amdahl", "linear", "both"])])
def test_jobs_of_f_0_beside_others_are_certified(seed: int, rest: str) -> None:
    rng = np.random.default_rng(seed)
    market = population(users=100, servers=10, jobs=4, work="lognormal", rng=rng)
    others = {
        "amdahl": market.parallel_fraction,
        "linear": np.ones(market.jobs),
        "both": np.where(rng.random(market.jobs) < 0.3, 1.0, market.parallel_fraction),
    }[rest]
    idle = (rng.random(market.jobs) < 0.4) | (market.server == 3)
    mixed = market.replace(parallel_fraction=np.where(idle, 0.0, others))
    outcome = fisher(mixed)
    assert outcome.status.value == "optimal"
    cotenant.check(mixed, outcome.solution)


@pytest.mark.parametrize(("seed", "high"), [*product(range(2), [0.99, 1.0])])
def test_budgets_over_twelve_orders_are_certified(seed: int, high: float) -> None:
    rng = np.random.default_rng(seed)
    market = population(
        users=100, servers=10, jobs=4, low=min(high, 0.5 if high < 1 else 1.0), high=high, rng=rng
    )
    rich = market.replace(budget=10 ** rng.uniform(-6, 6, market.users))
    outcome = fisher(rich)
    assert outcome.status.value == "optimal"
    assert outcome.certificate["overspending"] < 1e-8


def test_market_generator_draws_many_jobs_on_few_servers() -> None:
    market = population(users=5, servers=1000, jobs=300, rng=np.random.default_rng(0))
    assert all(len(set(market.server[market.user == user])) == 300 for user in range(5))
