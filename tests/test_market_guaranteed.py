"""Maximum total utility at a guaranteed sharing index, against grids and the convex program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.seeds import seeds

import cotenant
from cotenant.analysis.market.frontier import price_frontiers
from cotenant.instances.market import Allocation, Market
from cotenant.instances.market.generators import population
from cotenant.instances.market.sharing import sharing_index
from cotenant.models.market.guaranteed import guaranteed
from cotenant.solvers.engines import ConvexAnswer, solve_convex
from cotenant.solvers.market.guaranteed import PROVED, Guarantees
from cotenant.solvers.outcome import Clock, Status, Stop

PROGRAMME = 1e-5
"""Relative agreement with the convex program."""


def explored(market: Market, time_limit: float | None = None, **limits: int) -> Guarantees:
    search = Guarantees(market, Clock(time_limit), **limits)
    search.raise_index()
    return search


def drawn(seed: int, **options: Any) -> Market:
    """A small market: smooth when seed % 3 is 0, else with jobs of f = 1, sometimes f = 0 or work
    0.
    """
    rng = np.random.default_rng([5, seed])
    settings: dict[str, Any] = {
        "users": 2 + seed % 4,
        "servers": 1 + seed % 3,
        "jobs": 1,
        "work": "lognormal",
        "low": 0.0,
        "high": 1.0,
        "cores": float(rng.integers(2, 12)),
        "budgets": "lognormal" if seed % 2 else "equal",
        "spread": 0.7,
    }
    market = population(**settings | options, rng=rng)
    fraction, work = market.parallel_fraction.copy(), market.work.copy()
    if seed % 3:
        fraction[rng.random(market.jobs) < 0.4] = 1.0
    if seed % 4 == 1:
        fraction[rng.random(market.jobs) < 0.3] = 0.0
    if seed % 7 == 6:
        work[1:][rng.random(market.jobs - 1) < 0.3] = 0.0
    return market.replace(parallel_fraction=fraction, work=work)


def two_users(seed: int) -> Market:
    """Two users with a job each on both of two servers."""
    rng = np.random.default_rng([6, seed])
    fraction = np.where(rng.random(4) < 0.3 * (seed % 2), 1.0, rng.uniform(0.1, 1, 4))
    return Market(
        rng.uniform(2, 8, 2),
        rng.uniform(1, 3, 2),
        user=np.array([0, 0, 1, 1]),
        server=np.array([0, 1, 0, 1]),
        parallel_fraction=fraction,
        work=rng.uniform(0.5, 2, 4),
    )


def on_a_grid(market: Market, steps: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Total utility and sharing index of every division of both servers in so many parts, from the
    definitions.
    """

    def worth(cores: np.ndarray, job: int) -> np.ndarray:
        f = market.parallel_fraction[job]
        return np.asarray(market.work[job] * cores / (f + (1 - f) * cores))

    parts = [np.linspace(0, size, steps + 1) for size in market.capacity]
    one, other = np.meshgrid(*parts, indexing="ij")
    first = worth(one, 0) + worth(other, 1)
    second = worth(market.capacity[0] - one, 2) + worth(market.capacity[1] - other, 3)
    shares = market.budget / market.budget.sum()
    static = [
        sum(
            float(worth(np.array(market.capacity[market.server[job]] * shares[user]), job))
            for job in jobs
        )
        for user, jobs in enumerate(([0, 1], [2, 3]))
    ]
    return first + second, np.minimum(first / static[0], second / static[1])


