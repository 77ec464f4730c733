"""The policies of groups: hand-worked cases, the theorem on sorting, and that every answer is
feasible.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.group_cases import machines_of

from cotenant.baselines import groups as policies
from cotenant.baselines.groups import (
    greedy,
    hierarchical,
    local_search,
    random_grouping,
    serpentine,
    sorted_by_pressure,
    threshold,
)
from cotenant.instances.groups import Grouping, Groups, blocking_groups, check
from cotenant.instances.groups.generators import additive, pressure
from cotenant.instances.groups.stability import swap_blocking_pairs, total_units

EVERY = [getattr(policies, name) for name in policies.__all__]

LINE = Groups(
    count=[1, 2, 2, 1], seats=[3], machines=[2], pressure=[4, 3, 2, 1], knots=[0, 8],
    sensitivity=[[0, 0.8]] * 4,
)  # fmt: skip
"""Everyone loses a tenth of the pressure beside it."""


def test_serpentine_and_sorted_groupings_equal_hand_calculation() -> None:
    # 4 3 | 2 3 turned round | 2 1
    assert machines_of(serpentine(LINE)) == ((0, (0, 2, 2)), (0, (1, 1, 3)))
    assert machines_of(sorted_by_pressure(LINE)) == ((0, (0, 1, 1)), (0, (2, 2, 3)))


@pytest.mark.parametrize("seed", range(8))
def test_sorted_grouping_is_in_core_of_pressure_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    types, seats = int(rng.integers(2, 9)), int(rng.integers(2, 5))
    one = pressure(types=types, jobs=int(rng.integers(8, 400)), seats=seats, rng=rng)
    few = one.jobs // (2 * seats)
    two = one.replace(  # two classes of machines, of curves that differ, and seats to spare
        seats=[seats, 2], machines=[few, one.jobs], classes=(),
        sensitivity=np.stack([one.sensitivity, one.sensitivity / 2]),
    )  # fmt: skip
    for instance in (one, two, one.replace(machines=[np.inf])):
        found = sorted_by_pressure(instance)
        assert blocking_groups(instance, found).count == 0
        # one's gain is the other's loss
        for policy in (serpentine, random_grouping):
            assert swap_blocking_pairs(one, policy(one, rng=rng)) == 0


def test_greedy_grouping_adds_least_penalty() -> None:
    # a and b spread out; c adds .1 beside b and .5 beside a; the last c adds .8 there, .5 beside a
    penalty = [[0, 0.01, 0.2], [0.01, 0, 0.1], [0.3, 0, 0.35]]
    instance = Groups(count=[1, 1, 2], seats=[3], machines=[2], penalty=penalty)
    assert machines_of(greedy(instance)) == ((0, (0, 2)), (0, (1, 2)))


def test_threshold_grouping_respects_tolerance() -> None:
    penalty = [[0.04, 0.02], [0.02, 0.2]]
    instance = Groups(count=[3, 2], seats=[3], machines=[5], penalty=penalty)
    # three of the first would lose .08 each; the second never share with each other
    assert machines_of(threshold(instance)) == ((0, (0, 0, 0)), (0, (1,)), (0, (1,)))
    found = threshold(instance, tolerance=0.08)  # not less than .08
    assert machines_of(found) == ((0, (0, 0, 1)), (0, (0, 1)))
    # machines run out: above the tolerance, where it adds least
    tight = instance.replace(machines=[2])
    check(tight, threshold(tight, tolerance=0.01))


def test_hierarchical_grouping_pairs_pairs() -> None:
    # each of the first is best beside one of the second, and such pairs beside each other
    penalty = np.full((2, 2), 0.2) - 0.15 * np.eye(2)[::-1]
    instance = Groups(count=[4, 4], seats=[4], machines=[2], penalty=penalty)
    assert machines_of(hierarchical(instance)) == ((0, (0, 0, 1, 1)),) * 2


@pytest.mark.parametrize("seed", range(8))
def test_local_search_grouping_is_swap_optimal(seed: int) -> None:
    instance = additive(types=4, jobs=11, seats=3, rng=np.random.default_rng(seed))
    found = local_search(instance, begin="random", rng=np.random.default_rng(seed))
    machines = [list(types) + [-1] * (3 - len(types)) for _, types in machines_of(found)]
    value = total_units(instance, found)
    assert value <= total_units(
        instance, random_grouping(instance, rng=np.random.default_rng(seed))
    )
    for one, other in itertools.combinations(range(len(machines)), 2):
        for a, b in itertools.product(range(3), repeat=2):
            changed = [list(row) for row in machines]
            changed[one][a], changed[other][b] = changed[other][b], changed[one][a]
            swapped = Grouping(changed, [0] * len(changed), [1] * len(changed))
            assert total_units(instance, swapped) >= value


@pytest.mark.parametrize("policy", EVERY)
def test_group_policies_respect_forbidden_groups_and_classes(policy: object) -> None:
    rng = np.random.default_rng(5)
    penalty = rng.integers(0, 30, size=(6, 6)) / 100
    penalty[0, 1] = penalty[2, 3] = np.inf
    instance = Groups(count=[5, 5, 4, 4, 8, 8], seats=[4, 2], machines=[6, np.inf], penalty=penalty)
    check(instance, policy(instance, rng=np.random.default_rng(1)))  # type: ignore[operator]


@pytest.mark.parametrize("policy", EVERY)
def test_group_policies_on_one_and_on_half_a_million_jobs_are_feasible(policy: object) -> None:
    alone = Groups(count=[1], seats=[4], penalty=[[0.5]])
    found = policy(alone)  # type: ignore[operator]
    assert machines_of(found) == ((0, (0,)),)
    many = additive(types=3, jobs=500_000, seats=3, rng=np.random.default_rng(0))
    check(many, policy(many))  # type: ignore[operator]
