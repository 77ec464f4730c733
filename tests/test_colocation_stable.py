"""Fewest blocking pairs, then least penalty, against brute force; usable pairs of types; the programs
over types in Pyomo, arrays, HiGHS and CP-SAT; fair attribution and bounds of large instances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.fakes import call_here
from support.messages import refused
from support.oracles.matchings import is_stable_partition
from support.seeds import ranges
from support.small_cases import colocations, crowd

import cotenant
from cotenant import solve
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import ALPHA_MODES, Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.generators import population, score_preferences
from cotenant.instances.colocation.objective import attribution_slack
from cotenant.instances.problem import InvalidOption
from cotenant.models.colocation import (
    blocking_program,
    fair_program,
    gain_sets,
    order_program,
    penalty_program,
    stable_program,
)
from cotenant.models.colocation.readable import fair_model, fewest_model, predictor, stable_model
from cotenant.models.program import from_pyomo
from cotenant.solvers.blossom import MATCHED_FROM
from cotenant.solvers.colocation import fair, optimal
from cotenant.solvers.colocation.blossom import least_penalty_bound
from cotenant.solvers.colocation.common import Blocking, ProgramLimits
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.colocation.feasible import feasible_pairing
from cotenant.solvers.colocation.first_phase import usable_pairs
from cotenant.solvers.colocation.matching import Matching, MatchingLimits
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_routes import (
    StableLimits,
    StableSearch,
    decided,
    zero_over_types,
)
from cotenant.solvers.colocation.to_roommates import lists_of_agents
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop
from cotenant.solvers.roommates import ranks_from_cost

ALPHAS = (0.0, 0.0, 0.05, 0.1)


def agrees(instance: Colocation, alpha: float, mode: str, reference: Any) -> None:
    """Hold the answer to one instance against enumeration."""
    expected = reference.best(instance, alpha, mode)
    found = stable(instance, alpha=alpha, alpha_mode=mode)
    fewest = expected.fewest_blocking
    if fewest is None:
        assert found.status is Status.INFEASIBLE
        return
    first, second = found.certificate["levels"]
    assert (found.status, found.bound, first["value"]) == (Status.OPTIMAL, fewest, fewest)
    assert second["value"] == pytest.approx(expected.penalty_by_blocking[fewest], abs=1e-8)
    assert second["bound"] <= second["value"] + 1e-9
    listed = found.certificate["blocking_pairs"]
    assert (len(listed) == 0) == (fewest == 0)
    check(instance, found.solution)


@pytest.mark.parametrize("cases", ranges(1_000, 40, 200))
def test_fewest_blocking_pairs_and_then_least_penalty_equal_enumeration(
    cases: range, reference: Any
) -> None:
    for instance in colocations(cases, 7):
        alpha, mode = ALPHAS[int(instance.name) % 4], ALPHA_MODES[int(instance.name) // 4 % 3]
        agrees(instance, alpha, mode, reference)


def unsolvable(agents: int, seed: int, noise: float = 0.15) -> Colocation:
    return score_preferences(agents=agents, noise=noise, rng=np.random.default_rng(seed))


BY_PROGRAMS = StableLimits(different_agents=0, listed_agents=0)
"""The way over agents one by one is taken away."""

CHILDREN = replace(BY_PROGRAMS, child_types=0, few_types=0, few_pairs=0)
"""And decisions run in processes of their own."""


def test_penalties_differing_below_1e_9_are_not_ties() -> None:
    """Three agents go round; were agent 0 indifferent between the other two, a pairing would block
    nobody.
    """
    penalty = np.array([[9, 1, 1, 3], [2, 9, 1, 3], [1, 2, 9, 3], [1, 2, 3, 9]]) / 10
    assert stable(Colocation(penalty, np.ones(4))).bound == 0.0
    penalty[0, 2] += 9e-10
    found = stable(Colocation(penalty, np.ones(4)))
    assert (found.bound, found.status) == (1.0, Status.OPTIMAL)
    assert blocking_pairs(Colocation(penalty, np.ones(4)), found.solution).count == 1


def test_certificate_stable_partition_is_valid() -> None:
    instance = cotenant.read("colocation/no-stable-4")
    found = stable(instance)
    assert (found.bound, found.status) == (1.0, Status.OPTIMAL)
    assert is_stable_partition(
        ranks_from_cost(instance.penalty), np.array(found.certificate["stable_partition"])
    )
    assert [len(party) for party in found.certificate["odd_parties"]] == [3]


def copies_without_stable_matching(number: int) -> Colocation:
    """Disjoint groups of four agents, none of which can be paired without a blocking pair; one tie,
    so no strict lists.
    """
    group = np.array([[0, 1, 2, 3], [2, 0, 1, 3], [1, 2, 0, 3], [1, 2, 3, 0]]) / 4
    penalty = np.full((4 * number, 4 * number), np.inf)
    for k in range(number):
        penalty[4 * k : 4 * k + 4, 4 * k : 4 * k + 4] = group
    penalty[3, 2] = penalty[3, 1]
    return Colocation(penalty, np.ones(4 * number))


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("way", ["decisions", "tie-breakings"])
def test_minimum_of_several_blocking_pairs_is_proved(number: int, way: str) -> None:
    instance = copies_without_stable_matching(number)
    limits = BY_PROGRAMS if way == "decisions" else None
    found = stable(instance, time_limit=60, limits=limits)
    assert ("ties" in found.certificate["proof"]) == (way == "tie-breakings")
    assert (found.bound, found.status) == (float(number), Status.OPTIMAL)
    assert blocking_pairs(instance, found.solution).count == number


@pytest.mark.slow
def test_certificate_of_instance_with_ties_is_valid() -> None:
    searched = set()
    for agents, seed, digits in ((100, 0, 3), (100, 1, 3), (200, 2, 4)):
        made = unsolvable(agents, seed)
        instance = made.replace(penalty=np.round(made.penalty, digits))
        found, lists = stable(instance), lists_of_agents(instance)
        assert found.status is Status.OPTIMAL
        facts = found.certificate
        successor = np.array(facts["stable_partition"])
        assert is_stable_partition(lists.place, successor, lists.better, facts["unsettled_agents"])
        forced = -(-len(facts["odd_parties"]) // 2) - len(facts["unsettled_agents"])
        assert found.bound == max(0, forced) + len(facts["exhausted"])
        searched.add(len(facts["exhausted"]))
    assert searched == {0, 1}


def with_ties(agents: int, levels: int, seed: int) -> Colocation:
    return Colocation(
        np.random.default_rng(seed).integers(0, levels, (agents, agents)) / levels, np.ones(agents)
    )


def test_stable_with_killed_second_level_keeps_valid_value_and_bound(
    engines: Callable[..., None],
) -> None:
    instance = with_ties(30, 10, 0)
    engines(call_in_subprocess=lambda *given, **options: None)
    ended = stable(instance, time_limit=600, limits=StableLimits(child_pairs=0))
    first, second = ended.certificate["levels"]
    assert (ended.status, first["value"], second["status"]) == (Status.OPTIMAL, 0, "feasible")
    least = stable(instance).certificate["levels"][1]
    assert second["bound"] <= least["bound"] + 1e-9
    assert second["value"] >= least["value"] - 1e-9


@pytest.mark.parametrize("agents", [1000, 1_000_000])
def test_thousand_and_million_agents_of_twenty_types_are_proved(agents: int) -> None:
    instance = population(agents=agents, rng=np.random.default_rng(0))
    found = stable(instance, time_limit=60)
    assert (found.bound, found.status) == (0.0, Status.OPTIMAL)
    assert blocking_pairs(instance, found.solution).count == 0


def _in_need_of_a_decision() -> Colocation:
    """Ties among agents that all differ, and no pairing without a blocking pair."""
    cycle = np.array([[9, 1, 2, 3], [2, 9, 1, 3], [1, 2, 9, 3], [1, 1, 1, 9]]) / 10
    return Colocation(penalty=cycle, count=np.ones(4))


def test_stable_with_killed_decision_process_returns_incumbent_at_time_limit(
    engines: Callable[..., None],
) -> None:
    engines(call_in_subprocess=lambda *given, **options: None)
    ended = stable(_in_need_of_a_decision(), time_limit=60, limits=CHILDREN)
    assert (ended.status, ended.stop, ended.bound) == (Status.FEASIBLE, Stop.TIME_LIMIT, 0.0)
    assert ended.solution is not None


def least_penalty(instance: Colocation, most: int, alpha: float = 0.0, mode: Any = None) -> float:
    """The least mean penalty of the program over the pairs that are left; inf for none."""
    mode = mode or ALPHA_MODES[0]
    keep = usable_pairs(instance, gain_sets(instance, alpha, mode), most)
    if keep is None:
        return np.inf
    program = stable_program(instance, alpha, mode, one=most == 1, keep=keep)
    found = solve_program(program.program)
    return np.inf if found.bound is None else found.bound / instance.agents


@pytest.mark.slow
@pytest.mark.parametrize("cases", ranges(800, 25, 100))
@pytest.mark.parametrize("most", [0, 1])
def test_usable_pairs_include_all_pairs_of_pairings_with_few_blocking_pairs(
    cases: range, most: int, reference: Any
) -> None:
    some, ruled_out = 0, 0
    for index, instance in enumerate(colocations(cases)):
        alpha, mode = [0.0, 0.0, 0.1][index % 3], ALPHA_MODES[index % len(ALPHA_MODES)]
        keep = usable_pairs(instance, gain_sets(instance, alpha, mode), most)
        kinds, used = reference.agents_of(instance), np.zeros_like(instance.allowed)
        least = np.inf
        for partner in reference.pairings(instance):
            if reference.blocking(instance, partner, alpha, mode) <= most:
                least = min(least, reference.mean_penalty(instance, partner))
                for i, j in enumerate(partner):
                    if j >= 0:
                        used[kinds[i], kinds[j]] = True
        assert least_penalty(instance, most, alpha, mode) == pytest.approx(least, abs=1e-8)
        if keep is None:
            assert np.isinf(least)
        else:
            assert not (used & ~keep).any()
            ruled_out += int((instance.allowed & ~keep).sum())
        some += np.isfinite(least)
    assert min(some, ruled_out) > 0


CLOSE = 2e-8
GAINS = (0.0, 0.05, 0.1, 0.2)


def value_of(program: Any, engine: str) -> float | None:
    """The optimum, None when infeasible; anything undecided fails."""
    answer = solve_program(program, engine=engine)
    if answer.status is Status.INFEASIBLE:
        return None
    assert answer.status is Status.OPTIMAL, answer
    assert answer.bound <= answer.objective
    return float(answer.objective)


def same(left: float | None, right: float | None) -> bool:
    """Equal to the tolerance, or both missing."""
    if left is None or right is None:
        return left is right
    return abs(left - right) <= CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("mode", ALPHA_MODES)
def test_programs_over_types_equal_enumeration(reference: ModuleType, mode: str) -> None:
    """Arrays and Pyomo models, by both engines where they can."""
    offset = 1000 * ALPHA_MODES.index(mode)
    for index, instance in enumerate(colocations(range(offset, offset + 25))):
        alpha, agents = GAINS[index % len(GAINS)], instance.agents
        best = reference.best(instance, alpha, mode)
        fewest, none = best.fewest_blocking, best.penalty_within(0)
        one = stable_program(instance, alpha, mode, one=True).program
        # 1. program, what its objective is a multiple of, the optimum
        linear = [
            (penalty_program(instance).program, agents, best.least_penalty),
            (from_pyomo(predictor(instance)), 1, best.least_penalty),
            (stable_program(instance, alpha, mode).program, agents, none),
            (from_pyomo(stable_model(instance, alpha, mode)), 1, none),
            (one, agents, best.penalty_within(1)),
            (fair_program(instance).program, 1, best.least_slack),
            (from_pyomo(fair_model(instance)), 1, best.least_slack),
        ]
        if best.least_slack is not None:
            within = fair_program(instance, best.least_slack + 1e-9).program
            linear.append((within, agents, best.penalty_at_slack(best.least_slack)))
        pairs = blocking_program(instance, None, alpha, mode, objective="blocking").program
        counted = [
            (pairs, 1, fewest),
            (order_program(instance, None, alpha, mode).program, 1, fewest),
        ]
        if index < 2:
            counted.append((from_pyomo(fewest_model(instance, alpha, mode)), 1, fewest))
        for most in (0, 1, 3):
            least = best.penalty_within(most)
            counted.append((blocking_program(instance, most, alpha, mode).program, agents, least))
            order = order_program(instance, most, alpha, mode, objective="penalty").program
            linear.append((order, agents, least))
        # 2. the optimum by every engine that solves the program
        for engine, programs in (("highs", linear), ("cp-sat", linear + counted)):
            for place, (program, number_of, expected) in enumerate(programs):
                found = value_of(program, engine)
                mean = None if found is None else found / number_of
                assert same(mean, expected), (instance.name, alpha, engine, place)
        # 3. the order encoding of fewer steps is a lower bound
        if fewest is not None:
            few = order_program(instance, None, alpha, mode, steps=2).program
            assert value_of(few, "cp-sat") <= fewest


def test_order_program_with_fewer_preference_steps_counts_no_more_blocking_pairs() -> None:
    """Two types of which each would rather be with the other: 6 x 6 pairs of agents block when all
    are with their like.
    """
    instance = Colocation([[0.5, 0.1], [0.1, 0.5]], [6, 6])
    alike = Pairing([0, 1], [0, 1], [3, 3], [0, 0])
    for steps, counted in ((None, 36), (7, 36), (5, 25), (3, 16), (2, 9)):
        program = order_program(instance, steps=steps)
        assert program.program.objective(program.point(alike)) == counted
    own = instance.replace(penalty=1 - instance.penalty)  # each would rather be with its like
    apart = Pairing([0], [1], [6], [0, 0])
    for steps, counted in ((None, 30), (7, 30), (5, 20), (3, 12), (2, 6)):
        program = order_program(own, steps=steps)
        assert program.program.objective(program.point(apart)) == counted
    mixed = Pairing([0, 0, 1], [0, 1, 1], [2, 2, 2], [0, 0])
    for steps, counted in ((None, 16), (7, 16), (5, 9), (4, 9), (3, 16), (2, 9)):
        program = order_program(instance, steps=steps)
        assert program.program.objective(program.point(mixed)) == counted
        assert program.program.holds(program.point(mixed))


def test_highs_refuses_product_constraints() -> None:
    instance = Colocation([[0.1, 0.3], [0.2, 0.9]], [4, 4])
    program = blocking_program(instance, 3).program
    assert len(program.products) > 0
    with refused(InvalidOption):
        solve_program(program, engine="highs")


@pytest.mark.parametrize(("most", "objective"), [(-1, "penalty"), (2, "fairness")])
def test_program_for_blocking_pairs_refuses_unsupported_options(most: int, objective: Any) -> None:
    with pytest.raises(InvalidOption):
        blocking_program(Colocation([[0.1]], [2]), most, objective=objective)


def test_program_that_limits_possibly_blocking_pairs_to_one_is_refused() -> None:
    with refused(InvalidOption):
        stable_program(Colocation([[0.1]], [2]), uncertainty="possible", one=True)


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
def test_fair_pairing_at_time_limit_is_best_found(engines: Callable[..., None]) -> None:
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


def test_fair_pairing_without_time_has_slack_of_first_pairing(engines: Callable[..., None]) -> None:
    instance = crowd(60, 4)
    begin = feasible_pairing(instance)
    engines(WarmStartedProgram=None, solve_program=None, call_in_subprocess=None)
    found = fair(instance, time_limit=1e-9)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert attribution_slack(instance, found.solution) == attribution_slack(instance, begin)


def test_fair_pairing_skips_program_too_large_for_time_limit() -> None:
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
def test_integer_program_of_fair_pairing_equals_enumeration(
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
def test_fair_pairing_is_optimal_among_slacks_within_solver_tolerance(
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
def test_infeasibility_of_two_blocking_pairs_proves_at_least_three(
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
def test_relaxed_pairing_bound_is_valid(seed: int, distinct: bool, machines: float | None) -> None:
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
