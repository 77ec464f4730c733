"""Ranks, Irving's algorithm, Tan's stable partition and blocking pairs, against all matchings of
small instances.
"""

import numpy as np
import pytest
from support.messages import refused
from support.oracles.matchings import counted_matchings, is_stable_partition

from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.solvers.roommates import (
    UNRANKED,
    StablePartition,
    blocking_pairs,
    irving,
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
def test_irving_and_stable_partition_equal_enumeration(seed, size, density):
    rng = np.random.default_rng([seed, size, int(100 * density)])
    for number in range(40):
        rank = random_ranks(rng, size, density, one_sided=number % 2 == 1)
        before = rank.copy()
        matchings, counts = counted_matchings(rank)
        table, partition = irving(rank), stable_partition(rank)
        assert is_stable_partition(rank, partition.successor)
        assert table.stable == (counts.min() == 0) == (len(partition.odd_parties) == 0)
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
    assert partition.odd_parties == ((0, 1, 2),)
    assert partition.singletons == (3,)
    assert (partition.bound("perfect"), partition.bound("any")) == (1, 1)
    assert StablePartition(np.array([0, 1, 2], dtype=np.int32)).bound("perfect") == 2
    with refused(InvalidOption):
        partition.bound("most")


def test_ranks_of_equal_costs_follow_index():
    cost = [[9, 1, 1, 1], [0, 9, 0, 5], [2, 2, 9, 2], [0, 0, 0, 9]]
    assert ranks_from_cost(cost)[0].tolist() == [UNRANKED, 0, 1, 2]
    assert ranks_from_cost(cost)[1].tolist() == [0, UNRANKED, 1, 2]


def test_infinite_cost_of_one_agent_forbids_pair():
    rank = ranks_from_cost([[0, np.inf, 1], [1, 0, 2], [3, 1, 0]])
    assert rank.tolist() == [[UNRANKED, UNRANKED, 0], [UNRANKED, UNRANKED, 0], [1, 0, UNRANKED]]
    assert rank.dtype == np.int32


@pytest.mark.parametrize(
    "make",
    [
        lambda: ranks_from_cost(np.zeros((2, 3))),
        lambda: ranks_from_cost([[0, np.nan], [0, 0]]),
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
def test_invalid_roommates_argument_is_refused(make):
    with refused(InvalidInstance):
        make()
