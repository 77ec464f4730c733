"""Rival market policies and the metrics that judge them; maximum total utility at a guaranteed sharing
index, against grids and the convex program.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.market_cases import amdahl, answer, drawer
from support.seeds import seeds

import cotenant
from cotenant.analysis.market.audits import envy_audit, users_alike, work_conserving
from cotenant.analysis.market.frontier import price_frontiers
from cotenant.baselines.market import (
    equal_share,
    exchange,
    exchange_modified,
    greedy_filtered,
    greedy_oracle,
    proportional_response,
    proportional_share,
)
from cotenant.instances.market import Allocation, Market, user_utilities
from cotenant.instances.market.envy import envy_matrix, user_envy
from cotenant.instances.market.generators import population
from cotenant.instances.market.sharing import Share, sharing_index, sharing_ratios, static_utilities
from cotenant.instances.market.utility import job_utilities
from cotenant.models.market.guaranteed import guaranteed
from cotenant.solvers.engines import ConvexAnswer, solve_convex
from cotenant.solvers.market import fisher
from cotenant.solvers.market.guaranteed import PROVED, Guarantees
from cotenant.solvers.outcome import Clock, Status, Stop

POLICIES = [
    equal_share,
    proportional_share,
    greedy_oracle,
    greedy_filtered,
    exchange,
    exchange_modified,
    proportional_response,
]


drawn = drawer(users=20, servers=15, jobs=4)


def test_work_conserving_policy_on_published_example_gives_published_cores() -> None:
    cores = work_conserving(
        np.array([10.0, 10.0]), np.array([0, 1, 0, 1]), np.array([2.0, 8.0, 8.0, 8.0])
    )
    alice, bob = cores[:2].sum(), cores[2:].sum()
    assert (alice, bob) == (7, 13)  # both are entitled to 10
    assert cores.tolist() == [2, 5, 8, 5]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)
@pytest.mark.parametrize(
    "options",
    [{}, {"cores": 0.5}, {"cores": 3000.0}, {"low": 0.0, "high": 0.0}, {"low": 1.0, "high": 1.0}],
)
def test_every_policy_answers_every_market_feasibly(policy: Any, options: dict[str, Any]) -> None:
    market = drawn(**options)
    cotenant.check(market, answer(policy(market)))


def test_equal_and_proportional_core_shares_equal_hand_calculation() -> None:
    market = Market(
        [12, 5], [1, 1], [0, 1, 1, 0], [0, 0, 0, 1], [0.5, 0.75, 0.25, 0.0], [1, 1, 1, 1]
    )
    assert equal_share(market).cores.tolist() == [4, 4, 4, 5]
    # a server of serial jobs is split equally
    assert proportional_share(market).cores.tolist() == [4, 6, 2, 5]


def test_greedy_cores_by_fully_sampled_profile_equal_greedy_by_true_speedups() -> None:
    market = drawn(users=60, servers=40, jobs=8)
    known, full = greedy_oracle(market), greedy_filtered(market, sampled=1.0)
    assert full.cores.tolist() == known.cores.tolist()
    guessed = greedy_filtered(market, rng=np.random.default_rng(1))
    assert job_utilities(market, guessed.cores).sum() < job_utilities(market, known.cores).sum()
    assert guessed.cores.sum() == known.cores.sum()


def test_xc_m_best_reply_equals_best_bid_split_on_grid() -> None:
    market = drawn(2, users=4, servers=3, jobs=2)
    outcome = exchange_modified(market, tolerance=1e-12, rounds=5000)
    found = answer(outcome)
    assert outcome.stop is Stop.FINISHED
    bids = found.price[market.server] * found.cores
    others = np.array([bids[market.server == j].sum() for j in market.server]) - bids
    shares = np.linspace(0, 1, 3001)
    for user in range(4):
        pair = np.flatnonzero(market.user == user)
        own = bids[pair[0]] / market.budget[user]
        worth = np.zeros(len(shares) + 1)
        for job, share in zip(
            pair, (np.append(shares, own), 1 - np.append(shares, own)), strict=True
        ):
            bid, capacity = share * market.budget[user], market.capacity[market.server[job]]
            cores = capacity * bid / np.maximum(bid + others[job], 1e-300)
            f = market.parallel_fraction[job]
            worth += market.work[job] * cores / np.maximum(f + (1 - f) * cores, 1e-300)
        assert worth[-1] >= worth.max() * (1 - 1e-9)


def brute_envy(market: Market, cores: np.ndarray) -> np.ndarray:
    """The envy matrix by loops, for markets with one job per user and server."""
    n = market.users

    def worth(job: int, held: float) -> float:
        return market.work[job] * amdahl(held, market.parallel_fraction[job])

    jobs = [np.flatnonzero(market.user == user).tolist() for user in range(n)]
    matrix = np.ones((n, n))
    for i, other in itertools.permutations(range(n), 2):
        own = sum(worth(k, cores[k]) for k in jobs[i])
        scale = market.budget[i] / market.budget[other]
        pairs = itertools.product(jobs[i], jobs[other])
        seen = sum(
            worth(k, cores[t] * scale) for k, t in pairs if market.server[k] == market.server[t]
        )
        matrix[i, other] = own / max(own, seen) if max(own, seen) > 0 else 1.0
    return matrix


@pytest.mark.parametrize("seed", range(3))
def test_envy_matrix_equals_plain_loops(seed: int) -> None:
    market = drawn(seed, users=9, servers=6, jobs=4, budgets="lognormal")
    found = greedy_oracle(market)
    expected = brute_envy(market, found.cores)
    assert envy_matrix(market, found) == pytest.approx(expected)
    index, whom = user_envy(market, found)
    assert index == pytest.approx(expected.min(axis=1))
    envious = index < 1
    assert expected[np.flatnonzero(envious), whom[envious]] == pytest.approx(index[envious])


def test_envy_is_computed_with_best_split_of_others_cores_over_own_jobs() -> None:
    market = Market([20], [1, 1], [0, 0, 1], [0, 0, 0], [0.5, 0.9, 0.9], [1, 2, 1])
    found = Allocation([2, 2, 16])
    best = max(amdahl(x, 0.5) + 2 * amdahl(16 - x, 0.9) for x in np.linspace(0, 16, 16001))
    own = amdahl(2, 0.5) + 2 * amdahl(2, 0.9)
    assert envy_matrix(market, found)[0, 1] == pytest.approx(own / best, rel=1e-6)


def test_envy_audit_names_group_of_worst_pair() -> None:
    market = cotenant.read("market/groups-100")
    audit = envy_audit(market, greedy_oracle(market))
    assert audit.group.tolist() == list(range(audit.group[0], audit.group[0] + 10))
    assert audit.matrix.min() == pytest.approx(audit.index)
    assert audit.matrix.shape == (10, 10)
    assert users_alike(market, 37).tolist() == list(range(30, 40))


def brute_static(market: Market, share: Share, user: int) -> float:
    """A user's utility of its static share, by loops (one job per user and server)."""
    total = 0.0
    for k in np.flatnonzero(market.user == user):
        here = market.server == market.server[k]
        capacity = market.capacity[market.server[k]]
        cores = {
            "endowment": capacity * market.budget[user] / market.budget.sum(),
            "tenants": capacity / len(set(market.user[here].tolist())),
            "jobs": capacity / here.sum(),
        }[share]
        total += market.work[k] * amdahl(cores, market.parallel_fraction[k])
    return total


