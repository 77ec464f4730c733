"""Fewest blocking pairs, then least penalty, against brute force; usable pairs of types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.oracles.matchings import is_stable_partition
from support.seeds import ranges
from support.small_cases import colocations

import cotenant
from cotenant.instances.colocation import ALPHA_MODES, Colocation, blocking_pairs, check
from cotenant.instances.colocation.generators import (
    population,
    score_preferences,
)
from cotenant.models.colocation import gain_sets, stable_program
from cotenant.solvers.colocation.first_phase import usable_pairs
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.colocation.to_roommates import lists_of_agents
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status, Stop
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
