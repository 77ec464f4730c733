"""Proofs of the market as files: what they claim is true by enumeration, and no lie about it is
accepted.
"""

from __future__ import annotations

import copy
import decimal
import hashlib
import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant import catalog
from cotenant.analysis.run.proving import covers
from cotenant.instances.market import Market
from cotenant.instances.market.generators import population
from cotenant.instances.problem.proof import Level, Proof
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Clock, Outcome, Status
from cotenant.solvers.proofs import Claimed, Task, concave_bound, equilibrium
from cotenant.verify import verify
from cotenant.verify.frame import ProofCase
from cotenant.verify.market import (
    GRID,
    Boxes,
    exponential,
    logarithm,
    market_equilibrium,
    market_nash_welfare,
    market_utilitarian,
)
from cotenant.verify.reading import Refused, Unreadable

Document = dict[str, Any]


def drawn(seed: int, **options: Any) -> Market:
    """Three users on two servers, with two jobs each, fractions of three decimals; some of f = 0, f
    = 1 and work 0.
    """
    settings: dict[str, Any] = {
        "users": 3,
        "servers": 2,
        "jobs": 2,
        "work": "lognormal",
        "low": 0.1,
    }
    market = population(**settings | {"cores": 4.0} | options, rng=np.random.default_rng(seed))
    fraction, work = market.parallel_fraction.round(3), market.work.round(2)
    if seed % 3 == 1:
        fraction[0] = 0.0
    if seed % 4 == 2:
        fraction[1], work[2] = 1.0, 0.0
    budget = 1.0 + np.arange(market.users) % 3 if seed % 2 else market.budget
    return market.replace(parallel_fraction=fraction, work=work, budget=budget)


def content_of(market: Market) -> bytes:
    head = {"cotenant": 1, "problem": "market", "name": market.name}
    return json.dumps({**head, **market.document()}).encode()


def task_of(market: Market, outcome: Outcome, **options: Any) -> Task:
    return Task.of(content_of(market), market, options, outcome, Clock())


def proved(market: Market, method: str, **options: Any) -> Document:
    """The proof file of a method's answer, which is accepted."""
    outcome = cotenant.solve(market, method, **options).outcome
    proof = resolve(catalog.find("market", method).proof_producer)(
        task_of(market, outcome, **options)
    )
    document: Document = json.loads(
        json.dumps(
            proof.document(market.name, hashlib.sha256(content_of(market)).hexdigest()),
            allow_nan=False,
        )
    )
    judged(market, document)
    return document


def judged(market: Market, document: Document) -> str:
    return verify(content_of(market), json.dumps(document).encode())


def is_refused(market: Market, document: Document) -> bool:
    try:
        judged(market, document)
    except Refused:
        return True
    except (Unreadable, ValueError, TypeError, ArithmeticError, LookupError):
        return True
    return False


def changed(document: Document, *path: Any, to: Any) -> Document:
    other = copy.deepcopy(document)
    place: Any = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return other


