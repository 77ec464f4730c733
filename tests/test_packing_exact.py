"""Utilities, dominant shares and utilizations of the packing game are compared exactly, also where
floats or an engine cannot tell them apart.
"""

# mypy: disable-error-code="union-attr,index,no-any-return,arg-type"

from __future__ import annotations

import dataclasses
import decimal
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.messages import refused
from support.seeds import numbers

import cotenant
from cotenant import solve
from cotenant.analysis.packing.metrics import metrics
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.game import FairShare
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.engines import EngineAnswer, solve_program
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.packing.dominant_shares import max_min_share, max_utilization, vms_owed
from cotenant.solvers.packing.game.algorithm_1 import fuga_algorithm_1
from cotenant.solvers.packing.game.joint import joint_optimum
from cotenant.solvers.packing.game.play import equilibrium, fuga
from cotenant.solvers.packing.game.radicals import Radical, ratio, sign
from cotenant.solvers.packing.game.strategies import game_of
from cotenant.solvers.packing.game.tree import fuga_tree

ALIKE = Packing([[4]], [[4], [4], [4]], servers=[1.0])  # type: ignore[arg-type]
"""One server that holds one VM of any of three equal users."""

CAPPED = Packing(
    capacity=[[2, 2], [8, 8], [2, 2]],
    demand=[[2, 2], [1, 2], [1, 2]],
    request=[3, 1, 2],
    partial=True,
    servers=[1, 1, 1],
)  # type: ignore[arg-type]
"""A server that stays empty although it need not lowers the total disutility from 1.96 to 1.65 (eta
3, alpha 3).
"""


def radicals(*terms: tuple[int, int, str]) -> list[Radical]:
    return [
        Radical(Fraction(times), Fraction(base), Fraction(exponent))
        for times, base, exponent in terms
    ]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (radicals((1, 2, "1/2"), (1, 8, "1/2"), (-1, 18, "1/2")), 0),
        (radicals((1, 4, "1/4"), (-1, 2, "1/2")), 0),
        (radicals((1, 2, "3/2"), (-2, 2, "1/2")), 0),
        (radicals((3, 2, "1/3"), (-1, 54, "1/3"), (2, 3, "1/2"), (-1, 12, "1/2")), 0),
        (radicals((1, 10**80 + 1, "1/2"), (-(10**40), 1, "1/2")), 1),
        (radicals((1, 2, "1/2"), (1, 3, "1/2"), (-1, 5, "1/2"), (-1, 1, "1/2")), -1),
        (radicals((1, 2, "1/2"), (-1, 3, "1/3")), -1),
        ([], 0),
    ],
)
def test_sign_of_sum_of_radicals_is_exact(terms: list[Radical], expected: int) -> None:
    assert sign(terms) == expected
    assert (
        sign([Radical(-term.coefficient, term.base, term.exponent) for term in terms]) == -expected
    )


def test_long_powers_are_compared_by_digits_or_reported_undecided() -> None:
    exponent = Fraction(123456789, 1000)
    assert (
        ratio(
            Radical(Fraction(1), Fraction(8), exponent), Radical(Fraction(1), Fraction(3), exponent)
        )
        is None
    )
    long = Fraction(10**9)
    assert (
        sign([Radical(Fraction(1), Fraction(3), long), Radical(Fraction(-1), Fraction(2), long)])
        == 1
    )
    equal = [Radical(Fraction(2), Fraction(9), long / 2), Radical(Fraction(-2), Fraction(3), long)]
    assert sign(equal) is None


@pytest.mark.parametrize("method", [fuga, fuga_tree, fuga_algorithm_1])
def test_game_tie_selects_lexicographically_smallest_combination(method) -> None:
    assert method(ALIKE, eta=4).certificate["choices"] == [[0, 0, 1]]


EIGHT = [[1, 0, 0], [1, 0, 0], [3, 0, 0], [4, 0, 0], [2, 1, 0], [2, 1, 0], [2, 1, 0], [2, 1, 2]]


