"""Linear markets (all f = 1): the exact end by pivots, against enumeration in fractions."""

from __future__ import annotations

import itertools
from importlib import import_module

import numpy as np
import pytest

from cotenant.instances.market import Market, residuals
from cotenant.instances.market.generators import population
from cotenant.solvers.market import fisher
from cotenant.solvers.market.linear import DIRECT_UP_TO
from cotenant.solvers.market.linear_forest_optimum import forest_end
from cotenant.solvers.market.scaled_market import ScaledMarket
from cotenant.solvers.outcome import Status

ROUNDING = 1e-11
"""What is left of an exact end in floats."""


def tiny(seed: int) -> Market:
    """Users and servers of whole numbers; equal works tie often; every server has a tenant, some
    users two jobs on one.
    """
    rng = np.random.default_rng(seed)
    users, servers = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    pairs = [pair for pair in itertools.product(range(users), range(servers)) if rng.random() < 0.8]
    pairs += [(int(rng.integers(users)), server) for server in range(servers)]
    work = rng.integers(1, 4 if seed % 2 else 100, len(pairs))
    user, server = zip(*pairs, strict=True)
    number = len(pairs)
    return Market(
        rng.integers(1, 5, servers), rng.integers(1, 6, users), user, server, np.ones(number), work
    )


@pytest.mark.parametrize("seed", range(60))
def test_market_forest_ends_at_equilibrium_from_any_prices(seed: int) -> None:
    market = tiny(seed)
    scaled_market = ScaledMarket.of(market)
    rng = np.random.default_rng(seed)
    for _ in range(3):  # from anywhere at all
        price, cores = (
            rng.exponential(size=market.servers) + 1e-3,
            rng.exponential(size=len(scaled_market.job)),
        )
        end = forest_end(scaled_market, price, cores, lambda: False)
        error = residuals(market, scaled_market.allocation(end[0], end[1]))
        assert error.worst <= ROUNDING
    outcome = fisher(market)
    assert outcome.status is Status.OPTIMAL
    assert outcome.solution.price == pytest.approx(end[1] * scaled_market.unit, rel=1e-6)


def linear(seed: int, size: int, work: str) -> Market:
    rng = np.random.default_rng(seed)
    budgets = "lognormal" if seed % 2 else "equal"
    return population(
        users=size, servers=size, jobs=5, low=1.0, high=1.0, work=work, budgets=budgets, rng=rng
    )


@pytest.mark.slow
@pytest.mark.parametrize("work", ["one", "lognormal"])
@pytest.mark.parametrize(
    ("users", "servers", "jobs"),
    [(2000, 2000, 5), (10_000, 500, 3), (DIRECT_UP_TO + 1,) * 2 + (10,)],
)
def test_large_linear_market_is_solved_exactly(
    users: int, servers: int, jobs: int, work: str
) -> None:
    """Also beyond as many servers as a dense matrix is made for, where it was once lost."""
    market = population(
        users=users, servers=servers, jobs=jobs, low=1.0, high=1.0, work=work, budgets="lognormal",
        rng=np.random.default_rng(1),
    )  # fmt: skip
    outcome = fisher(market, tolerance=1e-10)
    assert outcome.status is Status.OPTIMAL
    assert [rung["rung"] for rung in outcome.certificate["rungs"]] == ["proportional", "forest"]


@pytest.mark.slow
def test_badly_scaled_linear_markets_are_solved_exactly() -> None:
    ended = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        users, servers, jobs = (int(rng.integers(1, most)) for most in (15, 10, 40))
        market = Market(
            10.0 ** rng.uniform(-3, 6, servers),
            10.0 ** rng.uniform(-3, 3, users),
            rng.integers(users, size=jobs),
            rng.integers(servers, size=jobs),
            np.where(rng.random(jobs) < 0.2, 0.0, 1.0),  # slivers beside them
            np.where(rng.random(jobs) < 0.1, 0.0, 10.0 ** rng.uniform(-9, 9, jobs)),
        )
        outcome = fisher(market, warm_rounds=1)
        assert outcome.status is Status.OPTIMAL, seed
        ended += outcome.certificate["rungs"][-1]["rung"] == "forest"
    assert ended >= 30  # the others are settled by the first round


def test_exact_linear_market_route_stops_at_limits_and_interior_point_takes_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    market = linear(0, 30, "lognormal")
    scaled_market = ScaledMarket.of(market)
    start = np.ones(market.servers), np.ones(len(scaled_market.job))
    looks = iter([False, False, True])
    assert forest_end(scaled_market, *start, lambda: next(looks)) is None
    assert forest_end(scaled_market, *start, lambda: False, most_rounds=0) is None
    module = import_module("cotenant.solvers.market.fisher")
    monkeypatch.setattr(module, "forest_end", lambda *_: None)
    outcome = fisher(market)
    assert outcome.status is Status.OPTIMAL
    assert outcome.certificate["rungs"][-1]["rung"] == "interior"
