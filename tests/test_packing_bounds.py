"""The numbers a proof about servers rests on, each against trying everything, and what an engine
cut short may claim.
"""

# mypy: disable-error-code="union-attr,index,no-any-return"

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cotenant.instances.packing import Packing
from cotenant.solvers.engines import EngineAnswer
from cotenant.solvers.outcome import Clock, Status, Stop
from cotenant.solvers.packing import arc_flow as arc_flow_module
from cotenant.solvers.packing import dominant_shares, gap_closing, minimum
from cotenant.solvers.packing.arc_flow import flow_graph, solve_graph
from cotenant.solvers.packing.dominant_shares import max_min_share, max_utilization
from cotenant.solvers.packing.generation import Prices, Relaxation, prices_of
from cotenant.solvers.packing.patterns import all_patterns, price_patterns
from cotenant.solvers.packing.portfolio_state import PortfolioState
from cotenant.solvers.packing.presolve import UNLIMITED, Reduced, presolve

CUT_SHORT = EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT)


def classes_of(brute: Any, rng: np.random.Generator) -> Reduced:
    """A small problem of two priced classes, at times of limited number."""
    while True:
        try:
            return presolve(brute.random_requests(rng, 2), costs=True)
        except ValueError:
            continue


def dearest(brute: Any, problem: Reduced, kind: int, profit: np.ndarray) -> int:
    """The most profit of a pattern of a class, by trying all."""
    plain = Packing(
        capacity=problem.capacity[[kind]],
        demand=problem.demand,
        request=problem.request.astype(float),
    )
    return max(
        sum(int(p) * n for p, n in zip(profit, row, strict=True)) for row in brute.fitting(plain, 0)
    )


def search_with(problem: Reduced, prices: Prices, lower: int) -> PortfolioState:
    search = PortfolioState(problem, Clock(), np.random.default_rng(0), lower=lower)
    search.relaxation = Relaxation(search.pool, prices, lower, None, np.zeros(0), True, 1)
    return search


def test_prices_leave_no_pattern_worth_more_than_its_server() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        price, limit = rng.integers(1, 9, 2), rng.integers(1, 4, 2)
        limit[rng.random(2) < 0.5] = UNLIMITED
        instance = Packing(
            capacity=[[9], [9]], demand=[[2], [3]], request=rng.integers(1, 6, 2).astype(float),
            cost=price,  # type: ignore[arg-type]
            servers=np.where(limit == UNLIMITED, np.inf, limit),
        )  # fmt: skip
        problem = presolve(instance, costs=True)
        tops, profit = rng.integers(1, 60, 2).tolist(), rng.integers(0, 30, 2)
        found = prices_of(problem, profit, tops, int(rng.integers(1, 12)))
        for top, rent, cost, number in zip(
            tops, found.rent, price.tolist(), limit.tolist(), strict=True
        ):
            assert top <= cost * found.scale + rent  # or the bound is none
            assert rent == 0 or number != UNLIMITED
        paid = sum(
            rent * number for rent, number in zip(found.rent, limit.tolist(), strict=True) if rent
        )
        assert found.value == Fraction(int(profit @ problem.request) - paid, found.scale)


@pytest.mark.parametrize("slack", [0, 1, 40, 400])
def test_a_pattern_priced_to_some_accuracy_is_bounded_all_the_same(slack: int, brute: Any) -> None:
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(60):
        problem = classes_of(brute, rng)
        profit = rng.integers(1, 300, problem.types)
        for kind in range(len(problem.price)):
            best = dearest(brute, problem, kind, profit)
            priced = price_patterns(problem, kind, profit, 0, slack=slack)
            assert priced.best >= best
            found = int((priced.patterns @ profit).max(initial=0))
            assert found <= best
            missed += found < best
    assert (missed > 0) == (slack >= 40)  # the accuracy is made use of


def test_a_list_of_patterns_is_whole_or_none(brute: Any) -> None:
    rng = np.random.default_rng(13)
    cut = 0
    for _ in range(30):
        problem = classes_of(brute, rng)
        profit = np.ones(problem.types, dtype=np.int64)
        whole = all_patterns(problem, 0, profit, 1, most=5000)
        assert whole is not None
        for nodes in (1, 3, 10):
            part = all_patterns(problem, 0, profit, 1, most=5000, nodes=nodes)
            cut += part is None
            assert part is None or len(part) == len(whole)
    assert cut > 10


