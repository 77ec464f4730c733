"""Fewest blocking pairs, then least penalty: every layer against brute force, and the theory it
rests on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.messages import approved
from support.seeds import numbers

import cotenant
from cotenant.instances.colocation import ALPHA_MODES, Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.generators import (
    population,
    score_preferences,
)
from cotenant.instances.problem import InvalidInstance
from cotenant.solvers.colocation.exchanges import Exchanges
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_limits import StableLimits
from cotenant.solvers.colocation.stable_routes import KILL_GRACE
from cotenant.solvers.colocation.to_roommates import lists_of_agents
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.roommates import (
    fewest_blocking_pairs,
    fewest_with_ties,
    is_stable_partition,
    ranks_from_cost,
)


def random_instance(rng: np.random.Generator) -> Colocation | None:
    """Seven agents at most: ties, near-ties, forbidden pairs, machines, unpaired, all different or
    not.
    """
    if rng.random() < 0.4:
        types = int(rng.integers(3, 8))
        count = np.ones(types, dtype=int)
    else:
        types = int(rng.integers(1, 6))
        count = rng.integers(0, 4, types)
    if not 2 <= count.sum() <= 7:
        return None
    penalty = np.round(rng.random((types, types)), int(rng.choice([1, 3])))
    penalty += rng.choice([0.0, 2e-10], (types, types)) * (penalty < 0.9)  # as written: no ties
    if rng.random() < 0.3:
        penalty[rng.random((types, types)) < 0.2] = np.inf
    settings: dict[str, float] = {}
    if count.sum() % 2 or rng.random() < 0.3:
        settings = (
            {"machines": float(count.sum() // 2 + 1)} if rng.random() < 0.5 else {"unpaired": 1.0}
        )
    try:
        return Colocation(penalty, count, **settings)
    except InvalidInstance:
        return None


def agrees(instance: Colocation, alpha: float, mode: str, reference: Any) -> int | None:
    """Check one instance against enumeration; returns the fewest blocking pairs."""
    expected = reference.best(instance, alpha, mode)
    found = stable(instance, alpha=alpha, alpha_mode=mode)
    fewest = expected.fewest_blocking
    if fewest is None:
        assert found.status is Status.INFEASIBLE
        return None
    first, second = found.certificate["levels"]
    assert (found.status, found.bound, first["value"]) == (Status.OPTIMAL, fewest, fewest)
    assert second["value"] == pytest.approx(expected.penalty_by_blocking[fewest], abs=1e-8)
    assert second["bound"] <= second["value"] + 1e-9
    listed = found.certificate["blocking_pairs"]
    assert (len(listed) == 0) == (fewest == 0)
    check(instance, found.solution)
    return int(fewest)


@pytest.mark.parametrize("number", numbers(220, 10))
@pytest.mark.parametrize("seed", range(4))
def test_fewest_blocking_pairs_and_then_least_penalty_equal_enumeration(
    seed: int, reference: Any, number: int
) -> None:
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(number):
        instance = random_instance(rng)
        if instance is not None:
            alpha = float(rng.choice([0.0, 0.0, 0.05, 0.1]))
            mode = str(
                rng.choice(
                    ["penalty-points", "penalty-points", "relative-penalty", "relative-throughput"]
                )
            )
            seen.append(agrees(instance, alpha, mode, reference))
    assert len(seen) > number // 3


def unsolvable(agents: int, seed: int, noise: float = 0.15) -> Colocation:
    return score_preferences(agents=agents, noise=noise, rng=np.random.default_rng(seed))


BY_PROGRAMS = StableLimits(different_agents=0, listed_agents=0)
"""The way over agents one by one is taken away."""

CHILDREN = replace(BY_PROGRAMS, child_types=0, few_types=0, few_pairs=0)
"""And decisions run in processes of their own."""


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("digits", "alpha"), [(12, 0.0), (2, 0.0), (3, 0.01)])
def test_stable_by_agents_equals_program_over_types(digits: int, alpha: float) -> None:
    values = []
    for seed in range(12):
        made = unsolvable(14, seed)
        instance = made.replace(penalty=np.round(made.penalty, digits))
        lists = lists_of_agents(instance, alpha)
        assert lists.strict == (digits == 12)
        direct = stable(instance, alpha=alpha)
        other = stable(instance, alpha=alpha, limits=BY_PROGRAMS)
        assert direct.bound == other.bound
        assert direct.certificate["levels"][1]["value"] == pytest.approx(
            other.certificate["levels"][1]["value"], abs=1e-9
        )
        values.append(direct.bound)
    assert {0.0} < set(values) or alpha, "some of them have no stable matching"


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


def test_thousand_agents_with_nearly_equal_penalties_are_strict() -> None:
    instance = score_preferences(agents=1000, rng=np.random.default_rng(0))
    gaps = np.diff(
        np.sort(np.where(np.eye(1000, dtype=bool), np.inf, instance.penalty), axis=1)[:, :-1],
        axis=1,
    )
    assert 0 < gaps.min() < 1e-9
    lists = lists_of_agents(instance)
    assert lists.strict
    assert fewest_blocking_pairs(lists.place).proved
    assert fewest_blocking_pairs(lists.place).value == 1


@pytest.mark.parametrize("mode", ALPHA_MODES)
def test_alpha_below_all_differences_keeps_lists_strict(mode: str) -> None:
    instance = Colocation(
        np.array([[9, 1, 2, 3], [2, 9, 1, 3], [1, 2, 9, 3], [1, 2, 3, 9]]) / 10, np.ones(4)
    )
    lists = lists_of_agents(instance, 0.01, mode)
    assert lists.strict
    lists = lists_of_agents(instance, 0.1 if mode != "relative-penalty" else 0.5, mode)
    assert lists.strict == (mode == "relative-throughput")


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


@pytest.mark.slow
def test_second_level_in_child_process_has_same_result() -> None:
    for seed in range(3):
        instance = with_ties(30, 30, seed)
        here = stable(instance)
        apart = stable(instance, time_limit=600, limits=StableLimits(child_pairs=0))
        assert here.certificate["levels"] == apart.certificate["levels"]
        assert here.certificate["levels"][1]["status"] == "optimal"
        if here.bound == 0:
            return
    raise AssertionError("none of them has a pairing without a blocking pair")


def test_killed_second_level_keeps_best_tie_breaking(
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


@pytest.mark.slow
def test_stable_program_and_long_search_decide_hard_instance() -> None:
    limits = StableLimits(probe_seconds=1e-9, exact_penalty=0)
    values = set()
    for seed, noise in ((0, 0.03), (1, 0.03), (2, 0.03), (4, 0.01)):
        made = score_preferences(agents=40, noise=noise, rng=np.random.default_rng(seed))
        instance = made.replace(penalty=np.round(made.penalty, 3))
        found = stable(instance, limits=limits)
        expected = fewest_with_ties(lists_of_agents(instance))
        assert found.status is Status.OPTIMAL
        assert found.bound == expected.value
        if found.bound and expected.finished[:1] == (
            0,
        ):  # no partition tells that zero is impossible
            approved(found.certificate["proof"])
            assert found.certificate.get("exhausted", []) == list(range(1, int(found.bound)))
            values.add(found.bound)
        if found.bound == 0:
            assert found.certificate["levels"][1]["status"] == "optimal"
            values.add(found.bound)
    assert values == {0.0, 1.0, 2.0}


@pytest.mark.slow
def test_missing_perfect_pairing_is_proved_by_maximum_matching() -> None:
    # hubs go with everyone; two more odd cliques than hubs, which go only with hubs
    hubs, size = 10, 5
    agents = hubs + (hubs + 2) * size
    penalty = np.full((agents, agents), np.inf)
    penalty[:hubs], penalty[:, :hubs] = 0.3, 0.3
    for clique in range(hubs + 2):
        part = slice(hubs + clique * size, hubs + (clique + 1) * size)
        penalty[part, part] = 0.2
    instance = Colocation(penalty, np.ones(agents))
    for method in ("optimal", "stable"):
        assert cotenant.solve(instance, method, time_limit=600).status is Status.INFEASIBLE
    assert (
        cotenant.solve(
            instance.replace(machines=agents // 2 + 1), "optimal", time_limit=60
        ).solution
        is not None
    )


@pytest.mark.parametrize("agents", [1000, 1_000_000])
def test_thousand_and_million_agents_of_twenty_types_are_proved(agents: int) -> None:
    instance = population(agents=agents, rng=np.random.default_rng(0))
    found = stable(instance, time_limit=60)
    assert (found.bound, found.status) == (0.0, Status.OPTIMAL)
    assert blocking_pairs(instance, found.solution).count == 0


@pytest.mark.slow
def test_engines_agree_that_zero_is_impossible_with_odd_counts() -> None:
    instance = population(agents=1000, rng=np.random.default_rng(1))
    found = stable(instance, engine="cp-sat", time_limit=600)  # HiGHS: docs/errata.md, run as it is
    assert (found.bound, found.status) == (1.0, Status.OPTIMAL)
    assert "impossible" in found.certificate["proof"]


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_exchange_search_counts_correctly_and_reaches_minimum(seed: int, reference: Any) -> None:
    rng = np.random.default_rng(seed)
    tried = 0
    while tried < 25:
        made = random_instance(rng)
        if made is None:
            continue
        kinds = made.agent_types()
        every = [
            Pairing.from_partners(kinds, np.array(partner), made.types)
            for partner in reference.pairings(made)
        ]
        if not every:
            continue
        tried += 1
        wide = np.round(rng.random((2, *made.penalty.shape)) * 0.2, 2)
        high = np.minimum(made.penalty + wide[1], np.where(made.penalty < 1, 1.0, made.penalty))
        instance = made.replace(low=made.penalty - wide[0], high=high)
        given: Any = (
            float(rng.choice([0.0, 0.1])),
            rng.choice(ALPHA_MODES),
            rng.choice(["none", "certain", "possible"]),
        )
        fewest = min(blocking_pairs(instance, pairing, *given).count for pairing in every)
        exchanges = Exchanges(instance, *given)
        best = start = every[int(rng.integers(len(every)))]
        assert exchanges.state(start)[2] == blocking_pairs(instance, start, *given).count
        for found in itertools.islice(exchanges.search(start, rng, fewest), 60):
            best = best if found is None else found
        check(instance, best)
        assert blocking_pairs(instance, best, *given).count == fewest


def _in_need_of_a_decision() -> Colocation:
    """Ties among agents that all differ, and no pairing without a blocking pair."""
    cycle = np.array([[9, 1, 2, 3], [2, 9, 1, 3], [1, 2, 9, 3], [1, 1, 1, 9]]) / 10
    return Colocation(penalty=cycle, count=np.ones(4))


@pytest.mark.slow
def test_decision_in_child_process_is_the_same() -> None:
    instance = _in_need_of_a_decision()
    here = stable(instance, time_limit=60, limits=BY_PROGRAMS)
    apart = stable(instance, time_limit=60, limits=CHILDREN)
    assert (apart.bound, apart.status) == (here.bound, here.status) == (1.0, Status.OPTIMAL)


def test_killed_decision_keeps_incumbent_and_reports_it(
    engines: Callable[..., None],
) -> None:
    engines(call_in_subprocess=lambda *given, **options: None)
    ended = stable(_in_need_of_a_decision(), time_limit=60, limits=CHILDREN)
    assert (ended.status, ended.stop, ended.bound) == (Status.FEASIBLE, Stop.TIME_LIMIT, 0.0)
    assert ended.solution is not None


@pytest.mark.slow
@pytest.mark.parametrize("types", [12, 40])
def test_programs_of_large_instance_end_at_time_limit(
    types: int, engines: Callable[..., None]
) -> None:
    """Zero is impossible, so that no exchange ends the search before."""
    rng = np.random.default_rng(6)
    instance = Colocation(rng.random((types, types)), np.full(types, 5))
    asked: list[str] = []

    def deaf(
        function: Any, *given: Any, hard_limit: float, time_limit: float, **options: Any
    ) -> None:
        assert time_limit <= hard_limit <= 20.0 + KILL_GRACE
        asked.append(function.__name__)

    engines(call_in_subprocess=deaf, solve_program=None)
    limits = StableLimits(child_pairs=0, child_types=0, listed_agents=0)
    found = stable(instance, time_limit=20, limits=limits)
    programs = ["at_most_blocking", "fewest_blocking", "at_most_blocking"]
    assert asked == [*["find_stable"] * (types == 12), *programs]
    assert (found.status, found.stop, found.bound) == (Status.FEASIBLE, Stop.TIME_LIMIT, 0.0)