def exact(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def worth(market: Market, job: int, cores: Fraction) -> Fraction:
    f = exact(market.parallel_fraction[job])
    speedup = cores / (f + (1 - f) * cores) if cores else Fraction(0)
    return exact(market.work[job]) * speedup


def utilities(market: Market, cores: list[Fraction]) -> list[Fraction]:
    total = [Fraction(0)] * market.users
    for job, user in enumerate(market.user.tolist()):
        total[user] += worth(market, job, cores[job])
    return total


def divisions(market: Market, parts: int) -> list[list[Fraction]]:
    """Every division of the servers' cores in `parts` equal parts each."""
    choices = []
    for server in range(market.servers):
        jobs = np.flatnonzero(market.server == server).tolist()
        splits = itertools.product(range(parts + 1), repeat=len(jobs))
        part = exact(market.capacity[server]) / parts
        choices.append(
            [
                [(job, n * part) for job, n in zip(jobs, s, strict=True)]
                for s in splits
                if sum(s) == parts
            ]
        )
    found = []
    for choice in itertools.product(*choices):
        cores = [Fraction(0)] * market.jobs
        for job, number in itertools.chain.from_iterable(choice):
            cores[job] = number
        found.append(cores)
    return found


def claimed(document: Document, name: str) -> Fraction:
    return Fraction(document["claim"][name])


@pytest.mark.parametrize("seed", range(8))
def test_no_whole_cores_do_more_than_is_proved_and_the_answer_does_as_much(seed: int) -> None:
    market = drawn(seed)
    document = proved(market, "utilitarian", whole=True)
    best = max(sum(utilities(market, cores)) for cores in divisions(market, 4))
    assert claimed(document, "value") <= best <= claimed(document, "bound")
    assert claimed(document, "bound") - claimed(document, "value") < best / 10**25


@pytest.mark.parametrize("seed", range(8))
def test_no_division_does_more_than_is_proved(seed: int) -> None:
    market = drawn(seed)
    document = proved(market, "utilitarian")
    value, bound = claimed(document, "value"), claimed(document, "bound")
    assert 0 <= bound - value <= value / 10**9
    assert max(sum(utilities(market, cores)) for cores in divisions(market, 6)) <= bound


@pytest.mark.parametrize("utility", ["amdahl", "linear"])
@pytest.mark.parametrize("seed", range(6))
def test_no_division_has_more_nash_welfare_than_is_proved(seed: int, utility: str) -> None:
    market = drawn(seed)
    document = proved(
        market, "nash-welfare", **({"utility": utility} if seed or utility != "amdahl" else {})
    )
    value, bound = claimed(document, "value"), claimed(document, "bound")
    assert 0 <= bound - value <= value / 10**8
    if utility == "linear":
        market = market.replace(parallel_fraction=np.ones(market.jobs))
    budget = market.budget[market.active]
    for cores in divisions(market, 6):
        own = np.array([float(u) for u in utilities(market, cores)])[market.active]
        if (own > 0).all():
            assert math.exp(budget @ np.log(own) / budget.sum()) <= float(bound) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_no_whole_cores_have_more_nash_welfare_than_is_proved(seed: int) -> None:
    market = drawn(seed)
    document = proved(market, "nash-welfare", whole=True)
    value, bound = claimed(document, "value"), claimed(document, "bound")
    budget, most = market.budget[market.active], 0.0
    for cores in divisions(market, 4):
        own = np.array([float(u) for u in utilities(market, cores)])[market.active]
        if (own > 0).all():
            most = max(most, math.exp(budget @ np.log(own) / budget.sum()))
    assert float(value) <= most * (1 + 1e-12)
    assert most <= float(bound) * (1 + 1e-12)
    assert float(bound) <= most * (1 + 1e-8)
    assert document["steps"][0]["kind"] == "tree"


def test_a_nash_welfare_of_nothing_has_no_tree() -> None:
    """One of three users of two whole cores has none: its utility has no logarithm."""
    market = Market([2.0], [1.0] * 3, [0, 1, 2], [0, 0, 0], [0.0, 0.5, 1.0], [1.0] * 3)
    document = proved(market, "nash-welfare", whole=True)
    assert claimed(document, "value") == 0
    assert document["claim"]["bound"] is None


@pytest.mark.parametrize("seed", range(4))
def test_no_leaves_prove_less_nash_welfare_than_there_is(seed: int) -> None:
    """Whatever is near, and whatever prices are: no bound is below the best of whole cores."""
    market, rng = drawn(seed), np.random.default_rng(seed)
    document = proved(market, "nash-welfare", whole=True)
    best = claimed(document, "value")
    for _ in range(60):
        forged = copy.deepcopy(document)
        for node in forged["steps"][0]["nodes"]:
            for numbers in node.values() if isinstance(node, dict) else ():
                at = int(rng.integers(len(numbers)))
                numbers[at] = int(numbers[at] * float(rng.choice([0.5, 0.99, 1.01, 2.0])))
        step = forged["steps"][0]
        task = task_of(market, Outcome(None, None, Status.UNKNOWN))
        case = task.case({"whole": True}, [step])
        case.witness = forged["witness"]
        assert market_nash_welfare(case)[0].bound >= best  # type: ignore[operator]


def test_a_tree_of_whole_cores_says_nothing_of_divided_ones() -> None:
    market = drawn(0)
    document = proved(market, "nash-welfare", whole=True)
    for change in (
        lambda d: d["options"].clear(),
        lambda d: d["steps"][0]["nodes"].pop(),
        lambda d: d["steps"][0]["nodes"].append([]),
        lambda d: d["steps"][0]["nodes"][-1]["worth"].pop(),
        lambda d: d["steps"][0]["nodes"][-1].update(worth=[0, 0, 0]),
        lambda d: d["steps"][0]["nodes"][-1].update(prices=[-1, 0]),
        lambda d: d["steps"][0].update(nodes=[[]]),
    ):
        forged = copy.deepcopy(document)
        change(forged)
        with pytest.raises((Refused, LookupError, ValueError, ArithmeticError)):
            judged(market, forged)


@pytest.mark.parametrize("method", ["fisher", "fisher-convex"])
@pytest.mark.parametrize("seed", range(6))
def test_nobody_can_buy_more_than_the_regret_of_a_proved_equilibrium_says(
    seed: int, method: str
) -> None:
    market = drawn(seed)
    document = proved(market, method)
    epsilon = {name: Fraction(number) for name, number in document["claim"]["epsilon"].items()}
    assert max(epsilon.values()) == claimed(document, "value")
    assert claimed(document, "value") <= (1e-8 if method == "fisher" else 1e-3)
    cores, price = (document["witness"][name] for name in ("cores", "price"))
    own = utilities(market, [Fraction(x, cores["over"]) for x in cores["numbers"]])
    paid = [Fraction(p, price["over"]) for p in price["numbers"]]
    for user in range(market.users):
        jobs = np.flatnonzero(market.user == user).tolist()
        budget = exact(market.budget[user])
        for split in itertools.product(range(9), repeat=len(jobs)):
            if sum(split) == 8:
                bought = Fraction(0)
                for job, part in zip(jobs, split, strict=True):
                    cost = paid[market.server[job]]
                    # what is free is of no use beyond a first sliver
                    number = budget * Fraction(part, 8) / cost if cost else Fraction(1)
                    bought += worth(market, job, number)
                assert own[user] >= bought * (1 - epsilon["regret"])


def test_ten_thousand_jobs_are_proved_to_a_hundred_millionth() -> None:
    market = population(users=1000, servers=1000, jobs=10, rng=np.random.default_rng(0))
    document = proved(market, "fisher")
    assert claimed(document, "value") <= Fraction(1, 10**8)
    assert len(json.dumps(document)) < 250_000


def test_utilities_of_unequal_sizes_are_proved_too() -> None:
    market = drawn(3, cores=0.0004)
    market = market.replace(work=market.work * 1e-40, budget=market.budget * 1e30)
    for method in ("fisher", "nash-welfare", "utilitarian"):
        document = proved(market, method)
        value = claimed(document, "value")
        if method == "fisher":
            assert value <= 1e-8
        else:
            assert claimed(document, "bound") - value <= value / 10**8


@pytest.mark.parametrize("fraction", [0.0, 1e-300, 1e-12, 1e-3])
def test_a_job_that_needs_a_sliver_of_a_core_keeps_it(fraction: float) -> None:
    market = Market(
        capacity=[24.0], budget=[1.0, 1.0, 1.0], user=[0, 1, 2], server=[0, 0, 0],
        parallel_fraction=[fraction, 0.9, 0.99], work=[1.0, 1.0, 1.0], name="sliver",
    )  # fmt: skip
    for method in ("fisher", "nash-welfare", "utilitarian"):
        document = proved(market, method)
        assert document["witness"]["cores"]["numbers"][0] > 0
        if method == "fisher":
            assert claimed(document, "value") <= 1e-8
        else:
            off = claimed(document, "bound") - claimed(document, "value")
            assert off <= claimed(document, "value") / 10**9


def test_numbers_beyond_all_measure_stay_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise Refused("a welfare is beyond 2^4000")

    for method in ("fisher", "nash-welfare"):
        monkeypatch.setattr(equilibrium, "checked_proof", refuse)
        monkeypatch.setattr(concave_bound, "checked_proof", refuse)
        with refused(Claimed):
            proved(drawn(3), method)


def test_a_server_that_nobody_needs_has_no_price_and_need_not_be_full() -> None:
    market = Market(
        capacity=[4.0, 2.0, 3.0], budget=[1.0, 1.0], user=[0, 0, 1], server=[0, 1, 0],
        parallel_fraction=[0.5, 0.0, 0.9], work=[1.0, 1.0, 1.0], name="serial",
    )  # fmt: skip
    document = proved(market, "fisher")
    assert document["witness"]["price"]["numbers"][1:] == [0, 0]
    free = changed(document, "witness", "price", "numbers", 0, to=0)
    with refused(Refused):
        judged(market, free)


@pytest.mark.parametrize("seed", range(3))
def test_tangents_elsewhere_prove_no_more_than_is_true(seed: int) -> None:
    market = drawn(seed)
    for method in ("utilitarian", "nash-welfare", "fisher"):
        document = proved(market, method)
        for factor in (0, 1, 3):
            other = copy.deepcopy(document)
            points = [factor * x for x in document["witness"]["cores"]["numbers"]]
            at = {"over": 2 * document["witness"]["cores"]["over"], "numbers": points}
            other["steps"][0]["at"] = at
            assert is_refused(market, other)  # the bound there is another


def found_of(
    market: Market, checker: Any, witness: Document, step: Document, **options: Any
) -> Any:
    """What the checker finds of any answer and step, however bad."""
    given = task_of(market, Outcome(None, None, Status.UNKNOWN)).document
    [found] = checker(ProofCase(dict(given), options, witness, [[step]]))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_what_is_found_of_any_answer_is_true(seed: int) -> None:
    market, rng = drawn(seed), np.random.default_rng(seed)
    every = divisions(market, 4)
    best = max(sum(utilities(market, cores)) for cores in every)
    for _ in range(20):
        # a division of whole cores of which some are kept back
        cores = [int(x) for x in every[rng.integers(len(every))]]
        cores = [x - int(x > 0 and rng.random() < 0.3) for x in cores]
        witness = {"cores": {"over": 1, "numbers": cores}}
        whole = found_of(market, market_utilitarian, witness, {"kind": "dual"}, whole=True)
        own = sum(utilities(market, [Fraction(x) for x in cores]))
        assert whole.value <= own < whole.value + Fraction(1, 2**100)
        assert whole.bound >= best
        step = {"kind": "tangent"}
        if rng.random() < 0.5:
            points = [int(x) for x in rng.integers(0, 10, market.jobs)]
            step["at"] = {"over": 2, "numbers": points}  # type: ignore[assignment]
        divided = found_of(market, market_utilitarian, witness, step)
        assert divided.bound >= best
        welfare = found_of(market, market_nash_welfare, witness, step)
        budget = market.budget[market.active]
        if welfare.bound is not None:
            for other in every[::7]:
                own_of = np.array([float(u) for u in utilities(market, other)])[market.active]
                with np.errstate(divide="ignore"):
                    true = math.exp(budget @ np.log(own_of) / budget.sum())
                assert true <= float(welfare.bound) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_found_of_any_prices_is_true(seed: int) -> None:
    market, rng = drawn(seed), np.random.default_rng(seed)
    every = divisions(market, 4)
    for _ in range(10):
        cores = [int(x) for x in every[rng.integers(len(every))]]
        cores = [x - int(x > 0 and rng.random() < 0.3) for x in cores]
        price = [int(p) for p in rng.integers(1, 9, market.servers)]
        witness = {
            "cores": {"over": 1, "numbers": cores},
            "price": {"over": 4, "numbers": price},
        }
        found = found_of(market, market_equilibrium, witness, {"kind": "equilibrium"})
        given, spent = [Fraction(0)] * market.servers, [Fraction(0)] * market.users
        for job, x in enumerate(cores):
            given[market.server[job]] += x
            spent[market.user[job]] += x * Fraction(price[market.server[job]], 4)
        clearing = [1 - g / exact(c) for g, c in zip(given, market.capacity, strict=True)]
        over = [s / exact(b) - 1 for s, b in zip(spent, market.budget, strict=True)]
        assert found.epsilon["clearing"] == max(clearing)
        assert found.epsilon["overspending"] == max(0, *over)
        own = utilities(market, [Fraction(x) for x in cores])
        for user in range(market.users):
            for job in np.flatnonzero(market.user == user):
                bought = exact(market.budget[user]) * 4 / price[market.server[job]]
                most = worth(market, job, bought)
                assert own[user] >= most * (1 - found.epsilon["regret"])


def test_more_cores_than_a_server_has_are_seen_to_the_last_digit() -> None:
    market = drawn(3)
    document = proved(market, "fisher")
    numbers = document["witness"]["cores"]["numbers"]
    with refused(Refused):
        judged(market, changed(document, "witness", "cores", "numbers", 0, to=numbers[0] + 1))


def test_what_is_proved_to_a_billionth_is_certified(tmp_path: Path) -> None:
    methods = ["fisher", "fisher-convex", "nash-welfare", "utilitarian", "leximin"]
    rows = cotenant.compare([cotenant.read("market/tiny")], methods, prove=tmp_path).rows
    assert [(row["method"], row["proof"]["standing"]) for row in rows] == [
        (method, "certified") for method in methods
    ]


def test_an_equilibrium_that_is_worse_than_was_claimed_is_certified_in_part() -> None:
    market = cotenant.read("market/tiny")
    result = cotenant.solve(market, "fisher")
    for error, covered in ((Fraction(1, 10**9), True), (Fraction(1, 10**7), False)):
        level = Level("equilibrium_error", "min", error, Fraction(0), epsilon={"regret": error})
        assert covers(Proof("market", "fisher", (level,)), result) == covered


@pytest.mark.parametrize("method", ["fisher-convex", "nash-welfare", "leximin"])
def test_an_interrupt_keeps_what_is_proved_by_then(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = drawn(3)
    outcome = cotenant.solve(market, method).outcome
    owner, name = {
        "fisher-convex": (equilibrium, "checked_proof"),
        "nash-welfare": (concave_bound, "checked_proof"),
        "leximin": (Boxes, "conditions"),
    }[method]
    whole, calls = getattr(owner, name), itertools.count()

    def once(*arguments: Any, **options: Any) -> Any:
        if next(calls):
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    monkeypatch.setattr(owner, name, once)
    monkeypatch.setattr(equilibrium, "ENOUGH", 0.0)
    monkeypatch.setattr(concave_bound, "ENOUGH", 0.0)
    proof = resolve(catalog.find("market", method).proof_producer)(task_of(market, outcome))
    monkeypatch.undo()
    assert len(proof.levels) == 1
    assert proof.levels[0].bound is not None
    sha256 = hashlib.sha256(content_of(market)).hexdigest()
    judged(market, proof.document(market.name, sha256))


# --- Lies ---


def injected(document: Document) -> list[Document]:
    """The same proof with claims that say a little more than was found."""
    claim, found = document["claim"], []
    for name in ("value", "bound"):
        number = Fraction(claim[name])
        for factor in (Fraction(10**8 - 1, 10**8), Fraction(10**8 + 1, 10**8)):
            if number:
                found.append(changed(document, "claim", name, to=str(number * factor)))
    found.append(changed(document, "claim", "claim_kind", to="optimal"))
    if claim["claim_kind"] == "equilibrium":
        for name, number in claim["epsilon"].items():
            if Fraction(number):
                found.append(
                    changed(document, "claim", "epsilon", name, to=str(Fraction(number) / 2))
                )
        found.append(changed(document, "claim", "epsilon", to={}))
    else:
        bound = Fraction(claim["value"]) * (1 - Fraction(1, 10**6))
        found.append(changed(document, "claim", "bound", to=str(bound)))
    return found


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("fisher", {}),
        ("fisher-convex", {}),
        ("nash-welfare", {}),
        ("utilitarian", {}),
        ("utilitarian", {"whole": True}),
    ],
)
def test_a_claim_that_says_more_than_was_found_is_refused(method: str, options: Document) -> None:
    market = drawn(3)
    for lie in injected(proved(market, method, **options)):
        assert is_refused(market, lie), lie["claim"]


