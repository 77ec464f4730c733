"""Proofs of the market, leximin trees among them: claims are true by enumeration."""

from __future__ import annotations

import copy
import decimal
import functools
import hashlib
import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.market_cases import MarketTruth, drawn
from support.messages import refused
from support.proved import (
    REFUSALS,
    Document,
    Proved,
    case_of,
    content_of,
    judged,
    proved,
    put,
    task_of,
)  # fmt: skip

import cotenant
from cotenant import catalog
from cotenant.analysis.run.proving import covered_levels
from cotenant.instances.market import Market
from cotenant.instances.market.generators import population
from cotenant.instances.problem.proof import Level, Proof
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import Claimed, leximin
from cotenant.solvers.proofs.market import best_attempt
from cotenant.verify.market import (
    GRID,
    Boxes,
    exponential,
    logarithm,
    market_equilibrium,
    market_leximin,
    market_nash_welfare,
    market_utilitarian,
)  # fmt: skip
from cotenant.verify.market import Market as CheckedMarket
from cotenant.verify.reading import Refused


@cache
def third(method: str, whole: bool = False) -> Proved:
    """The proof of a market that many forgeries are made of."""
    return proved(drawn(3), method, **({"whole": True} if whole else {}))


@pytest.mark.parametrize("seed", range(8))
def test_utilitarian_bounds_are_valid_and_tight(seed: int) -> None:
    truth = MarketTruth(drawn(seed))
    whole, divided = (proved(drawn(seed), "utilitarian", whole=w) for w in (True, False))
    best = max(sum(truth.utilities(cores)) for cores in truth.divisions(4))
    assert whole.value <= best <= whole.bound < whole.value + best / 10**25
    assert 0 <= divided.bound - divided.value <= divided.value / 10**9
    assert max(sum(truth.utilities(cores)) for cores in truth.divisions(6)) <= divided.bound


@pytest.mark.parametrize("utility", ["amdahl", "linear"])
@pytest.mark.parametrize("seed", range(6))
def test_nash_welfare_bounds_are_valid(seed: int, utility: str) -> None:
    market = drawn(seed)
    proof = proved(market, "nash-welfare", utility=utility)
    assert 0 <= proof.bound - proof.value <= proof.value / 10**8
    if utility == "linear":
        market = market.replace(parallel_fraction=np.ones(market.jobs))
    truth = MarketTruth(market)
    most = max(truth.welfare(truth.utilities(cores)) for cores in truth.divisions(6))
    assert most <= float(proof.bound) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_integer_nash_welfare_bounds_are_valid(seed: int) -> None:
    proof, truth = proved(drawn(seed), "nash-welfare", whole=True), MarketTruth(drawn(seed))
    most = max(truth.welfare(truth.utilities(cores)) for cores in truth.divisions(4))
    assert float(proof.value) <= most * (1 + 1e-12)
    assert most * (1 - 1e-12) <= float(proof.bound) <= most * (1 + 1e-8)
    assert proof.document["steps"][0]["kind"] == "tree"


def test_nash_welfare_proof_of_zero_welfare_has_no_bound() -> None:
    """One of three users of two whole cores has none: its utility has no logarithm."""
    market = Market([2.0], [1.0] * 3, [0, 1, 2], [0, 0, 0], [0.0, 0.5, 1.0], [1.0] * 3)
    [level] = proved(market, "nash-welfare", whole=True).proof.levels
    assert (level.value, level.bound) == (0, None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_nash_welfare_bound_from_any_numbers_in_tree_is_valid(seed: int) -> None:
    """Whatever is near, and whatever prices are: no bound is below the best of whole cores."""
    market, rng = drawn(seed), np.random.default_rng(seed)
    proof = proved(market, "nash-welfare", whole=True)
    for _ in range(60):
        forged = proof.document
        for node in forged["steps"][0]["nodes"]:
            for numbers in node.values() if isinstance(node, dict) else ():
                at = int(rng.integers(len(numbers)))
                numbers[at] = int(numbers[at] * float(rng.choice([0.5, 0.99, 1.01, 2.0])))
        case = case_of(market, forged["witness"], {"whole": True}, forged["steps"])
        assert market_nash_welfare(case)[0].bound >= proof.value  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(6))