@pytest.mark.parametrize("share", ["endowment", "tenants", "jobs"])
def test_static_shares_equal_plain_loops(share: Share) -> None:
    market = drawn(3, users=9, servers=6, jobs=4, budgets="lognormal")
    expected = [brute_static(market, share, user) for user in range(market.users)]
    assert static_utilities(market, share) == pytest.approx(expected)
    found = greedy_oracle(market)
    ratios = user_utilities(market, found.cores) / np.array(expected)
    assert sharing_ratios(market, found, share) == pytest.approx(ratios)
    assert sharing_index(market, found, share) == pytest.approx(ratios.min())


def test_shares_by_tenants_and_by_jobs_differ_if_user_has_two_jobs() -> None:
    market = Market([12], [1, 1], [0, 0, 1], [0, 0, 0], [1.0, 1.0, 1.0], [1, 1, 1])
    assert static_utilities(market, "tenants") == pytest.approx([6, 6])
    assert static_utilities(market, "jobs") == pytest.approx([8, 4])
    assert static_utilities(market, "endowment") == pytest.approx([6, 6])


def test_sharing_index_omits_users_without_useful_jobs() -> None:
    market = Market([10], [1, 1, 1], [0, 1], [0, 0], [0.9, 0.9], [1, 0])
    found = answer(fisher(market))
    assert found.cores.tolist() == pytest.approx([10, 0])
    ratios = sharing_ratios(market, found)
    assert ratios[0] == pytest.approx(1)
    assert np.isnan(ratios[1:]).all()
    assert np.isnan(envy_matrix(market, found)[1, 0])
    assert cotenant.solve(market, "fisher").metrics["envy_index"] == 1


