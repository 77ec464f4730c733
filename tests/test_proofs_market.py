"""Proofs of the market as files: what they claim is true by enumeration, and no lie about it is
accepted.
"""

from __future__ import annotations

import decimal
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
from cotenant.solvers.proofs import Claimed
from cotenant.solvers.proofs.market_cores import best_attempt
from cotenant.verify.market import (
    GRID,
    exponential,
    logarithm,
    market_equilibrium,
    market_nash_welfare,
    market_utilitarian,
)  # fmt: skip
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


def test_zero_nash_welfare_has_no_tree() -> None:
    """One of three users of two whole cores has none: its utility has no logarithm."""
    market = Market([2.0], [1.0] * 3, [0, 1, 2], [0, 0, 0], [0.0, 0.5, 1.0], [1.0] * 3)
    [level] = proved(market, "nash-welfare", whole=True).proof.levels
    assert (level.value, level.bound) == (0, None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_tree_leaves_give_valid_bound_on_nash_welfare(seed: int) -> None:
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
def test_proof_keeps_cores_of_nearly_serial_job(fraction: float) -> None:
    market = Market(
        capacity=[24.0], budget=[1.0, 1.0, 1.0], user=[0, 1, 2], server=[0, 0, 0],
        parallel_fraction=[fraction, 0.9, 0.99], work=[1.0, 1.0, 1.0], name="sliver",
    )  # fmt: skip
    for method in ("fisher", "nash-welfare", "utilitarian"):
        proof = proved(market, method)
        assert proof.document["witness"]["cores"]["numbers"][0] > 0
        assert off(proof) <= (1e-8 if method == "fisher" else 1e-9)


def test_equilibrium_of_market_with_huge_numbers_stays_claimed() -> None:
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
def test_unproved_market_methods_stay_claimed(method: str, options: Document) -> None:
    with pytest.raises(Claimed):
        proved(cotenant.read("market/tiny"), method, **options)