def test_proved_regret_bounds_best_purchase(seed: int) -> None:
    proof, truth = proved(drawn(seed), "fisher"), MarketTruth(drawn(seed))
    document = proof.document
    epsilon = {name: Fraction(number) for name, number in document["claim"]["epsilon"].items()}
    assert max(epsilon.values()) == proof.value <= 1e-8
    assert truth.lie(document) == ""


@pytest.mark.slow
def test_ten_thousand_jobs_are_proved_to_a_hundred_millionth() -> None:
    market = population(users=1000, servers=1000, jobs=10, rng=np.random.default_rng(0))
    proof = proved(market, "fisher")
    assert proof.value <= Fraction(1, 10**8)
    assert len(json.dumps(proof.document)) < 250_000


def test_utilities_of_different_scales_are_proved() -> None:
    market = drawn(3, cores=0.0004)
    market = market.replace(work=market.work * 1e-40, budget=market.budget * 1e30)
    for method in ("fisher", "nash-welfare", "utilitarian"):
        assert off(proved(market, method)) <= 1e-8


def off(proof: Proved) -> Fraction:
    """How far a claim is from an optimum, or from an equilibrium."""
    return proof.value if proof.proof.levels[0].epsilon else proof.bound / proof.value - 1


@pytest.mark.parametrize("fraction", [0.0, 1e-300, 1e-12, 1e-3])
def test_market_proof_includes_cores_of_nearly_serial_job(fraction: float) -> None:
    market = Market(
        capacity=[24.0], budget=[1.0, 1.0, 1.0], user=[0, 1, 2], server=[0, 0, 0],
        parallel_fraction=[fraction, 0.9, 0.99], work=[1.0, 1.0, 1.0], name="sliver",
    )  # fmt: skip
    for method in ("fisher", "nash-welfare", "utilitarian"):
        proof = proved(market, method)
        assert proof.document["witness"]["cores"]["numbers"][0] > 0
        assert off(proof) <= (1e-8 if method == "fisher" else 1e-9)


def test_equilibrium_of_market_with_huge_numbers_has_no_proof() -> None:
    def attempt(*_: object) -> Proof:
        raise Refused("a welfare is beyond 2^4000")

    with refused(Claimed):
        best_attempt(task_of(drawn(3)), attempt, float, 0.0)


def test_unneeded_server_has_zero_price() -> None:
    market = Market(
        capacity=[4.0, 2.0, 3.0], budget=[1.0, 1.0], user=[0, 0, 1], server=[0, 1, 0],
        parallel_fraction=[0.5, 0.0, 0.9], work=[1.0, 1.0, 1.0], name="serial",
    )  # fmt: skip
    proof = proved(market, "fisher")
    assert proof.document["witness"]["price"]["numbers"][1:] == [0, 0]
    proof.refuses(put("witness", "price", "numbers", 0, to=0), approved=True)


def level_of(market: Market, checker: Any, witness: Document, step: Any, **options: Any) -> Any:
    """What the checker finds of any answer and step, however bad."""
    [level] = checker(case_of(market, witness, options, [step]))
    return level


def any_cores(truth: MarketTruth, rng: np.random.Generator) -> list[int]:
    """A division of whole cores of which some are kept back."""
    every = truth.divisions(4)
    return [int(x) - int(x > 0 and rng.random() < 0.3) for x in every[rng.integers(len(every))]]


