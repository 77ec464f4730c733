"""Least-weight pairing of different agents by blossoms: exact against networkx in whole numbers and
against brute force, and its multipliers against the verifier.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support.proof_cases import case_of
from support.proved import content_of
from support.seeds import numbers, ranges

from cotenant.instances.colocation import Colocation, check
from cotenant.instances.colocation.objective import mean_penalty
from cotenant.instances.problem import InvalidInstance, NoSolution
from cotenant.solvers.colocation import feasible_pairing
from cotenant.solvers.colocation.blossom import Matched
from cotenant.solvers.colocation.matching import Multipliers
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import colocation as producers
from cotenant.verify.colocation import Colocation as CheckedColocation
from cotenant.verify.colocation import pairing_bound

KINDS = (
    "ties", "ranges", "negative", "forbidden", "alone", "machines", "clusters", "nested", "some",
)  # fmt: skip


class AnyStart(Matched):
    """Blossoms are looked for however few agents are matched at the first prices."""

    most_free = 1.0


def drawn(kind: str, size: int, seed: int) -> Colocation:
    """Different agents of an even number; everybody may share with the next or the one before."""
    rng = np.random.default_rng([seed, size])
    penalty, fields = rng.random((size, size)).round(6), {}
    if kind == "ties":
        penalty = rng.integers(0, 3, (size, size)) / 10
    elif kind == "ranges":
        penalty = (10 ** rng.uniform(-12, 0, (size, size))).round(13)
    elif kind == "negative":
        penalty = 2 * penalty - 1
    elif kind == "forbidden":
        penalty[rng.random((size, size)) < rng.uniform(0.2, 0.7)] = np.inf
        one = np.arange(size)
        penalty[one, one ^ 1] = 0.9
    elif kind == "alone":
        fields["unpaired"], penalty = 0.5, penalty / 2
    elif kind == "machines":
        fields["machines"], penalty = np.inf, penalty - 0.6
    elif kind == "some":  # of clusters of five, if cheap, so many without partner
        fields["machines"] = size // 2 + 1 + seed % 4
        group = np.arange(size) // 5
        penalty = np.where(group[:, None] == group, 0.05, 0.6) * (1 + (0.2 * penalty).round(3))
    elif kind == "clusters":  # of five, cheap inside
        group = np.arange(size) // 5
        penalty = np.where(group[:, None] == group, 0.05, 0.6) + (0.2 * penalty).round(3)
    else:  # near each other, and triples of those nearer still
        place = rng.random((size, 2)) / 50 + rng.random((size // 9 + 1, 2))[np.arange(size) // 9]
        place += (rng.random((size // 3 + 1, 2)) / 8)[np.arange(size) // 3]
        penalty = np.hypot(*(place[:, None] - place).transpose(2, 0, 1)).round(4) / 2
        penalty = penalty.clip(0, 1)
    np.fill_diagonal(penalty, 0.0)
    return Colocation(penalty.round(14), np.ones(size, dtype=int), **fields)


def together(instance: Colocation) -> tuple[list[list[int | None]], int, int]:
    """What pairs cost in whole numbers, None for no pair; of how many one is made; and being alone."""
    text = {p: Decimal(repr(p)) for p in instance.penalty.ravel().tolist() if math.isfinite(p)}
    alone = Decimal(repr(float(instance.single_penalty)))
    digits = max(-int(part.as_tuple().exponent) for part in [*text.values(), alone])
    whole = {p: int(part * Decimal(10) ** digits) for p, part in text.items()}
    rows, allowed = instance.penalty.tolist(), instance.allowed
    cost = [
        [whole[p] + whole[rows[b][a]] if allowed[a, b] else None for b, p in enumerate(row)]
        for a, row in enumerate(rows)
    ]
    return cost, 10**digits, int(alone * 10**digits)


def by_networkx(instance: Colocation) -> Fraction:
    """The least total penalty, exactly."""
    from networkx import Graph, max_weight_matching

    cost, unit, alone = together(instance)
    graph, singles = Graph(), int(instance.singles_allowed)
    for a, b in itertools.combinations(range(instance.agents), 2):
        if (both := cost[a][b]) is not None:
            graph.add_edge(a, b, weight=2 * alone - both)
    some = singles not in (0, instance.agents)
    for index in range(-singles if some else 0, 0):  # places to be alone at, or to leave empty
        graph.add_edges_from([(index, a) for a in range(instance.agents)], weight=0)
        graph.add_edges_from([(index, other) for other in range(index + 1, 0)], weight=0)
    pairs = max_weight_matching(graph, maxcardinality=some or singles == 0)
    gain = sum(graph.edges[pair]["weight"] for pair in pairs)
    return Fraction(alone * instance.agents - gain, unit)


def proved(instance: Colocation, search: Matched) -> Fraction:
    """What the verifier makes of the multipliers, a bound on the total penalty."""
    given = CheckedColocation(case_of(json.loads(content_of(instance))))
    found = search.blossoms
    assert found
    hints = Multipliers(found.prices, found.rent, found.sets, search.over)
    step = producers._dual(given, hints)
    parts = sum(step["prices"]) + sum(price for price, *_ in step["sets"])
    parts -= step["rent"] * given.alone
    lost = Fraction(parts, given.unit * step["over"]) - shown(search)
    assert abs(lost) <= Fraction(2 * given.size, given.unit * step["over"])  # no float between
    return Fraction(pairing_bound(given, step, [1] * given.size), given.unit)


def searched(instance: Colocation) -> Matched:
    """A search that is over, and says nothing wrong."""
    search = AnyStart(instance, feasible_pairing(instance), Clock())
    search.search()
    check(instance, search.best)
    assert search.blossoms
    assert all(int(inside.sum()) % 2 for _, inside in search.blossoms.sets)
    assert all(weight > 0 for weight, _ in search.blossoms.sets)
    return search


def shown(search: Matched) -> Fraction:
    """The total that the multipliers themselves add up to, where no pair has negative slack."""
    found = search.blossoms
    assert found
    prices, sets = found.prices.tolist(), [weight for weight, _ in found.sets]
    rented = found.rent * found.most_alone if found.rent else 0
    return Fraction(sum(prices) + sum(sets) - rented, search.over)


def equals(instance: Colocation, expected: Fraction) -> Matched:
    """The search, after its pairing and multipliers were found to be of this total penalty."""
    search = searched(instance)
    assert search.suited
    assert shown(search) == expected
    assert mean_penalty(instance, search.best) * instance.agents == pytest.approx(float(expected))
    return search


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", numbers(40, 4))
@pytest.mark.parametrize("kind", KINDS)
def test_blossom_matching_equals_networkx(kind: str, number: int) -> None:
    sets = 0
    for seed in range(number):
        instance = drawn(kind, (20, 24, 30, 36)[seed % 4], seed)
        expected = by_networkx(instance)
        search = equals(instance, expected)
        assert proved(instance, search) == expected
        sets += search.blossoms.odd if search.blossoms else 0
    assert sets > 0 or kind in ("ranges", "machines", "alone")


def tiny(seed: int) -> Colocation | None:
    """Two to eight agents; None where some must be alone and may not."""
    rng = np.random.default_rng(seed)
    size, parts = int(rng.integers(2, 9)), int(rng.choice([2, 4, 20, 10**6]))
    penalty = rng.integers(-parts // 3, parts, (size, size)) / parts
    penalty[rng.random((size, size)) < rng.choice([0, 0.1, 0.4])] = np.inf
    some = {"machines": size - int(rng.integers(size // 2 + 1))}
    fields = [{}, {"unpaired": 1.0}, {"machines": np.inf}, some][int(rng.integers(4))]
    try:
        return Colocation(penalty.round(6), np.ones(size, dtype=int), **fields)
    except InvalidInstance:
        return None


@pytest.mark.parametrize("cases", ranges(17_000, 150, 4_000))
def test_blossom_matching_of_few_agents_equals_networkx(cases: range) -> None:
    compared = 0
    for seed in cases:
        instance = tiny(seed)
        if instance is not None:
            with contextlib.suppress(NoSolution):
                equals(instance, by_networkx(instance))
                compared += 1
    assert compared > len(cases) // 2


@pytest.mark.parametrize("machines", [4, 5, 6, 7])
def test_optimal_pairing_keeps_limit_on_single_jobs_at_ties(machines: int) -> None:
    instance = Colocation(np.full((8, 8), 0.2), np.ones(8, dtype=int), machines=machines)
    equals(instance, by_networkx(instance))


def test_blossom_bound_of_long_decimals_is_below_optimum_by_rounding_only() -> None:
    """Seventeen digits are no exact whole numbers of the search: each agent's are rounded down."""
    for seed in range(4):
        penalty = np.random.default_rng(seed).random((30, 30))
        instance = Colocation(penalty, np.ones(30, dtype=int))
        search, expected = searched(instance), by_networkx(instance)
        gap = expected - proved(instance, search)
        assert 0 <= gap <= instance.agents * Fraction(1, 2**54)
