"""The colocation policies: each rule worked by hand and against a plain agent-by-agent twin, and
every answer feasible.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from support.messages import refused
from support.small_cases import colocations

from cotenant.baselines.colocation import (
    complementary,
    greedy,
    marriage_partition,
    marriage_random,
    roommates,
    threshold,
)
from cotenant.baselines.colocation.matching import _reduced, roommate_lists
from cotenant.instances.colocation import Colocation, Pairing, check
from cotenant.instances.problem import InvalidInstance, InvalidOption, NoSolution
from cotenant.instances.problem.options import accepted

made: Any = Colocation  # lists serve as arrays here

POLICIES: dict[str, Callable[..., Pairing]] = {
    "GR": greedy,
    "CO": complementary,
    "SMR": marriage_random,
    "SMP": marriage_partition,
    "SR": roommates,
    "threshold": threshold,
}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in POLICIES),
    ("GR", {"order": "random"}),
    ("GR", {"fill": True}),
    ("GR", {"fill": True, "order": "random"}),
    ("SR", {"completion": "pair"}),
    ("threshold", {"order": "random", "tolerance": 0.06}),
]


def pairs_of(pairing: Pairing) -> list[tuple[int, int, int]]:
    return list(map(tuple, np.stack([pairing.first, pairing.second, pairing.pairs], 1).tolist()))


def four_users() -> Colocation:
    """After Cooper fig. 2: pairing A with D and B with C costs least, but A and B prefer each
    other.
    """
    penalty = np.array([
        [0.00, 0.02, 0.05, 0.09],  # A: x264
        [0.02, 0.00, 0.04, 0.06],  # B: fluidanimate
        [0.03, 0.01, 0.00, 0.15],  # C: decision-tree
        [0.01, 0.03, 0.10, 0.00],  # D: regression
    ])  # fmt: skip
    bandwidth = np.array([4.0, 5.52, 21.03, 14.66])
    return Colocation(penalty, np.ones(4, dtype=int), bandwidth=bandwidth, names=tuple("ABCD"))


AD_BC, AB_CD, AC_BD = [(0, 3, 1), (1, 2, 1)], [(0, 1, 1), (2, 3, 1)], [(0, 2, 1), (1, 3, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=lambda value: str(value))
def test_policies_pair_every_instance_that_has_a_pairing(
    name: str, options: dict[str, Any]
) -> None:
    impossible = 0
    odd = beside_each([3, 3])
    for seed, instance in enumerate([odd, *colocations(range(30_000, 30_200))]):
        drawn = accepted(POLICIES[name], {"rng": np.random.default_rng(seed)})
        try:
            check(instance, POLICIES[name](instance, **drawn, **options))
        except NoSolution:
            impossible += 1
            assert not has_pairing(instance)
    assert impossible


def has_pairing(instance: Colocation) -> bool:
    """By maximum matching over agents."""
    types = instance.agent_types()
    graph = nx.Graph(
        (i, j)
        for i, j in itertools.combinations(range(len(types)), 2)
        if instance.allowed[types[i], types[j]]
    )
    pairs = len(nx.max_weight_matching(graph, maxcardinality=True))
    return len(types) - 2 * pairs <= instance.singles_allowed


def four(penalty: float | npt.ArrayLike, /, **entries: float) -> Colocation:
    """Four agents of a type each; entries such as c_a, what C loses beside A."""
    matrix = np.broadcast_to(penalty, (4, 4)).astype(float)
    for name, value in entries.items():
        one, other = ("abcd".index(letter) for letter in name.split("_"))
        matrix[one, other] = value
    return made(matrix, [1] * 4, bandwidth=four_users().bandwidth, names=tuple("ABCD"))


def beside_each(count: list[int], **fields: Any) -> Colocation:
    """Types that share with their own kind only."""
    apart = np.where(np.eye(len(count)), 0.1, np.inf)
    return made(apart, count, bandwidth=np.arange(1.0, len(count) + 1), **fields)


USERS = four_users().penalty
CIRCLE = [[0, 0.1, 0.2, 0.3], [0.2, 0, 0.1, 0.3], [0.1, 0.2, 0, 0.3], [0.05, 0.04, 0.01, 0]]
"""Gale and Shapley's four: 0, 1, 2 each want the next of them most and 3 least; nobody settles."""

