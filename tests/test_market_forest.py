"""Linear markets by pivots, and `nash-welfare` of other homogeneous utilities."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.market_cases import answer
from support.messages import refused
from support.seeds import numbers

import cotenant
from cotenant.instances.market import Market, residuals
from cotenant.instances.market.families import family_named
from cotenant.instances.market.generators import population
from cotenant.instances.problem.errors import InvalidOption
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.engines import solve_convex
from cotenant.solvers.market import fisher, nash_welfare
from cotenant.solvers.market.linear import DIRECT_UP_TO
from cotenant.solvers.market.linear_forest_optimum import forest_end
from cotenant.solvers.market.scaled_market import ScaledMarket
from cotenant.solvers.outcome import Status, Stop

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


FAMILIES: list[tuple[Any, float]] = [
    ("linear", 0.5), ("ces", 0.5), ("ces", 0.05), ("ces", -0.05), ("ces", 0.999), ("ces", -2.0),
    ("ces", -20.0), ("cobb-douglas", 0.5), ("leontief", 0.5), ("quasi-linear", 0.5),
]  # fmt: skip


def drawn(number: int, unit: float = 1.0) -> Market:
    """A small market: ties, jobs of work 0, users with one job or none, several on one server."""
    rng = np.random.default_rng(number)
    users, servers, jobs = (int(rng.integers(1, most)) for most in (7, 5, 14))
    work = rng.choice([0.0, 0.5, 1.0, 2.0, 3.3], jobs)
    if number % 4 == 3:
        work = 10.0 ** rng.integers(-6, 6, jobs)
    work[0] = 1.0
    return Market(
        rng.integers(1, 9, servers), rng.exponential(size=users) + 0.1,
        rng.integers(users, size=jobs), rng.integers(servers, size=jobs), np.ones(jobs),
        work * unit,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("utility", "rho"), FAMILIES)
def test_prices_of_drawn_homogeneous_markets_have_small_residuals(utility: Any, rho: float) -> None:
    family = family_named(utility, rho)
    assert family is not None
    for number in range(60):
        market = drawn(number, unit=1e-12 if number % 4 == 2 else 1.0)
        outcome = nash_welfare(market, utility=utility, rho=rho)
        error = family.residuals(market, answer(outcome))
        assert outcome.status is Status.OPTIMAL, number
        assert error is not None
        assert error.worst <= 1e-8, number


@pytest.mark.parametrize("number", numbers(40, 2))
@pytest.mark.parametrize(("utility", "rho"), FAMILIES)
def test_homogeneous_welfare_equals_convex_program(utility: Any, rho: float, number: int) -> None:
    market = drawn(number)
    outcome = nash_welfare(market, utility=utility, rho=rho)
    program = eisenberg_gale(market, utility, rho)
    found = solve_convex(program.problem)
    budget = market.budget[market.active]
    assert outcome.bound is not None
    logs = np.log(outcome.bound) * budget.sum()
    assert found.objective == pytest.approx(logs, abs=1e-5 * (1 + abs(logs)))


def test_quasi_linear_users_spend_only_what_cores_are_worth() -> None:
    kept = 0
    for number in range(12):
        market = drawn(number, unit=0.2)
        outcome = nash_welfare(market, utility="quasi-linear")
        price = answer(outcome).price[market.server]
        best = np.zeros(market.users)
        np.maximum.at(best, market.user, market.work / np.where(price > 0, price, np.inf))
        paid = np.bincount(market.user, answer(outcome).cores * price, minlength=market.users)
        left = 1 - paid / market.budget
        assert outcome.status is Status.OPTIMAL, number
        assert (left[best < 1 - 1e-9] >= 1 - 1e-9).all()
        assert (np.abs(left[best > 1 + 1e-9]) <= 1e-9).all()
        kept += int((left > 1e-6).any())
    assert kept > 2


def test_quasi_linear_and_linear_markets_with_little_money_have_equal_prices() -> None:
    market = drawn(0, unit=1e6)
    both = [nash_welfare(market, utility=name) for name in ("linear", "quasi-linear")]
    assert answer(both[0]).price == pytest.approx(answer(both[1]).price)
    assert both[0].bound == pytest.approx(both[1].bound)


def test_leontief_servers_with_spare_cores_have_zero_price() -> None:
    market = Market([1.0, 4.0], [1.0, 2.0], [0, 0, 1], [0, 1, 0], np.ones(3), [1.0, 1.0, 1.0])
    outcome = nash_welfare(market, utility="leontief")
    assert answer(outcome).price == pytest.approx([3.0, 0.0])
    assert answer(outcome).cores == pytest.approx([1 / 3, 1 / 3, 2 / 3])


@pytest.mark.parametrize("utility", ["amdahl", "linear", "ces", "leontief", "quasi-linear"])
def test_nash_welfare_at_time_limit_zero_is_valid(utility: Any) -> None:
    market = population(users=9, servers=5, jobs=3, rng=np.random.default_rng(0))
    early, best = (nash_welfare(market, utility=utility, time_limit=t) for t in (1e-9, None))
    assert early.bound is not None
    assert best.bound is not None
    cotenant.check(market, early.solution)
    assert early.stop is Stop.TIME_LIMIT
    assert early.bound >= best.bound * (1 - 1e-12)


@pytest.mark.parametrize("rho", [0.01, 1.0, -21.0])
def test_ces_elasticity_out_of_range_is_refused(rho: float) -> None:
    with refused(InvalidOption, shown=rho):
        nash_welfare(drawn(0), utility="ces", rho=rho)