PROGRAMME = 1e-5
"""Relative agreement with the convex program."""


def explored(market: Market, time_limit: float | None = None, **limits: int) -> Guarantees:
    search = Guarantees(market, Clock(time_limit), **limits)
    search.raise_index()
    return search


def small_market(seed: int, **options: Any) -> Market:
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
def test_market_optimum_at_required_sharing_index_equals_best_of_allocation_grid(seed: int) -> None:
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
def test_total_utility_at_required_sharing_index_equals_convex_program(seed: int) -> None:
    market = small_market(seed)
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
def test_market_frontier_respects_sharing_index_and_proves_largest_index(seed: int) -> None:
    market = small_market(seed)
    search = explored(market)
    assert search.fairest.index == pytest.approx(search.highest, rel=10 * PROVED)
    assert search.most(1.01 * search.highest) is None
    for sigma in np.linspace(search.best.index, search.fairest.index, 5):
        found = search.most(float(sigma))
        assert sharing_index(market, Allocation(found.cores)) >= sigma * (1 - 1e-12)


def test_market_search_finds_allocation_with_sharing_index_above_1() -> None:
    """Each user's work is mostly on one server: all of it is worth 120 / 1.3, its halves of both
    80 / 1.1 (or a tenth of that).
    """
    work = [30.0, 10.0, 1.0, 3.0]
    market = Market([4.0, 4.0], [1.0, 1.0], [0, 0, 1, 1], [0, 1, 0, 1], [0.9] * 4, work)
    assert explored(market).fairest.index == pytest.approx(33 / 26)


@pytest.mark.slow
def test_market_frontier_of_hundred_users_is_proved_at_every_sharing_index() -> None:
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


def test_sharing_index_frontier_without_work_or_amdahl_utility_is_empty() -> None:
    market = cotenant.read("market/tiny")
    assert price_frontiers(market.replace(work=np.zeros(market.jobs))) == ()
    assert price_frontiers(market, utility="linear") == ()


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1e-6, 0.05])
def test_market_frontier_at_time_limit_has_valid_bounds(seconds: float) -> None:
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
        (found,) = price_frontiers(small_market(seed))
        for point in found.points:
            if point.value is not None:
                assert point.value <= point.bound * (1 + 1e-12)
            apart = np.inf if point.value is None else point.bound - point.value
            assert (point.status is Status.OPTIMAL) == (
                apart <= PROVED * max(1.0, abs(point.value or 0.0))
            )
