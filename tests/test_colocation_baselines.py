"""The colocation policies: each rule worked by hand and against a plain agent-by-agent twin, and
every answer feasible.
"""

from __future__ import annotations

import importlib
import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from support.measured import DATA, needs_data
from support.messages import refused

from cotenant.baselines.colocation import (
    complementary,
    greedy,
    marriage_partition,
    marriage_random,
    roommates,
    threshold,
)
from cotenant.baselines.colocation.matching import roommate_lists
from cotenant.instances.colocation import Colocation, Pairing, blocking_pairs, check
from cotenant.instances.colocation.formats import fair_co2
from cotenant.instances.colocation.generators import population
from cotenant.instances.colocation.objective import mean_penalty
from cotenant.instances.problem import InvalidInstance, InvalidOption, NoSolution

matching = importlib.import_module("cotenant.baselines.colocation.matching")

INTERFERENCE = DATA / "interference"

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


def random_instance(seed: int) -> Colocation | None:
    """Small instances with every corner: ties, forbidden pairs, zero counts, odd totals, machines,
    unpaired, T = n.
    """
    rng = np.random.default_rng(seed)
    types = int(rng.integers(1, 7))
    shape = (types, types)
    penalty = (
        rng.choice([0, 0.05, 0.08, 0.12, 0.3, -0.01], shape)
        if seed % 2
        else rng.random(shape) * 0.4 - 0.02
    )
    if seed % 3:
        penalty = np.where(rng.random(shape) < 0.25, np.inf, penalty)
    count = rng.integers(0, 4, types) if seed % 4 else np.ones(types, dtype=int)
    half = float((count.sum() + 1) // 2)
    capacity: list[dict[str, Any]] = [
        {}, {"machines": half + int(rng.integers(0, 3))}, {"machines": np.inf}, {"unpaired": 1.0},
        {},
    ]  # fmt: skip
    try:
        return Colocation(
            penalty, count, bandwidth=rng.choice([1.0, 2.0, 3.5], types), **capacity[seed % 5]
        )
    except InvalidInstance:
        return None


def random_instances(number: int, start: int = 0) -> Iterator[tuple[int, Colocation]]:
    found = ((seed, random_instance(seed)) for seed in itertools.count(start))
    return itertools.islice(
        ((seed, instance) for seed, instance in found if instance is not None), number
    )


def pairs_of(pairing: Pairing) -> list[tuple[int, int, int]]:
    return list(
        zip(pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True)
    )


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


# --- the battery ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=lambda value: str(value))
def test_every_policy_is_feasible_wherever_a_pairing_exists(
    name: str, options: dict[str, Any]
) -> None:
    impossible = 0
    for seed, instance in random_instances(200):
        try:
            check(instance, POLICIES[name](instance, rng=np.random.default_rng(seed), **options))
        except NoSolution:
            impossible += 1
            assert not has_pairing(instance)
    assert 0 < impossible < 20


def has_pairing(instance: Colocation) -> bool:
    """By maximum matching over agents."""
    types = instance.agent_types()
    graph = nx.Graph(
        (i, j)
        for i, j in itertools.combinations(range(len(types)), 2)
        if instance.allowed[types[i], types[j]]
    )
    return (
        len(types) - 2 * len(nx.max_weight_matching(graph, maxcardinality=True))
        <= instance.singles_allowed
    )


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=lambda value: str(value))
def test_the_same_seed_gives_the_same_pairing(name: str, options: dict[str, Any]) -> None:
    instance = population(agents=60, rng=np.random.default_rng(1))
    runs = [POLICIES[name](instance, rng=np.random.default_rng(5), **options) for _ in range(2)]
    assert runs[0] == runs[1]
    assert POLICIES[name](instance, **options) == POLICIES[name](
        instance, rng=np.random.default_rng(0), **options
    )


