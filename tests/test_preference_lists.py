"""Preference lists by name, their pairings against every matching, and deferred acceptance with quotas
and supplies.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.measured import DATA, needs_data
from support.messages import refused
from support.oracles import colocation as by_types
from support.oracles.preferences import Everything, drawn_lists
from support.seeds import numbers, seeds

import cotenant
from cotenant import catalog
from cotenant.analysis.colocation.metrics import metrics
from cotenant.analysis.run.proving import prove_file
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.colocation.lists import from_lists, has_strict_lists, preference_lists
from cotenant.instances.problem import InvalidFile, InvalidInstance, InvalidOption
from cotenant.solvers.colocation.feasible import feasible_pairing
from cotenant.solvers.colocation.stable import stable
from cotenant.solvers.colocation.stable_choices import egalitarian, least_regret
from cotenant.solvers.colocation.to_roommates import lists_of_agents
from cotenant.solvers.deferred_acceptance import (
    _COMPILE_FROM,
    Acceptance,
    deferred_acceptance,
    preference_order,
)
from cotenant.solvers.roommates import ranks_from_lists
from cotenant.solvers.roommates.stable_matchings import count_stable_matchings, stable_matchings
from cotenant.verify.colocation import Colocation as CheckedColocation
from cotenant.verify.colocation_stable import Gains
from cotenant.verify.frame import ProofCase
from cotenant.verify.methods import verify
from cotenant.verify.reading import Refused, parse

LISTS = {"ann": ["bob", ["cat", "dan"]], "bob": ["cat", "ann"], "cat": [["ann", "bob"]], "dan": []}


def answer(instance: Colocation, pairing: Any) -> list[int]:
    assert isinstance(pairing, Pairing)
    return [int(j) for j in pairing.partners(instance)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.json", json.dumps(LISTS)),
        ("l.json", json.dumps({"preferences": LISTS})),
        ("l.csv", "ann,bob,[cat,dan]\nbob,cat,ann\ncat,(ann bob)\ndan\n".replace("ann bob", "ann,bob")),
        ("l.csv", 'agent,list\nann,bob,"[cat, dan]"\nbob,cat,ann,\ncat,"{ann,bob}"\ndan,\n'),
        ("l.csv", "ann;bob;[cat;dan]\nbob;cat;ann\ncat;[ann;bob]\ndan\n"),
    ],
)  # fmt: skip
def test_preference_lists_with_ties_and_missing_agents_are_read(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    instance = preference_lists(tmp_path / name)
    assert instance.names == ("ann", "bob", "cat", "dan")
    assert instance.penalty[0, 1:].tolist() == [0.25, 0.5, 0.5]
    assert instance.penalty[2, :2].tolist() == [0.25, 0.25]
    assert np.array_equal(instance.penalty, from_lists(LISTS).penalty)


@pytest.mark.parametrize(
    "lists",
    [
        {"a": ["b"]}, {"a": ["a"]}, {"a": ["b", ["b"]], "b": []}, {"a": "bc"}, {}, {"a": 3},
        {"a": [[]], "b": []}, {"a": [["b", ["c"]]], "b": [], "c": []}, {"a": [None], "b": []},
        {"1": [], 1: []}, [["a", ["b"]], ["b", ["a"]]], [[1, 2], [0]], [], "ab",
    ],
)  # fmt: skip
def test_empty_preference_lists_are_refused(lists: Any) -> None:
    with refused(InvalidInstance):
        from_lists(lists)


def test_preference_lists_in_rows_series_or_frames_equal_those_in_a_mapping() -> None:
    import pandas

    lists = {"ann": ["bob", "cat"], "bob": ["cat", "ann"], "cat": ["ann"], "dan": []}
    series = {who: pandas.Series(liked, dtype=object) for who, liked in lists.items()}
    place = {who: i for i, who in enumerate(lists)}
    for given in (
        [[who, *liked] for who, liked in lists.items()],
        [tuple([who, *liked]) for who, liked in lists.items()],
        series,
        pandas.Series(lists),
        pandas.DataFrame(series).T,
        {who: np.array(liked, dtype=object) for who, liked in lists.items()},
    ):
        found = from_lists(given)
        assert found.names == tuple(lists)
        assert np.array_equal(found.penalty, from_lists(lists).penalty)
    numbers = [[place[other] for other in liked] for liked in lists.values()]
    for given in (numbers, [np.array(row, dtype=int) for row in numbers]):
        found = from_lists(given)
        assert found.names == ("0", "1", "2", "3")
        assert np.array_equal(found.penalty, from_lists(lists).penalty)
    frame = pandas.DataFrame([[1.0, 2.0], [0.0, np.nan], [0.0, 1.0]])
    assert np.array_equal(
        from_lists(frame).penalty, from_lists([[1, 2], [0], [0, 1]]).penalty
    )  # what is missing makes floats of integers


@pytest.mark.slow
def test_perfect_lists_have_the_least_blocking_pairs_of_perfect_matchings() -> None:
    rng, seen = np.random.default_rng(17), {"refused": 0, "infeasible": 0, "optimal": 0}
    for _ in range(80):
        loose = from_lists(lists := drawn_lists(rng, 6))
        every = Everything(loose)
        perfect = [partner for partner in every.matchings if -1 not in partner]
        least = min((len(every.blocking(partner)) for partner in perfect), default=None)
        try:
            found = cotenant.solve(from_lists(lists, perfect=True), "stable")
            status = found.status.value
            assert found.bound == least
        except InvalidInstance:
            status = "refused"
        seen[status] += 1
        assert (status == "optimal") == (least is not None)
        assert (status == "refused") == (loose.agents % 2 or not loose.allowed.any(axis=1).all())
    assert min(seen.values()) > 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("l.csv", text) for text in (
            "a,[b,c\nb\nc\n", "a,b]\nb\n", "a,[b,[c]]\nb\nc\n", "a,b\na,b\n",
        )),
        # rows without their agent, another number of agents, empty lists
        *(("a.txt", text) for text in (
            "3\n2 3\n3 1\n1 2\n", "5\n1: 2 3 4\n2: 3 1 4\n3: 1 2 4\n4: 1 2 3\n", "ann\nbob\n",
        )),
    ],
)  # fmt: skip
def test_invalid_preference_rows_are_refused_by_line(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with refused(InvalidFile):
        preference_lists(tmp_path / name)


@pytest.mark.parametrize("number", numbers(2_000, 8))
def test_preference_methods_equal_enumeration(number: int) -> None:
    for seed in range(number):
        rng = np.random.default_rng([7, seed])
        instance = from_lists(drawn_lists(rng, 6 if number > 100 else 7))
        holds(instance, Everything(instance), rng)


def holds(instance: Colocation, every: Everything, rng: np.random.Generator) -> None:
    """Metrics and methods are what the definitions say."""
    # 1. the metrics of a matching by chance
    partner = every.matchings[int(rng.integers(len(every.matchings)))]
    pairing = Pairing.from_partners(np.arange(len(partner)), partner, len(partner))
    measured = metrics(instance, pairing)
    assert measured["blocking_pairs"] == len(every.blocking(partner))
    assert measured["blocking_agents"] == every.blocking_agents(partner)
    assert measured["most_blocking"] == every.most_blocking(partner)
    # 2. other objectives of fewest blocking pairs
    measures = {"agents": every.blocking_agents, "minimax": every.most_blocking}
    for objective, measure in measures.items():
        solved = stable(instance, objective=objective)
        least = min(map(measure, every.matchings))
        assert measure(answer(instance, solved.solution)) == solved.bound == least
        penalty = solved.certificate["levels"][1]
        cheapest = min(every.mean(one) for one in every.matchings if measure(one) == least)
        assert penalty["bound"] <= cheapest + 1e-9
        assert (penalty["status"] == "optimal") <= (penalty["value"] == pytest.approx(cheapest))
    # 3. stable ones
    fair = egalitarian(instance)
    if not every.stable:
        assert fair.status == "infeasible"
    else:
        assert fair.solution is not None
        assert every.mean(answer(instance, fair.solution)) == pytest.approx(
            min(map(every.mean, every.stable))
        )
        assert answer(instance, fair.solution) in every.stable
    if has_strict_lists(instance):
        lists = lists_of_agents(instance)
        assert lists is not None
        listed = sorted(one.tolist() for one in stable_matchings(lists.place))
        perfect = [one for one in listed if instance.unpaired is not None or -1 not in one]
        assert perfect == sorted(every.stable)
        assert count_stable_matchings(lists.place).number == len(listed)
        strict(instance, every)


def strict(instance: Colocation, every: Everything) -> None:
    """What is asked of strict lists only."""
    if not every.stable:
        assert least_regret(instance).status == "infeasible"
        return
    regret = answer(instance, least_regret(instance).solution)
    assert every.regret(regret) == min(map(every.regret, every.stable))


@pytest.mark.parametrize("method", ["minimum-regret", "egalitarian"])
@pytest.mark.parametrize("name", ["types", "tied", "alone"])
def test_methods_for_strict_lists_refuse_other_instances(method: str, name: str) -> None:
    instances = {
        "types": Colocation([[0.1, 0.2], [0.3, 0.4]], [2, 2]),
        "tied": from_lists({"a": [["b", "c"]], "b": ["a"], "c": ["a"]}),
        "alone": Colocation([[0.0, 0.1], [0.1, 0.0]], [1, 1], machines=2.0),
    }
    if name == "tied" and method == "egalitarian":
        assert cotenant.solve(instances[name], method).solution is not None
        return
    with refused(InvalidOption):
        cotenant.solve(instances[name], method)


def test_count_of_stable_matchings_of_twenty_blocks_is_two_to_the_twentieth() -> None:
    block = [[1, 2, 3], [2, 0, 3], [3, 1, 0], [0, 1, 2]]
    rank = ranks_from_lists([[4 * k + j for j in row] for k in range(20) for row in block])
    assert count_stable_matchings(rank).number == 2**20
    assert not count_stable_matchings(rank, time_limit=1e-9).exact
    first = next(stable_matchings(rank))
    assert (first[first] == np.arange(80)).all()


@needs_data
@pytest.mark.parametrize("path", sorted((DATA / "roommates").glob("*.json")), ids=lambda p: p.stem)
def test_published_roommates_have_known_number_of_stable_matchings(path: Path) -> None:
    known = json.loads(path.read_text())
    lists = lists_of_agents(preference_lists(path))
    assert lists is not None
    found = list(stable_matchings(lists.place))
    verified = known.get("verified_here", {})
    if "num_stable" in verified:
        assert len(found) == verified["num_stable"]
    solvable = known.get("known_answer", {}).get("solvable")
    assert solvable is None or bool(found) == solvable
    assert len({tuple(one.tolist()) for one in found}) == len(found)


def measure_of(instance: Colocation, objective: str, alpha: float) -> Callable[[list[int]], int]:
    """How many agents are in a blocking pair, or in how many one is."""

    def measure(partner: list[int]) -> int:
        inside = Counter(i for pair in by_types.blocks(instance, partner, alpha) for i in pair)
        return len(inside) if objective == "agents" else max(inside.values(), default=0)

    return measure


@pytest.mark.parametrize("seed", seeds(300, 15))
@pytest.mark.parametrize("objective", ["agents", "minimax"])
def test_agents_in_blocking_pairs_of_types_equal_enumeration(seed: int, objective: str) -> None:
    rng = np.random.default_rng([11, seed])
    try:
        instance = Colocation(**by_types.random_fields(rng, 7))
    except InvalidInstance:
        return
    alpha = float(rng.choice([0, 0, 0.1, 0.05]))
    measure = measure_of(instance, objective, alpha)
    values = [measure(partner) for partner in by_types.pairings(instance)]
    if not values:
        return
    solved = stable(instance, objective=objective, alpha=alpha)
    value = measure(by_types.partners_of(instance, solved.solution))
    assert value == solved.bound == min(values)
    name = {"agents": "blocking_agents", "minimax": "most_blocking"}[objective]
    # a start, which mostly has blocking pairs: the metric, and what the verifier counts
    begin = feasible_pairing(instance)
    counted = metrics(instance, begin, alpha=alpha)[name]
    assert counted == measure(by_types.partners_of(instance, begin))
    document = {key: part for key, part in instance.document().items()
                if key not in ("cotenant", "problem", "name", "source")}  # fmt: skip
    read = parse(json.dumps(document).encode(), decimals=True)
    options = {"alpha": str(Fraction(str(alpha)))}
    case = ProofCase(read, options, begin.document(), [[]])
    assert Gains(CheckedColocation(case), options).counts()[objective != "agents"] == counted


PROVED: list[tuple[str, dict[str, Any], str]] = [
    ("egalitarian", {}, "egalitarian"),
    ("minimum-regret", {}, "minimum-regret"),
    ("stable", {"objective": "agents"}, "stable-agents"),
    ("stable", {"objective": "minimax"}, "stable-minimax"),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("method", "options", "name"), PROVED, ids=lambda given: str(given))
@pytest.mark.parametrize("number", numbers(300, 4))
def test_preference_proofs_of_true_claims_are_accepted_and_better_claims_refused(
    method: str, options: dict[str, Any], name: str, number: int, tmp_path: Path
) -> None:
    refusals = 0
    for seed in range(number):
        instance = from_lists(drawn_lists(np.random.default_rng([13, seed]), 6))
        if not catalog.find("colocation", method).applies_to(instance):
            continue
        file, out = tmp_path / "i.json", tmp_path / "p.json"
        cotenant.write(instance, file)
        result = cotenant.solve(instance, method, **options)
        made = prove_file(instance, file, result, out, 60.0, 60.0)
        if result.solution is None:  # no pairing is stable: that is proved of `stable`
            assert made.file is None
            assert "of the method stable" in made.says
            continue
        content = json.loads(out.read_text())
        assert content["method"] == name
        assert name in verify(file.read_bytes(), out.read_bytes())
        alone = instance.unpaired is not None and any(result.solution.single)
        assert made.covered[0]
        assert made.covered == (True, True) or alone or name.startswith("stable")
        # a bound a little too good, with the same steps
        claims = [content["claim"], *(level["claim"] for level in content["levels"])]
        for claim in claims:
            if claim["bound"] is not None:
                claim["bound"], claim["claim_kind"] = str(Fraction(claim["bound"]) + 1), "gap"
                claim["value"] = None if claim is claims[-1] else claim["value"]
                with pytest.raises(Refused):
                    verify(file.read_bytes(), json.dumps(content).encode())
                refusals += 1
                break
    assert refusals


@pytest.mark.parametrize("count", ["", "4\n"])
@pytest.mark.parametrize(
    "form",
    ["{}: {} {} {}\n", "{} {} {} {}\n", "{},{},{},{}\n", "{}: {}, {}, {}\n", "{}:\t{}\t{}\t{}\n"],
)
def test_preference_lists_in_plain_text_are_read_with_any_separator(tmp_path, form, count):
    rows = ("1234", "2314", "3124", "4123")
    (tmp_path / "a.txt").write_text(count + "".join(form.format(*row) for row in rows))
    read = preference_lists(tmp_path / "a.txt")
    assert read.names == ("1", "2", "3", "4")
    expected = from_lists({row[0]: list(row[1:]) for row in rows})
    assert np.array_equal(read.penalty, expected.penalty)


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


def every_stable_matching(
    cost: npt.NDArray[np.float64], score: npt.NDArray[np.float64], quota: npt.NDArray[np.int64]
) -> list[list[int]]:
    candidates = product(range(-1, len(score)), repeat=len(cost))
    return [list(match) for match in candidates if is_stable(list(match), cost, score, quota)]


def test_deferred_acceptance_gives_published_matching_in_two_rounds() -> None:
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
        stable = every_stable_matching(cost, score, quota)
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
        ([[0]], [[1.0]], {"quota": [2], "supply": [2]}),
    ],
)
def test_deferred_acceptance_names_invalid_input(
    order: list[list[int]], score: list[list[float]], keywords: dict[str, list[int]]
) -> None:
    with refused(InvalidOption):
        deferred_acceptance(order, score, **keywords).partner()  # type: ignore[arg-type]


def triples(match: Acceptance) -> list[tuple[int, int, int]]:
    return list(
        zip(match.proposer.tolist(), match.receiver.tolist(), match.units.tolist(), strict=True)
    )