@pytest.mark.parametrize("seed", range(8))
def test_market_verifier_computes_true_values_and_bounds_of_any_answer(seed: int) -> None:
    market, rng = drawn(seed), np.random.default_rng(seed)
    truth = MarketTruth(market)
    every = [truth.utilities(cores) for cores in truth.divisions(4)]
    best, welfare = max(map(sum, every)), max(truth.welfare(own) for own in every[::7])
    for _ in range(20):
        cores = any_cores(truth, rng)
        witness = {"cores": {"over": 1, "numbers": cores}}
        whole = level_of(market, market_utilitarian, witness, {"kind": "dual"}, whole=True)
        own = sum(truth.utilities([Fraction(x) for x in cores]))
        assert whole.value <= own < whole.value + Fraction(1, 2**100)
        assert whole.bound >= best
        step: Document = {"kind": "tangent"}
        if rng.random() < 0.5:
            step["at"] = {"over": 2, "numbers": rng.integers(0, 10, market.jobs).tolist()}
        assert level_of(market, market_utilitarian, witness, step).bound >= best
        bound = level_of(market, market_nash_welfare, witness, step).bound
        assert bound is None or welfare <= float(bound) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_equilibrium_verifier_computes_exact_residuals_at_any_prices(seed: int) -> None:
    market, rng = drawn(seed), np.random.default_rng(seed)
    truth = MarketTruth(market)
    for _ in range(10):
        cores, price = any_cores(truth, rng), rng.integers(1, 9, market.servers).tolist()
        parts = {"cores": {"over": 1, "numbers": cores}, "price": {"over": 4, "numbers": price}}
        off = level_of(market, market_equilibrium, parts, {"kind": "equilibrium"}).epsilon
        given, spent = [Fraction(0)] * market.servers, [Fraction(0)] * market.users
        for job, x in enumerate(cores):
            given[market.server[job]] += x
            spent[market.user[job]] += x * Fraction(price[market.server[job]], 4)
        clearing = [1 - g / c for g, c in zip(given, truth.capacity, strict=True)]
        over = [s / b - 1 for s, b in zip(spent, truth.budget, strict=True)]
        assert (off["clearing"], off["overspending"]) == (max(clearing), max(0, *over))
        own = truth.utilities([Fraction(x) for x in cores])
        for job, user in enumerate(truth.user):
            bought = truth.budget[user] * 4 / price[market.server[job]]
            assert own[user] >= truth.worth(job, bought) * (1 - off["regret"])


def test_equilibrium_with_larger_residuals_than_claimed_is_partly_certified() -> None:
    market = cotenant.read("market/tiny")
    result = cotenant.solve(market, "fisher")
    for error, covered in ((Fraction(1, 10**9), True), (Fraction(1, 10**7), False)):
        level = Level("equilibrium_error", "min", error, Fraction(0), epsilon={"regret": error})
        proof = Proof("market", "fisher", (level,))
        assert all(covered_levels(proof, result)) == covered