@pytest.mark.parametrize("name", ["SMR", "GR"])
def test_random_draws_follow_the_seed(name: str) -> None:
    instance = population(agents=60, rng=np.random.default_rng(1))
    options = {"order": "random"} if name == "GR" else {}
    drawn = [
        POLICIES[name](instance, rng=np.random.default_rng(seed), **options) for seed in range(5)
    ]
    assert any(pairing != drawn[0] for pairing in drawn)


@pytest.mark.parametrize("name", POLICIES)
def test_instances_are_not_changed_and_time_limits_are_checked(name: str) -> None:
    instance = four_users()
    POLICIES[name](instance, time_limit=1.0)
    assert instance == four_users()
    with refused(InvalidOption):
        POLICIES[name](instance, time_limit=0)


@pytest.mark.parametrize("name", POLICIES)
def test_one_agent_with_a_machine_runs_alone(name: str) -> None:
    instance = made([[0.1]], [1], bandwidth=[1.0], machines=1)
    assert POLICIES[name](instance).single.tolist() == [1]


# --- greedy ---------------------------------------------------------------------------------------


def test_greedy_spreads_the_first_half_out_then_joins_the_cheapest_resident() -> None:
    # A and B open processors; C adds .08 beside A, .05 beside B; D must take A.
    assert pairs_of(greedy(four_users())) == AD_BC


def test_greedy_counts_the_residents_loss_too() -> None:
    penalty = np.zeros((4, 4)) + 0.5
    penalty[2, 0], penalty[0, 2] = 0.01, 0.60  # C suffers little beside A but hurts it
    penalty[2, 1], penalty[1, 2] = 0.20, 0.20
    assert pairs_of(greedy(made(penalty, [1, 1, 1, 1]))) == AD_BC


def test_greedy_ties_go_to_the_lowest_processor_and_a_free_pair_beats_an_empty_one() -> None:
    assert pairs_of(greedy(made(np.full((4, 4), 0.1), [1, 1, 1, 1]))) == AC_BD
    assert pairs_of(greedy(made(np.zeros((4, 4)), [1, 1, 1, 1]))) == AB_CD


@pytest.mark.parametrize("fill", [False, True])
def test_greedy_ties_are_ties_of_sums_of_decimals(fill: bool) -> None:
    """.1 + .2 is .3 + 0, though floats say that it is more."""
    penalty = np.full((4, 4), 0.5)
    penalty[2, 0], penalty[0, 2] = 0.1, 0.2
    penalty[2, 1], penalty[1, 2] = 0.3, 0.0
    order = [1, 1, 1, 1]
    if fill:  # the first in turn chooses between the second and the third
        penalty[[0, 1]], penalty[:, [0, 1]] = 0.5, 0.5
        penalty[0, 1], penalty[1, 0] = 0.1, 0.2
        penalty[0, 2], penalty[2, 0] = 0.3, 0.0
    assert pairs_of(greedy(made(penalty, order), fill=fill)) == (AB_CD if fill else AC_BD)


def test_greedy_uses_spare_machines_before_it_shares() -> None:
    instance = four_users()
    assert greedy(instance.replace(machines=4)).single.tolist() == [1, 1, 1, 1]
    three = greedy(instance.replace(machines=3))
    assert (pairs_of(three), three.single.tolist()) == (
        [(1, 3, 1)],
        [1, 0, 1, 0],
    )  # D adds .09 beside B, .10 beside A


def test_greedy_fill_gives_each_task_in_turn_its_cheapest_free_partner() -> None:
    assert pairs_of(greedy(four_users(), fill=True)) == AB_CD
    assert pairs_of(greedy(four_users().replace(machines=4), fill=True)) == AB_CD


def twin_greedy(instance: Colocation, tolerance: float | None = None) -> Pairing | None:
    """The rule of `greedy` (or `threshold`), one agent and one processor at a time; None when a
    task finds no place.
    """
    types = instance.agent_types()
    machines = (
        (len(types) + 1) // 2
        if instance.machines is None
        else int(min(instance.machines, len(types)))
    )
    processors: list[list[int]] = [[] for _ in range(machines)]
    for agent, kind in enumerate(types):
        best, place = np.inf, -1
        for index, tasks in enumerate(processors):
            if not tasks:
                added = 0.0 if tolerance is None else -1.0
            elif len(tasks) == 1 and instance.allowed[kind, types[tasks[0]]]:
                own, other = (
                    instance.penalty[kind, types[tasks[0]]],
                    instance.penalty[types[tasks[0]], kind],
                )
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