def test_bundled_cluster_play_follows_tie_rule() -> None:
    assert fuga(cotenant.read("packing/vm-types-8")).certificate["choices"] == EIGHT


@pytest.mark.slow
def test_bundled_cluster_play_equals_full_enumeration(brute) -> None:
    with decimal.localcontext(prec=80):
        play = brute.ExactGame(cotenant.read("packing/vm-types-8"), 5, 2.0).equilibrium()
    assert [list(row) for row in play] == EIGHT


@pytest.mark.parametrize("number", numbers(60, 9))
@pytest.mark.parametrize("capped", [False, True])
def test_fuga_solvers_equal_full_enumeration(brute, capped: bool, number: int) -> None:
    rng, games = np.random.default_rng(71 + capped), 0
    while games < number:
        instance = brute.random_game(rng, capped)
        eta, alpha = int(rng.integers(1, 6)), float(rng.choice([1.25, 1.5, 2.0, 2.5, 3.0, 5.0]))
        overload = [None, None, 0.5, 0.7][int(rng.integers(4))]
        options = {"eta": eta, "alpha": alpha, "overload": overload}
        with decimal.localcontext(prec=80):
            game = brute.ExactGame(instance, eta, alpha, overload)
            if game.leaves > 150:
                continue
            games += 1
            play, first, (least, _) = game.equilibrium(), game.algorithm_1(), game.joint()
            worth = [
                -float(game.disutility(tuple(map(sum, zip(*play, strict=True))), p, row))
                for p, row in enumerate(play)
            ]
        for method in (fuga, fuga_tree):
            told = method(instance, **options).certificate
            assert (told["order"], told["choices"]) == (game.order, [list(row) for row in play])
            assert told["utilities"] == pytest.approx(worth, abs=1e-12)
            assert "ties" not in told
        assert fuga_algorithm_1(instance, **options).certificate["choices"] == [
            list(row) for row in first
        ]
        # with one or two servers it is the equilibrium
        assert len(game.order) > 2 or list(first) == list(play)
        if games % 6 == 0:
            joint = joint_optimum(instance, **options)
            check(instance, joint.solution)
            assert joint.status is Status.OPTIMAL
            assert joint.bound <= float(least) + 1e-12
            assert metrics(instance, joint.solution, alpha=alpha)["disutility"] == pytest.approx(
                float(least), abs=1e-6
            )
            assert game_of(instance, **options).is_play(joint.solution)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [2.0, 2.5, 5.0])
def test_packing_game_play_is_unchanged_by_exact_utility_comparison(brute, alpha: float) -> None:
    """Every comparison is forced through whole numbers, and where they do not decide through
    roots.
    """
    rng = np.random.default_rng(81)
    for _ in range(25):
        instance = brute.random_game(rng, bool(rng.integers(2)))
        usual, exact, bare = (game_of(instance, eta=3, alpha=alpha) for _ in range(3))
        exact.__dict__["worths"] = dataclasses.replace(usual.worths, slack=1e9)
        nothing = np.zeros((0, usual.worths.digits.shape[1]), dtype=np.uint32)
        bare.__dict__["worths"] = dataclasses.replace(usual.worths, slack=1e9, digits=nothing)
        plays = [equilibrium(game)[0].tolist() for game in (usual, exact, bare)]
        assert plays[0] == plays[1] == plays[2]


def test_nearly_equal_disutilities_are_compared_as_radicals() -> None:
    """At alpha 2 v is sqrt(|n / 8 - 1|): sqrt(1/2) + sqrt(1/8) = 0 + sqrt(9/8), and 1e-30 more
    under a root is seen.
    """
    game = game_of(Packing([[4], [4]], [[1]], servers=[1.0, 1.0]), alpha=2.0, eta=9)  # type: ignore[arg-type]
    half, nothing = game.fair.deviations(0, 4), game.fair.deviations(0, 8)
    assert (half, nothing) == ([Fraction(1, 2)], [Fraction(0)])
    for extra, expected in ((Fraction(0), 0), (Fraction(1, 10**30), 1), (Fraction(-1, 10**30), -1)):
        one, two = Fraction(1, 8) + extra, Fraction(9, 8)
        assert game.worths.order(4, one, 8, two) == expected
        assert game.worths.order(8, two, 4, one) == -expected


