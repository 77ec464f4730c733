"""Roommates: ranks, Irving's algorithm, Tan's stable partition, and fewest blocking pairs of strict
lists and of lists with ties, against all matchings of small instances and against printed answers.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.messages import refused
from support.oracles.matchings import counted_matchings, every_matching, is_stable_partition
from support.seeds import numbers

from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.solvers.roommates import (
    UNRANKED,
    StablePartition,
    WeakLists,
    blocking_pairs,
    fewest_blocking_pairs,
    fewest_with_ties,
    irving,
    ranks_from_cost,
    ranks_from_lists,
    stable_partition,
    weak_lists,
)
from cotenant.solvers.roommates.deletions import DeletionSearch
from cotenant.solvers.roommates.ranks import lists_of
from cotenant.solvers.roommates.stable_matchings import stable_matchings


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
def test_stable_partition_after_deleting_agents_equals_fresh_one(noise, density):
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


def test_fewest_blocking_pairs_uses_valid_starting_matching_and_refuses_invalid():
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
def test_fewest_blocking_pairs_are_proved_for_lists_with_few_or_many_ties(agents, levels):
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


def test_blocking_pair_search_on_lists_with_ties_stops_at_given_bound():
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
        (lambda: ranks_from_cost(np.zeros((2, 3))), InvalidInstance),
        (lambda: ranks_from_cost([[0, np.nan], [0, 0]]), InvalidInstance),
        (lambda: ranks_from_lists([[1, 1], [0]]), InvalidInstance),
        (lambda: ranks_from_lists([[0], []]), InvalidInstance),
        (lambda: irving(np.zeros((2, 2))), InvalidInstance),
        (lambda: irving(np.zeros((2, 3), dtype=int)), InvalidInstance),
        (lambda: irving(np.array([[UNRANKED, 5], [0, UNRANKED]])), InvalidInstance),
        (lambda: irving(np.array([[UNRANKED, -2], [0, UNRANKED]])), InvalidInstance),
        (lambda: stable_partition(np.zeros((3, 3), dtype=int)), InvalidInstance),
        (lambda: blocking_pairs(ranks_from_lists([[1], [0]]), [1, -1]), InvalidInstance),
        (lambda: blocking_pairs(ranks_from_lists([[], []]), [1, 0]), InvalidInstance),
        (lambda: blocking_pairs(ranks_from_lists([[1], [0]]), [2, 0]), InvalidInstance),
        (lambda: blocking_pairs(ranks_from_lists([[1], [0]]), [1]), InvalidInstance),
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


def named(text):
    """'1: 2 3; 2: 1 3; ...' -> lists of indices, in the order of the names."""
    rows = dict(row.split(":") for row in text.replace("\n", " ").split(";"))
    rows = {name.strip(): liked.split() for name, liked in rows.items()}
    place = {name: index for index, name in enumerate(rows)}
    return [[place[other] for other in liked] for liked in rows.values()], place


# Each row: where it was printed; preference lists, best first, with the names used there; whether a
# stable matching exists, or how many there are (of all perfect matchings); the matching printed
# beside it, if one is.
PUBLISHED = {
    "Gale and Shapley 1962: no stable matching": ("1: 2 3 4; 2: 3 1 4; 3: 1 2 4; 4: 1 2 3", 0, ""),
    "Irving 1985, example of six": (
        "A: D F B E C; B: F C E A D; C: D E A F B; D: B F E A C; E: D B C F A; F: E A D B C",
        1,
        "A-F B-C D-E",
    ),
    "Irving 1985, p. 579, several stable matchings": (
        """1: 2 5 4 6 7 8 3; 2: 3 6 1 7 8 5 4; 3: 4 7 2 8 5 6 1; 4: 1 8 3 5 6 7 2;
           5: 6 1 8 2 3 4 7; 6: 7 2 5 3 4 1 8; 7: 8 3 6 4 1 2 5; 8: 5 4 7 1 2 3 6""",
        3,
        "",
    ),
    "Irving 1985, p. 586, no stable matching": (
        "1: 2 6 4 3 5; 2: 3 5 1 6 4; 3: 1 6 2 5 4; 4: 5 2 3 6 1; 5: 6 1 3 4 2; 6: 4 2 5 1 3",
        0,
        "",
    ),
    "Gusfield and Irving 1989, section 4.2.3": (
        """1: 8 2 9 3 6 4 5 7 10; 2: 4 3 8 9 5 1 10 6 7; 3: 5 6 8 2 1 7 10 4 9; 4: 10 7 9 3 1 6 2 5 8;
           5: 7 4 10 8 2 6 3 1 9; 6: 2 8 7 3 4 10 1 5 9; 7: 2 1 8 3 5 10 4 6 9; 8: 10 4 2 5 6 7 1 3 9;
           9: 6 7 2 5 10 3 4 8 1; 10: 3 1 6 5 2 9 8 4 7""",
        7,
        "",
    ),
    "Manlove, slides on roommates, instance I1": ("1: 3 2 4; 2: 4 3 1; 3: 2 1 4; 4: 1 3 2", 2, ""),
    "Wikipedia, stable roommates problem": (
        "1: 3 4 2 6 5; 2: 6 5 4 1 3; 3: 2 4 5 1 6; 4: 5 2 3 6 1; 5: 3 1 2 4 6; 6: 5 1 3 4 2",
        2,
        "1-6 2-4 3-5",
    ),
    "liuvince/polytech-algorithm-srp, README": (
        "A: B C F E D; B: F D A C E; C: F E B A D; D: A C E B F; E: B A D C F; F: A B D E C",
        1,
        "A-C B-F D-E",
    ),
    "matchingR, test_roommate.R, three agents": ("1: 2 3; 2: 1 3; 3: 1 2", 1, "1-2"),
    "matchingR, test_roommate.R, first": ("1: 2 3 4; 2: 1 3 4; 3: 1 2 4; 4: 1 2 3", 1, "1-2 3-4"),
    "matchingR, test_roommate.R, second": ("1: 4 3 2; 2: 1 3 4; 3: 2 1 4; 4: 1 2 3", 1, "1-4 2-3"),
    "matching, issue 124": ("a: b c d; b: a c d; c: d b a; d: c b a", 1, "a-b c-d"),
    "matching, issue 64": (
        """charlie: peter paul sam kelly elise; peter: kelly elise sam paul charlie; elise: peter sam kelly charlie paul;
           paul: elise charlie sam peter kelly; kelly: peter charlie sam elise paul; sam: charlie paul kelly elise peter""",
        2,
        "",
    ),
    "Ruby gem stable-matching 0.1.0": ("A: B D C; B: D A C; C: D A B; D: C A B", 1, "A-B C-D"),
    "two agents": ("1: 2; 2: 1", 1, "1-2"),
    "P. Prosser, University of Glasgow, twenty agents": (
        """1: 13 12 20 17 11 6 8 2 3 14 4 16 5 10 18 19 9 15 7; 2: 13 6 8 17 18 19 1 11 7 4 15 16 5 9 3 20 12 10 14;
           3: 6 16 4 9 14 13 17 19 8 2 1 12 20 5 18 15 7 11 10; 4: 11 7 8 2 17 3 15 6 19 10 9 5 1 16 13 20 18 14 12;
           5: 8 17 14 16 4 13 15 6 19 9 12 7 2 3 11 18 20 10 1; 6: 8 13 10 14 18 15 2 7 4 16 19 5 9 17 20 3 11 12 1;
           7: 13 1 4 9 19 18 11 14 10 2 17 6 15 16 5 3 12 8 20; 8: 1 6 20 7 5 15 19 4 12 3 17 9 10 14 16 2 18 11 13;
           9: 17 13 3 5 7 4 12 2 18 20 15 8 10 1 6 11 19 14 16; 10: 9 4 16 14 18 17 15 11 20 13 3 12 2 1 19 7 5 8 6;
           11: 6 15 4 1 18 14 5 3 9 2 17 13 8 7 12 20 19 10 16; 12: 5 18 7 16 6 20 19 14 9 17 3 1 8 10 11 13 2 15 4;
           13: 3 10 7 18 14 15 1 6 12 4 8 19 16 17 5 20 9 11 2; 14: 2 5 10 13 19 17 6 3 18 7 20 9 1 4 16 12 15 8 11;
           15: 12 13 5 11 2 16 18 14 1 6 17 8 19 4 10 7 20 3 9; 16: 1 7 6 5 14 18 12 17 20 11 15 10 2 13 3 8 19 9 4;
           17: 5 8 15 9 7 18 11 10 19 2 1 12 3 14 20 13 6 16 4; 18: 14 3 8 10 13 5 9 15 12 1 17 6 16 11 2 7 4 19 20;
           19: 9 15 20 12 18 1 11 5 3 2 13 14 10 7 6 16 8 17 4; 20: 5 6 18 19 16 7 4 9 2 17 8 15 1 12 13 10 14 3 11""",
        2,
        "1-8 2-4 3-9 5-17 6-14 7-13 10-16 11-15 12-18 19-20",
    ),
}


@pytest.mark.parametrize("source", PUBLISHED)
def test_irving_example_has_published_matching(source):
    text, number, printed = PUBLISHED[source]
    lists, place = named(text)
    rank = ranks_from_lists(lists)
    table = irving(rank)
    assert table.stable == (number > 0) == (len(stable_partition(rank).odd_parties) == 0)
    listed = [one.tolist() for one in stable_matchings(rank)]
    assert len(listed) == number
    assert not number or table.partner.tolist() in listed
    partner = np.full(len(lists), -1)
    for pair in printed.split():
        one, other = (place[name] for name in pair.split("-"))
        partner[one], partner[other] = other, one
    if printed:
        assert len(blocking_pairs(rank, partner)) == 0
        assert partner.tolist() in listed


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


def test_bounds_from_stable_partition_round_up_for_perfect_and_any_matchings():
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
