"""Fewest blocking pairs of strict lists and of lists with ties, against all matchings."""

from functools import partial

import numpy as np
import pytest
from support.messages import refused
from support.oracles.matchings import counted_matchings, every_matching, is_stable_partition
from support.seeds import numbers

from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.solvers.roommates import (
    UNRANKED,
    WeakLists,
    blocking_pairs,
    fewest_blocking_pairs,
    fewest_with_ties,
    ranks_from_cost,
    stable_partition,
    weak_lists,
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
        if stable_partition(rank).odd_parties:
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
            assert (len(fresh.odd_parties), len(fresh.singletons)) == tuple(counts)
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


def lists_with(cost, least=0.0):
    """Lists of whole costs in which a difference of `least` or less is a tie."""
    return weak_lists(cost, lambda costs: np.searchsorted(costs, costs - least))


def fewest_with_ties_by_enumeration(cost, least):
    """The fewest blocking pairs over any matching and over perfect ones (None if there are none),
    and all that block nobody.
    """
    agents = len(cost)
    accepted = np.isfinite(cost) & np.isfinite(cost.T) & ~np.eye(agents, dtype=bool)
    matchings = every_matching(agents)
    matchings = matchings[~((matchings >= 0) & ~accepted[np.arange(agents), matchings]).any(axis=1)]
    has = np.where(matchings >= 0, cost[np.arange(agents), matchings], 1e9)
    gains = (has[:, :, None] - cost > least) & accepted
    counts = (gains & gains.transpose(0, 2, 1)).sum(axis=(1, 2)) // 2
    perfect = counts[(matchings >= 0).all(axis=1)]
    return int(counts.min()), int(perfect.min()) if perfect.size else None, matchings[counts == 0]


def random_cost(rng):
    """Up to eight agents, whole costs, some of them equal or one apart, complete or not; and the
    least gain.
    """
    agents, family = int(rng.integers(2, 9)), int(rng.integers(4))
    if family == 0:
        cost = rng.permuted(np.tile(3.0 * np.arange(agents), (agents, 1)), axis=1)
    elif family == 1:  # who rank alike need the most
        alike = np.outer(rng.random(agents), rng.random(agents)) + 0.1 * rng.random(
            (agents, agents)
        )
        cost = 3.0 * np.argsort(np.argsort(alike, axis=1), axis=1)
    else:
        cost = rng.integers(0, int(rng.choice([3, 8, 3 * agents])), (agents, agents)).astype(float)
    for _ in range(int(rng.integers(0, 2 * agents)) if family < 3 else 0):
        i, a, b = rng.integers(agents, size=3)
        cost[i, a] = cost[i, b] + rng.choice([0.0, 0.0, 1.0, -1.0])
    if rng.random() < 0.5:
        allowed = np.triu(rng.random((agents, agents)) < rng.choice([0.4, 0.6, 0.8]), 1)
        cost[~(allowed | allowed.T)] = np.inf
    np.fill_diagonal(cost, np.inf)
    return cost, float(rng.choice([0, 0, 0, 1, 2, 3]))


def assert_sound_with_ties(lists, goal, found):
    """Everything a result says about itself, checked without the search."""
    assert found.feasible
    assert (
        found.blocking.tolist() == blocking_pairs(lists.place, found.partner, lists.better).tolist()
    )
    assert found.value == len(found.blocking)
    assert goal == "any" or (found.partner >= 0).all()
    assert is_stable_partition(
        lists.place, found.partition.successor, lists.better, found.unsettled
    )
    certified = max(0, found.partition.bound(goal) - len(found.unsettled))
    assert found.bound == certified + len(found.finished) <= found.value
    assert list(found.finished) == list(range(certified, found.bound))
    assert found.proved == (found.bound == found.value)
    assert len(blocking_pairs(found.tie_breaking, found.partner)) >= found.value


@pytest.mark.slow
def test_fewest_blocking_pairs_with_ties_equal_enumeration():
    rng, met = np.random.default_rng(0), {"tied": 0, "blocked": 0, "beyond the partition": 0}
    for _ in range(12_000):
        cost, least = random_cost(rng)
        lists = lists_with(cost, least)
        for goal, fewest in zip(
            ("any", "perfect"), fewest_with_ties_by_enumeration(cost, least)[:2], strict=True
        ):
            found = fewest_with_ties(lists, goal, rng=rng)
            assert (found.value, found.feasible) == (fewest, fewest is not None)
            assert found.proved
            if fewest is None:
                continue
            assert_sound_with_ties(lists, goal, found)
            met["beyond the partition"] += len(found.finished) > 0
            met["tied"] += not lists.strict
            met["blocked"] += fewest > 0 and not lists.strict
    assert met["tied"] > 300
    assert min(met["blocked"], met["beyond the partition"]) > 10


def random_lists(rng, agents, levels, least=0.0):
    cost = rng.integers(0, levels, (agents, agents)).astype(float)
    return lists_with(cost, least)


def test_twenty_ties_among_200_roommates_are_proved_by_one_partition():
    """Two hundred agents, twenty ties in all: one partition says it for all 2^20 tie-breakings."""
    rng = np.random.default_rng(4)
    cost = rng.permuted(np.tile(np.arange(200.0), (200, 1)), axis=1)
    for i in range(20):
        a, b = np.flatnonzero(np.isin(cost[i], [100, 101]))
        cost[i, a] = cost[i, b]
    lists = lists_with(cost)
    assert not lists.strict
    found = fewest_with_ties(lists)
    assert_sound_with_ties(lists, "perfect", found)
    assert (found.proved, found.unsettled, found.finished) == (True, (), ())
    assert found.value == found.partition.bound() > 0


@pytest.mark.parametrize(("agents", "levels"), [(200, 1000), (500, 10_000), (500, 100)])
def test_fewest_with_ties_is_proved_for_few_and_many_ties(agents, levels):
    for seed in range(3):
        lists = random_lists(np.random.default_rng(seed), agents, levels)
        found = fewest_with_ties(lists, time_limit=60)
        assert_sound_with_ties(lists, "perfect", found)
        assert found.proved
        assert found.value <= fewest_blocking_pairs(lists.place).value


def test_stable_partition_with_ties_is_certificate_only_with_unsettled_agents():
    """0, 1 and 2 go round; but 0 likes 1 and 2 alike, and with 2 before 1 the pairs 0-2 and 1-3
    block nobody.
    """
    lists = lists_with([[0, 1, 1, 3], [2, 0, 1, 3], [1, 2, 0, 3], [1, 2, 3, 0]])
    partition = stable_partition(lists.place)
    assert partition.odd_parties == ((0, 1, 2),)
    assert is_stable_partition(lists.place, partition.successor)
    assert not is_stable_partition(lists.place, partition.successor, lists.better)
    assert is_stable_partition(lists.place, partition.successor, lists.better, (0,))
    found = fewest_with_ties(lists)
    assert (found.value, found.partner.tolist()) == (0, [2, 3, 0, 1])


def test_ties_search_stops_at_given_bound():
    lists = random_lists(np.random.default_rng(10), 40, 200)
    found = fewest_with_ties(lists)
    assert found.value == 1 == len(found.finished), "the partition alone does not tell"
    again = fewest_with_ties(lists, known=1)
    assert (again.value, again.bound, again.finished) == (1, 1, ())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (partial(weak_lists, np.ones((3, 3)), lambda costs: np.arange(1, 3)), InvalidInstance),
        (partial(weak_lists, np.ones((4, 4)), lambda costs: np.array([0, 1, 0])), InvalidInstance),
        (partial(weak_lists, np.ones((2, 3)), len), InvalidInstance),
        (partial(fewest_with_ties, lists_with(np.ones((2, 2))), "most"), InvalidOption),
        (partial(fewest_with_ties, lists_with(np.ones((2, 2))), time_limit=-1), InvalidOption),
    ],
)
def test_invalid_roommates_argument_is_refused(call, error):
    with refused(error):
        call()


def test_weak_lists_leave_out_pairs_forbidden_by_one_agent():
    lists = lists_with(np.array([[0, np.inf, 1], [1, 0, 1], [3, 3, 0]]))
    assert lists.place[0].tolist() == [UNRANKED, UNRANKED, 0]
    assert lists.better[2].tolist() == [0, 0, UNRANKED]
    assert lists.order.tolist() == [[2, -1], [2, -1], [0, 1]]
    assert not lists.strict
    assert WeakLists(lists.place, lists.place).strict