@pytest.mark.parametrize("seed", seeds(5, 1))
def test_guaranteed_market_optimum_equals_best_of_a_grid(seed: int) -> None:
    market = two_users(seed)
    search = explored(market)
    total, index = on_a_grid(market)
    assert index.max() <= search.highest
    assert search.highest == pytest.approx(index.max(), rel=5e-3)
    for sigma in np.linspace(search.best.index, 0.999 * search.fairest.index, 5):
        found = search.most(float(sigma))
        best = float(total[index >= sigma].max(initial=-np.inf))
        assert best <= search.bound(float(sigma))
        if np.isfinite(best):
            assert found.total >= best * (1 - 1e-9) - PROVED * found.total
            assert found.total == pytest.approx(best, rel=2e-2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", seeds(5, 3))
def test_guaranteed_values_equal_convex_program(seed: int) -> None:
    market = drawn(seed)
    search = explored(market)
    serial = np.where(market.parallel_fraction == 0, market.work, 0.0)
    for sigma in np.linspace(search.best.index, search.fairest.index, 4)[1:-1]:
        found = search.most(float(sigma))
        assert search.bound(float(sigma)) - found.total <= PROVED * found.total
        program = guaranteed(market, search.static, float(sigma))
        answer = solve_convex(program.problem, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        # users whose jobs are all serial are not in the program
        outside = serial[~np.isin(market.user, program.user)].sum()
        assert found.total == pytest.approx(
            answer.objective * program.unit + outside, rel=PROGRAMME
        )


@pytest.mark.parametrize("seed", range(5))
def test_guaranteed_frontier_respects_index_and_proves_largest(seed: int) -> None:
    market = drawn(seed)
    search = explored(market)
    assert search.fairest.index == pytest.approx(search.highest, rel=10 * PROVED)
    assert search.most(1.01 * search.highest) is None
    for sigma in np.linspace(search.best.index, search.fairest.index, 5):
        found = search.most(float(sigma))
        assert sharing_index(market, Allocation(found.cores)) >= sigma * (1 - 1e-12)


def test_guaranteed_search_finds_allocation_fairer_than_endowments() -> None:
    """Each user's work is mostly on one server: all of it is worth 120 / 1.3, its halves of both
    80 / 1.1 (or a tenth of that).
    """
    work = [30.0, 10.0, 1.0, 3.0]
    market = Market([4.0, 4.0], [1.0, 1.0], [0, 0, 1, 1], [0, 1, 0, 1], [0.9] * 4, work)
    assert explored(market).fairest.index == pytest.approx(33 / 26)


@pytest.mark.slow
def test_frontier_of_hundred_users_is_proved_at_every_index() -> None:
    for name in ("groups-100", "pool-100"):
        market = cotenant.read(f"market/{name}")
        (found,) = price_frontiers(market)
        assert found.status is Status.OPTIMAL
        assert len(found.points) == 8
        indices = [point.reached for point in found.points if point.reached is not None]
        assert indices == sorted(indices, reverse=True)
        fisher = cotenant.solve(market, "fisher")
        for point in found.points:
            if point.limit is None or fisher.metrics["sharing_index"] >= point.limit:
                assert fisher.metrics["total_utility"] <= point.bound


def test_identical_users_have_one_sharing_index() -> None:
    market = Market(
        np.array([8.0]), np.ones(4), user=np.arange(4), server=np.zeros(4, dtype=int),
        parallel_fraction=np.full(4, 0.8),
        work=np.ones(4),
    )  # fmt: skip
    (found,) = price_frontiers(market)
    assert [(point.limit, point.status) for point in found.points] == [(None, Status.OPTIMAL)]
    assert found.points[0].reached == pytest.approx(1.0)


def test_sharing_frontier_without_useful_amdahl_jobs_is_empty() -> None:
    market = cotenant.read("market/tiny")
    assert price_frontiers(market.replace(work=np.zeros(market.jobs))) == ()
    assert price_frontiers(market, utility="linear") == ()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1e-6, 0.05])
def test_guaranteed_search_at_time_limit_is_valid(seconds: float) -> None:
    market = cotenant.read("market/pool-100")
    whole = explored(market)
    (found,) = price_frontiers(market, time_limit=seconds)
    assert found.stop is Stop.TIME_LIMIT
    assert found.status is Status.FEASIBLE or len(found.points) == 1
    for point in found.points:
        assert point.value <= point.bound
        if point.limit is not None:
            whole.most(point.limit)
            assert point.bound >= whole.bound(point.limit) * (1 - PROVED)


@pytest.mark.slow
def test_frontier_of_market_without_convex_engine_has_valid_statuses(engines: Any) -> None:
    engines(solve_convex=lambda *_, **__: ConvexAnswer(Status.UNKNOWN, Stop.FINISHED, None, ""))
    for seed in (1, 2, 4, 5):
        (found,) = price_frontiers(drawn(seed))
        for point in found.points:
            if point.value is not None:
                assert point.value <= point.bound * (1 + 1e-12)
            apart = np.inf if point.value is None else point.bound - point.value
            assert (point.status is Status.OPTIMAL) == (
                apart <= PROVED * max(1.0, abs(point.value or 0.0))
            )