NOBODY = [0, 0, 0, 0]
BY_HAND: list[tuple[str, dict[str, Any], Colocation, Any, list[int]]] = [
    # A and B open processors; C adds .08 beside A, .05 beside B; D must take A
    ("GR", {}, four_users(), AD_BC, NOBODY),
    # C suffers little beside A but hurts it
    ("GR", {}, four(0.5, c_a=0.01, a_c=0.6, c_b=0.2, b_c=0.2), AD_BC, NOBODY),
    # ties go to the lowest processor, and a free pair beats an empty one
    ("GR", {}, four(0.1), AC_BD, NOBODY),
    ("GR", {}, four(0.0), AB_CD, NOBODY),
    # .1 + .2 is .3 + 0, though floats say that it is more
    ("GR", {}, four(0.5, c_a=0.1, a_c=0.2, c_b=0.3, b_c=0.0), AC_BD, NOBODY),
    ("GR", {"fill": True}, four(0.5, a_b=0.1, b_a=0.2, a_c=0.3, c_a=0.0), AB_CD, NOBODY),
    # spare machines are used first; D adds .09 beside B, .10 beside A
    ("GR", {}, four_users().replace(machines=4), [], [1, 1, 1, 1]),
    ("GR", {}, four_users().replace(machines=3), [(1, 3, 1)], [1, 0, 1, 0]),
    ("GR", {"fill": True}, four_users(), AB_CD, NOBODY),
    ("GR", {"fill": True}, four_users().replace(machines=4), AB_CD, NOBODY),
    # A-B (.02, .02) share; C finds A-B full, so it opens; D would lose .10 beside C: it opens too
    ("threshold", {"tolerance": 0.03}, four_users().replace(machines=4), [(0, 1, 1)], [0, 0, 1, 1]),
    ("threshold", {"tolerance": 0.16}, four_users().replace(machines=4), AB_CD, NOBODY),
    ("threshold", {"tolerance": 0.001}, four_users().replace(machines=4), [], [1, 1, 1, 1]),
    # both have to be under the tolerance; when machines run out, the cheapest resident
    ("threshold", {}, made([[0, 0.01], [0.3, 0]], [1, 1], machines=2), [], [1, 1]),
    ("threshold", {"tolerance": 0.001}, four_users(), AD_BC, NOBODY),
    # 4.0 with 21.03, 5.52 with 14.66; equal bandwidths follow the index; the middle one is left
    ("CO", {}, four_users(), AC_BD, NOBODY),
    ("CO", {}, four(0.0).replace(bandwidth=[2.0] * 4), AD_BC, NOBODY),
    ("CO", {}, made(np.zeros((3, 3)), [3, 1, 3], bandwidth=[1.0, 2.0, 3.0], machines=4),
     [(0, 2, 3)], [0, 1, 0]),
    ("CO", {}, four(USERS, a_c=np.inf), AD_BC, NOBODY),
    # C and D propose to A and B. C prefers B (.01), D prefers A (.01): nobody is rejected
    ("SMP", {}, four_users(), AD_BC, NOBODY),
    ("SMP", {}, four(USERS, d_b=0.001), AD_BC, NOBODY),  # B prefers C (.04) to D (.06)
    ("SMR", {}, made([[0.2]], [6]), [(0, 0, 3)], [0]),
    ("SR", {}, four(CIRCLE), AB_CD, NOBODY),  # 0 takes 1, its own best
    ("SR", {"completion": "pair"}, four(CIRCLE), AB_CD, NOBODY),  # 0-1, 0-2 and 1-2 tie at .3
    ("SR", {}, four(CIRCLE, b_a=0.29), AB_CD, NOBODY),
    ("SR", {"completion": "pair"}, four(CIRCLE, b_a=0.29), AC_BD, NOBODY),
    # the left over run alone on spare machines, and else share
    ("CO", {}, beside_each([2, 2], machines=4), [], [2, 2]),
    ("CO", {}, beside_each([2, 2]), [(0, 0, 1), (1, 1, 1)], [0, 0]),
    # nobody stays unpaired beside an acceptable agent that is left over
    *((name, {}, beside_each([2, 3], unpaired=1.0), [(0, 0, 1), (1, 1, 1)], [0, 1])
      for name in POLICIES),
    *((name, {}, made([[0.1]], [1], bandwidth=[1.0], machines=1), [], [1]) for name in POLICIES),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "instance", "pairs", "alone"), BY_HAND)
