"""The Fisher equilibrium against hand-worked answers, a second exact route and its certificate."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from support.market_cases import amdahl, answer, drawer
from support.messages import refused

import cotenant
from cotenant.analysis.manipulation import best_misreport
from cotenant.analysis.market.metrics import SHIFTS
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.solve import run
from cotenant.baselines.market import proportional_response
from cotenant.instances.market import (
    Allocation,
    Market,
    Residuals,
    best_reply,
    residuals,
    user_utilities,
)
from cotenant.instances.market.generators import population
from cotenant.instances.market.utility import fill
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.market import fisher, nash_welfare
from cotenant.solvers.market.exchange import jacobian, reply
from cotenant.solvers.market.fisher import FisherLimits
from cotenant.solvers.market.proportional import equal_bids, rebid
from cotenant.solvers.market.scaled_market import ScaledMarket
from cotenant.solvers.outcome import Outcome, Status, Stop

CERTIFIED = 1e-8
"""What `fisher` certifies by default: clearing, overspending and regret."""

drawn = drawer(users=30, servers=30, jobs=5)


def prices(outcome: Outcome) -> np.ndarray:
    return answer(outcome).price


def brute_reply(market: Market, price: np.ndarray, user: int, grid: int = 4000) -> float:
    """The most utility of a user with two jobs, by trying every split of its budget on a grid."""
    first, second = np.flatnonzero(market.user == user)
    best = 0.0
    for share in np.linspace(0, 1, grid + 1):
        money = share * market.budget[user], (1 - share) * market.budget[user]
        total = 0.0
        for job, spent in zip((first, second), money, strict=True):
            cores = spent / price[market.server[job]]
            total += market.work[job] * amdahl(cores, market.parallel_fraction[job])
        best = max(best, total)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_best_reply_equals_best_budget_split_on_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    market = drawn(seed, users=5, servers=4, jobs=2, low=0.0, high=1.0, budgets="lognormal")
    fraction = market.parallel_fraction.copy()
    fraction[rng.integers(market.jobs, size=2)] = 1.0
    market = market.replace(parallel_fraction=fraction)
    price = rng.exponential(size=market.servers)
    answered = best_reply(market, price)
    cost = np.bincount(market.user, weights=price[market.server] * answered.amount)
    assert cost == pytest.approx(market.budget)
    worth = user_utilities(market, answered.amount)
    for user in range(market.users):
        brute = brute_reply(market, price, user)
        assert worth[user] >= brute * (1 - 1e-12)
        assert worth[user] == pytest.approx(brute, rel=1e-6)


# Where marginal utilities are equal: sqrt(.5) / (.5 + .5 x) = sqrt(.9) / (.9 + .1 (10 - x)).
EQUAL = (np.sqrt(0.5) * 1.9 - np.sqrt(0.9) * 0.5) / (np.sqrt(0.9) * 0.5 + np.sqrt(0.5) * 0.1)
USER, SERVER = [0, 0, 1, 1], [0, 1, 0, 1]
BY_HAND: dict[str, tuple[Market, list[float], list[float]]] = {
    "one server is split by budget": (
        Market([12], [1, 2, 3], [0, 1, 2], [0, 0, 0], [0.3, 0.9, 0.6], [5, 1, 2]), [0.5], [2, 4, 6],
    ),
    "jobs mirrored, so that prices are equal": (
        Market([10, 10], [1, 1], USER, SERVER, [0.5, 0.9, 0.9, 0.5], np.ones(4)),
        [0.1, 0.1], [EQUAL, 10 - EQUAL, 10 - EQUAL, EQUAL],
    ),
    "linear, each likes its own server": (
        Market([1, 1], [1, 1], USER, SERVER, np.ones(4), [2, 1, 1, 2]), [1, 1], [1, 0, 0, 1],
    ),
    # user 1 is indifferent, so prices are equal and add up to the money; user 0 buys server 0 only
    "linear, a rich user who is indifferent": (
        Market([1, 1], [1, 3], USER, SERVER, np.ones(4), [3, 1, 1, 1]), [2, 2], [0.5, 0, 0.5, 1],
    ),
    # both prefer server 0 by 4 to 1 and 2 to 1; user 1 is at the margin: p0 = 2 p1, p0 + p1 = 2
    "linear, both prefer the same server": (
        Market([1, 1], [1, 1], USER, SERVER, np.ones(4), [4, 1, 2, 1]), [4 / 3, 2 / 3], [0.75, 0, 0.25, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("market", "price", "cores"), BY_HAND.values(), ids=BY_HAND)
def test_fisher_finds_equilibria_worked_by_hand(
    market: Market, price: list[float], cores: list[float]
) -> None:
    outcome = fisher(market)
    assert outcome.status is Status.OPTIMAL
    assert prices(outcome) == pytest.approx(price, rel=1e-6)
    assert answer(outcome).cores == pytest.approx(cores, abs=1e-6)
    if (market.parallel_fraction == 1).all():
        program = nash_welfare(market, utility="linear")
        assert prices(program) == pytest.approx(price, rel=1e-4)


def test_equilibrium_certificate_is_recomputed() -> None:
    market = drawn(3, users=6, servers=5, jobs=2)
    given = proportional_response(market, rounds=5)
    found, price = answer(given), prices(given)
    error = residuals(market, found)
    regrets = []
    for user in range(market.users):
        jobs = np.flatnonzero(market.user == user)
        own = sum(
            market.work[k] * amdahl(found.cores[k], market.parallel_fraction[k]) for k in jobs
        )
        regrets.append(1 - own / brute_reply(market, price, user))
    assert error.regret == pytest.approx(max(regrets), abs=1e-5)
    used = [
        found.cores[market.server == j].sum() / market.capacity[j] - 1
        for j in range(market.servers)
        if price[j] > 0
    ]
    assert error.clearing == pytest.approx(np.abs(used).max(), abs=1e-12)
    demand = best_reply(market, price).amount
    asked = [
        demand[market.server == j].sum() / market.capacity[j] - 1
        for j in range(market.servers)
        if price[j] > 0
    ]
    assert error.excess_demand == pytest.approx(np.abs(asked).max())


def test_equilibrium_certificate_detects_violations() -> None:
    market = drawn(1)
    found = answer(fisher(market))
    withheld = residuals(market, Allocation(0.9 * found.cores, found.price))
    dear = residuals(market, Allocation(found.cores, 1.1 * found.price))
    cheap = residuals(market, Allocation(found.cores, 0.9 * found.price))
    free = residuals(market, Allocation(found.cores, 0.0 * found.price))
    assert withheld.clearing == pytest.approx(0.1)
    assert dear.overspending == pytest.approx(0.1)
    assert cheap.regret > 0.01
    assert free.regret > 0.1
    assert residuals(market, Allocation(found.cores)) is None


@pytest.mark.parametrize("routes", [{"newton"}, {"interior"}, {"interior", "polish"}, {}])
def test_every_fisher_route_alone_reaches_same_prices(routes: Any) -> None:
    market = drawn(5)
    alone = fisher(market, rounds=20000, limits=FisherLimits(frozenset(routes)))
    assert alone.status is Status.OPTIMAL
    assert prices(alone) == pytest.approx(prices(fisher(market)), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_equilibrium_is_envy_free_and_has_sharing_incentive(seed: int) -> None:
    market = drawn(seed, groups=3)
    found = cotenant.solve(market, "fisher").metrics
    assert found["envy_index"] == pytest.approx(1, abs=1e-7)
    assert found["sharing_index"] >= 1 - 1e-7
    rich = drawn(seed, groups=3, budgets="lognormal")
    assert cotenant.solve(rich, "fisher").metrics["envy_index"] == pytest.approx(1, abs=1e-7)


@pytest.mark.slow
def test_published_bid_rule_misses_equilibrium_if_jobs_of_a_user_differ_in_work() -> None:
    market = drawn(0, users=50, servers=50, jobs=10)
    regret = {}
    for rule in ("corrected", "printed"):
        outcome = proportional_response(market, rule=rule, rounds=20000, movement=0.0)
        regret[rule] = outcome.certificate["regret"]
    assert regret["corrected"] <= CERTIFIED
    assert regret["printed"] > 0.10
    squared = fisher(market.replace(work=market.work**2))
    assert answer(outcome).cores == pytest.approx(
        answer(squared).cores, abs=1e-3
    )  # its fixed point: the market with w^2


FRACTIONS = [
    (0.0, 0.0), (0.0, 1e-6), (0.001, 0.1), (0.55, 0.99), (0.999, 0.999999), (1.0, 1.0), (0.0, 1.0)
]  # fmt: skip
EXTREMES = list(itertools.product(FRACTIONS, (0.01, 24.0, 1e6), ("one", "lognormal")))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("fraction", "cores", "work"), EXTREMES)
def test_extreme_markets_are_solved_with_true_residuals(
    fraction: tuple[float, float], cores: float, work: str
) -> None:
    low, high = fraction
    sizes = {"users": 20, "servers": 15, "jobs": 4, "cores": cores}
    market = drawn(7, **sizes, low=low, high=high, work=work, spread=2.0)
    outcome = fisher(market)
    cotenant.check(market, answer(outcome))
    error = residuals(market, answer(outcome))
    assert outcome.status is Status.OPTIMAL
    assert error.worst <= CERTIFIED
    assert outcome.certificate["regret"] == error.regret


def mixed_market() -> Market:
    """Everything at once: f = 0, f = 1, work 0, several jobs on one server, a server and a user
    without jobs.
    """
    rng = np.random.default_rng(8)
    market = drawn(8, users=12, servers=8, jobs=5, budgets="lognormal")
    fraction, work = market.parallel_fraction.copy(), market.work.copy()
    fraction[rng.random(market.jobs) < 0.25] = 0.0
    fraction[rng.random(market.jobs) < 0.25] = 1.0
    work[rng.random(market.jobs) < 0.15] = 0.0
    server = np.where(rng.random(market.jobs) < 0.2, market.server[0], market.server)
    return market.replace(
        parallel_fraction=fraction,
        work=work,
        server=server,
        capacity=np.append(market.capacity, 5.0),
        budget=np.append(market.budget, 2.0),
    )


def test_best_purchase_spends_small_budget_at_parallel_fraction_near_one() -> None:
    # once lost to rounding: the best use of little money is a job whose curve bends only far away
    work, fraction, budget = np.array([94.0, 90.0]), np.array([1 - 7e-14, 1.0]), np.array([7e-4])
    answered = fill(work, fraction, np.ones(2), np.zeros(2, dtype=int), budget)
    assert answered.amount == pytest.approx([7e-4, 0.0])


def test_market_with_serial_linear_and_idle_jobs_has_equilibrium() -> None:
    market = mixed_market()
    outcome = fisher(market)
    found = answer(outcome)
    assert outcome.status is Status.OPTIMAL
    assert prices(outcome)[-1] == 0  # a server without tenants has no price
    assert (found.cores[market.work == 0] == 0).all()
    serial = (market.parallel_fraction == 0) & (market.work > 0)
    assert (found.cores[serial] > 0).all()
    assert user_utilities(market, found.cores)[-1] == 0
    assert cotenant.solve(market, "fisher").metrics["sharing_index"] >= 1 - 1e-7


def test_fisher_stopped_early_is_feasible_without_bound() -> None:
    market = drawn(0, users=100, servers=100)
    short = fisher(market, warm_rounds=1, rounds=1, limits=FisherLimits(frozenset()))
    assert short.status is Status.FEASIBLE
    assert short.bound is None
    assert short.stop is Stop.ITERATION_LIMIT


def test_equilibrium_residual_of_nan_is_never_within_tolerance() -> None:
    for index in range(3):
        numbers = [0.0, 0.0, 0.0, 0.0, 0.0]
        numbers[index] = float("nan")
        assert Residuals(*numbers).worst == np.inf


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(20))
def test_market_metrics_of_extreme_numbers_are_finite(seed: int) -> None:
    rng = np.random.default_rng(seed)
    market = Market(
        capacity=rng.choice([1e-15, 1.0, 24.0, 1e15], size=3),
        budget=rng.choice([1e-50, 1.0, 1e50], size=4),
        user=rng.integers(0, 4, 9),
        server=rng.integers(0, 3, 9),
        parallel_fraction=rng.choice([0.0, 1e-9, 0.5, 0.9, 1.0], size=9),
        work=rng.choice([0.0, 1e-50, 1.0, 1e50], size=9),
    )
    for method in ("fisher", "utilitarian", "PRD", "ES", "PF", "XC", "XC-M"):
        result = cotenant.solve(market, method)
        assert np.isfinite(list(result.metrics.values())).all(), method
        if method == "fisher" and result.status is Status.OPTIMAL:
            assert result.metrics["equilibrium_error"] <= 1e-8
    for utility in ("amdahl", "linear", "ces", "cobb-douglas", "leontief"):
        result = cotenant.solve(market, "nash-welfare", utility=utility)
        assert np.isfinite(list(result.metrics.values())).all(), utility


def test_forged_equilibrium_is_withdrawn() -> None:
    market = drawn(0)

    def forged(instance: Market) -> Outcome:
        given = answer(proportional_response(instance, rounds=2))
        return Outcome(given, 0.0, Status.OPTIMAL, tolerance=1e9)

    result = run(Question(market, forged, "forged", "equilibrium_error"))
    assert result.status is Status.FEASIBLE
    assert "not accepted" in result.certificate["withdrawn"]


def test_fisher_from_nearby_prices_gives_same_equilibrium() -> None:
    market = drawn(3)
    before = answer(fisher(market))
    later = market.replace(
        work=market.work * np.random.default_rng(0).uniform(0.9, 1.1, market.jobs)
    )
    warm, cold = fisher(later, start=before, warm_rounds=1), fisher(later)
    assert prices(warm) == pytest.approx(prices(cold), rel=1e-6)
    with refused(InvalidOption):
        fisher(later, start=Allocation(before.cores))


def by_loops(market: Market) -> ScaledMarket:
    """The scaled form of a market ordered by user, with compiled loops in place of numpy."""
    scaled = ScaledMarket.of(market)
    assert scaled.starts is None
    starts = np.searchsorted(scaled.user, np.arange(market.users + 1))
    return dataclasses.replace(scaled, starts=starts)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_compiled_market_loops_equal_numpy_bitwise(seed: int) -> None:
    market = drawn(seed, users=40, servers=7, jobs=6, low=(0.0, 0.9)[seed % 2], high=0.99999)
    rng = np.random.default_rng(seed)
    work = rng.lognormal(size=market.jobs) * (rng.random(market.jobs) < 0.9)
    market = market.replace(work=np.where(market.user == 3, 0.0, work))
    plain, looped = ScaledMarket.of(market), by_loops(market)
    bids, price, vector = equal_bids(plain), rng.uniform(0.1, 10, 7), rng.normal(size=7)
    for rule in ("corrected", "printed"):
        one, other = (rebid(scaled, price, bids, rule) for scaled in (plain, looped))
        for part, twin in zip(one, other, strict=True):
            assert (part == twin).all()
    ours, theirs = reply(plain, price), reply(looped, price)
    assert (ours.cores == theirs.cores).all()
    assert (ours.level == theirs.level).all()
    blocks, others = jacobian(plain, ours), jacobian(looped, theirs)
    assert (blocks.left == others.left).all()
    assert (blocks.right == others.right).all()
    assert (blocks.apply(vector) == others.apply(vector)).all()
    assert blocks.dense() @ vector == pytest.approx(blocks.apply(vector))
    assert (ours.excess == theirs.excess).all()


@pytest.mark.slow
def test_thousand_users_are_certified_by_newton_alone() -> None:
    market = population(users=1000, servers=1000, work="lognormal", rng=np.random.default_rng(0))
    outcome = fisher(market)
    assert outcome.status is Status.OPTIMAL
    assert outcome.certificate["excess_demand"] <= CERTIFIED
    assert [rung["rung"] for rung in outcome.certificate["rungs"]] == ["proportional", "newton"]


def test_market_misreport_is_measured_by_true_utility() -> None:
    market = population(users=3, servers=3, jobs=3, work="lognormal", rng=np.random.default_rng(1))
    found = best_misreport(market, "fisher", "0", None, kinds=("odds",))
    assert found.gain > 0
    assert found.tried == len(SHIFTS)
    fraction, reported = market.parallel_fraction, found.witness.parallel_fraction
    odds = np.log(reported / (1 - reported)) - np.log(fraction / (1 - fraction))
    assert odds == pytest.approx(np.where(market.user == 0, odds[market.user == 0][0], 0))
    assert np.isclose(SHIFTS, odds[market.user == 0][0]).any()
    told, honest = (user_utilities(market, answer(fisher(one)).cores)[0]
                    for one in (found.witness, market))  # fmt: skip
    assert told / honest == pytest.approx(found.ratio, rel=1e-6)


def test_eisenberg_gale_is_not_the_equilibrium_of_amdahl_utilities() -> None:
    market = drawn(0, groups=3, work="one")
    equilibrium, welfare = cotenant.solve(market, "fisher"), cotenant.solve(market, "nash-welfare")
    assert np.abs(equilibrium.solution.cores - welfare.solution.cores).max() > 0.5
    assert welfare.metrics["nash_welfare"] > equilibrium.metrics["nash_welfare"]
    assert (
        welfare.certificate["most_spent"] < 0.95
    )  # at its multipliers nobody would spend its budget
    assert welfare.metrics["envy_index"] < 0.99