def test_vm_combinations_with_equal_float_utilization_are_ranked_exactly() -> None:
    """p / a and q / b differ by 1 / (a b), less than floats tell apart."""
    a, b = 2**30 + 1, 2**30 - 1
    p, q = 2**29, 2**29 - 1
    assert p / a == q / b
    assert Fraction(p, a) > Fraction(q, b)
    instance = Packing(capacity=[[a, b]], demand=[[p, b], [a, q]], servers=[1.0])  # type: ignore[arg-type]
    assert fuga(instance, eta=1).certificate["choices"] == [[1, 0]]


def test_overload_threshold_equal_to_utilization_is_allowed() -> None:
    instance = Packing(capacity=[[10]], demand=[[3], [1]], servers=[1.0])  # type: ignore[arg-type]
    rows = {
        tuple(row)
        for row in game_of(instance, eta=9, overload=0.3).strategies[0].combination.tolist()
    }
    assert rows == {(1, 0), (0, 1), (0, 2), (0, 3)}


@pytest.mark.parametrize("alpha", [200.0, 1000.0, 1000.5, 1e6])
def test_fuga_at_large_alpha_equals_decimal_game_despite_underflow(brute, alpha: float) -> None:
    instance = Packing(
        capacity=[[7, 6], [5, 8]], demand=[[2, 1], [1, 2], [3, 3]], servers=[2.0, 1.0]
    )  # type: ignore[arg-type]
    with decimal.localcontext(prec=80):
        game = brute.ExactGame(instance, 2, alpha)
        play = game.equilibrium()
        variance = float(game.variance(tuple(map(sum, zip(*play, strict=True)))))
    told = fuga(instance, eta=2, alpha=alpha).certificate
    assert told["choices"] == [list(row) for row in play]
    assert told["fairness_variance"] == pytest.approx(variance, rel=1e-12)
    assert variance > 0.1


def test_fuga_variance_of_perfectly_fair_allocation_is_exactly_zero() -> None:
    """11 x 4 / 44 - 1 and 11 x 4 / 55 - 4 / 5 leave 1e-16 in floats, whose root is 1e-8."""
    instance = Packing(capacity=[[44, 55]], demand=[[4, 4]], servers=[1.0])  # type: ignore[arg-type]
    assert FairShare.of(instance).variance([11]) == 0


def test_fair_share_of_70_users_is_exact_to_floats() -> None:
    users = 70
    instance = Packing(capacity=[[users]], demand=np.ones((users, 1), dtype=int), servers=[3.0])  # type: ignore[arg-type]
    fair = FairShare.of(instance)
    assert fair.variance(np.full(users, 3)) < 1e-30
    assert fair.variance(np.full(users, 0)) == pytest.approx(1.0)


def test_joint_optimum_of_capped_game_equals_least_disutility(brute) -> None:
    with decimal.localcontext(prec=80):
        least, _ = brute.ExactGame(CAPPED, 3, 3.0).joint()
    outcome = joint_optimum(CAPPED, eta=3, alpha=3.0)
    assert outcome.bound == pytest.approx(float(least), rel=1e-6)
    assert game_of(CAPPED, eta=3, alpha=3.0).is_play(outcome.solution)
    play = cotenant.solve(CAPPED, "FUGA", eta=3, alpha=3.0, anarchy=True)
    assert play.metrics["price_of_anarchy"] == pytest.approx(
        play.metrics["disutility"] / float(least), rel=1e-6
    )


