"""Total utility, Nash welfare, leximin and rounding against enumeration and other exact routes; linear
markets by pivots, and `nash-welfare` of other homogeneous utilities.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.market_cases import answer, drawer
from support.messages import refused
from support.seeds import numbers

import cotenant
from cotenant.analysis.run.verify_result import recheck
from cotenant.baselines.market import greedy_oracle
from cotenant.instances.market import Allocation, Market, residuals, user_utilities
from cotenant.instances.market.envy import envy_index, envy_matrix
from cotenant.instances.market.families import family_named
from cotenant.instances.market.generators import population
from cotenant.instances.market.sharing import WholeRatios, sharing_ratios
from cotenant.instances.market.utility import job_utilities
from cotenant.instances.market.utility import nash_welfare as welfare_of
from cotenant.instances.problem import InvalidOption
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.engines import EngineAnswer, solve_convex, solve_program
from cotenant.solvers.market import (
    fisher,
    least_envy,
    leximin,
    nash_welfare,
    round_cores,
    utilitarian,
)
from cotenant.solvers.market.linear import DIRECT_UP_TO
from cotenant.solvers.market.linear_forest_optimum import forest_end
from cotenant.solvers.market.rounding import split
from cotenant.solvers.market.scaled_market import ScaledMarket
from cotenant.solvers.outcome import Status, Stop

EXACT = 1e-9
"""Agreement with enumeration."""


drawn = drawer(users=3, servers=2, jobs=2, low=0.0, high=1.0)


def whole_allocations(market: Market) -> Iterator[np.ndarray]:
    """Every way to give away all cores of every server in whole cores."""
    choices = []
    for server in range(market.servers):
        jobs, cores = np.flatnonzero(market.server == server), int(market.capacity[server])
        splits = [
            given
            for given in itertools.product(range(cores + 1), repeat=len(jobs))
            if sum(given) == cores
        ]
        choices.append([(jobs, split) for split in splits] if len(jobs) else [(jobs, ())])
    for choice in itertools.product(*choices):
        cores_of = np.zeros(market.jobs)
        for jobs, given in choice:
            cores_of[jobs] = given
        yield cores_of


def small(seed: int) -> Market:
    """Three users, two servers of two or four cores; sometimes f = 0 or 1, sometimes unequal
    budgets.
    """
    market = drawn(
        seed,
        cores=4.0 if seed % 3 else 2.0,
        budgets="lognormal" if seed % 2 else "equal",
        spread=0.5,
    )
    fraction = market.parallel_fraction.copy()
    if seed % 4 == 1:
        fraction[:2] = 0.0, 1.0
    return market.replace(parallel_fraction=fraction)


@pytest.mark.slow
def test_integer_nash_welfare_has_no_gap_at_near_ties(engines: Any) -> None:
    def rough(
        program: Any, **options: Any
    ) -> Any:  # an engine whose bounds are off by more than its word
        given = solve_program(program, **options)
        return (
            given if given.bound is None else dataclasses.replace(given, bound=given.bound - 1e-7)
        )

    engines(solve_program=rough)
    for seed in range(40):
        market = nasty(seed).replace(capacity=np.floor(nasty(seed).capacity))
        best = max(
            welfare_of(market, user_utilities(market, cores)) for cores in whole_allocations(market)
        )
        result = cotenant.solve(market, "nash-welfare", whole=True)
        assert (result.status, result.gap) == (Status.OPTIMAL, 0.0), seed
        assert result.objective == pytest.approx(best, rel=EXACT, abs=0), seed


LEXIMIN: list[tuple[str, Market, list[float], list[int]]] = [
    (
        "three users stand at exactly nine tenths",
        Market([5.0], [1] * 4, [2, 3, 1, 0], [0] * 4, [0.5] * 4, [0.7, 0.6, 1, 0.5]),
        [0.9, 1.2],
        [3, 1],
    ),
    (
        "what little a user can get is more than nothing",
        Market(
            [4.0, 1.0],
            [2.0, 1.0],
            [0, 1, 1, 0],
            [1, 1, 0, 1],
            [0.2, 0.1, 0.5, 0.3],
            [5e-7, 7e-4, 8e-12, 3e-12],
        ),
        [
            8e-12
            * 1.6
            / (7e-4 * (1 / 3) / (0.1 + 0.9 / 3) + 8e-12 * (4 / 3) / (0.5 + 0.5 * 4 / 3)),
            1.1,
        ],
        [1, 1],
    ),
]


@pytest.mark.parametrize(
    ("market", "values", "users"), [row[1:] for row in LEXIMIN], ids=[row[0] for row in LEXIMIN]
)
def test_leximin_levels_are_computed_from_integer_cores(
    market: Market, values: list[float], users: list[int]
) -> None:
    result = cotenant.solve(market, "leximin")
    levels = result.certificate["levels"]
    assert [level["value"] for level in levels] == pytest.approx(values, rel=1e-5, abs=0)
    assert [level["users"] for level in levels] == users
    assert np.sort(sharing_ratios(market, result.solution)) == pytest.approx(
        np.repeat([level["value"] for level in levels], users), rel=1e-11, abs=0
    )
    assert (result.status, result.gap) == (Status.OPTIMAL, 0.0)
    assert result.bound == levels[0]["value"] == pytest.approx(result.objective, rel=1e-11, abs=0)


def nasty(seed: int) -> Market:
    """Few users and cores; equal jobs, jobs that differ by a billionth, several of a user on one
    server, f = 0 and 1.
    """
    rng = np.random.default_rng(seed)
    users, servers, jobs = (int(rng.integers(1, most)) for most in (5, 3, 6))
    near = [
        [0.5, 1.0, 2.0, 0.7],
        [1.0, 1 + 1e-9, 1 - 1e-9, 1 + 3e-8],
        (10.0 ** rng.uniform(-12, 3, 4)).tolist(),
    ][seed % 3]
    return Market(
        rng.integers(1, 5, servers) + 0.5,
        np.ones(users) if rng.random() < 0.5 else rng.random(users) + 0.1,
        rng.integers(users, size=jobs),
        rng.integers(servers, size=jobs),
        rng.choice([0.0, 0.25, 0.5, 0.5, 0.9, 1.0], jobs),
        rng.choice(near, jobs),
    )


@pytest.mark.parametrize("seed", range(30))
def test_leximin_equals_enumeration_at_near_ties(seed: int) -> None:
    market = nasty(seed)
    ratios = WholeRatios(market)
    whole = market.replace(capacity=np.floor(market.capacity))
    best = max(sorted(ratios.all(cores)) for cores in whole_allocations(whole))
    outcome = leximin(market)
    assert outcome.status is Status.OPTIMAL
    assert sorted(ratios.all(answer(outcome).cores)) == best
    levels = [(level["value"], level["users"]) for level in outcome.certificate["levels"]]
    assert levels == [(float(value), len(list(group))) for value, group in itertools.groupby(best)]


@pytest.mark.parametrize(("counted", "levels"), [(0, 0), (2, 1)])
def test_leximin_at_time_limit_bounds_first_level(engines: Any, counted: int, levels: int) -> None:
    counts = iter([True] * counted)

    def slow(program: Any, *, engine: str, time_limit: float | None) -> Any:
        if engine == "cp-sat" and not next(counts, False):
            return EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT)
        return solve_program(program, engine=engine, time_limit=time_limit)

    engines(solve_program=slow)
    market = LEXIMIN[1][1]
    result = cotenant.solve(market, "leximin")
    # HiGHS may stop at a point that misses a row by its tolerance of 1e-9
    assert (result.stop, result.gap) == (Stop.TIME_LIMIT, pytest.approx(0.0, abs=1e-8))
    assert result.status is (Status.OPTIMAL if result.gap == 0.0 else Status.FEASIBLE)
    assert len(result.certificate["levels"]) == levels
    assert result.certificate["leximin"] is False
    assert recheck(market, result).broken == ()


def test_greedy_market_oracle_equals_core_by_core_assignment() -> None:
    market = drawn(0, users=20, servers=6, jobs=4, cores=24.0)
    expected = np.zeros(market.jobs)
    for server in range(market.servers):
        jobs = np.flatnonzero(market.server == server)
        for _ in range(24 if len(jobs) else 0):
            more = job_utilities(market, expected + 1) - job_utilities(market, expected)
            expected[jobs[int(np.argmax(more[jobs]))]] += 1
    assert greedy_oracle(market).cores.tolist() == expected.tolist()
    tied = Market([3], [1, 1], [0, 1], [0, 0], [0.9, 0.9], [1, 1])  # ties go to the lowest job
    assert greedy_oracle(tied).cores.tolist() == [2, 1]
    assert greedy_oracle(tied.replace(parallel_fraction=[1.0, 1.0])).cores.tolist() == [3, 0]


def test_utilitarian_optimum_equalizes_marginal_utilities_calculated_by_hand() -> None:
    # sqrt(.5)/(.5 + .5 x) = sqrt(.9)/(.9 + .1 (10 - x)), worked by hand
    market = Market([10], [1, 1], [0, 1], [0, 0], [0.5, 0.9], [1, 1])
    a, b = np.sqrt(0.5), np.sqrt(0.9)
    x = (a * 1.9 - b * 0.5) / (b * 0.5 + a * 0.1)
    assert answer(utilitarian(market)).cores == pytest.approx([x, 10 - x])


@pytest.mark.parametrize("seed", range(4))
def test_nash_welfare_equals_convex_program(seed: int) -> None:
    market = drawn(seed, users=12, servers=8, jobs=4, budgets="lognormal")
    fraction = market.parallel_fraction.copy()
    fraction[:8] = [0.0, 1.0] * 4
    market = market.replace(parallel_fraction=fraction)
    program = eisenberg_gale(market)
    assert solve_convex(program.problem).objective is not None
    cores = answer(
        fisher(market)
    ).cores.copy()  # slivers for the jobs of f = 0, which the program leaves out
    cores[program.job] = (
        np.maximum(program.share.value, 0) * market.capacity[market.server[program.job]]
    )
    value = welfare_of(market, user_utilities(market, answer(nash_welfare(market)).cores))
    assert welfare_of(market, user_utilities(market, cores)) == pytest.approx(value, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole numbers", "far apart"])
def test_small_markets_are_solved_without_gap(kind: str) -> None:
    for seed in range(150):
        rng = np.random.default_rng(seed)
        users, servers, jobs = (int(rng.integers(1, most)) for most in (6, 5, 12))
        if kind == "whole numbers":
            fraction, budget, work = (
                rng.integers(0, 11, jobs) / 10,
                rng.integers(1, 4, users),
                rng.integers(0, 6, jobs),
            )
        # once left gaps of up to a hundredth: servers worth next to nothing beside jobs of f = 0
        # and 1
        else:
            draw = rng.random(jobs)
            fraction = np.where(
                draw < 0.2, 0.0, np.where(draw > 0.8, 1.0, 10.0 ** -rng.uniform(1, 8, jobs))
            )
            budget, work = 10.0 ** rng.uniform(-2, 2, users), 10.0 ** rng.uniform(-3, 3, jobs)
        user, server = rng.integers(users, size=jobs), rng.integers(servers, size=jobs)
        result = cotenant.solve(
            Market(rng.integers(1, 24, servers), budget, user, server, fraction, work),
            "nash-welfare",
        )
        assert (result.status, result.gap) == (Status.OPTIMAL, 0.0), seed


@pytest.mark.parametrize("rule", ["largest-remainder", "user-deficit", "least-envy"])
def test_rounding_changes_each_job_by_less_than_a_core_and_uses_all_cores(rule: Any) -> None:
    market = drawn(0, users=8, servers=5, jobs=3, low=0.55, high=0.99)
    before = answer(fisher(market))
    after, _ = round_cores(market, before, rule)
    cotenant.check(market, after)
    assert (np.abs(after.cores - before.cores) < 1).all()
    assert (after.cores == np.floor(after.cores)).all()
    given = np.bincount(market.server, weights=after.cores, minlength=5)
    assert given == pytest.approx(np.where(np.bincount(market.server, minlength=5) > 0, 24, 0))


def test_largest_remainder_rounding_equals_hand_calculation() -> None:
    market = Market([10], [1, 1, 1], [0, 1, 2], [0, 0, 0], [0.9, 0.9, 0.9], [1, 1, 1])
    rounded, _ = round_cores(market, Allocation([3.4, 3.5, 3.1]), "largest-remainder")
    assert rounded.cores.tolist() == [3, 4, 3]
    almost, _ = round_cores(market, Allocation([2.9999999999, 3.5, 3.5]), "largest-remainder")
    assert almost.cores.tolist() == [3, 4, 3]  # ties to the lowest job, and noise is no fraction


@pytest.mark.parametrize("seed", range(8))
def test_least_envy_rounding_equals_enumeration(seed: int) -> None:
    market = drawn(
        seed,
        users=4,
        servers=3,
        jobs=3,
        cores=5.0,
        low=0.3,
        high=0.99,
        budgets="lognormal" if seed % 2 else "equal",
    )
    before = answer(fisher(market))
    down, spare, open_jobs = split(market, before)
    best = 0.0
    for bits in itertools.product((0, 1), repeat=len(open_jobs)):
        if (np.bincount(market.server[open_jobs], weights=bits, minlength=3) == spare).all():
            cores = down.copy()
            cores[open_jobs] += bits
            best = max(best, envy_index(market, Allocation(cores)))
    outcome = least_envy(market, before)
    assert outcome.status is Status.OPTIMAL
    assert envy_index(market, answer(outcome)) == pytest.approx(best, abs=1e-8)
    for rule in ("largest-remainder", "user-deficit"):
        assert envy_index(market, round_cores(market, before, rule)[0]) <= best + 1e-8


def test_rounded_equilibrium_loses_its_status() -> None:
    result = cotenant.solve(cotenant.read("market/groups-100"), "fisher", rounding="user-deficit")
    assert result.status is Status.FEASIBLE
    assert result.certificate["regret"] <= 1e-8  # of the fractions before rounding, and said so
    assert "before rounding" in result.certificate["rounded"]
    assert result.metrics["envy_index"] < 1


def test_least_envy_rounding_refuses_shared_servers_and_large_markets() -> None:
    shared = Market([10], [1, 1], [0, 0, 1], [0, 0, 0], [0.5, 0.9, 0.9], [1, 1, 1])
    middling = drawn(0, users=40, servers=10, jobs=4)
    for market in (shared, drawn(0, users=300, servers=10, jobs=3), middling):
        with refused(InvalidOption):
            fisher(market, rounding="least-envy")
    cotenant.check(middling, answer(fisher(middling, rounding="least-envy", time_limit=1)))


def test_integer_core_programs_refuse_large_markets() -> None:
    with refused(InvalidOption):
        leximin(drawn(0, users=30, servers=10, jobs=5, cores=24.0))
    with refused(InvalidOption):
        nash_welfare(drawn(0, cores=1e6), whole=True, time_limit=1)
    with refused(InvalidOption):
        nash_welfare(drawn(0), whole=True, utility="linear")


def test_envy_matrix_of_two_users_equals_hand_calculation() -> None:
    # one server, f = 1: utilities are cores, so e = own / other
    market = Market([10], [1, 1], [0, 1], [0, 0], [1, 1], [1, 2])
    matrix = envy_matrix(market, Allocation([4, 6]))
    assert matrix == pytest.approx(np.array([[1, 4 / 6], [1, 1]]))
    unequal = market.replace(budget=[1, 3])  # user 0 is entitled to a third of user 1's cores
    assert envy_matrix(unequal, Allocation([4, 6])) == pytest.approx(
        np.array([[1, 1], [6 / 12, 1]])
    )


def test_small_nash_welfare_with_large_relative_gap_is_not_optimal(engines: Any) -> None:
    market = small(2).replace(work=small(2).work * 1e-9)
    early = nash_welfare(market, time_limit=1e-9)
    assert early.bound > 1.01 * welfare_of(market, user_utilities(market, answer(early).cores))
    assert early.status is Status.FEASIBLE
    logs = -market.budget.sum() * np.log(1e-7)
    bounded = EngineAnswer(Status.FEASIBLE, Stop.TIME_LIMIT, bound=float(logs))
    engines(solve_program=lambda *_, **__: bounded)
    assert nash_welfare(market, whole=True).status is Status.FEASIBLE


def test_integer_welfare_at_time_limit_keeps_the_bound_of_the_engine(engines: Any) -> None:
    market = drawn(5, low=0.2, high=0.9, cores=4.0, work="one")
    best = nash_welfare(market, whole=True)

    def cut(program: Any, **options: Any) -> Any:
        """One part in fifty above the optimum."""
        given = solve_program(program, **options)
        bound = given.bound - 0.02 * market.budget.sum()
        return dataclasses.replace(given, bound=bound, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT)

    engines(solve_program=cut)
    outcome = nash_welfare(market, whole=True)
    assert outcome.bound > best.bound
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)


@pytest.mark.parametrize("method", ["fisher", "PRD", "XC", "XC-M", "ES", "PF"])
def test_interrupted_rounding_of_market_answer_is_reported(method: str, interrupt_at: Any) -> None:
    interrupt_at("cotenant.solvers.market.rounding.least_envy", keeps=True)
    assert (
        cotenant.solve(drawn(3, users=3, servers=3), method, rounding="least-envy").stop
        is Stop.INTERRUPTED
    )


@pytest.mark.parametrize("utility", ["amdahl", "linear", "ces", "cobb-douglas", "leontief"])
def test_market_without_useful_jobs_has_empty_answer(utility: str) -> None:
    market = Market([4.0], [1.0, 2.0], [0], [0], [0.5], [0.0])
    result = cotenant.solve(market, "nash-welfare", utility=utility)
    assert result.status is Status.OPTIMAL
    assert result.solution.cores.tolist() == [0.0]


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
def test_linear_market_pivoting_on_forests_ends_at_equilibrium_from_any_prices(seed: int) -> None:
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


def tied_market(number: int, unit: float = 1.0) -> Market:
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
        market = tied_market(number, unit=1e-12 if number % 4 == 2 else 1.0)
        outcome = nash_welfare(market, utility=utility, rho=rho)
        error = family.residuals(market, answer(outcome))
        assert outcome.status is Status.OPTIMAL, number
        assert error is not None
        assert error.worst <= 1e-8, number


@pytest.mark.parametrize("number", numbers(40, 2))
@pytest.mark.parametrize(("utility", "rho"), FAMILIES)
def test_nash_welfare_with_homogeneous_utilities_equals_convex_program(
    utility: Any, rho: float, number: int
) -> None:
    market = tied_market(number)
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
        market = tied_market(number, unit=0.2)
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
    market = tied_market(0, unit=1e6)
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
        nash_welfare(tied_market(0), utility="ces", rho=rho)
