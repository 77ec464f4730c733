"""Exact colocation methods against enumeration, on large instances and at short limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.seeds import numbers, seeds
from support.small_cases import colocations, crowd, spread

import cotenant
from cotenant.analysis.colocation.frontier import price_frontiers
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.instance import BLOCK
from cotenant.instances.colocation.objective import (
    attribution_slack,
    exact_slack,
    keeps_slack,
    mean_penalty,
    scale,
)
from cotenant.instances.colocation.stability import willing
from cotenant.instances.problem import InvalidOption, NoSolution
from cotenant.instances.problem.quantities import as_written
from cotenant.solvers.colocation import (
    at_most_blocking,
    complete,
    fair,
    feasible_pairing,
    fewest_blocking,
    optimal,
)
from cotenant.solvers.colocation.blossom import least_penalty_bound
from cotenant.solvers.colocation.common import ProgramLimits, pairs_of
from cotenant.solvers.colocation.feasible import Undecided
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop

CLOSE = 1e-8
ENGINES = ("highs", "cp-sat")


def triangles(penalty: float = 0.5) -> Colocation:
    """Two triangles of agents that may not share across: six agents, and no perfect pairing."""
    matrix = np.full((6, 6), np.inf)
    for corner in (0, 3):
        matrix[corner : corner + 3, corner : corner + 3] = penalty
    return Colocation(matrix, np.ones(6, dtype=int), bandwidth=np.arange(6.0))


def sound(instance: Colocation, outcome: Outcome, value: float | None) -> None:
    """Feasible, the bound never above the value, the certificate plain JSON."""
    json.dumps(dict(outcome.certificate), allow_nan=False)
    if outcome.solution is None:
        assert outcome.status in (Status.INFEASIBLE, Status.UNKNOWN)
        return
    check(instance, outcome.solution)
    assert outcome.bound <= value


# Against enumeration


@pytest.mark.parametrize("number", numbers(60, 10))
@pytest.mark.parametrize("engine", ENGINES)
def test_least_penalty_equals_enumeration(reference: ModuleType, engine: str, number: int) -> None:
    for instance in colocations(range(10_000, 10_000 + number)):
        expected, found = reference.best(instance).least_penalty, optimal(instance, engine=engine)
        if expected is None:
            assert (found.status, found.solution) == (Status.INFEASIBLE, None)
            continue
        assert found.status is Status.OPTIMAL, instance.name
        value = reference.mean_penalty(instance, reference.partners_of(instance, found.solution))
        sound(instance, found, mean_penalty(instance, found.solution))
        assert value == pytest.approx(expected, abs=CLOSE), instance.name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", numbers(40, 8))
@pytest.mark.parametrize("engine", ENGINES)
def test_fair_pairing_equals_enumeration_in_slack_and_mean_penalty(
    reference: ModuleType, engine: str, number: int
) -> None:
    for instance in colocations(range(11_000, 11_000 + number)):
        expected, found = reference.best(instance), fair(instance, engine=engine)
        if expected.least_slack is None:
            assert (found.status, found.solution) == (Status.INFEASIBLE, None)
            continue
        slack = attribution_slack(instance, found.solution)
        sound(instance, found, slack)
        if engine == "cp-sat" and found.status is Status.FEASIBLE:
            # its columns are multiples of 1e-10: a slack of 1e-8 it proves to a hundredth
            assert 0 < slack - found.bound < 1e-9, instance.name
            continue
        assert found.status is Status.OPTIMAL, instance.name
        partner = reference.partners_of(instance, found.solution)
        assert reference.slack(instance, partner) == pytest.approx(
            expected.least_slack, abs=CLOSE
        ), instance.name
        first, second = found.certificate["levels"]
        assert (first["objective"], second["objective"]) == ("slack", "penalty")
        assert first["status"] == second["status"] == "optimal"
        assert second["value"] == pytest.approx(
            expected.penalty_at_slack(first["value"]), abs=CLOSE
        ), instance.name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ENGINES)
def test_zero_blocking_decision_equals_enumeration(reference: ModuleType, engine: str) -> None:
    decided = {Status.OPTIMAL: 0, Status.INFEASIBLE: 0}
    for instance in colocations(range(12_000, 12_060)):
        expected = reference.best(instance, 0.001).penalty_by_blocking.get(0)
        found = at_most_blocking(instance, 0, 0.001, engine=engine)
        decided[found.status] += 1
        if expected is None:
            assert found.status is Status.INFEASIBLE, instance.name
            continue
        sound(instance, found, mean_penalty(instance, found.solution))
        assert mean_penalty(instance, found.solution) == pytest.approx(expected, abs=CLOSE)
        assert (
            reference.blocking(instance, reference.partners_of(instance, found.solution), 0.001)
            == 0
        )
    assert min(decided.values()) > 1


@pytest.mark.parametrize("number", numbers(25, 8))
def test_fewest_blocking_pairs_and_penalty_at_limited_number_equal_enumeration(
    reference: ModuleType, number: int
) -> None:
    for instance in colocations(range(13_000, 13_000 + number)):
        expected, found = reference.best(instance), fewest_blocking(instance)
        if expected.fewest_blocking is None:
            assert found.status is Status.INFEASIBLE
            continue
        assert found.bound == expected.fewest_blocking
        assert found.status is Status.OPTIMAL
        for most in (0, 2):
            limited, within = at_most_blocking(instance, most), expected.penalty_within(most)
            decision = at_most_blocking(instance, most, penalty=False)
            if within is None:
                assert limited.status is decision.status is Status.INFEASIBLE
                continue
            assert mean_penalty(instance, limited.solution) == pytest.approx(within, abs=CLOSE)
            assert blocking_pairs(instance, decision.solution).count <= most


# Published or worked by hand


def test_instances_without_any_pairing_are_infeasible_with_a_proof() -> None:
    instance = triangles()
    for found in (
        optimal(instance),
        optimal(instance, engine="cp-sat"),
        fair(instance),
        at_most_blocking(instance),
    ):
        assert (found.status, found.solution, found.stop) == (
            Status.INFEASIBLE,
            None,
            Stop.FINISHED,
        )
        assert found.certificate["proof"]
    with refused(NoSolution):
        feasible_pairing(instance)
    with pytest.raises(NoSolution):
        price_frontiers(instance)


def test_fair_pairing_bound_is_least_necessary_slack() -> None:
    """Two types that cannot mix: the quiet one loses .5 beside its like, the loud one nothing."""
    instance = Colocation([[0.5, np.inf], [np.inf, 0.0]], [2, 2], bandwidth=[1.0, 9.0])
    found = fair(instance)
    assert (found.status, found.bound) == (Status.OPTIMAL, pytest.approx(0.5))
    assert (
        fair(instance.replace(bandwidth=[3.0, 3.0])).bound == 0.0
    )  # equals owe each other nothing
    assert fair(instance, slack=0.4).status is Status.INFEASIBLE


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (fair, {}),
        (fair, {"slack": 0.1}),
        (stable, {"alpha": 1.0, "alpha_mode": "relative-penalty"}),
    ],
)
def test_exact_methods_without_bandwidth_or_with_alpha_of_one_name_the_cure(
    method: Callable[..., object], options: dict[str, Any]
) -> None:
    with refused(InvalidOption):
        method(Colocation([[0.1]], [2]), **options)


# Larger ones


@pytest.mark.parametrize("seed", seeds(3, 1))
def test_default_engine_and_cp_sat_give_equal_bounds_for_1000_colocated_agents(seed: int) -> None:
    instance = crowd(20, 50, seed)
    left, right = optimal(instance), optimal(instance, engine="cp-sat")
    assert left.status is right.status is Status.OPTIMAL
    assert left.bound == pytest.approx(right.bound, abs=1e-8)
    left, right = at_most_blocking(instance), at_most_blocking(instance, engine="cp-sat")
    assert left.status is right.status is Status.OPTIMAL
    assert left.bound == pytest.approx(right.bound, abs=1e-8)


# Completing partial pairings


def test_completion_of_partial_pairing_drops_forbidden_pairs() -> None:
    instance = Colocation([[np.inf, 0.2], [0.3, 0.1]], [2, 2])
    too_many = Pairing([0, 1], [0, 1], [1, 5], [7, 0])
    found = complete(instance, too_many)
    check(instance, found)
    with refused(InvalidOption):
        complete(instance, Pairing([], [], [], [0, 0, 0]))


def test_partial_pairing_with_forbidden_rest_is_completed_by_one_exchange() -> None:
    """300 agents paired but two that may not share: one pair is opened for them."""
    rng = np.random.default_rng(0)
    penalty = rng.random((300, 300))
    penalty[298, 299] = np.inf
    instance = Colocation(penalty, np.ones(300, dtype=int))
    partial = Pairing(
        np.arange(0, 298, 2),
        np.arange(1, 298, 2),
        np.ones(149, dtype=int),
        np.zeros(300, dtype=int),
    )
    found = complete(instance, partial)
    check(instance, found)
    assert np.triu(np.minimum(found.beside(), partial.beside())).sum() == 148


def test_colocation_with_two_odd_components_is_infeasible() -> None:
    group = np.repeat([0, 1], [151, 149])
    penalty = np.where(group[:, None] == group, np.random.default_rng(0).random((300, 300)), np.inf)
    instance = Colocation(penalty, np.ones(300, dtype=int))
    assert optimal(instance).status is Status.INFEASIBLE
    joined = instance.replace(machines=151.0)
    found = optimal(joined)
    assert found.status is Status.OPTIMAL
    assert found.solution.single.sum() == 2


# Frontiers


@pytest.mark.parametrize("seed", range(6))
def test_fair_pairing_with_slack_minimizes_mean_penalty(seed: int, reference: ModuleType) -> None:
    rng = np.random.default_rng(seed)
    instance = Colocation(
        rng.integers(0, 10, (4, 4)) / 10, [2, 2, 1, 3], bandwidth=[1.0, 2.0, 2.0, 3.0]
    )
    found: list[tuple[Fraction, float]] = []
    for partner in reference.pairings(instance):
        pairing = Pairing.from_partners(instance.agent_types(), partner, 4)
        found.append((exact_slack(instance, pairing), mean_penalty(instance, pairing)))
    slacks = sorted({slack for slack, _ in found})
    for allowed in [*map(float, slacks[:3]), float(slacks[0]) / 2, float(slacks[0]) + 0.01, 0.3]:
        within = [value for slack, value in found if slack <= as_written(allowed)]
        outcome = fair(instance, slack=allowed)
        if not within:
            assert outcome.status is Status.INFEASIBLE
            ends = outcome.certificate["least_slack"]
            assert allowed < ends["bound"] <= float(slacks[0]) + 1e-9
            assert ends["value"] >= float(slacks[0]) - 1e-9
            continue
        # no engine tells an allowance from a slack that is above it by rounding alone
        near = any(0 < slack - as_written(allowed) < 1e-9 for slack in slacks)
        assert outcome.status is Status.OPTIMAL or near
        assert outcome.bound is None or outcome.bound <= min(within) + 1e-9
        if outcome.solution is not None:
            assert keeps_slack(instance, outcome.solution, allowed)


def test_slack_option_makes_mean_penalty_the_objective() -> None:
    tiny = cotenant.read("colocation/tiny")
    result = cotenant.solve(tiny, "fair", slack=0.01)
    assert (result.objective_name, result.status) == ("penalty", "optimal")
    assert result.objective == pytest.approx(result.metrics["penalty"])
    assert recheck(tiny, result).broken == ()
    document = result.document()
    document["certificate"]["slack_allowed"] = document["result"]["options"]["slack"] = 0.001
    strict = cotenant.Result.from_document(document)
    needed = result.metrics["slack"] > 0.001
    assert any("more slack" in why for why in recheck(tiny, strict).broken) is needed
    with refused(InvalidOption):
        cotenant.solve(tiny, "fair", slack=-0.1)


@pytest.mark.parametrize(("allowed", "keeps"), [(0.1, True), (0.09999999999999999, False)])
def test_slack_option_is_kept_exactly(allowed: float, keeps: bool) -> None:
    # 0.3 - 0.2 is a tenth, and more than that in floats
    instance = Colocation([[0.0, 0.3], [0.2, 0.0]], [1, 1], bandwidth=[1.0, 2.0])
    pairing = Pairing([0], [1], [1], [0, 0])
    assert keeps_slack(instance, pairing, allowed) is keeps


def test_steps_that_cannot_be_stopped_are_skipped_near_time_limit() -> None:
    given = cotenant.read("colocation/preferences-100")
    whole, begun = least_penalty_bound(given), stable(given, time_limit=60.0)
    assert "second_level" in begun.certificate
    assert 0 < least_penalty_bound(given, seconds=1e-9) < whole
    slow = StableLimits(forgiven_pair=1.0, programs=ProgramLimits(agent_cubed=1.0))
    found = stable(given, time_limit=60.0, limits=slow)
    assert (found.status, found.bound) == (begun.status, begun.bound)
    assert found.certificate["levels"][1]["status"] == "feasible"
    assert "second_level" not in found.certificate
    found = stable(given, time_limit=60.0, limits=replace(slow, listed_pair=1.0))
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert found.bound == 0


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_colocation_metrics_in_blocks_equal_metrics_at_once(alpha: float) -> None:
    """Types without agents between those of an instance, which come to lie in three blocks."""

    def measured(instance: Colocation, places: np.ndarray) -> list[Any]:
        pairing = feasible_pairing(instance)
        found = blocking_pairs(instance, pairing, alpha)
        return [
            found.count,
            found.agents,
            *(np.searchsorted(places, side).tolist() for side in found.listed[:2]),
            *(side.tolist() for side in found.listed[2:]),
            *(np.searchsorted(places, side).tolist() for side in (pairing.first, pairing.second)),
            pairing.pairs.tolist(),
            pairing.single[places].tolist(),
            willing(instance, pairing, alpha)[np.ix_(places, places)].tolist(),
            scale(instance, "penalty"),
            least_penalty_bound(instance),
            pairs_of(instance),
        ]

    blocked = 0
    for instance in [crowd(7, 6, 3), *colocations(range(16_003, 16_060, 3))]:
        if possible(instance) and not instance.distinct:
            whole = measured(instance, np.arange(instance.types))
            assert measured(*spread(instance, 2 * BLOCK + 1)) == whole
            blocked += whole[0]
    assert blocked


def possible(instance: Colocation) -> bool:
    try:
        feasible_pairing(instance)
    except NoSolution:
        return False
    return True


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_optimal_colocation_without_time_for_programs_returns_first_pairing_and_bound(
    engine: Any,
) -> None:
    instance = crowd(30, 4)
    proved = optimal(instance)
    limits = OptimalLimits(programs=ProgramLimits(priced_pair=1e6, most_pairs=1))
    found = optimal(instance, time_limit=60.0, engine=engine, limits=limits)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    check(instance, found.solution)
    assert (found.bound or 0.0) <= (proved.bound or 0.0)
    without = optimal(instance, engine="highs", limits=limits)  # without a limit there is time
    assert without.status is Status.OPTIMAL


def test_stable_refuses_types_whose_lists_exceed_memory_before_any_work() -> None:
    """Else it would say that there is no pairing."""
    star = np.where(np.arange(4) * np.arange(4)[:, None], np.inf, 0.1)
    instance = Colocation(star, np.ones(4))
    assert stable(instance).status is Status.INFEASIBLE
    with refused(InvalidOption):
        stable(instance, limits=StableLimits(most_types=3))


class Over(Clock):
    """A clock whose time is up at once."""

    def __init__(self) -> None:
        super().__init__(1e-9)


def test_stable_at_time_limit_is_unknown_not_infeasible() -> None:
    """The agents of type 0 want those of 1, which the start gives to each other: exchanges are
    needed, of more agents than are matched one by one.
    """
    instance = Colocation([[np.inf, 0.5], [0.5, 0.1]], [2000, 2000], [1, 2], machines=2000.0)
    stuck = Pairing([1], [1], [1000], [0, 0])
    assert complete(instance, stuck).pairs.tolist() == [2000]
    with refused(Undecided):
        complete(instance, stuck, Over())
    for method in (optimal, stable, fair):
        found = method(instance, time_limit=1e-9, start=stuck)
        assert (found.status, found.solution) == (Status.UNKNOWN, None)
        approved(found.certificate["proof"])


def test_repair_at_time_limit_keeps_pairing() -> None:
    instance = Colocation([[np.inf, 0.5], [0.5, 0.1]], [2, 2])
    found = complete(instance, Pairing([1], [1], [1], [0, 0]), Over())
    check(instance, found)