def test_price_of_anarchy_is_defined_only_for_plays() -> None:
    options = {"eta": 3, "alpha": 3.0}
    idle = Placement([[0, 1, 0], [2, 0, 2]], [0, 1])
    check(CAPPED, idle)
    assert not game_of(CAPPED, **options).is_play(idle)  # type: ignore[arg-type]
    assert "price_of_anarchy" not in metrics(CAPPED, idle, anarchy=True, **options)  # type: ignore[arg-type]
    play = fuga(CAPPED, **options).solution  # type: ignore[arg-type]
    assert game_of(CAPPED, **options).is_play(play)  # type: ignore[arg-type]
    assert metrics(CAPPED, play, anarchy=True, **options)["price_of_anarchy"] >= 1  # type: ignore[arg-type]


def shares(instance: Packing, placement: Any) -> list[Fraction]:
    unit = FairShare.of(instance).unit
    return sorted(
        n * u for n, u in zip(placement.totals(instance.types).tolist(), unit, strict=True)
    )


def test_max_min_share_keeps_best_second_level_despite_rounding() -> None:
    """6 x .075 is .44999999999999996 in floats, below 9 x .05, and both are .45."""
    instance = Packing(
        capacity=[[20, 80, 20]],
        initial=[[20, 83, 21]],
        servers=[2.0],
        demand=[[2, 0, 1], [3, 2, 1]],
    )
    outcome = max_min_share(instance)
    assert shares(instance, outcome.solution) == [Fraction(9, 20), Fraction(11, 20)]
    assert outcome.status is Status.OPTIMAL


@pytest.mark.slow
@pytest.mark.parametrize("unit", [10**5, 10**7, 10**9])
def test_share_leximin_of_nearly_equal_vms_equals_enumeration(brute, unit: int) -> None:
    rng = np.random.default_rng(unit)
    for _ in range(12):
        small = brute.random_cluster(rng, most=2)
        demand = small.demand * unit + rng.integers(0, 2, small.demand.shape) * (small.demand > 0)
        demand = np.minimum(demand, small.capacity[0] * unit)
        instance = Packing(capacity=small.capacity * unit, demand=demand, servers=small.servers)
        outcome = max_min_share(instance)
        assert shares(instance, outcome.solution) == brute.leximin(instance)
        assert outcome.status is Status.OPTIMAL
        assert outcome.certificate["leximin"]


@pytest.mark.parametrize("mistaken", [False, True])
def test_utilizations_closer_than_engine_tolerance_are_compared_exactly(
    mistaken: bool, engines: Callable[..., None]
) -> None:
    instance = Packing(
        capacity=[[3 * 10**9, 3 * 10**9 + 1]],
        demand=[[2 * 10**9, 2 * 10**9], [10**9, 3 * 10**9 + 1]],
        servers=[1.0],
    )

    def other(program: Any, **given: Any) -> Any:
        """The worse of the two, with the bound of the better one."""
        answer = solve_program(program, **given)
        assert answer.point is not None
        point = answer.point.copy()
        point[:2] = point[:2][::-1]
        return answer if given.get("engine") == "cp-sat" else replace(answer, point=point)

    if mistaken:
        engines(solve_program=other)
    outcome = max_utilization(instance)
    assert outcome.solution.totals(2).tolist() == [0, 1]
    assert outcome.status is Status.OPTIMAL
    assert outcome.bound == float(Fraction(2, 3))


def test_vms_needed_for_a_share_tolerate_rounding_of_the_share() -> None:
    tenths = Packing(capacity=[[10]], demand=[[1]], servers=[1.0])
    assert [
        int(vms_owed(tenths, share)[0]) for share in (0.0, 0.1, 0.3, 0.30000001, 0.7, 1.0, 1.1)
    ] == [0, 1, 3, 4, 7, 10, 11]
    sevenths = Packing(capacity=[[7]], demand=[[1]], servers=[1.0])
    assert [int(vms_owed(sevenths, vms / 7)[0]) for vms in range(8)] == list(range(8))


MANY = Packing(
    capacity=[[1_000_005, 1_000_000], [1_000_000, 1_000_007]],
    demand=[[3, 1], [1, 2], [100_000, 100_001]],
    request=[30_000, 50_000, np.inf],
    partial=True,
    servers=[2, 1],
)
"""A server holds 10**10 combinations of VMs, and 20,000 to which none can be added."""


