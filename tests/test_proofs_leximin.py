"""Proofs of leximin: trees that no answer but a best one has, by enumeration."""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_proofs_market import (  # fmt: skip
    changed,
    content_of,
    divisions,
    drawn,
    judged,
    proved,
    refused,
    task_of,
    utilities,
)

import cotenant
from cotenant import verify
from cotenant.instances.market import Market
from cotenant.solvers.outcome import Clock, Outcome, Status
from cotenant.solvers.proofs import Claimed, Task, leximin


def market_of(seed: int) -> Market:
    """Three users with a job on each of two servers of three to five cores; every fourth has twins, whose ratios tie."""
    market = drawn(seed, cores=float(3 + seed % 3))
    if seed % 4 == 3:
        one = np.ones(market.jobs)
        market = market.replace(parallel_fraction=0.8 * one, work=one, budget=np.ones(market.users))
    return market


def ratios(market: Market, cores: list[Fraction]) -> list[Fraction]:
    """The ratios of an answer, in order."""
    total = sum((Fraction(repr(b)) for b in market.budget[market.active].tolist()), Fraction(0))
    share = [
        Fraction(repr(float(market.capacity[j]))) * Fraction(repr(float(market.budget[i]))) / total
        for i, j in zip(market.user, market.server, strict=True)
    ]
    own, fair = utilities(market, cores), utilities(market, share)
    return sorted(own[i] / fair[i] for i in np.flatnonzero(market.active))


def every(market: Market) -> list[list[Fraction]]:
    return divisions(market, int(market.capacity[0]))


@pytest.mark.parametrize("seed", range(12))
def test_the_levels_that_are_proved_are_those_of_enumeration(seed: int) -> None:
    market = market_of(seed)
    best = max(ratios(market, cores) for cores in every(market))
    document = proved(market, "leximin")
    claims = [document["claim"], *(level["claim"] for level in document["levels"])]
    assert [claim["says"] for claim in claims] == ["optimal"] * len(set(best))
    assert [Fraction(claim["value"]) for claim in claims] == sorted(set(best))


@pytest.mark.parametrize("seed", range(6))
def test_no_tree_is_found_for_an_answer_that_is_not_the_best(seed: int) -> None:
    market, rng = market_of(seed), np.random.default_rng(seed)
    answers = every(market)
    best = max(ratios(market, cores) for cores in answers)
    tried = 0
    for place in rng.permutation(len(answers))[:25]:
        own = ratios(market, answers[place])
        tried += own < best
        solution = cotenant.solve(market, "ES").solution
        solution = type(solution)(cores=np.array([float(x) for x in answers[place]]))
        proof = leximin.leximin(task_of(market, Outcome(solution, None, Status.FEASIBLE)))
        first = next((k for k, (a, b) in enumerate(zip(own, best, strict=True)) if a < b), len(own))
        proved_values = [level.value for level in proof.levels if level.bound is not None]
        assert proved_values == sorted(
            set(own[:first]) - ({own[first]} if first < len(own) else set())
        )
    assert tried


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_tree_of_another_answer_is_refused(seed: int) -> None:
    market = market_of(seed)
    document = proved(market, "leximin")
    best = [Fraction(x) for x in document["witness"]["cores"]["numbers"]]
    for cores in every(market)[::17]:
        if ratios(market, cores) < ratios(market, best):
            numbers = [int(x) for x in cores]
            forged = changed(document, "witness", "cores", "numbers", to=numbers)
            values = sorted(set(ratios(market, cores)))
            for claim, value in zip(
                [forged["claim"], *(level["claim"] for level in forged["levels"])],
                values,
                strict=False,
            ):
                claim["value"] = claim["bound"] = str(value)
            forged["levels"] = forged["levels"][: len(values) - 1]
            with pytest.raises((verify.Refused, IndexError)):
                judged(market, forged)


def hard() -> tuple[Market, dict[str, Any]]:
    """A market whose first tree has several nodes of each kind."""
    for seed in itertools.count():
        market = drawn(seed, users=4, servers=3, cores=5.0)
        document = proved(market, "leximin")
        nodes = document["steps"][0]["nodes"]
        if any(isinstance(node, dict) for node in nodes) and [] in nodes and len(nodes) > 5:
            return market, document
    raise AssertionError


def test_a_tree_with_a_leaf_less_or_more_or_changed_is_refused() -> None:
    market, document = hard()
    nodes = document["steps"][0]["nodes"]

    def with_nodes(made: list[Any]) -> dict[str, Any]:
        return changed(document, "steps", 0, "nodes", to=made)

    assert refused(market, with_nodes([]))
    assert refused(market, with_nodes([[]]))
    assert refused(market, with_nodes([*nodes, []]))
    for place, node in enumerate(nodes):
        assert refused(market, with_nodes(nodes[:place]))
        assert refused(market, with_nodes([*nodes[:place], *nodes[place + 1 :]]))
        if isinstance(node, dict):
            zeros = {"weights": [0] * market.users}
            assert refused(market, with_nodes([*nodes[:place], [], *nodes[place + 1 :]]))
            assert refused(market, with_nodes([*nodes[:place], zeros, *nodes[place + 1 :]]))
            for weights in ([-1] * market.users, [1], ["1"] * market.users, [True] * market.users):
                other = {"weights": weights}
                assert refused(market, with_nodes([*nodes[:place], other, *nodes[place + 1 :]]))
        elif node:
            for other in ([node[0], -1], [-1, 0], [99, 0], [0, 1, 2], [0, "1"], [node[0], 10**9]):
                assert refused(market, with_nodes([*nodes[:place], other, *nodes[place + 1 :]]))


