"""Deferred acceptance: the papers' example, stability, proposer-optimality, quotas and supplies."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from support.messages import refused

from cotenant.instances.problem import InvalidOption
from cotenant.solvers.deferred_acceptance import (
    _COMPILE_FROM,
    Acceptance,
    deferred_acceptance,
    preference_order,
)

FIG_5_ORDER = [[0, 1, 2], [2, 0, 1], [0, 1, 2]]
FIG_5_SCORE = [[2, 0, 1], [1, 2, 0], [1, 0, 2]]
"""c1: m2 > m3 > m1; c2: m3 > m1 > m2; c3: m2 > m1 > m3."""


def market(
    seed: int, proposers: int, receivers: int, *, many: bool = False, ties: bool = False
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Random costs (P, R) and scores (R, P), some pairs unacceptable, and quotas."""
    rng = np.random.default_rng(seed)
    scale = 3 if ties else 1000
    cost = rng.integers(0, scale, (proposers, receivers)).astype(float)
    score = rng.integers(0, scale, (receivers, proposers)).astype(float)
    cost[rng.random(cost.shape) < 0.2] = np.inf
    score[rng.random(score.shape) < 0.2] = np.inf
    quota = rng.integers(0, 4, receivers) if many else np.ones(receivers, dtype=np.int64)
    return cost, score, quota


def is_stable(
    match: list[int],
    cost: npt.NDArray[np.float64],
    score: npt.NDArray[np.float64],
    quota: npt.ArrayLike,
) -> bool:
    """By definition, with ties broken by index on both sides."""
    held = [[p for p, at in enumerate(match) if at == r] for r in range(len(score))]
    seats = np.asarray(quota)
    for p, r in product(range(len(cost)), range(len(score))):
        acceptable = np.isfinite(cost[p, r]) and np.isfinite(score[r, p])
        if match[p] == r and not acceptable:
            return False
        if not acceptable or match[p] == r:
            continue
        wants = match[p] < 0 or (cost[p, r], r) < (cost[p, match[p]], match[p])
        takes = len(held[r]) < seats[r] or any((score[r, p], p) < (score[r, q], q) for q in held[r])
        if wants and takes:
            return False
    return all(len(held[r]) <= seats[r] for r in range(len(score)))


def stable_matchings(
    cost: npt.NDArray[np.float64], score: npt.NDArray[np.float64], quota: npt.NDArray[np.int64]
) -> list[list[int]]:
    candidates = product(range(-1, len(score)), repeat=len(cost))
    return [list(match) for match in candidates if is_stable(list(match), cost, score, quota)]


def test_deferred_acceptance_matches_figure_5_in_two_rounds() -> None:
    match = deferred_acceptance(FIG_5_ORDER, FIG_5_SCORE, log=True)
    assert match.partner().tolist() == [1, 2, 0]  # m1c2, m2c3, m3c1
    assert (match.rounds, match.proposals) == (2, 4)
    first, second = match.log
    events = [
        [
            [offer[:2] for offer in offers]
            for offers in (each.proposed, each.accepted, each.rejected)
        ]
        for each in (first, second)
    ]
    assert events == [[[(0, 0), (1, 2), (2, 0)], [(1, 2), (2, 0)], [(0, 0)]], [[(0, 1)]] * 2 + [[]]]
    assert tuple(first.rows()[0].values()) == (1, "propose", 0, 0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_deferred_acceptance_is_stable_and_proposer_optimal(many: bool, ties: bool) -> None:
    several = 0
    for seed in range(40):
        cost, score, quota = market(seed, 4, 4, many=many, ties=ties)
        found = deferred_acceptance(preference_order(cost), score, quota).partner().tolist()
        stable = stable_matchings(cost, score, quota)
        several += len(stable) > 1
        assert found in stable
        for p in range(len(cost)):
            options = {match[p] for match in stable}
            assert found[p] == min(options, key=lambda r: (np.inf, 0) if r < 0 else (cost[p, r], r))
    assert several or many  # the seeds must put optimality to the test


def test_deferred_acceptance_with_log_has_every_round_and_the_same_result() -> None:
    for seed in range(20):
        cost, score, quota = market(seed, 9, 6, many=True, ties=True)
        supply = np.random.default_rng(seed).integers(0, 5, 9)
        plain = deferred_acceptance(preference_order(cost), score, quota * 2, supply)
        logged = deferred_acceptance(preference_order(cost), score, quota * 2, supply, log=True)
        assert (logged.rounds, logged.proposals) == (plain.rounds, plain.proposals)
        assert triples(plain) == triples(logged)
        proposed = sum(offer.units for entry in logged.log for offer in entry.proposed)
        rejected = sum(offer.units for entry in logged.log for offer in entry.rejected)
        assert proposed == logged.proposals
        assert proposed - rejected == logged.units.sum()


def test_deferred_acceptance_by_types_equals_by_agents() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cost, score, _ = market(seed, 4, 3, ties=True)
        supply, quota = rng.integers(0, 5, 4), rng.integers(0, 6, 3)
        left, right = np.repeat(np.arange(4), supply), np.repeat(np.arange(3), quota)
        agents = deferred_acceptance(
            preference_order(cost[np.ix_(left, right)]), score[np.ix_(right, left)]
        ).partner()
        expected = np.zeros((4, 3), dtype=int)
        for p, r in enumerate(agents):
            if r >= 0:
                expected[left[p], right[r]] += 1
        types = deferred_acceptance(preference_order(cost), score, quota, supply)
        table = np.zeros((4, 3), dtype=int)
        table[types.proposer, types.receiver] = types.units
        assert table.tolist() == expected.tolist()
        assert (table.sum(axis=1) + types.unmatched == supply).all()


def test_compiled_deferred_acceptance_equals_plain_python() -> None:
    cost, score, quota = market(3, 70, 60, many=True, ties=True)
    order, supply = preference_order(cost), np.repeat([1, 0], [60, 10])
    assert 60 * 60 < _COMPILE_FROM <= 70 * 60
    compiled = deferred_acceptance(order, score, quota, supply)  # ten propose nothing
    plain = deferred_acceptance(order[:60], score[:, :60], quota)
    assert triples(compiled) == triples(plain)
    assert compiled.rounds == plain.rounds


def test_partner_array_refuses_proposers_of_several_units() -> None:
    with refused(InvalidOption):
        deferred_acceptance([[0]], [[1.0]], quota=[2], supply=[2]).partner()


@pytest.mark.parametrize(
    ("order", "score", "keywords"),
    [
        ([[0, 0]], [[1.0]], {}),
        ([[1]], [[1.0]], {}),
        ([[0]], [[1.0, 2.0]], {}),
        ([[0.5]], [[1.0]], {}),
        ([[0]], [[np.nan]], {}),
        ([[0]], [["a"]], {}),
        ([[0]], [[1.0]], {"quota": [-1]}),
        ([[0]], [[1.0]], {"supply": [1, 1]}),
    ],
)
def test_deferred_acceptance_names_invalid_input(
    order: list[list[int]], score: list[list[float]], keywords: dict[str, list[int]]
) -> None:
    with refused(InvalidOption):
        deferred_acceptance(order, score, **keywords)  # type: ignore[arg-type]


def triples(match: Acceptance) -> list[tuple[int, int, int]]:
    return list(
        zip(match.proposer.tolist(), match.receiver.tolist(), match.units.tolist(), strict=True)
    )
