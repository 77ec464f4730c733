"""Ranks, Irving's algorithm, Tan's stable partition and blocking pairs, against all matchings of
small instances.
"""

import subprocess
import sys

import numpy as np
import pytest
from support.messages import refused
from support.oracles.matchings import counted_matchings

from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.solvers.roommates import (
    UNRANKED,
    StablePartition,
    blocking_pairs,
    irving,
    is_stable_partition,
    ranks_from_cost,
    ranks_from_lists,
    stable_partition,
)


def random_ranks(rng, agents, density=1.0, one_sided=False):
    cost = rng.random((agents, agents))
    rank = ranks_from_cost(np.where(rng.random((agents, agents)) < density, cost, np.inf))
    if one_sided and agents:
        full = ranks_from_cost(cost)
        rank = np.where(rng.random((agents, agents)) < density, full, UNRANKED).astype(np.int32)
    return rank


SMALL = [
    (seed, size, density)
    for seed in range(3)
    for size in range(1, 9)
    for density in (0.4, 0.75, 1.0)
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("seed", "size", "density"), SMALL)
def test_irving_and_the_partition_agree_with_all_matchings(seed, size, density):
    rng = np.random.default_rng([seed, size, int(100 * density)])
    for number in range(40):
        rank = random_ranks(rng, size, density, one_sided=number % 2 == 1)
        before = rank.copy()
        matchings, counts = counted_matchings(rank)
        table, partition = irving(rank), stable_partition(rank)
        assert is_stable_partition(rank, partition.successor)
        assert table.stable == (counts.min() == 0) == (partition.odd == 0)
        assert partition.bound("any") <= counts.min()
        perfect = counts[(matchings >= 0).all(axis=1)]
        if perfect.size:
            assert partition.bound("perfect") <= perfect.min()
        assert table.unsettled.tolist() == [i for i in range(size) if table.partner[i] < 0]
        found = blocking_pairs(rank, table.partner)  # raises unless it is a matching
        if table.stable:
            assert len(found) == 0
            stable = matchings[counts == 0]
            assert ((stable < 0) == (table.partner < 0)).all(), (
                "the same agents are single in every stable matching"
            )
            assert partition.singletons == tuple(table.unsettled.tolist())
        assert (rank == before).all()


@pytest.mark.parametrize(
    ("seed", "size"), [(seed, size) for seed in range(4) for size in (3, 5, 6, 7)]
)
def test_blocking_pairs_are_those_of_the_definition(seed, size):
    rng = np.random.default_rng([seed, size])
    for _ in range(20):
        rank = random_ranks(rng, size, 0.8, one_sided=True)
        matchings, counts = counted_matchings(rank)
        for row in rng.choice(len(matchings), 5):
            partner = matchings[row]
            pairs = blocking_pairs(rank, partner)
            assert len(pairs) == counts[row]
            for i, j in pairs.tolist():
                assert i < j
                for one, other in ((i, j), (j, i)):
                    assert rank[one, other] < UNRANKED
                    assert partner[one] < 0 or rank[one, other] < rank[one, partner[one]]


@pytest.mark.parametrize("density", [0.05, 0.2, 0.6, 1.0])
def test_a_partition_of_larger_instances_passes_the_independent_check(density):
    rng = np.random.default_rng(int(100 * density))
    for number in range(60):
        size = int(rng.integers(9, 60))
        noise = rng.random((size, size)) * (0.02, 0.3, 5.0)[number % 3]
        cost = np.outer(rng.random(size), rng.random(size)) + noise
        rank = ranks_from_cost(np.where(rng.random((size, size)) < density, cost, np.inf))
        partition, table = stable_partition(rank), irving(rank)
        assert is_stable_partition(rank, partition.successor)
        assert table.stable == (partition.odd == 0)
        if table.stable:
            assert len(blocking_pairs(rank, table.partner)) == 0


def test_partition_check_refuses_invalid_partition():
    rank = ranks_from_lists([[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 1, 2]])
    assert is_stable_partition(rank, [1, 2, 0, 3])
    assert not is_stable_partition(rank, [2, 0, 1, 3]), (
        "the party turned round: predecessors are preferred"
    )
    assert not is_stable_partition(rank, [1, 0, 3, 2]), (
        "1 and 2 prefer each other to their predecessors"
    )
    assert not is_stable_partition(rank, [1, 1, 0, 3]), "not a permutation"
    assert not is_stable_partition(rank, [1, 2, 0]), "too short"
    apart = ranks_from_lists([[], []])
    assert is_stable_partition(apart, [0, 1])
    assert not is_stable_partition(apart, [1, 0]), "the pair is not acceptable"


def test_partition_bounds_round_up_for_both_goals():
    partition = StablePartition(np.array([1, 2, 0, 3, 5, 4], dtype=np.int32))
    assert partition.parties == ((0, 1, 2), (3,), (4, 5))
    assert (partition.odd, partition.single) == (1, 1)
    assert partition.odd_parties == ((0, 1, 2),)
    assert partition.singletons == (3,)
    assert (partition.bound("perfect"), partition.bound("any")) == (1, 1)
    assert StablePartition(np.array([0, 1, 2], dtype=np.int32)).bound("perfect") == 2
    with refused(InvalidOption):
        partition.bound("most")