@pytest.mark.parametrize("method", [max_min_share, max_utilization])
@pytest.mark.parametrize("stop", [Stop.TIME_LIMIT, Stop.INTERRUPTED])
def test_dominant_share_methods_have_answer_before_listing_vm_combinations(
    stop: Stop, method: Any, interrupt_at: Any
) -> None:
    if stop is Stop.INTERRUPTED:
        interrupt_at("cotenant.solvers.packing.dominant_shares.combinations")
    outcome = method(MANY, time_limit=60.0 if stop is Stop.INTERRUPTED else 1e-9)
    check(MANY, outcome.solution)
    assert outcome.solution.totals(3).tolist() == [30_000, 50_000, 27]
    assert outcome.stop is stop
    assert outcome.bound is not None


def test_dominant_share_methods_with_too_many_vm_combinations_stop_at_iteration_limit() -> None:
    wide = Packing(capacity=[[10**6] * 2], demand=[[3, 1], [1, 2], [2, 2]], servers=[1])
    for method in (max_min_share, max_utilization):
        outcome = method(wide)
        check(wide, outcome.solution)
        assert outcome.stop is Stop.ITERATION_LIMIT
        assert outcome.bound is not None


@pytest.mark.parametrize("method", [max_min_share, max_utilization])
def test_large_share_program_runs_in_killable_process(
    method: Any, engines: Callable[..., None]
) -> None:
    apart = Mock(return_value=EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT))
    engines(solve_in_subprocess=apart)
    outcome = method(MANY, time_limit=60.0)
    assert apart.called
    check(MANY, outcome.solution)
    # the answer in hand is the best there is, which a tree of cases shows
    proved = method is max_utilization
    assert outcome.stop is (Stop.FINISHED if proved else Stop.TIME_LIMIT)


@pytest.mark.parametrize("policy", ["first-fit", "best-fit", "random-fit", "DRF", "fair-slots"])
def test_more_vms_than_can_be_placed_one_by_one_in_time_are_refused(policy: str) -> None:
    endless = Packing(capacity=[[10**12] * 2], demand=[[1, 2], [3, 1]], servers=[3])
    for limit in (3.0, None):
        with refused(InvalidOption):
            solve(endless, policy, time_limit=limit)
    assert solve(MANY.replace(request=[30, 50, 1]), policy, time_limit=3.0).status == "feasible"


@pytest.mark.parametrize("policy", ["dot", "L2", "random-fit"])
def test_packing_policies_refuse_more_requests_than_the_time_limit_allows(policy: str) -> None:
    many = Packing(capacity=[[10**12] * 2], demand=[[1, 2]], request=[10**11])
    with refused(InvalidOption):
        solve(many, policy, time_limit=3.0)
    assert solve(many, "min-servers").status == "optimal"


@pytest.mark.parametrize("method", [max_utilization, max_min_share])
@pytest.mark.parametrize("factor", [0.5, 2.0, None])
def test_dominant_share_methods_keep_proved_bound_if_highs_bounds_are_wrong(
    factor: float | None, method: Any, engines: Callable[..., None]
) -> None:
    instance = Packing(capacity=[[5, 9]], demand=[[3, 3], [3, 1]], servers=[3])
    best = method(instance)
    assert best.status is Status.OPTIMAL

    def wrong(program: Any, **given: Any) -> Any:  # a bound of half or twice the truth, or none
        found = solve_program(program, **given)
        if given.get("engine") == "cp-sat":
            return found
        if factor is None:
            return EngineAnswer(Status.INFEASIBLE, Stop.FINISHED)
        return replace(found, bound=None if found.bound is None else factor * found.bound)

    engines(solve_program=wrong)
    outcome = method(instance)
    assert outcome.bound >= best.bound
    assert outcome.status is not Status.OPTIMAL or outcome.bound == best.bound
