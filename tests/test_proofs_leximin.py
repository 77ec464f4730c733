"""Proofs of leximin: trees that no answer but a best one has, by enumeration."""

from __future__ import annotations

import copy
import functools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.seeds import seeds
from test_proofs_market import (  # fmt: skip
    changed,
    content_of,
    divisions,
    drawn,
    is_refused,
    judged,
    proved,
    task_of,
    utilities,
)

import cotenant
from cotenant.instances.market import Allocation, Market
from cotenant.solvers.outcome import Clock, Outcome, Status
from cotenant.solvers.proofs import Claimed, Task, leximin
from cotenant.verify.frame import ProofCase
from cotenant.verify.market import Boxes, market_leximin
from cotenant.verify.market import Market as CheckedMarket
from cotenant.verify.reading import Refused


def market_of(seed: int) -> Market:
    """Three users with a job on each of two servers of three to five cores; every fourth has twins,
    whose ratios tie.
    """
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


@functools.cache
def every(seed: int) -> list[tuple[list[Fraction], list[Fraction]]]:
    """All answers of `market_of(seed)` and their ratios."""
    market = market_of(seed)
    found = divisions(market, int(market.capacity[0]))
    return [(cores, ratios(market, cores)) for cores in found]


@pytest.mark.parametrize("seed", range(12))
def test_the_levels_that_are_proved_are_those_of_enumeration(seed: int) -> None:
    market = market_of(seed)
    best = max(own for _, own in every(seed))
    document = proved(market, "leximin")
    claims = [document["claim"], *(level["claim"] for level in document["levels"])]
    assert [claim["claim_kind"] for claim in claims] == ["optimal"] * len(set(best))
    assert [Fraction(claim["value"]) for claim in claims] == sorted(set(best))


def test_levels_are_proved_that_differ_by_less_than_a_billionth() -> None:
    near = Market([3.0], [0.34, 0.165], [1, 0], [0, 0], [0.417, 1e-10], [0.1847, 1.05])  # type: ignore[arg-type]
    best = max(ratios(near, cores) for cores in divisions(near, 3))
    levels = proved(near, "leximin")["levels"]
    assert [Fraction(level["claim"]["value"]) for level in levels] == best[1:]


@pytest.mark.parametrize("seed", seeds(6, 2))
def test_no_tree_is_found_for_an_answer_that_is_not_the_best(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leximin, "MOST_NODES", 50)
    market, rng = market_of(seed), np.random.default_rng(seed)
    answers = every(seed)
    best = max(own for _, own in answers)
    for place in rng.permutation(len(answers))[:8]:
        cores, own = answers[place]
        solution = Allocation(np.array([float(x) for x in cores]))
        proof = leximin.leximin(task_of(market, Outcome(solution, None, Status.FEASIBLE)))
        apart = next((a for a, b in zip(own, best, strict=True) if a < b), None)
        for level in proof.levels:
            assert level.claim_kind == "gap" or apart is None or level.bound < apart


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_tree_of_another_answer_is_refused(seed: int) -> None:
    market = market_of(seed)
    document = proved(market, "leximin")
    best = [Fraction(x) for x in document["witness"]["cores"]["numbers"]]
    for cores, own in every(seed)[::17]:
        if own < ratios(market, best):
            numbers = [int(x) for x in cores]
            forged = changed(document, "witness", "cores", "numbers", to=numbers)
            values = sorted(set(own))
            for claim, value in zip(
                [forged["claim"], *(level["claim"] for level in forged["levels"])],
                values,
                strict=False,
            ):
                claim["value"] = claim["bound"] = str(value)
            forged["levels"] = forged["levels"][: len(values) - 1]
            with pytest.raises((Refused, IndexError)):
                judged(market, forged)


