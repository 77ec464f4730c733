"""Proofs of leximin: trees that no answer but a best one has, by enumeration."""

from __future__ import annotations

import copy
import functools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.market_cases import MarketTruth, drawn
from support.messages import refused
from support.proved import REFUSALS, Proved, case_of, proved, put, task_of

import cotenant
from cotenant.instances.market import Market
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import Claimed, leximin
from cotenant.verify.market import Boxes, market_leximin
from cotenant.verify.market import Market as CheckedMarket
from cotenant.verify.reading import Refused


def market_of(seed: int) -> Market:
    """Three users with a job on each of two servers of three to five cores; every fourth has twins,
    whose ratios tie.
    """
    return drawn(seed, twins=seed % 4 == 3, cores=float(3 + seed % 3))


@functools.cache
def truth_of(seed: int) -> MarketTruth:
    return MarketTruth(market_of(seed))


@functools.cache
def every(seed: int) -> list[tuple[list[Fraction], list[Fraction]]]:
    """All answers of `market_of(seed)` and their ratios."""
    truth = truth_of(seed)
    answers = truth.divisions(int(truth.capacity[0]))
    return [(cores, truth.ratios_of(truth.utilities(cores))) for cores in answers]


@functools.cache
def proof_of(seed: int) -> Proved:
    return proved(market_of(seed), "leximin")


def boxes_of(seed: int, cores: list[int]) -> Boxes:
    case = case_of(market_of(seed), {"cores": {"over": 1, "numbers": cores}})
    return Boxes(CheckedMarket(case))


def whole(cores: list[Fraction]) -> list[int]:
    return [int(x) for x in cores]


@pytest.mark.parametrize("seed", range(12))
def test_proved_leximin_levels_equal_enumeration(seed: int) -> None:
    best = max(own for _, own in every(seed))
    levels = proof_of(seed).proof.levels
    assert [(level.value, level.bound) for level in levels] == [(r, r) for r in sorted(set(best))]


def test_leximin_levels_a_billionth_apart_are_proved() -> None:
    near = Market([3.0], [0.34, 0.165], [1, 0], [0, 0], [0.417, 1e-10], [0.1847, 1.05])  # type: ignore[arg-type]
    truth = MarketTruth(near)
    best = max(truth.ratios_of(truth.utilities(cores)) for cores in truth.divisions(3))
    assert [level.value for level in proved(near, "leximin").proof.levels] == best


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_leximin_tree_with_another_answer_is_refused(seed: int) -> None:
    best = max(own for _, own in every(seed))
    for cores, own in every(seed)[::17]:
        if own < best:
            forged, values = proof_of(seed).document, sorted(set(own))
            forged["witness"]["cores"]["numbers"] = whole(cores)
            for level, value in zip([forged, *forged["levels"]], values, strict=False):
                level["claim"] |= {"value": str(value), "bound": str(value)}
            forged["levels"] = forged["levels"][: len(values) - 1]
            with pytest.raises((Refused, IndexError)):
                proof_of(seed).judge(forged)


@pytest.mark.slow
def test_leximin_tree_with_a_leaf_removed_added_or_changed_is_refused() -> None:
    proof = proved(drawn(2, users=4, servers=3, jobs=3, cores=6.0), "leximin")
    trees = [level["steps"][0]["nodes"] for level in proof.document["levels"]]
    nodes = max(trees, key=len)
    assert len(nodes) > 5
    others: list[Any] = [[], [[]], [*nodes, []]]
    for index, node in enumerate(nodes):
        before, after = nodes[:index], nodes[index + 1 :]
        others += [before, [*before, *after]]
        wrong = [{}, 0, None, {"weights": [1] * 4}, [0, 1, 2], [0, "1"], [-1, 0], [99, 0]]
        if node:
            wrong += [[], [node[0], -1], [node[0], 10**9], [True, node[1]]]
        others += [[*before, other, *after] for other in wrong]
    document = proof.document
    for other in others:
        document["levels"][trees.index(nodes)]["steps"][0]["nodes"] = other
        with pytest.raises(REFUSALS):
            proof.judge(document)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(8))