def test_listing_by_reduced_cost_counts_the_rents_of_limited_classes() -> None:
    # One large server for 4, small ones for 3. Prices 4 and 4 are worth 8 on the large one, 4 above
    # its cost: its rent.
    instance = Packing(
        capacity=[[10], [6]], demand=[[5], [4]], request=[1, 1], servers=[1, np.inf], cost=[4, 3]
    )  # type: ignore[arg-type]
    problem = presolve(instance, costs=True)
    order = [problem.members[place][0] for place in range(2)]
    search = search_with(problem, Prices(np.array([4, 4])[order], 1, (4, 1), Fraction(3)), lower=4)
    search.problem.servers[1] = 5  # both are limited, and both have a rent
    gap_closing.by_enumeration(search, 1.0)
    assert search.lower == 4
    assert search.best is not None
    assert search.upper == 4


def middling() -> tuple[Reduced, PortfolioState]:
    problem = presolve(Packing(capacity=[[10]], demand=[[6], [4], [3]], request=[3, 3, 4]))
    profit = np.array([6, 4, 3])
    return problem, search_with(problem, Prices(profit, 10, (0,), Fraction(42, 10)), lower=5)


@pytest.mark.parametrize(
    "part", [gap_closing.by_enumeration, gap_closing.by_assignment, gap_closing.by_master]
)
def test_an_engine_that_gives_no_answer_in_time_raises_no_bound(
    part: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("solve_program", "solve_in_subprocess", "solve_cp_sat"):
        monkeypatch.setattr(gap_closing, name, lambda *_, **__: _unknown())
    _, search = middling()
    search.pool.add(np.array([1, 1, 0]), 0)
    part(search, 1.0)
    assert search.lower == 5


def _unknown() -> Any:
    class Nothing:
        status, stop, point, values, bound = Status.UNKNOWN, Stop.TIME_LIMIT, None, None, None

    return Nothing()


def test_an_engine_that_says_impossible_raises_it_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    said = replace(CUT_SHORT, status=Status.INFEASIBLE, stop=Stop.FINISHED)
    monkeypatch.setattr(gap_closing, "solve_program", lambda *_, **__: said)
    _, search = middling()
    search.upper = 6
    gap_closing.by_enumeration(search, 1.0)
    assert (search.lower, search.upper) == (6, 6)


@pytest.mark.parametrize(("bound", "servers"), [(9.0, 9), (9.0 + 1e-9, 9), (8.4, 9), (9.01, 10)])
def test_a_bound_of_arc_flow_is_rounded_up_and_no_further(
    bound: float, servers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        arc_flow_module, "solve_in_subprocess", lambda *_, **__: replace(CUT_SHORT, bound=bound)
    )
    problem, _ = middling()
    assert solve_graph(problem, flow_graph(problem, most=1000), time_limit=1.0) == (None, servers)


def test_one_server_less_than_the_bound_is_no_proof() -> None:
    _, search = middling()
    search.offer(
        (np.array([[1, 1, 0]] * 3 + [[0, 0, 3]] * 2), np.zeros(5, dtype=np.int64)), "by hand"
    )
    search.lower = 4
    cut = minimum._outcome(search, Stop.FINISHED)
    assert (cut.bound, cut.status, cut.stop) == (4.0, Status.FEASIBLE, Stop.TIME_LIMIT)
    search.lower = 5
    assert minimum._outcome(search, Stop.FINISHED).status is Status.OPTIMAL


@pytest.mark.parametrize("method", [max_utilization, max_min_share])
def test_shares_cut_short_rest_on_the_engines_bound(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = Packing(capacity=[[7, 9]], demand=[[2, 3], [3, 1]], servers=[2])  # type: ignore[arg-type]
    best = method(instance)
    assert best.status is Status.OPTIMAL
    solve = dominant_shares.solve_program

    def cut(program: Any, **given: Any) -> Any:  # twice the truth
        found = solve(program, **given)
        bound = None if found.bound is None else 2.0 * found.bound
        return replace(found, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT, bound=bound)

    monkeypatch.setattr(dominant_shares, "solve_program", cut)
    monkeypatch.setattr(dominant_shares._Leximin, "_simple", lambda *_: Fraction(10))
    outcome = method(instance)
    assert best.bound < outcome.bound <= 2.0 * best.bound + 1e-9
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