def test_a_tree_with_a_leaf_less_or_more_or_changed_is_refused() -> None:
    market = drawn(2, users=4, servers=3, jobs=3, cores=6.0)
    document = proved(market, "leximin")
    nodes = max((level["steps"][0]["nodes"] for level in [document, *document["levels"]]), key=len)
    place_of = [level["steps"][0]["nodes"] for level in document["levels"]].index(nodes)
    assert len(nodes) > 5

    def with_nodes(made: list[Any]) -> dict[str, Any]:
        return changed(document, "levels", place_of, "steps", 0, "nodes", to=made)

    assert is_refused(market, with_nodes([]))
    assert is_refused(market, with_nodes([[]]))
    assert is_refused(market, with_nodes([*nodes, []]))
    for place, node in enumerate(nodes):
        before, after = nodes[:place], nodes[place + 1 :]
        assert is_refused(market, with_nodes(before))
        assert is_refused(market, with_nodes([*before, *after]))
        for other in ({}, 0, None, {"weights": [1] * 4}, [0, 1, 2], [0, "1"], [-1, 0], [99, 0]):
            assert is_refused(market, with_nodes([*before, other, *after]))
        if node:
            for other in ([], [node[0], -1], [node[0], 10**9], [True, node[1]]):
                assert is_refused(market, with_nodes([*before, other, *after]))


@pytest.mark.parametrize("seed", range(8))
def test_trees_at_random_never_prove_what_is_false(seed: int) -> None:
    rng = np.random.default_rng(seed)
    market, answers = market_of(seed), every(seed)
    best = max(own for _, own in answers)
    given = dict(task_of(market, Outcome(None, None, Status.UNKNOWN)).document)
    for _ in range(12):
        cores, _ = max(
            (answers[k] for k in rng.integers(len(answers), size=20)), key=lambda one: one[1]
        )
        witness = {"cores": {"over": 1, "numbers": [int(x) for x in cores]}}
        boxes = Boxes(CheckedMarket(ProofCase(given, {}, witness, [])))
        for level, value in enumerate(sorted(set(boxes.order))):
            goals, stack, nodes = boxes.conditions(value), [boxes.root()], list[list[int]]()
            while stack and len(nodes) < 40:
                least, most = stack.pop()
                copied = copy.deepcopy((least, most))
                if not boxes.squeeze(*copied, goals):
                    nodes.append([])
                    continue
                job, at = int(rng.integers(market.jobs)), int(rng.integers(5))
                nodes.append([job, at])
                above, below = copy.deepcopy((least, most)), copy.deepcopy((least, most))
                above[0][job], below[1][job] = max(least[job], at + 1), min(most[job], at)
                stack += [above, below]
            steps: list[list[Any]] = [[] for _ in range(level)] + [
                [{"kind": "tree", "nodes": nodes}]
            ]
            try:
                found = market_leximin(ProofCase(given, {}, witness, steps))[level]
            except Refused:
                continue
            same = [ratio for ratio in best if ratio <= value]
            own = [ratio for ratio in boxes.order if ratio <= value]
            assert found.bound == value
            assert own[: own.index(value)] != best[: own.index(value)] or same == own


def test_squeezing_a_box_loses_no_answer_that_meets_the_conditions() -> None:
    for seed in range(4):
        market, rng = market_of(seed), np.random.default_rng(seed)
        document = proved(market, "leximin")
        given = dict(task_of(market, Outcome(None, None, Status.UNKNOWN)).document)
        boxes = Boxes(CheckedMarket(ProofCase(given, {}, document["witness"], [])))
        whole, answers = int(market.capacity[0]), [cores for cores, _ in every(seed)]
        own_of = [utilities(market, cores) for cores in answers]
        emptied = 0
        for _ in range(20):
            wanted = [Fraction(int(x), 4) for x in rng.integers(8, size=2)]
            below = rng.integers(3, size=2).tolist()
            goals = [(below[above], boxes.goals(wanted[above]), bool(above)) for above in (0, 1)]
            ends = np.sort(rng.integers(0, whole + 1, (2, market.jobs)), axis=0).tolist()
            least, most = copy.deepcopy(ends)
            left = boxes.squeeze(least, most, goals)
            emptied += not left
            for cores, own in zip(answers, own_of, strict=True):
                if not all(a <= x <= b for a, x, b in zip(ends[0], cores, ends[1], strict=True)):
                    continue
                misses = [
                    sum(own[i] < goal[i][0] or (above and own[i] == goal[i][0]) for i in goal)
                    for _, goal, above in goals
                ]
                if all(n <= below for n, (below, _, _) in zip(misses, goals, strict=True)):
                    assert left
                    for job in boxes.low:
                        assert least[job] <= cores[job] <= most[job]
        assert 0 < emptied < 20