FORGERIES: dict[str, Callable[[Document], Document]] = {
    "a negative price": lambda d: changed(d, "witness", "price", "numbers", 0, to=-1),
    "a price too few": lambda d: changed(d, "witness", "price", "numbers", to=[1]),
    "a price of a fraction": lambda d: changed(d, "witness", "price", "numbers", 0, to="1/2"),
    "prices over nothing": lambda d: changed(d, "witness", "price", "over", to=0),
    "prices over less than nothing": lambda d: changed(d, "witness", "price", "over", to=-1),
    "negative cores": lambda d: changed(d, "witness", "cores", "numbers", 0, to=-(10**9)),
    "cores of a truth": lambda d: changed(d, "witness", "cores", "numbers", 0, to=True),
    "cores of a text": lambda d: changed(d, "witness", "cores", "numbers", 0, to="NaN"),
    "cores of another job": lambda d: changed(
        d, "witness", "cores", "numbers", to=[*d["witness"]["cores"]["numbers"], 0]
    ),
    "more cores than there are": lambda d: changed(
        d, "witness", "cores", "over", to=d["witness"]["cores"]["over"] - 1
    ),
    "cores over a number of 5000 digits": lambda d: changed(
        d, "witness", "cores", "over", to=10**3999
    ),
    "no answer": lambda d: changed(d, "witness", to=None),
    "two steps": lambda d: changed(d, "steps", to=[d["steps"][0]] * 2),
    "no step": lambda d: changed(d, "steps", to=[]),
    "two levels": lambda d: changed(d, "levels", to=[{"claim": d["claim"], "steps": d["steps"]}]),
    "another kind": lambda d: changed(d, "steps", 0, "kind", to="tangent"),
    "a step that says more": lambda d: changed(d, "steps", 0, "regret", to=0),
    "an option that it has not": lambda d: changed(d, "options", "whole", to=True),
    "an answer with envy": lambda d: changed(d, "witness", "envy", to=0),
    "negative points": lambda d: changed(
        d, "steps", 0, "at",
        to={"over": 1, "numbers": [-1] * len(d["witness"]["cores"]["numbers"])},
    ),
    "points over nothing": lambda d: changed(
        d, "steps", 0, "at", to={"over": 0, "numbers": d["witness"]["cores"]["numbers"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_equilibrium_is_refused(forge: Callable[[Document], Document]) -> None:
    market = drawn(3)
    assert is_refused(market, forge(proved(market, "fisher")))


def test_half_a_core_is_no_whole_core() -> None:
    market = drawn(3)
    document = proved(market, "utilitarian", whole=True)
    halves = [2 * x for x in document["witness"]["cores"]["numbers"]]
    forged = changed(document, "witness", "cores", to={"over": 2, "numbers": halves})
    with refused(Refused):
        judged(market, forged)
    for option in (1, "true", None, False):
        assert is_refused(market, changed(document, "options", "whole", to=option))


def test_whole_cores_that_are_not_the_best_are_proved_no_better_than_they_are() -> None:
    market = drawn(3)
    document = proved(market, "utilitarian", whole=True)
    cores = document["witness"]["cores"]["numbers"]
    jobs = np.flatnonzero(market.server == market.server[0]).tolist()
    for one, other in itertools.permutations(jobs, 2):
        if cores[one]:
            moved = list(cores)
            moved[one], moved[other] = moved[one] - 1, moved[other] + 1
            assert is_refused(market, changed(document, "witness", "cores", "numbers", to=moved))


INSTANCES: dict[str, Callable[[Document], None]] = {
    "a fraction above 1": lambda d: d["job"]["parallel_fraction"].__setitem__(0, 1.5),
    "a negative fraction": lambda d: d["job"]["parallel_fraction"].__setitem__(0, -0.5),
    "negative work": lambda d: d["job"]["work"].__setitem__(0, -1),
    "no budget": lambda d: d["budget"].__setitem__(0, 0),
    "a negative capacity": lambda d: d["capacity"].__setitem__(0, -24),
    "a user who is not there": lambda d: d["job"]["user"].__setitem__(0, 3),
    "a server that is not there": lambda d: d["job"]["server"].__setitem__(0, -1),
    "null": lambda d: d["job"]["work"].__setitem__(0, None),
    "a fraction too few": lambda d: d["job"]["parallel_fraction"].pop(),
    "a new field": lambda d: d.__setitem__("power", 1),
}


@pytest.mark.parametrize("spoil", INSTANCES.values(), ids=INSTANCES)
def test_a_market_that_is_none_is_refused(spoil: Callable[[Document], None]) -> None:
    market = drawn(3)
    document = proved(market, "utilitarian")
    instance = json.loads(content_of(market))
    spoil(instance)
    content = json.dumps(instance).encode()
    document["instance"]["sha256"] = hashlib.sha256(content).hexdigest()
    with pytest.raises(Refused):
        verify(content, json.dumps(document).encode())


def test_a_user_without_cores_has_no_welfare_and_no_bound() -> None:
    market = drawn(3)
    document = proved(market, "nash-welfare")
    numbers = document["witness"]["cores"]["numbers"]
    starved = [0 if user == 0 else x for user, x in zip(market.user.tolist(), numbers, strict=True)]
    forged = changed(document, "witness", "cores", "numbers", to=starved)
    assert is_refused(market, forged)
    forged["claim"] |= {"value": 0, "bound": None}
    judged(market, forged)


def test_a_welfare_beyond_all_numbers_is_refused_and_not_worked_out() -> None:
    market = drawn(3)
    document = proved(market, "nash-welfare")
    count = len(document["witness"]["cores"]["numbers"])
    forged = changed(document, "witness", "cores", to={"over": 10**30, "numbers": [1] * count})
    with refused(Refused):
        judged(market, forged)


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
def test_what_is_not_proved_stays_a_claim(method: str, options: Document) -> None:
    with pytest.raises(Claimed):
        proved(cotenant.read("market/tiny"), method, **options)


@pytest.mark.parametrize("method", ["fisher", "fisher-convex", "nash-welfare", "utilitarian"])
def test_a_method_that_found_nothing_has_nothing_to_prove(method: str) -> None:
    task = task_of(drawn(0), Outcome(None, None, Status.UNKNOWN))
    with pytest.raises(Claimed):
        resolve(catalog.find("market", method).proof_producer)(task)