def test_colocation_policies_equal_hand_calculation(
    name: str, options: dict[str, Any], instance: Colocation, pairs: Any, alone: list[int]
) -> None:
    pairing = POLICIES[name](instance, **options)
    assert (pairs_of(pairing), pairing.single.tolist()) == (pairs, alone)


def twin_greedy(instance: Colocation, tolerance: float | None = None) -> Pairing | None:
    """The rule of `greedy` (or `threshold`), one agent and one processor at a time; None when a
    task finds no place.
    """
    types = instance.agent_types()
    half = (len(types) + 1) // 2
    machines = half if instance.machines is None else int(min(instance.machines, len(types)))
    processors: list[list[int]] = [[] for _ in range(machines)]
    for agent, kind in enumerate(types):
        best, place = np.inf, -1
        for index, tasks in enumerate(processors):
            if not tasks:
                added = 0.0 if tolerance is None else -1.0
            elif len(tasks) == 1 and instance.allowed[kind, types[tasks[0]]]:
                beside = types[tasks[0]]
                own, other = instance.penalty[kind, beside], instance.penalty[beside, kind]
                added = round(own + other, 12)
                if tolerance is not None:
                    added = -2.0 if max(own, other) < tolerance else added
            else:
                continue
            if added < best:
                best, place = added, index
        if place < 0:
            return None
        processors[place].append(agent)
    partner = np.full(len(types), -1)
    for tasks in processors:
        if len(tasks) == 2:
            partner[tasks[0]], partner[tasks[1]] = tasks[1], tasks[0]
    return Pairing.from_partners(types, partner, instance.types)


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [None, 0.10])
def test_greedy_and_threshold_over_types_equal_agent_by_agent_implementations(
    tolerance: float | None,
) -> None:
    compared = 0
    for instance in colocations(range(5_000, 5_300)):
        expected = twin_greedy(instance, tolerance)
        if expected is None or instance.unpaired is not None:
            continue
        found = greedy(instance) if tolerance is None else threshold(instance, tolerance=tolerance)
        assert found == expected
        compared += 1
    assert compared > 100


@pytest.mark.parametrize("order", ["index", "random"])
def test_greedy_fill_over_types_equals_agent_by_agent_implementation(order: Any) -> None:
    for seed, instance in enumerate(colocations(range(9_000, 9_100))):
        if not np.isfinite(instance.penalty[np.ix_(instance.count > 0, instance.count > 0)]).all():
            continue
        rng = np.random.default_rng(seed)
        types = instance.agent_types()
        types = types if order == "index" else rng.permutation(types)
        partner = np.full(len(types), -1)
        for i in range(len(types)):
            free = [j for j in range(len(types)) if partner[j] < 0 and j != i]
            if partner[i] >= 0 or not free:
                continue
            both = instance.penalty + instance.penalty.T
            added = [round(both[types[i], types[j]], 12) for j in free]
            # ties to the lowest type, then the next of it
            j = min(zip(added, types[free], free, strict=True))[2]
            partner[i], partner[j] = j, i
        found = greedy(instance, fill=True, order=order, rng=np.random.default_rng(seed))
        assert found == Pairing.from_partners(types, partner, instance.types)


