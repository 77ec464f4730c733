"""Proofs of colocation: what the checkers accept is true of every answer, and what is forged is
refused.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pytest
from support.messages import approved, refused
from support.proof_cases import (
    Truth,
    answers,
    case_of,
    cases,
    drawn_with_types,
    nobody,
    preferences,
)
from support.proved import (
    Document,
    Proved,
    bundled_document,
    content_of,
    proved,
    put,
    task_of,
)  # fmt: skip

from cotenant.analysis.run.solve import solve
from cotenant.solvers.proofs import checked_proof
from cotenant.solvers.proofs import colocation as producers
from cotenant.verify.colocation import Colocation, colocation_optimal, no_pairing
from cotenant.verify.colocation_fair import bandwidths, colocation_fair, slack_program
from cotenant.verify.colocation_stable import Deletions, Gains, colocation_stable, stable_program
from cotenant.verify.program import Program
from cotenant.verify.reading import Refused

ALPHAS = [
    {},
    {"alpha": "1/20"},
    {"alpha": "1/10", "alpha_mode": "relative-penalty"},
    {"alpha": "1/5", "alpha_mode": "relative-throughput"},
]


def truths(document: Document) -> list[Truth]:
    return [Truth(document, pairs) for pairs in answers(document)]


def blocking(truth: Truth, options: Document) -> int:
    return truth.blocking(
        Fraction(options.get("alpha", 0)), options.get("alpha_mode", "penalty-points")
    )


@pytest.mark.parametrize("options", ALPHAS, ids=str)
def test_verifier_recomputes_answer_by_agents(options: Document) -> None:
    for document in cases(20):
        for pairs in itertools.islice(answers(document), 20):
            truth = Truth(document, pairs)
            levels = colocation_stable(case_of(document, pairs, options, [], []))
            assert [one.value for one in levels] == [blocking(truth, options), truth.mean]
            assert colocation_fair(case_of(document, pairs, {}, []))[0].value == truth.slack


@pytest.mark.slow
def test_colocation_proof_of_any_multipliers_gives_valid_bound() -> None:
    rng = random.Random(0)
    reached = 0
    for document in cases(60):
        least = min(truth.mean for truth in truths(document))
        size, agents = len(document["count"]), sum(document["count"])
        for _ in range(20):
            sets = [
                [rng.randint(0, 30), *sorted(rng.sample(range(size), rng.randint(1, size)))]
                for _ in range(rng.randint(0, 2))
            ]
            sets = [entry for entry in sets if sum(document["count"][a] for a in entry[1:]) % 2]
            step = {
                "kind": "dual",
                "over": rng.choice([1, 2, 7]),
                "prices": [rng.randint(-20, 150) for _ in range(size)],
                "rent": rng.choice([0, 0, 20]),
                "sets": sets,
            }
            bound = colocation_optimal(case_of(document, None, {}, [step]))[0].bound
            assert bound is not None
            assert bound <= least
            reached += bound > least - Fraction(1, 10 * agents)
    assert reached > 5


@pytest.mark.slow
def test_fair_pairing_proof_with_any_flow_between_types_gives_valid_bounds() -> None:
    rng = random.Random(1)
    accepted = 0
    for document in cases(80):
        every = truths(document)
        size, band = len(document["count"]), document["bandwidth"]
        flow = [0] * size
        for _ in range(3):
            a, b = rng.choices(range(size), k=2)
            amount = rng.randint(0, 5)
            if band[a] < band[b] or rng.random() < 0.1:
                flow[a] += amount
                flow[b] -= amount
        step = {
            "kind": "dual",
            "over": 1,
            "prices": [rng.randint(-20, 300) for _ in range(size)],
            "rent": 0,
            "sets": [],
        }
        step["flow"] = {"over": rng.randint(1, 3), "numbers": flow}
        pairs = rng.choice(list(answers(document)))
        slack = Truth(document, pairs).slack
        for steps in ([[step]], [[], [step]]):
            try:
                bounds = [
                    one.bound for one in colocation_fair(case_of(document, pairs, {}, *steps))
                ]
            except (Refused, ZeroDivisionError):
                continue
            accepted += 1
            assert bounds[0] <= min(truth.slack for truth in every)
            if len(bounds) > 1:
                assert bounds[1] <= min(truth.mean for truth in every if truth.slack <= slack)
    assert accepted > 50


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 1, 2])
@pytest.mark.parametrize("options", ALPHAS, ids=str)
def test_verifier_program_of_few_blocking_pairs_admits_exactly_pairings_with_few(
    options: Document, few: int
) -> None:
    seen = set()
    for distinct in (False, True):
        for document in cases(3 if few else 6, start=900 * few, most=6, distinct=distinct):
            for pairs in answers(document):
                given = Colocation(case_of(document, pairs))
                gains = Gains(given, options)
                program, cost = stable_program(given, gains, few)
                shown = {(min(a, b), max(a, b)): number for a, b, number in given.pairs}
                fixed = _columns(given, None if few else gains, shown)
                truth = Truth(document, pairs)
                stable = blocking(truth, options) <= few
                assert (fixed is not None and _holds(program, fixed)) == stable
                if fixed is not None and stable:
                    total = truth.mean * given.unit * given.agents
                    assert sum(fixed[j] * each for j, each in cost) == total
                seen.add(stable)
    assert len(seen) == 2


def test_verifier_program_of_slack_limit_admits_exactly_pairings_within_it() -> None:
    seen = set()
    for document in cases(12, start=300, most=6):
        every = truths(document)
        limit = random.Random(0).choice(sorted({truth.slack for truth in every}))
        for pairs, truth in zip(answers(document), every, strict=True):
            given = Colocation(case_of(document, pairs))
            parts = given.unit * math.lcm(*(n for n in given.count if n))
            program, cost = slack_program(given, bandwidths(given), int(limit * parts))
            shown = {(min(a, b), max(a, b)): number for a, b, number in given.pairs}
            fixed = _columns(given, None, shown)
            assert fixed is not None
            holds = all(sum(a * fixed[j] for j, a in terms) <= most for terms, most in program.rows)
            assert holds == (truth.slack <= limit)
            total = truth.mean * given.unit * given.agents
            assert sum(fixed[j] * each for j, each in cost) == total
            seen.add(holds)
    assert seen == {False, True}


@pytest.mark.parametrize(
    ("method", "options"), [("optimal", {}), ("stable", {}), ("fair", {}), ("fair", {"slack": 0.1})]
)
def test_infeasibility_proof_is_specific_to_instance(
    method: str, options: dict[str, float]
) -> None:
    for document in nobody(3):
        approved(proved(document, method, **options).sentence)
    rng = random.Random(0)
    for document in cases(20):
        given = Colocation(case_of(document))
        prices, sets = ([rng.randint(-3, 3) for _ in given.count] for _ in range(2))
        odd = [a for a in range(given.size) if rng.random() < 0.5]
        step = {"kind": "infeasible", "over": 1, "prices": prices, "rent": rng.randint(0, 2)}
        step["sets"] = [[abs(sets[0]), *odd]] if sum(given.count[a] for a in odd) % 2 else []
        assert not no_pairing(given, [step])


def _columns(given: Colocation, gains: Gains | None, shown: Any) -> dict[int, int] | None:
    """The columns of pairs and of agents alone, in their order; None when a pair is left out."""
    left = _left_pairs(given, gains)
    if any(pair not in left for pair in shown):
        return None
    values = [shown.get(pair, 0) for pair in left]
    present = range(given.size) if given.alone else []
    return dict(enumerate([*values, *(given.singles[a] for a in present)]))


def _left_pairs(given: Colocation, gains: Gains | None) -> list[tuple[int, int]]:
    """Irving's first phase again, round by round over all agents."""
    fits = {
        (a, b)
        for a, b in itertools.product(range(given.size), repeat=2)
        if given.penalty[a][b] is not None and given.count[a] and given.count[b]
    }
    if (
        gains is None
        or any(number != 1 for number in given.count)
        or (given.alone and not given.left)
    ):
        return sorted(pair for pair in fits if pair[0] <= pair[1])

    def gain(a: int, old: int | None, new: int) -> bool:
        return given.penalty[a][new] <= gains.most(
            given.single if old is None else given.penalty[a][old]
        )

    changed = True
    while changed:
        changed = False
        for i, c in sorted(fits):
            others = [b for a, b in fits if a == i and b != c]
            if all(gain(i, b, c) for b in [*others, *([None] if given.left else [])]):
                refused = [b for a, b in fits if a == c and gain(c, b, i)]
                changed |= bool(refused)
                fits -= {(c, b) for b in refused} | {(b, c) for b in refused}
    return sorted(pair for pair in fits if pair[0] <= pair[1])