class Interrupted(Clock):
    """One that is asked a few times until Ctrl-C comes."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    @property
    def expired(self) -> bool:
        self.times -= 1
        if self.times < 0:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize(
    ("method", "options", "times"), [("nash-welfare", {"whole": True}, 1), ("leximin", {}, 1)]
)
def test_interrupted_proof_keeps_partial_bound(method: str, options: Document, times: int) -> None:
    market = drawn(3)
    outcome = cotenant.solve(market, method, **options)
    task = task_of(market, outcome, Interrupted(times), method, **options)
    proof = resolve(catalog.find("market", method).proof_producer)(task)
    assert task.clock.times < 0  # type: ignore[attr-defined]
    assert len(proof.levels) == 1
    assert proof.levels[0].bound is not None
    assert Proved(content_of(market), proof, market.name).sentence


# --- Lies ---


@pytest.mark.parametrize(
    ("method", "whole"),
    [("fisher", False), ("nash-welfare", False), ("utilitarian", False), ("utilitarian", True)],
)
def test_claim_beyond_verified_value_is_refused(method: str, whole: bool) -> None:
    """By a hundred millionth."""
    proof = third(method, whole)
    claim, little = proof.document["claim"], Fraction(1, 10**8)
    for name, factor in itertools.product(("value", "bound"), (1 - little, 1 + little)):
        if number := Fraction(claim[name]):
            proof.refuses(put("claim", name, to=str(number * factor)))
    if claim["claim_kind"] != "optimal":
        proof.refuses(put("claim", "claim_kind", to="optimal"))
    for name, number in claim.get("epsilon", {}).items():
        if Fraction(number):
            proof.refuses(put("claim", "epsilon", name, to=str(Fraction(number) / 2)))
    if "epsilon" in claim:
        proof.refuses(put("claim", "epsilon", to={}))
    else:
        proof.refuses(put("claim", "bound", to=str(Fraction(claim["value"]) * (1 - 100 * little))))


CORES, PRICE = ("witness", "cores"), ("witness", "price")
EQUILIBRIA: dict[str, Any] = {
    "a negative price": put(*PRICE, "numbers", 0, to=-1),
    "a price too few": put(*PRICE, "numbers", to=[1]),
    "a price of a fraction": put(*PRICE, "numbers", 0, to="1/2"),
    "prices over nothing": put(*PRICE, "over", to=0),
    "prices over less than nothing": put(*PRICE, "over", to=-1),
    "negative cores": put(*CORES, "numbers", 0, to=-(10**9)),
    "cores of a truth": put(*CORES, "numbers", 0, to=True),
    "cores of a text": put(*CORES, "numbers", 0, to="NaN"),
    "cores of another job": put(*CORES, "numbers", to=lambda old: [*old, 0]),
    "more cores than there are": put(*CORES, "over", to=lambda old: old - 1),
    "a sliver more than there is": put(*CORES, "numbers", 0, to=lambda old: old + 1),
    "cores over a number of 5000 digits": put(*CORES, "over", to=10**3999),
    "no answer": put("witness", to=None),
    "two steps": put("steps", to=lambda old: old * 2),
    "no step": put("steps", to=[]),
    "two levels": lambda p: p["levels"].append({"claim": p["claim"], "steps": p["steps"]}),
    "another kind": put("steps", 0, "kind", to="tangent"),
    "a step that says more": lambda p: p["steps"][0].update(regret=0),
    "an option that it has not": lambda p: p["options"].update(whole=True),
    "an answer with envy": lambda p: p["witness"].update(envy=0),
    "negative points": lambda p: p["steps"][0].update(
        at={"over": 1, "numbers": [-1] * len(p["witness"]["cores"]["numbers"])}
    ),
    "points over nothing": lambda p: p["steps"][0].update(
        at={"over": 0, "numbers": p["witness"]["cores"]["numbers"]}
    ),
}
WHOLE: dict[str, Any] = {
    "half a core": put(*CORES, to=lambda d: {"over": 2, "numbers": [2 * x for x in d["numbers"]]}),
    **{f"whole is {value!r}": put("options", "whole", to=value) for value in (1, "true", None, 0)},
    "whole is False": put("options", "whole", to=False),
}
NODES = ("steps", 0, "nodes")
TREES: dict[str, Any] = {
    "a tree of divided cores": lambda p: p["options"].clear(),
    "a tree cut off": lambda p: p["steps"][0]["nodes"].pop(),
    "a tree that goes on": lambda p: p["steps"][0]["nodes"].append([]),
    "a leaf of fewer users": lambda p: p["steps"][0]["nodes"][-1]["worth"].pop(),
    "a leaf worth nothing": put(*NODES, -1, "worth", to=[0, 0, 0]),
    "a leaf of negative prices": put(*NODES, -1, "prices", to=[-1, 0]),
    "an empty tree": put(*NODES, to=[[]]),
}
WELFARE: dict[str, Any] = {
    "a welfare beyond all numbers": put(
        *CORES, to=lambda old: {"over": 10**30, "numbers": [1] * len(old["numbers"])}
    )
}
FORGERIES = {
    **{name: (lambda: third("fisher"), change) for name, change in EQUILIBRIA.items()},
    **{name: (lambda: third("utilitarian", True), change) for name, change in WHOLE.items()},
    **{name: (lambda: third("nash-welfare", True), change) for name, change in TREES.items()},
    **{name: (lambda: third("nash-welfare"), change) for name, change in WELFARE.items()},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("proof", "change"), FORGERIES.values(), ids=FORGERIES)
def test_forged_market_proof_is_refused(proof: Callable[[], Proved], change: Any) -> None:
    proof().refuses(change)


INSTANCES: dict[str, Any] = {
    "a fraction above 1": put("job", "parallel_fraction", 0, to=1.5),
    "a negative fraction": put("job", "parallel_fraction", 0, to=-0.5),
    "negative work": put("job", "work", 0, to=-1),
    "no budget": put("budget", 0, to=0),
    "a negative capacity": put("capacity", 0, to=-24),
    "a user who is not there": put("job", "user", 0, to=3),
    "a server that is not there": put("job", "server", 0, to=-1),
    "null": put("job", "work", 0, to=None),
    "a fraction too few": lambda d: d["job"]["parallel_fraction"].pop(),
    "a new field": lambda d: d.update(power=1),
}


@pytest.mark.parametrize("spoil", INSTANCES.values(), ids=INSTANCES)
def test_invalid_market_is_refused_by_verifier(spoil: Callable[[Document], None]) -> None:
    proof = third("utilitarian")
    instance, document = json.loads(proof.content), proof.document
    spoil(instance)
    content = json.dumps(instance).encode()
    document["instance"]["sha256"] = hashlib.sha256(content).hexdigest()
    with pytest.raises(Refused):
        judged(content, document)


def test_nash_welfare_proof_with_starved_user_has_no_bound() -> None:
    proof, market = third("nash-welfare"), drawn(3)
    users = market.user.tolist()
    starve = put(
        *CORES, "numbers", to=lambda old: [x * (u > 0) for u, x in zip(users, old, strict=True)]
    )
    proof.refuses(starve)
    forged = proof.document
    starve(forged)
    forged["claim"] |= {"value": 0, "bound": None}
    proof.judge(forged)


# --- What is used inside ---


@pytest.mark.parametrize("seed", range(20))
def test_logarithms_and_exponentials_lie_between_their_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    context = decimal.Context(prec=120)
    above, below = (int(rng.integers(1, 2**62)) ** int(rng.integers(1, 9)) for _ in range(2))
    if seed == 0:
        above = below = 7
    if seed == 1:
        above, below = 2**200, 1
    low, high = logarithm(above, below)
    true = context.ln(context.divide(decimal.Decimal(above), decimal.Decimal(below)))
    true = context.multiply(true, decimal.Decimal(GRID))
    assert low <= true <= high
    number = int(rng.integers(-(2**62), 2**62)) * 2 ** int(rng.integers(40, 75)) + seed
    least, most = (exponential(number, up) for up in (False, True))
    true = context.exp(context.divide(decimal.Decimal(number), decimal.Decimal(GRID)))
    for side, sign in ((least, -1), (most, 1)):
        limit = context.divide(decimal.Decimal(side.numerator), decimal.Decimal(side.denominator))
        assert sign * (limit - true) >= -true * decimal.Decimal(10) ** -100
    assert most - least < least * Fraction(1, 2**70)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("fisher", {"rounding": "user-deficit"}),
        ("nash-welfare", {"utility": "ces"}),
        ("nash-welfare", {"utility": "leontief"}),
    ],
)
def test_market_options_without_producer_have_no_proof(method: str, options: Document) -> None:
    with pytest.raises(Claimed):
        proved(cotenant.read("market/tiny"), method, **options)


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
def test_leximin_verifier_refuses_random_trees_that_prove_false_values(seed: int) -> None:
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


def test_leximin_tree_verifier_refuses_fractional_or_too_many_cores() -> None:
    halves = [2 * x for x in proof_of(0).document["witness"]["cores"]["numbers"]]
    proof_of(0).refuses(put("witness", "cores", to={"over": 2, "numbers": halves}))
    large = market_of(0).replace(capacity=np.full(2, 1e6))
    with refused(Refused):
        market_leximin(case_of(large, proof_of(0).document["witness"], {}, []))


@pytest.mark.parametrize("seed", range(6))
def test_market_leximin_at_time_limit_zero_has_bound_from_weights_of_users(seed: int) -> None:
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


def test_leximin_of_user_with_two_jobs_on_one_server_has_no_proof() -> None:
    market = Market(
        capacity=[4.0], budget=[1.0, 1.0], user=[0, 0, 1], server=[0, 0, 0],
        parallel_fraction=[0.5, 0.6, 0.7], work=[1.0, 1.0, 1.0], name="twice",
    )  # fmt: skip
    with refused(Claimed):
        proved(market, "leximin")
