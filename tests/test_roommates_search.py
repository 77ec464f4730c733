"""The fewest blocking pairs: against all matchings, against an integer program, and when it is cut
short.
"""

import numpy as np
import pytest
from support.messages import refused
from support.oracles.matchings import counted_matchings, is_stable_partition
from support.seeds import numbers

from cotenant.instances.problem.errors import InvalidInstance
from cotenant.solvers.roommates import (
    UNRANKED,
    blocking_pairs,
    fewest_blocking_pairs,
    ranks_from_cost,
    stable_partition,
)
from cotenant.solvers.roommates.deletions import DeletionSearch
from cotenant.solvers.roommates.ranks import lists_of


def fewest_by_enumeration(rank):
    """The fewest blocking pairs over any matching, and over perfect ones (None if there are
    none).
    """
    matchings, counts = counted_matchings(rank)
    perfect = counts[(matchings >= 0).all(axis=1)]
    return int(counts.min()), int(perfect.min()) if perfect.size else None


def alike(rng, size, noise, density=1.0):
    """Agents who rank alike up to noise: the smaller the noise, the more odd parties."""
    cost = np.outer(rng.random(size), rng.random(size)) + noise * rng.random((size, size))
    allowed = np.triu(rng.random((size, size)) < density, 1)
    return ranks_from_cost(np.where(allowed | allowed.T, cost, np.inf))


def one_sided(rng, size, density):
    """Incomplete lists in which many a pair is ranked on one side only."""
    full = ranks_from_cost(rng.random((size, size)))
    return np.where(rng.random((size, size)) < density, full, UNRANKED).astype(np.int32)


def assert_sound(rank, goal, found):
    """Everything a result says about itself, checked without the search."""
    assert found.feasible
    assert found.blocking.tolist() == blocking_pairs(rank, found.partner).tolist()
    assert found.value == len(found.blocking)
    assert goal == "any" or (found.partner >= 0).all()
    assert is_stable_partition(rank, found.partition.successor)
    assert found.partition.bound(goal) <= found.bound <= found.value
    assert found.bound == max(found.partition.bound(goal), *(k + 1 for k in found.finished), 0)
    assert found.proved == (found.bound == found.value)
    forgiven = rank.copy()
    for i, j in found.blocking:
        forgiven[i, j] = forgiven[j, i] = UNRANKED
    assert len(blocking_pairs(forgiven, found.partner)) == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", numbers(250, 30))
@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("family", ["complete", "incomplete", "one-sided"])
def test_fewest_blocking_pairs_equal_enumeration(family, size, number):
    rng = np.random.default_rng([size, len(family)])
    unsolvable = 0
    for _ in range(
        number if size < 7 else 2 * number // 5
    ):  # there are many matchings of seven and eight
        density = float(rng.choice([0.35, 0.6, 0.85]))
        if family == "one-sided":
            rank = one_sided(rng, size, density)
        else:
            rank = alike(
                rng,
                size,
                float(rng.choice([0.02, 0.3, 5.0])),
                density if family == "incomplete" else 1.0,
            )
        before = rank.copy()
        fewest, fewest_perfect = fewest_by_enumeration(rank)
        found = fewest_blocking_pairs(rank, "any")
        assert_sound(rank, "any", found)
        assert found.proved
        assert found.value == fewest
        found = fewest_blocking_pairs(rank, "perfect")
        assert found.proved
        assert found.value == fewest_perfect
        assert found.feasible == (fewest_perfect is not None)
        if found.feasible:
            assert_sound(rank, "perfect", found)
        else:
            assert found.partner is None
        if family == "complete" and size % 2 == 0:
            assert fewest == fewest_perfect
        assert (rank == before).all()
        unsolvable += bool(fewest or fewest_perfect)
    assert unsolvable > 5 or number < 250 or size < 4


def unsolvable(make, number):
    """The first few instances of a family that have no stable matching."""
    seed = 0
    while number:
        rank = make(np.random.default_rng([seed, 77]))
        seed += 1
        if stable_partition(rank).odd:
            number -= 1
            yield rank


@pytest.mark.sampled(3)
@pytest.mark.parametrize("density", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("noise", [0.02, 0.3, 5.0])
def test_partition_after_deletion_equals_fresh_partition(noise, density):
    """The insertion of agents against the reduction by rotations, after every one of thousands of
    deletions.
    """
    rng = np.random.default_rng(int(1000 * noise + 10 * density))
    for _ in range(25):
        size = int(rng.integers(3, 50))
        rank = alike(rng, size, noise, density)
        search = DeletionSearch(lists_of(rank), rank.copy(), "perfect")
        for _ in range(15):
            paired = np.flatnonzero(search.predecessor != np.arange(size))
            if paired.size == 0:
                break
            agent = int(rng.choice(paired))
            pair = agent, int(search.predecessor[agent])
            search.without(agent)
            search.partition = search.trial
            search.delete([pair])
            rank[pair] = rank[pair[::-1]] = UNRANKED
            fresh, (predecessor, held, counts) = stable_partition(rank), search.partition
            assert (fresh.odd, fresh.single) == tuple(counts)
            assert is_stable_partition(rank, np.argsort(predecessor))
            assert (held == rank[np.arange(size), predecessor]).all()
        assert search._work.counts[3] == 0, "a chain of proposals was cut short"


def test_fewest_blocking_pairs_uses_valid_start_and_refuses_invalid():
    rank = alike(np.random.default_rng(3), 40, 0.02)
    best = fewest_blocking_pairs(rank)
    assert best.value > 0
    again = fewest_blocking_pairs(rank, start=best.partner, time_limit=1e-9)
    assert again.value == best.value
    with refused(InvalidInstance):
        fewest_blocking_pairs(rank, start=np.zeros(40, dtype=int))
    with refused(InvalidInstance):
        fewest_blocking_pairs(rank, start=np.full(40, -1))