def _holds(program: Program, fixed: dict[int, int]) -> bool:
    """Whether something is left of the program when these columns are fixed; the others follow from
    the rows.
    """
    low = [fixed.get(j, least) for j, least in enumerate(program.low)]
    high = [fixed.get(j, most) for j, most in enumerate(program.high)]
    program.columns_of_rows()
    left = program.tighten(low, high, list(range(len(program.rows))))
    at_low = all(sum(a * low[j] for j, a in terms) <= most for terms, most in program.rows)
    assert left == at_low  # the others are fixed, or may be as low as they can
    return left


@pytest.mark.slow
def test_blocking_pair_proof_by_deleted_agents_has_valid_bound_for_any_permutation() -> None:
    bounds = []
    for options, document in itertools.product(ALPHAS[:2], map(preferences, range(60))):
        fewest = min(blocking(truth, options) for truth in truths(document))
        if fewest == 0 and document["count"] == [1] * 6:
            continue
        given = Colocation(case_of(document))
        checker = Deletions(given, Gains(given, options))
        for after in itertools.permutations(range(given.size)):
            tree = [[number for pair in enumerate(after) for number in pair], []]
            for least in (3, 2, 1):
                try:
                    bound = checker.bound({"least": least, "tree": tree})
                except Refused:
                    continue
                bounds.append(fewest - bound)
    assert len(bounds) > 10
    assert min(bounds) >= 0