@pytest.mark.parametrize("tolerance", [None, 0.10])
def test_greedy_and_threshold_over_types_equal_their_agent_by_agent_twins(
    tolerance: float | None,
) -> None:
    compared = 0
    for _, instance in random_instances(300, start=5000):
        expected = twin_greedy(instance, tolerance)
        if expected is None or instance.unpaired is not None:
            continue
        found = greedy(instance) if tolerance is None else threshold(instance, tolerance=tolerance)
        assert found == expected
        compared += 1
    assert compared > 100


@pytest.mark.parametrize("order", ["index", "random"])
def test_greedy_fill_over_types_equals_its_agent_by_agent_twin(order: Any) -> None:
    for seed, instance in random_instances(200, start=9000):
        if not np.isfinite(instance.penalty[np.ix_(instance.count > 0, instance.count > 0)]).all():
            continue
        rng = np.random.default_rng(seed)
        types = (
            instance.agent_types() if order == "index" else rng.permutation(instance.agent_types())
        )
        partner = np.full(len(types), -1)
        for i in range(len(types)):
            free = [j for j in range(len(types)) if partner[j] < 0 and j != i]
            if partner[i] >= 0 or not free:
                continue
            added = [
                round(
                    instance.penalty[types[i], types[j]] + instance.penalty[types[j], types[i]], 12
                )
                for j in free
            ]
            j = min(zip(added, types[free], free, strict=True))[
                2
            ]  # ties to the lowest type, then the next of it
            partner[i], partner[j] = j, i
        found = greedy(instance, fill=True, order=order, rng=np.random.default_rng(seed))
        assert found == Pairing.from_partners(types, partner, instance.types)


# --- threshold ------------------------------------------------------------------------------------


def test_threshold_shares_under_the_tolerance_and_else_starts_a_machine() -> None:
    instance = four_users().replace(machines=4)
    strict = threshold(instance, tolerance=0.03)
    # A-B (.02, .02) share; C finds A-B full, so it opens; D would lose .10 beside C: it opens too.
    assert (pairs_of(strict), strict.single.tolist()) == ([(0, 1, 1)], [0, 0, 1, 1])
    assert pairs_of(threshold(instance, tolerance=0.16)) == AB_CD
    assert threshold(instance, tolerance=0.001).single.tolist() == [1, 1, 1, 1]


def test_threshold_needs_both_to_be_under_the_tolerance() -> None:
    penalty = np.array([[0.0, 0.01], [0.30, 0.0]])
    assert threshold(made(penalty, [1, 1], machines=2)).single.tolist() == [1, 1]


def test_threshold_joins_the_cheapest_resident_when_machines_run_out() -> None:
    assert pairs_of(threshold(four_users(), tolerance=0.001)) == AD_BC


@pytest.mark.parametrize("tolerance", [0, -0.1, 1.5, float("nan"), True])
def test_threshold_refuses_a_tolerance_out_of_range(tolerance: float) -> None:
    with refused(InvalidOption):
        threshold(four_users(), tolerance=tolerance)


# --- complementary --------------------------------------------------------------------------------


def test_complementary_pairs_the_lowest_with_the_highest_bandwidth() -> None:
    assert pairs_of(complementary(four_users())) == AC_BD  # 4.0 with 21.03, 5.52 with 14.66


def test_complementary_works_through_types_and_leaves_the_middle_one() -> None:
    instance = made(np.zeros((3, 3)), [3, 1, 3], bandwidth=[1.0, 2.0, 3.0], machines=4)
    assert pairs_of(complementary(instance)) == [(0, 2, 3)]
    assert complementary(instance).single.tolist() == [0, 1, 0]


