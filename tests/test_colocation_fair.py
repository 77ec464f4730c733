"""Fair attribution and lower bounds of large colocation instances."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.fakes import call_here
from support.small_cases import colocations, crowd

from cotenant import solve
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import Colocation, Pairing, check
from cotenant.instances.colocation.objective import attribution_slack
from cotenant.solvers.blossom import MATCHED_FROM
from cotenant.solvers.colocation import fair, optimal
from cotenant.solvers.colocation.blossom import least_penalty_bound
from cotenant.solvers.colocation.common import Blocking, ProgramLimits
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.colocation.feasible import feasible_pairing
from cotenant.solvers.colocation.matching import Matching, MatchingLimits
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable_routes import (
    StableLimits,
    StableSearch,
    decided,
    zero_over_types,
)
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop

LARGE = FairLimits(programs=ProgramLimits(keeps_time=0))
"""As if no program were small enough to keep its time limit."""


def tiny(reference: ModuleType, seeds: range) -> list[tuple[Colocation, Any]]:
    """Random instances of at most 8 agents that have bandwidths and a pairing, with what
    enumeration finds.
    """
    every = [(instance, reference.best(instance)) for instance in colocations(seeds)]
    paired = [
        (instance, expected) for instance, expected in every if expected.least_slack is not None
    ]
    assert len(paired) > 10
    return paired


@pytest.mark.slow
def test_fair_at_time_limit_keeps_incumbent(
    engines: Callable[..., None],
) -> None:
    limits = []

    def deaf(
        *given: Any, hard_limit: float, **asked: Any
    ) -> None:  # an engine that never looks at its clock
        limits.append(hard_limit)
        assert asked["time_limit"] < hard_limit

    instance = crowd(12, 5)
    engines(call_in_subprocess=deaf)
    found = fair(instance, time_limit=1.0, limits=LARGE)
    assert limits
    assert max(limits) <= 1.0
    check(instance, found.solution)
    value = attribution_slack(instance, found.solution)
    assert value < attribution_slack(instance, feasible_pairing(instance))
    assert 0 <= found.bound <= value


def test_fair_at_time_limit_zero_returns_quickly(engines: Callable[..., None]) -> None:
    instance = crowd(60, 4)
    begin = feasible_pairing(instance)
    engines(WarmStartedProgram=None, solve_program=None, call_in_subprocess=None)
    found = fair(instance, time_limit=1e-9)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert attribution_slack(instance, found.solution) == attribution_slack(instance, begin)


def test_fair_skips_program_too_large_for_time_limit() -> None:
    instance = crowd(8, 4)
    limits = FairLimits(programs=ProgramLimits(most_pairs=10))
    found = fair(instance, time_limit=1.0, limits=limits)
    assert found.stop is Stop.TIME_LIMIT
    assert found.bound == 0.0
    assert attribution_slack(instance, found.solution) < attribution_slack(
        instance, feasible_pairing(instance)
    )
    assert "columns" not in found.certificate
    second = found.certificate["levels"][1]
    assert second["bound"] is None or second["bound"] <= second["value"]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 600.0])
def test_fair_integer_program_equals_enumeration(
    limit: float | None, reference: ModuleType, engines: Callable[..., None]
) -> None:
    engines(call_in_subprocess=call_here)
    for instance, expected in tiny(reference, range(500, 520)):
        found = fair(instance, time_limit=limit, limits=LARGE)
        assert (found.status, found.stop) == (Status.OPTIMAL, Stop.FINISHED), instance.name
        first, second = found.certificate["levels"]
        assert first["value"] == pytest.approx(expected.least_slack, abs=1e-8), instance.name
        assert second["value"] == pytest.approx(
            expected.penalty_at_slack(first["value"]), abs=1e-8
        ), instance.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalty", "count", "bandwidth"),
    # slacks of 0 and of 1e-10 are not the same: 1.0 is the least penalty at slack 0, .46 at 1e-10
    [
        ([[0.6, 0.2, 0.1999999999, 0.1, 0.2999999999], [0.4999999998, 0.4999999998, 0.5999999999, -1e-10, -1e-10],
          [np.inf, 0.0, 0.4, 0.4, 0.5999999998], [0.5, 0.1999999998, 0.3, np.inf, 0.0999999999],
          [0.2999999999, 0.3999999998, 0.3999999998, 0.0999999998, 0.0]], [1, 1, 1, 1, 1], [1.0, 3.0, 3.0, 0.5, 2.0]),
        # HiGHS calls this second level infeasible, and its bound at a slack of 2e-10 is above an
        # answer
        ([[0.1, 0.2999999999, 0.1], [0.2, 0.1999999999, 0.0999999998], [0.0999999999, 0.0999999998, 0.2999999998]],
         [1, 1, 2], [1.0, 2.0, 2.0]),
    ],
)  # fmt: skip
def test_fair_distinguishes_slacks_within_tolerance(
    penalty: list[list[float]], count: list[int], bandwidth: list[float], reference: ModuleType
) -> None:
    instance = Colocation(penalty, count, bandwidth, unpaired=1.0)
    expected, found = reference.best(instance), fair(instance)
    first, second = found.certificate["levels"]
    assert first["value"] == pytest.approx(expected.least_slack, abs=1e-9)
    least = expected.penalty_at_slack(attribution_slack(instance, found.solution))
    assert second["value"] >= least - 1e-12
    assert second["bound"] is None or second["bound"] <= least + 1e-12
    assert second["status"] == "feasible" or second["value"] == pytest.approx(least, abs=1e-9)
    assert not recheck(instance, solve(instance, "fair")).broken


def test_matching_bound_plus_reduced_cost_is_below_cost_of_every_pairing(
    reference: ModuleType,
) -> None:
    cluster = np.repeat([0, 1, 2], [3, 3, 2])  # odd ones
    noise = np.random.default_rng(71).uniform(0, 0.2, (8, 8))
    penalty = np.where(cluster[:, None] == cluster, 0.05, 0.5) + noise
    instance = Colocation(penalty, np.ones(8, dtype=int))
    search = Matching(instance, feasible_pairing(instance), Clock())
    search.relax()
    assert search.sets
    for partner in reference.pairings(instance):
        total = sum(reference.penalties(instance, partner))
        used = [search.reduced[a, b] for a, b in enumerate(partner) if a < b]
        assert search.bound + max(0.0, *used) <= total + 1e-9


def test_reduced_cost_fixing_keeps_pairs_of_better_pairings() -> None:
    # Two triangles of agents that cost each other nothing: somebody must cross. The pair that does
    # so costs all there is
    # between the relaxation (half of every pair of a triangle) and the start, nearly.
    side = np.repeat([0, 1], 3)
    penalty = np.where(side[:, None] == side, 0.0, 0.11)
    penalty[0, 3] = penalty[3, 0] = 0.10
    instance = Colocation(penalty, np.ones(6, dtype=int))
    start = Pairing([1, 0, 3], [4, 2, 5], [1, 1, 1], np.zeros(6))
    few = MatchingLimits(first_pairs=0, routes=frozenset())
    found = optimal(instance, start=start, limits=OptimalLimits(matching=few))
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(0.2 / 6)


@pytest.mark.parametrize(
    ("answer", "bound"), [(Status.INFEASIBLE, 3), (Status.UNKNOWN, 1), (Status.FEASIBLE, 1)]
)
def test_negative_decision_for_two_blocking_pairs_proves_three(
    answer: Status, bound: int, engines: Callable[..., None]
) -> None:
    stop = Stop.FINISHED if answer is Status.INFEASIBLE else Stop.TIME_LIMIT
    search = searching()
    search.bound = 1
    engines(call_in_subprocess=lambda *_, **__: Outcome(None, None, answer, stop))
    assert decided(search, 2, 60.0) == (answer is Status.INFEASIBLE)
    assert search.bound == bound


def searching() -> StableSearch:
    """A search with 9 blocking pairs in hand, whose programs run in processes of their own."""
    instance = Colocation(np.random.default_rng(3).random((6, 6)), np.ones(6, dtype=int))
    given = (Blocking(), "highs", Clock(60.0), np.random.default_rng(0), feasible_pairing(instance))
    search = StableSearch(instance, *given, StableLimits(child_pairs=0, child_types=0))
    search.value = 9
    return search


@pytest.mark.parametrize("machines", [None, 7.0, np.inf])
@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_quick_penalty_bound_is_valid(seed: int, distinct: bool, machines: float | None) -> None:
    rng = np.random.default_rng([79, seed])
    count = np.ones(10, dtype=int) if distinct else np.array([4, 3, 2, 1])
    instance = Colocation(
        rng.uniform(0.05, 0.9, (len(count), len(count))), count, machines=machines
    )
    found = optimal(instance)
    bound = least_penalty_bound(instance)
    assert bound <= found.bound + 1e-9
    assert bound > 0 or machines is not None


def test_large_matching_lower_bound_is_close_to_mean_penalty_of_optimum() -> None:
    penalty = np.random.default_rng(0).random((MATCHED_FROM, MATCHED_FROM)).round(4)
    instance = Colocation(penalty, np.ones(MATCHED_FROM, dtype=int))
    one = np.arange(0, MATCHED_FROM, 2)
    start = Pairing(one, one + 1, np.ones(len(one), dtype=int), np.zeros(MATCHED_FROM, dtype=int))
    bound = least_penalty_bound(instance, start=start)
    assert bound == pytest.approx(optimal(instance).bound, abs=1e-12)
    assert bound >= least_penalty_bound(instance) > 0.9 * bound
    assert least_penalty_bound(instance, 0.0, start=start) < bound


@pytest.mark.parametrize(("answer", "bound"), [(Status.INFEASIBLE, 1), (Status.UNKNOWN, 0)])
def test_zero_blocking_pairs_is_excluded_only_by_infeasibility(
    answer: Status, bound: int, engines: Callable[..., None]
) -> None:
    search = searching()
    engines(call_in_subprocess=lambda *_, **__: Outcome(None, None, answer, Stop.FINISHED))
    zero_over_types(search)
    assert search.bound == bound