WORTH: dict[str, Callable[[Truth], Any]] = {
    "penalty": lambda truth: truth.mean,
    "blocking_pairs": lambda truth: truth.blocking(),
    "slack": lambda truth: truth.slack,
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["optimal", "stable", "fair"])
def test_colocation_proofs_are_accepted_and_their_bounds_valid(method: str) -> None:
    different = cases(4, start=1000, most=6, distinct=True) if method == "stable" else []
    for document in cases(6) + different:
        proof = proved(document, method)
        first, *rest = proof.proof.levels
        worth = WORTH[first.objective]
        least = min(map(worth, truths(document)))
        assert first.bound is not None
        assert first.bound <= least <= first.value
        for level in rest:
            among = [truth.mean for truth in truths(document) if worth(truth) <= first.value]
            assert level.value >= min(among)
            assert level.bound is None or level.bound <= min(among)
        assert first.claim_kind == "optimal"


@pytest.mark.slow
def test_fair_pairing_proofs_with_slack_option_are_valid() -> None:
    """The cheapest answer within it; or that none is within it."""
    kinds = Counter[str]()
    for document in cases(4) + cases(6, start=1010):
        every = truths(document)
        least = float(min(truth.slack for truth in every))
        for slack in {0.0, 0.2, max(0.0, round(least - 0.005, 3))}:
            (level,) = proved(document, "fair", slack=slack).proof.levels
            within = [truth.mean for truth in every if truth.slack <= Fraction(str(slack))]
            kinds[level.claim_kind] += 1
            assert level.infeasible == (not within)
            if within:
                assert level.bound == level.value == min(within)
    assert kinds["infeasible"] > 1 < kinds["optimal"] == kinds.total() - kinds["infeasible"]


BUNDLED = [("optimal", n) for n in ("tiny", "no-stable-4", "cooper-1000", "preferences-100")]


@pytest.mark.parametrize(("method", "name"), [*BUNDLED, ("stable", "cooper-1000")])
def test_bundled_instances_are_proved_without_a_gap(method: str, name: str) -> None:
    proof = proved(bundled_document(f"colocation/{name}"), method)
    assert proof.proof.complete
    assert len(json.dumps(proof.document)) < 10_000
    assert proof.sentence.count("optimal") == 2


def near_each_other() -> Document:
    """Fourteen different agents that need two blocking pairs, where a partition alone shows one."""
    rng = random.Random(77)
    score = [rng.random() for _ in range(14)]
    rows = [[round(0.2 + 0.6 * s + 0.15 * rng.random(), 6) for s in score] for _ in score]
    return {
        "cotenant": 1, "problem": "colocation", "name": "near", "penalty": rows, "count": [1] * 14
    }  # fmt: skip


ODD: Document = {
    "cotenant": 1, "problem": "colocation", "name": "odd", "count": [1, 1, 1, 1, 1, 1],
    "bandwidth": [1, 1, 2, 2, 3, 3],
    "penalty": [[0.9 if (a < 3) != (b < 3) else 0.1 for b in range(6)] for a in range(6)],
}  # fmt: skip


def flow() -> Proved:
    """By the multipliers of its linear programs alone."""
    task = task_of(ODD, solve(task_of(ODD).instance, "fair"), method="fair")
    slack = colocation_fair(task.case({}, [], []))[0].value
    steps = [producers._flow(task, None), producers._flow(task, float(slack))]
    return Proved(content_of(ODD), checked_proof(task, *steps), "odd")