@pytest.mark.parametrize("seed", range(40))
def test_trees_at_random_never_prove_what_is_false(seed: int) -> None:
    rng = np.random.default_rng(seed)
    market = market_of(seed % 12)
    answers = every(market)
    best = max(ratios(market, cores) for cores in answers)
    cores = answers[rng.integers(len(answers))]
    witness = {"cores": {"over": 1, "numbers": [int(x) for x in cores]}}

    def node(depth: int) -> list[Any]:
        if depth == 0 or rng.random() < 0.3:
            return (
                [[]]
                if rng.random() < 0.5
                else [{"weights": rng.integers(0, 5, market.users).tolist()}]
            )
        job, at = int(rng.integers(market.jobs)), int(rng.integers(5))
        return [[job, at], *node(depth - 1), *node(depth - 1)]

    accepted = 0
    for _ in range(20):
        case = verify.Case(
            dict(task_of(market, Outcome(None, None, Status.UNKNOWN)).document), {}, witness,
            [[{"kind": "tree", "nodes": node(6)}]],
        )  # fmt: skip
        try:
            [found] = verify.market_leximin(case)
        except verify.Refused:
            continue
        accepted += 1
        own = ratios(market, cores)
        assert found.value == found.bound == own[0] == best[0]
        assert own.count(own[0]) == best.count(best[0])
    assert accepted < 20 or ratios(market, cores)[0] == best[0]


def test_squeezing_a_box_loses_no_answer_that_meets_the_conditions() -> None:
    for seed in range(8):
        market, rng = market_of(seed), np.random.default_rng(seed)
        document = proved(market, "leximin")
        given = dict(task_of(market, Outcome(None, None, Status.UNKNOWN)).document)
        boxes = verify.Leximin(verify.Market(verify.Case(given, {}, document["witness"], [])))
        goals = [
            (int(rng.integers(3)), {i: Fraction(int(rng.integers(8)), 4) * b for i, b in boxes.worth.items()}, above)
            for above in (False, True)
        ]  # fmt: skip
        whole = int(market.capacity[0])
        for _ in range(20):
            ends = np.sort(rng.integers(0, whole + 1, (2, market.jobs)), axis=0).tolist()
            least, most = copy.deepcopy(ends)
            squeezed = boxes.squeeze(least, most, goals)
            weights = rng.integers(0, 9, market.users).tolist()
            limit = None if squeezed is None else boxes.largest(weights, least, most)
            for cores in every(market):
                own = utilities(market, cores)
                if not all(a <= x <= b for a, x, b in zip(ends[0], cores, ends[1], strict=True)):
                    continue
                misses = [
                    sum(own[i] < goal[i] or (above and own[i] == goal[i]) for i in goal)
                    for _, goal, above in goals
                ]
                if all(n <= below for n, (below, _, _) in zip(misses, goals, strict=True)):
                    assert squeezed is not None
                    assert all(
                        a <= x <= b
                        for a, x, b, w in zip(least, cores, most, market.work, strict=True)
                        if w
                    )
                    assert limit is not None
                    assert (
                        sum(w * u for w, u in zip(weights, own, strict=True)) * boxes.market.unit
                        <= limit
                    )


def test_half_cores_and_too_many_columns_have_no_tree() -> None:
    market = market_of(0)
    document = proved(market, "leximin")
    halves = [2 * x for x in document["witness"]["cores"]["numbers"]]
    assert refused(market, changed(document, "witness", "cores", to={"over": 2, "numbers": halves}))
    large = market.replace(capacity=np.full(market.servers, 1e6))
    given = dict(task_of(large, Outcome(None, None, Status.UNKNOWN)).document)
    with pytest.raises(verify.Refused, match="more than"):
        verify.market_leximin(verify.Case(given, {}, document["witness"], [[]]))


def test_without_time_there_is_an_answer_and_no_bound() -> None:
    market = market_of(0)
    outcome = cotenant.solve(market, "leximin").outcome
    clock = Clock(1e-9)
    proof = leximin.leximin(Task.of(content_of(market), market, {}, outcome, clock))
    [level] = proof.levels
    assert (level.says, level.bound) == ("gap", None)
    assert level.value == ratios(market, [Fraction(int(x)) for x in outcome.solution.cores])[0]


def test_two_jobs_of_a_user_on_a_server_stay_a_claim() -> None:
    market = Market(
        capacity=[4.0], budget=[1.0, 1.0], user=[0, 0, 1], server=[0, 0, 0],
        parallel_fraction=[0.5, 0.6, 0.7], work=[1.0, 1.0, 1.0], name="twice",
    )  # fmt: skip
    with pytest.raises(Claimed, match="no fraction"):
        proved(market, "leximin")