def test_complementary_equal_bandwidths_follow_the_index() -> None:
    instance = made(np.zeros((4, 4)), [1, 1, 1, 1], bandwidth=[2.0, 2.0, 2.0, 2.0])
    assert pairs_of(complementary(instance)) == AD_BC


def test_complementary_leaves_forbidden_pairs_to_the_rest() -> None:
    penalty = four_users().penalty.copy()
    penalty[0, 2] = np.inf
    assert pairs_of(complementary(four_users().replace(penalty=penalty))) in (AD_BC, AB_CD)


@pytest.mark.parametrize("policy", [complementary, marriage_partition])
def test_policies_by_bandwidth_say_what_is_missing(policy: Callable[..., Pairing]) -> None:
    with refused(InvalidInstance):
        policy(made(np.zeros((2, 2)), [1, 1]))


# --- stable marriage ------------------------------------------------------------------------------


def test_marriage_partition_lets_the_intensive_half_propose() -> None:
    # C and D propose to A and B. C prefers B (.01), D prefers A (.01): nobody is rejected.
    assert pairs_of(marriage_partition(four_users())) == AD_BC
    penalty = four_users().penalty.copy()
    penalty[3, 1] = 0.001  # now both prefer B, who prefers C (.04) to D (.06)
    assert pairs_of(marriage_partition(four_users().replace(penalty=penalty))) == AD_BC


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


def test_marriage_over_types_equals_marriage_of_agents() -> None:
    compared = 0
    for _, instance in random_instances(200, start=20000):
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


def test_random_marriage_leaves_far_fewer_blocking_pairs_than_greedy() -> None:
    instance = population(agents=1000, rng=np.random.default_rng(0))
    counts = [
        blocking_pairs(instance, marriage_random(instance, rng=np.random.default_rng(s))).count
        for s in range(3)
    ]
    assert max(counts) < blocking_pairs(instance, greedy(instance)).count / 10


def test_marriage_of_one_type_pairs_its_agents_with_each_other() -> None:
    assert pairs_of(marriage_random(made([[0.2]], [6]))) == [(0, 0, 3)]


@pytest.mark.parametrize("policy", [marriage_random, greedy])
def test_ten_thousand_agents_are_paired(policy: Callable[..., Pairing]) -> None:
    instance = population(agents=10_000, rng=np.random.default_rng(0))
    check(instance, policy(instance))


# --- stable roommates -----------------------------------------------------------------------------


def test_the_cheapest_pairing_of_figure_2_is_unstable_and_roommates_finds_the_stable_one() -> None:
    instance = four_users()
    stable = roommates(instance)
    assert pairs_of(stable) == AB_CD
    assert blocking_pairs(instance, stable).count == 0
    costs = {}
    for name, pairs in (("AD_BC", AD_BC), ("AB_CD", AB_CD), ("AC_BD", AC_BD)):
        first, second, number = np.array(pairs).T
        pairing = Pairing(first, second, number, np.zeros(4, dtype=int))
        costs[name] = mean_penalty(instance, pairing)
        if name == "AD_BC":
            blocking = blocking_pairs(instance, pairing)
            assert (blocking.first.tolist(), blocking.second.tolist()) == ([0], [1])
    assert min(costs, key=lambda name: costs[name]) == "AD_BC"


def test_roommates_completes_an_unsolvable_instance_by_the_stated_rule() -> None:
    # Gale and Shapley's four: 0, 1, 2 each want the next of them most and 3 least; nobody settles.
    penalty = np.array(
        [[0, 0.1, 0.2, 0.3], [0.2, 0, 0.1, 0.3], [0.1, 0.2, 0, 0.3], [0.05, 0.04, 0.01, 0]]
    )
    instance = made(penalty, [1, 1, 1, 1])
    assert pairs_of(roommates(instance)) == AB_CD  # 0 takes 1, its own best
    assert pairs_of(roommates(instance, completion="pair")) == AB_CD  # 0-1, 0-2 and 1-2 tie at .3
    dearer = penalty.copy()
    dearer[1, 0] = 0.29
    assert pairs_of(roommates(instance.replace(penalty=dearer))) == AB_CD
    assert pairs_of(roommates(instance.replace(penalty=dearer), completion="pair")) == AC_BD