@pytest.mark.parametrize("policy", [complementary, marriage_partition])
def test_policies_by_bandwidth_name_missing_field(policy: Callable[..., Pairing]) -> None:
    with refused(InvalidInstance):
        policy(made(np.zeros((2, 2)), [1, 1]))


def agents_married(
    instance: Colocation, proposing: list[int], receiving: list[int]
) -> npt.NDArray[np.int64]:
    """Deferred acceptance as in Cooper's algorithm 1, one proposal after the other; ties by
    index.
    """
    types = instance.agent_types()
    cost = np.where(instance.allowed, instance.penalty, np.inf)[np.ix_(types, types)]
    lists = {
        m: sorted((w for w in receiving if np.isfinite(cost[m, w])), key=lambda w: (cost[m, w], w))
        for m in proposing
    }
    partner = np.full(len(types), -1)
    free = list(proposing)
    while free:
        m = free.pop()
        if not lists[m]:
            continue
        w = lists[m].pop(0)
        rival = int(partner[w])
        if rival < 0 or (cost[w, m], m) < (cost[w, rival], rival):
            partner[w], partner[m] = m, w
            if rival >= 0:
                partner[rival] = -1
                free.append(rival)
        else:
            free.append(m)
    return partner


@pytest.mark.slow
def test_marriage_over_types_equals_marriage_of_agents() -> None:
    compared = 0
    for instance in colocations(range(20_000, 20_300)):
        types = instance.agent_types()
        bandwidth = instance.bandwidth
        assert bandwidth is not None
        ascending = sorted(range(len(types)), key=lambda agent: (bandwidth[types[agent]], agent))
        upper = len(types) // 2
        lower, higher = ascending[: len(types) - upper], ascending[len(types) - upper :]
        partner = agents_married(instance, sorted(higher), sorted(lower))
        expected = Pairing.from_partners(types, partner, instance.types)
        if instance.unpaired is None and expected.single.sum() <= instance.singles_allowed:
            assert marriage_partition(instance) == expected
            compared += 1
    assert compared > 50


@pytest.mark.slow
def test_irving_on_types_equals_irving_on_agents() -> None:
    from cotenant.solvers.roommates import irving

    unsolvable = rotations = 0
    for seed in range(250):
        rng = np.random.default_rng([41, seed])
        types = int(rng.integers(1, 9))
        penalty = rng.random((types, types)).round(int(rng.integers(1, 3)))
        if rng.random() < 0.5:
            penalty[rng.random((types, types)) < 0.2] = np.inf
        count = rng.integers(0, int(rng.integers(2, 14)), types)
        if count.sum() == 0:
            continue
        instance = Colocation(penalty, count, machines=np.inf)
        for ties in ("index", "own"):
            agents = irving(roommate_lists(instance, ties, np.random.default_rng(seed)))
            kinds = _reduced(instance, ties, np.random.default_rng(seed))
            assert kinds.partner.tolist() == agents.partner.tolist(), (seed, ties)
            assert kinds.unsettled.tolist() == agents.unsettled.tolist()
            for name in ("stable", "proposals", "rotations"):
                assert getattr(kinds, name) == getattr(agents, name), (seed, ties)
            unsolvable, rotations = unsolvable + (not agents.stable), rotations + agents.rotations
    assert unsolvable > 50
    assert rotations > 100


def test_roommates_policy_refuses_too_large_instance_before_any_work() -> None:
    instance = made(np.random.default_rng(0).random((4, 4)), [10_000] * 4)
    with refused(InvalidOption):
        roommates(instance, ties="own")
    with refused(InvalidOption):
        roommates(instance, time_limit=3.0)