def triples() -> Document:
    """Twelve different agents in four triples: an agent of each has a partner in another one."""
    rng, group = random.Random(3), [a // 3 for a in range(12)]
    near = [[0.05 if g == h else 0.4 if g // 2 == h // 2 else 0.9 for h in group] for g in group]
    rows = [[round(part + rng.random() / 100, 6) for part in row] for row in near]
    return {
        "cotenant": 1, "problem": "colocation", "name": "triples", "penalty": rows, "count": [1] * 12
    }  # fmt: skip


SOURCES: dict[str, Callable[[], Proved]] = {
    "sets": lambda: proved(ODD, "optimal"),
    "blossoms": lambda: proved(triples(), "optimal"),
    "flow": flow,
    "prop": lambda: proved(bundled_document("colocation/cooper-gaussian-1000"), "stable"),
    "tree": lambda: proved(near_each_other(), "stable"),
    "few": lambda: proved(drawn_with_types(), "stable"),
    "partition": lambda: proved(bundled_document("colocation/no-stable-4"), "stable"),
    "alone": lambda: proved({**ODD, "machines": 4}, "optimal"),
    "slack": lambda: proved(cases(1, start=1013)[0], "fair"),
    "nobody": lambda: proved(nobody(1)[0], "optimal"),
    "within": lambda: proved(cases(1, start=1013)[0], "fair", slack=0.2),
    "too little": lambda: proved(cases(1, start=1013)[0], "fair", slack=0.0),
}
"""Accepted proofs of every kind of step."""


@cache
def valid(source: str) -> Proved:
    return SOURCES[source]()


@pytest.mark.slow
def test_colocation_proof_steps_of_every_kind_are_accepted() -> None:
    assert valid("sets").document["steps"][0]["sets"]
    assert valid("blossoms").document["steps"][0]["sets"]
    assert valid("tree").document["steps"][0]["tree"][1]
    document = valid("prop").document
    put(*NEXT, "cuts", to=[[2, 0, 2]])(document)  # a row that the program has
    assert valid("prop").judge(document) == valid("prop").sentence


def _raise(document: Document, level: int = 0) -> None:
    claim = document["claim"] if level == 0 else document["levels"][level - 1]["claim"]
    claim["bound"] = str(Fraction(claim["bound"]) + Fraction(1, 10**6))


ANSWER, OPTIONS = "witness", "options"
STEP, NEXT = ("steps", 0), ("levels", 0, "steps", 0)
"""The first step of each level."""


def grown(number: int) -> int:
    return number + 1


def last_twice(entries: list[Any]) -> list[Any]:
    return [*entries, entries[-1]]


def cut_off(entries: list[Any]) -> list[Any]:
    return entries[:-1]


FORGERIES: dict[str, tuple[str, Callable[[Document], object]]] = {
    "a bound a little higher": ("sets", _raise),
    "half an agent": ("sets", put(ANSWER, "pairs", 0, to="1/2")),
    "an agent twice": ("sets", put(ANSWER, "first", to=lambda old: [old[1], *old[1:]])),
    "nobody paired": ("sets", lambda d: d[ANSWER].update(first=[], second=[], pairs=[])),
    "a type that is none": ("sets", put(ANSWER, "first", 0, to=-1)),
    "a set that names a type twice": ("sets", put(*STEP, "sets", 0, to=last_twice)),
    "an even set": ("sets", put(*STEP, "sets", 0, to=cut_off)),
    "a set of negative price": ("sets", put(*STEP, "sets", 0, 0, to=-1)),
    "a dearer set": ("sets", put(*STEP, "sets", 0, 0, to=10**9)),
    "a higher price": ("sets", put(*STEP, "prices", 0, to=lambda old: old + 10**8)),
    "a cheaper set": ("blossoms", put(*STEP, "sets", 0, 0, to=lambda old: old - 10**7)),
    "a set less": ("blossoms", put(*STEP, "sets", to=cut_off)),
    "an agent less in a set": ("blossoms", put(*STEP, "sets", 0, to=lambda old: old[:-2])),
    "a lower price": ("blossoms", put(*STEP, "prices", 3, to=lambda old: old - 10**7)),
    "a denominator of 0": ("sets", put(*STEP, "over", to=0)),
    "a negative rent": ("alone", put(*STEP, "rent", to=-1)),
    "too many alone": (
        "alone", lambda d: d[ANSWER].update(first=[], second=[], pairs=[], single=[1] * 6)
    ),
    "a flow that does not arrive": ("flow", put(*NEXT, "flow", "numbers", 0, to=5)),
    "a flow to smaller bandwidth": (
        "flow", put(*NEXT, "flow", "numbers", to=[-5, 0, 0, 0, 0, 5])
    ),
    "a price that rules nobody out": ("nobody", put(*STEP, "prices", to=lambda old: [0] * len(old))),
    "a set of even size that nobody leaves": (
        "nobody", lambda d: d["steps"][0].update(prices=[0] * len(d["steps"][0]["prices"]), sets=[[1]])
    ),
    "an answer where there is none": ("nobody", put("claim", "value", to=0)),
    "slack that is not there": ("slack", put(*STEP, "below", to=grown)),
    "an allowance that the answer does not keep": ("within", put(OPTIONS, "slack", to="1/1000")),
    "a larger allowance": ("within", put(OPTIONS, "slack", to="1")),
    "no allowance": ("within", put(OPTIONS, to={})),
    "an allowance of least slack": ("within", lambda d: d.update(method="fair", options={})),
    "a cheaper answer within it": ("within", _raise),
    "an answer within too little": ("too little", put(OPTIONS, "slack", to="1/5")),
    "too little without a step": ("too little", put("steps", to=[])),
    "a tree that ends early": ("prop", put(*NEXT, "tree", to=cut_off)),
    "a tree of nothing": ("prop", put(*NEXT, "tree", to=[])),
    "a tree that goes on": ("prop", put(*NEXT, "tree", to=lambda old: [*old, -1])),
    "a leaf of nothing": (
        "prop", lambda d: d["levels"][0]["steps"][0].update(cuts=[], tree=[-1], leaves=[[]])
    ),
    "a cut divided by 0": ("prop", put(*NEXT, "cuts", to=[[0, 0, 2]])),
    "a row a negative number of times": ("prop", put(*NEXT, "cuts", to=[[2, 0, -1]])),
    "a cut made of itself": ("prop", put(*NEXT, "cuts", to=[[2, 10**6, 2]])),
    "less than nothing": ("prop", put(*NEXT, "below", to=grown)),
    "level 2 a little higher": ("prop", partial(_raise, level=1)),
    "one blocking pair more": ("few", put(*STEP, "few", to=grown)),
    "fewer than no blocking pairs": ("few", put(*STEP, "few", to=-1)),
    "a partition that is none": ("partition", put(*STEP, "tree", 0, 1, to=0)),
    "another partition": ("partition", put(*STEP, "tree", to=[[0, 0, 1, 1, 2, 2, 3, 3], []])),
    "one pair more": ("partition", put(*STEP, "least", to=2)),
    "a tree without a child": ("tree", put(*STEP, "tree", 1, to=cut_off)),
    "a tree with a child twice": ("tree", put(*STEP, "tree", 1, to=last_twice)),
    "a tree without children": ("tree", put(*STEP, "tree", 1, to=[])),
    "a child without its changes": ("tree", put(*STEP, "tree", 1, 0, 1, to=[])),
    "alpha below 0": ("partition", put(OPTIONS, "alpha", to="-1")),
    "an alpha of another kind": ("partition", put(OPTIONS, "alpha_mode", to="any")),
    "a larger alpha": ("partition", put(OPTIONS, "alpha", to="1/2")),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("source", "change"), FORGERIES.values(), ids=FORGERIES)
def test_forged_colocation_proof_is_refused(
    source: str, change: Callable[[Document], object]
) -> None:
    valid(source).refuses(change)


def test_colocation_proofs_refuse_missing_bandwidth_and_partition_of_equal_agents() -> None:
    document = {"penalty": [[0.5]], "count": [2]}
    pairs = next(answers(document))
    with refused(Refused):
        colocation_fair(case_of(document, pairs, {}, []))
    step = {"kind": "deletions", "least": 1, "tree": [[0, 0], []]}
    with refused(Refused):
        colocation_stable(case_of(document, pairs, {}, [step]))


BROKEN = {
    "a row too short": {"penalty": [[0.1, 0.2], [0.3]]},
    "a penalty in words": {"penalty": [["a", 0.2], [0.3, 0.1]]},
    "a penalty above 1": {"penalty": [[0.1, 1.5], [0.3, 0.1]]},
    "half agents": {"count": [1.5, 2.5]},
    "fewer than no agents": {"count": [-2, 4]},
    "too few machines": {"machines": 1},
    "half a machine": {"machines": 2.5},
    "machines and unpaired": {"machines": 2, "unpaired": 1},
    "an unknown field": {"machine": 3},
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_invalid_instance_is_refused_by_verifier(change: Document) -> None:
    document = {"penalty": [[0.1, 0.2], [0.3, 0.1]], "count": [2, 2], **change}
    with pytest.raises(Refused):
        Colocation(case_of(document))