def test_roommates_is_stable_whenever_the_tie_broken_lists_are() -> None:
    from cotenant.solvers.roommates import irving, ranks_from_cost

    stable = 0
    for _, instance in random_instances(150, start=30000):
        types = instance.agent_types()
        block = np.ix_(types, types)
        table = irving(ranks_from_cost(np.where(instance.allowed, instance.penalty, np.inf)[block]))
        if table.stable and (table.partner >= 0).all():
            stable += 1
            assert blocking_pairs(instance, roommates(instance)).count == 0
    assert stable > 30


def test_lists_of_types_settle_as_the_lists_of_their_agents_do() -> None:
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
            kinds = matching._lists(instance, ties, np.random.default_rng(seed)).irving()
            assert kinds.partner.tolist() == agents.partner.tolist(), (seed, ties)
            assert kinds.unsettled.tolist() == agents.unsettled.tolist()
            assert (kinds.stable, kinds.proposals, kinds.rotations) == (
                agents.stable,
                agents.proposals,
                agents.rotations,
            )
            unsolvable, rotations = unsolvable + (not agents.stable), rotations + agents.rotations
    assert unsolvable > 50
    assert rotations > 100


def test_roommates_makes_no_table_of_agents_by_agents() -> None:
    rng = np.random.default_rng(0)
    instance = made(rng.random((5, 5)), [2000] * 5)
    tracemalloc.start()
    pairing = roommates(instance)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairing.agents_used().tolist() == [2000] * 5
    assert peak < 10_000 * 10_000


def test_roommates_refuses_what_is_too_large_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = importlib.import_module("cotenant.solvers.roommates.by_types")
    instance = made(np.random.default_rng(0).random((4, 4)), [100] * 4)
    monkeypatch.setattr(lists, "MOST_BYTES", 4 * 4 * 404)
    roommates(instance)
    with refused(InvalidOption):
        roommates(instance, ties="own")
    monkeypatch.setattr(matching, "A_PROPOSAL", 1.0)
    roommates(instance)
    with refused(InvalidOption):
        roommates(instance, time_limit=3.0)


@needs_data
@pytest.mark.parametrize("completion", ["individual", "pair"])
def test_roommates_on_fair_co2_has_no_blocking_pair(completion: Any) -> None:
    instance = fair_co2(INTERFERENCE / "fairco2_runtime_colocation_matrix.csv", copies=4)
    pairing = roommates(instance, completion=completion)
    assert blocking_pairs(instance, pairing).count == 0


def test_unknown_choices_are_named() -> None:
    with refused(InvalidOption):
        roommates(four_users(), completion="best")  # type: ignore[arg-type]
    for policy in (greedy, threshold):
        with refused(InvalidOption):
            policy(four_users(), order="size")  # type: ignore[arg-type]


# --- who is left over -----------------------------------------------------------------------------


def test_left_over_agents_run_alone_on_spare_machines_and_else_share() -> None:
    penalty = np.array([[0.1, np.inf, 0.2], [np.inf, 0.1, 0.2], [0.1, 0.1, 0.1]])
    spare = made(penalty, [2, 2, 0], bandwidth=[1.0, 2.0, 3.0], machines=4)
    assert complementary(spare).single.tolist() == [2, 2, 0]  # 0 beside 1 is forbidden
    assert pairs_of(complementary(spare.replace(machines=None))) == [(0, 0, 1), (1, 1, 1)]


def test_nobody_stays_unpaired_beside_an_acceptable_agent_left_over() -> None:
    penalty = np.array([[0.1, np.inf], [np.inf, 0.1]])
    lists = made(penalty, [2, 3], bandwidth=[1.0, 2.0], unpaired=1.0)
    for name in POLICIES:
        pairing = POLICIES[name](lists)
        assert (pairs_of(pairing), pairing.single.tolist()) == ([(0, 0, 1), (1, 1, 1)], [0, 1])