def test_leximin_verifier_accepts_no_false_level_of_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    market, answers = market_of(seed), every(seed)
    best = max(own for _, own in answers)
    for _ in range(12):
        some = (answers[k] for k in rng.integers(len(answers), size=20))
        cores, _ = max(some, key=lambda one: one[1])
        witness = {"cores": {"over": 1, "numbers": whole(cores)}}
        boxes = boxes_of(seed, whole(cores))
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
            steps: list[list[Any]] = [[]] * level + [[{"kind": "tree", "nodes": nodes}]]
            try:
                checked = market_leximin(case_of(market, witness, {}, *steps))[level]
            except Refused:
                continue
            same = [ratio for ratio in best if ratio <= value]
            own = [ratio for ratio in boxes.order if ratio <= value]
            assert checked.bound == value
            assert own[: own.index(value)] != best[: own.index(value)] or same == own


@pytest.mark.parametrize("seed", range(4))
def test_user_with_utility_equal_to_goal_meets_goal(seed: int) -> None:
    boxes, tiny = boxes_of(seed, whole(every(seed)[0][0])), Fraction(1, 10**60)
    for cores, _ in every(seed)[::5]:
        numbers = whole(cores)
        for user, own in enumerate(truth_of(seed).utilities(cores)):
            assert boxes.utility(user, numbers) == own
            for goal, meets in (
                (own, (True, False)),
                (own + tiny, (False, False)),
                (own - tiny, (True, True)),
            ):
                wanted = goal, goal * boxes.market.unit // 1
                both = [boxes.meets(user, numbers, wanted, above) for above in (False, True)]
                assert tuple(both) == meets


def test_leximin_tree_refuses_fractional_cores_and_large_boxes() -> None:
    halves = [2 * x for x in proof_of(0).document["witness"]["cores"]["numbers"]]
    proof_of(0).refuses(put("witness", "cores", to={"over": 2, "numbers": halves}))
    large = market_of(0).replace(capacity=np.full(2, 1e6))
    with refused(Refused):
        market_leximin(case_of(large, proof_of(0).document["witness"], {}, []))


@pytest.mark.parametrize("seed", range(6))
def test_leximin_at_time_limit_zero_is_bounded_by_weights(seed: int) -> None:
    market, rng = market_of(seed), np.random.default_rng(seed)
    outcome = cotenant.solve(market, "leximin")
    proof = leximin.leximin(task_of(market, outcome, Clock(1e-9), "leximin"))
    [level] = proof.levels
    best = max(own for _, own in every(seed))
    assert level.value == best[0] <= level.bound < best[0] * 2

    def level_of(*steps: dict[str, Any]) -> Any:
        parts = [[step] for step in steps]
        return market_leximin(case_of(market, proof.witness, {}, *parts))[0]  # type: ignore[arg-type]

    for _ in range(20):
        weights = rng.integers(0, 5, market.users).tolist()
        at = {"over": 2, "numbers": rng.integers(0, 9, market.jobs).tolist()}
        step = {"kind": "tangent", "weights": weights, "at": at}
        if not any(weights[user] for user in np.flatnonzero(market.active)):
            with pytest.raises(Refused, match="all 0"):
                level_of(step)
        else:
            assert level_of(step).bound >= best[0]
    for weights in ([-1] * market.users, [1], ["1"] * market.users, None):
        with pytest.raises(Refused):
            level_of({"kind": "tangent", "weights": weights})
    if len(set(best)) > 1:  # weights say nothing of a second level
        with pytest.raises(Refused):
            level_of(dict(level.steps[0]), dict(level.steps[0]))


def test_leximin_of_user_with_two_jobs_on_one_server_stays_claimed() -> None:
    market = Market(
        capacity=[4.0], budget=[1.0, 1.0], user=[0, 0, 1], server=[0, 0, 0],
        parallel_fraction=[0.5, 0.6, 0.7], work=[1.0, 1.0, 1.0], name="twice",
    )  # fmt: skip
    with refused(Claimed):
        proved(market, "leximin")