@pytest.mark.parametrize("size", [0, 1])
def test_zero_and_one_agents_have_empty_stable_matching(size):
    rank = ranks_from_cost(np.zeros((size, size)))
    table = irving(rank)
    assert table.stable
    assert table.partner.tolist() == [-1] * size
    assert stable_partition(rank).single == size
    assert blocking_pairs(rank, table.partner).shape == (0, 2)


def unsettled_by_lists(rank, goes_on):
    """Irving's algorithm on plain lists: the agents whose lists are not one entry at the end."""
    mutual = np.where((rank < UNRANKED) & (rank.T < UNRANKED), rank, UNRANKED)
    lists = [[j for j in np.argsort(row).tolist() if row[j] < UNRANKED] for row in mutual]

    def keep_up_to(one, other):
        """`one` refuses whom it likes less than `other`."""
        for worse in lists[one][lists[one].index(other) + 1 :]:
            lists[one].remove(worse)
            lists[worse].remove(one)

    before = None
    while lists != before:
        before = [list(liked) for liked in lists]
        for agent, liked in enumerate(lists):
            if liked:
                keep_up_to(liked[0], agent)
    path: list[int] = []
    while True:
        path = path if goes_on else []
        while path and len(lists[path[-1]]) < 2:
            path.pop()
        if not path:
            path = [i for i, liked in enumerate(lists) if len(liked) > 1][:1]
        if not path:
            break
        following = lists[lists[path[-1]][1]][-1]
        while following not in path:
            path.append(following)
            following = lists[lists[path[-1]][1]][-1]
        place = path.index(following)
        rotation, path = path[place:], path[:place]
        before = [list(liked) for liked in lists]
        for agent, second in [(agent, lists[agent][1]) for agent in rotation]:
            if agent in lists[second]:
                keep_up_to(second, agent)
        if any(before[i] and not lists[i] for i in range(len(lists))):
            lists = before
            break
    return [i for i, liked in enumerate(lists) if len(liked) != 1]


def test_the_path_goes_on_after_a_rotation_and_that_decides_who_is_unsettled():
    unstable = differs = 0
    for seed in (*range(100), 1006, 2143, 2859):
        rng = np.random.default_rng([seed, 12])
        rank = random_ranks(rng, int(rng.integers(4, 24)), float(rng.choice([0.5, 1.0])))
        table = irving(rank)
        assert table.unsettled.tolist() == unsettled_by_lists(rank, goes_on=True)
        unstable += not table.stable
        differs += table.unsettled.tolist() != unsettled_by_lists(rank, goes_on=False)
    assert unstable > 20
    assert differs == 3, "beginning again at the lowest agent each time would leave others over"


def test_equal_costs_are_ordered_by_keys_and_then_by_index():
    cost = [[9, 1, 1, 1], [0, 9, 0, 5], [2, 2, 9, 2], [0, 0, 0, 9]]
    assert ranks_from_cost(cost)[0].tolist() == [UNRANKED, 0, 1, 2]
    keys = np.zeros((4, 4))
    keys[0, 1], keys[1, 0] = 3, 1
    rank = ranks_from_cost(cost, keys)
    assert rank[0].tolist() == [UNRANKED, 2, 0, 1]
    assert rank[1].tolist() == [1, UNRANKED, 0, 2]


def test_an_infinite_cost_on_one_side_forbids_the_pair_on_both():
    rank = ranks_from_cost([[0, np.inf, 1], [1, 0, 2], [3, 1, 0]])
    assert rank.tolist() == [[UNRANKED, UNRANKED, 0], [UNRANKED, UNRANKED, 0], [1, 0, UNRANKED]]
    assert rank.dtype == np.int32


@pytest.mark.parametrize(
    "make",
    [
        lambda: ranks_from_cost(np.zeros((2, 3))),
        lambda: ranks_from_cost([[0, np.nan], [0, 0]]),
        lambda: ranks_from_cost(np.zeros((2, 2)), np.zeros((3, 3))),
        lambda: ranks_from_lists([[1, 1], [0]]),
        lambda: ranks_from_lists([[0], []]),
        lambda: irving(np.zeros((2, 2))),
        lambda: irving(np.zeros((2, 3), dtype=int)),
        lambda: irving(np.array([[UNRANKED, 5], [0, UNRANKED]])),
        lambda: irving(np.array([[UNRANKED, -2], [0, UNRANKED]])),
        lambda: stable_partition(np.zeros((3, 3), dtype=int)),
        lambda: blocking_pairs(ranks_from_lists([[1], [0]]), [1, -1]),
        lambda: blocking_pairs(ranks_from_lists([[], []]), [1, 0]),
        lambda: blocking_pairs(ranks_from_lists([[1], [0]]), [2, 0]),
        lambda: blocking_pairs(ranks_from_lists([[1], [0]]), [1]),
    ],
)
def test_a_wrong_argument_is_named(make):
    with refused(InvalidInstance):
        make()


@pytest.mark.slow
def test_importing_the_package_does_not_import_numba():
    code = "import sys, cotenant.solvers.roommates; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