@pytest.mark.parametrize("seed", range(4))
def test_whoever_is_at_its_goal_meets_it_and_is_not_above(seed: int) -> None:
    market = market_of(seed)
    document = proved(market, "leximin")
    given = dict(task_of(market, Outcome(None, None, Status.UNKNOWN)).document)
    boxes = Boxes(CheckedMarket(ProofCase(given, {}, document["witness"], [])))
    tiny = Fraction(1, 10**60)
    for cores, _ in every(seed)[::5]:
        numbers = [int(x) for x in cores]
        for user, own in enumerate(utilities(market, cores)):
            assert boxes.utility(user, numbers) == own
            for goal, meets in (
                (own, (True, False)),
                (own + tiny, (False, False)),
                (own - tiny, (True, True)),
            ):
                wanted = goal, goal * boxes.market.unit // 1
                found = [boxes.meets(user, numbers, wanted, above) for above in (False, True)]
                assert tuple(found) == meets


def test_half_cores_and_too_many_columns_have_no_tree() -> None:
    market = market_of(0)
    document = proved(market, "leximin")
    halves = [2 * x for x in document["witness"]["cores"]["numbers"]]
    assert is_refused(
        market, changed(document, "witness", "cores", to={"over": 2, "numbers": halves})
    )
    large = market.replace(capacity=np.full(market.servers, 1e6))
    given = dict(task_of(large, Outcome(None, None, Status.UNKNOWN)).document)
    with refused(Refused):
        market_leximin(ProofCase(given, {}, document["witness"], [[]]))


@pytest.mark.parametrize("seed", range(6))
def test_without_time_weights_bound_the_least_ratio(seed: int) -> None:
    market = market_of(seed)
    outcome = cotenant.solve(market, "leximin").outcome
    clock = Clock(1e-9)
    proof = leximin.leximin(Task.of(content_of(market), market, {}, outcome, clock))
    [level] = proof.levels
    own = ratios(market, [Fraction(int(x)) for x in outcome.solution.cores])
    assert level.value == own[0]
    assert level.claim_kind == ("optimal" if level.bound == own[0] else "gap")
    assert own[0] <= level.bound < own[0] * 2
    rng = np.random.default_rng(seed)
    given = dict(task_of(market, Outcome(None, None, Status.UNKNOWN)).document)
    best = max(own[0] for _, own in every(seed))
    for _ in range(20):
        weights = rng.integers(0, 5, market.users).tolist()
        at = {"over": 2, "numbers": rng.integers(0, 9, market.jobs).tolist()}
        step = {"kind": "tangent", "weights": weights, "at": at}
        case = ProofCase(given, {}, proof.witness, [[step]])
        if not any(weights[user] for user in np.flatnonzero(market.active)):
            with refused(Refused):
                market_leximin(case)
        else:
            assert market_leximin(case)[0].bound >= best
    for weights in ([-1] * market.users, [1], ["1"] * market.users, None):
        case = ProofCase(given, {}, proof.witness, [[{"kind": "tangent", "weights": weights}]])
        with pytest.raises(Refused):
            market_leximin(case)
    if len(set(own)) > 1:  # weights say nothing of a second level
        case = ProofCase(given, {}, proof.witness, [[dict(level.steps[0])]] * 2)
        with pytest.raises(Refused):
            market_leximin(case)


def test_two_jobs_of_a_user_on_a_server_stay_a_claim() -> None:
    market = Market(
        capacity=[4.0], budget=[1.0, 1.0], user=[0, 0, 1], server=[0, 0, 0],
        parallel_fraction=[0.5, 0.6, 0.7], work=[1.0, 1.0, 1.0], name="twice",
    )  # fmt: skip
    with refused(Claimed):
        proved(market, "leximin")
