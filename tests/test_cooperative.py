"""Core, least epsilon and nucleolus: published games, other routes, and proofs that are judged."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.oracles.divisions import nucleolus_by_programs, runway, sums, talmud
from support.proved import Document, judged, put
from support.seeds import numbers, seeds
from support.terminal import run as terminal

from cotenant.analysis.scheduling.core import core
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption
from cotenant.instances.problem.files import read, write
from cotenant.instances.scheduling import Scheduling
from cotenant.solvers.cooperative import in_core, least_epsilon, nucleolus, prenucleolus
from cotenant.solvers.proofs import Claimed
from cotenant.verify.reading import Refused


def by_size(*values: float) -> list[float]:
    """Values by mask of those in the usual order of books: small coalitions first, then by name."""
    players = (len(values) + 1).bit_length() - 1
    masks = sorted(
        range(1, 1 << players),
        key=lambda m: (m.bit_count(), [i for i in range(players) if m >> i & 1]),
    )
    table: dict[int, float] = {0: 0, **dict(zip(masks, values, strict=True))}
    return [table[mask] for mask in range(1 << players)]


def majority(quota: int, weights: Sequence[int]) -> list[float]:
    total = sums([Fraction(weight) for weight in weights], len(weights))
    return [int(weight >= quota) for weight in total]


def claims_game(estate: Fraction, claims: Sequence[int]) -> list[Fraction]:
    """What is left for a coalition when all others have their claims."""
    total = sums([Fraction(claim) for claim in claims], len(claims))
    return [max(Fraction(0), estate - total[-1] + claim) for claim in total]


def drawn(rng: random.Random, most_players: int = 4) -> list[int]:
    """A game with ties, often; sometimes one whose players earn more alone."""
    players, most = rng.choice([3, 3, 3, *range(4, most_players + 1)]), rng.choice([1, 3, 20])
    least, larger = -int(rng.random() < 0.2), rng.random() < 0.5
    return [0] + [
        rng.randint(least, most) * (mask.bit_count() if larger else 1)
        for mask in range(1, 1 << players)
    ]


def alone(values: Sequence[Any]) -> Any:
    return sum(values[1 << i] for i in range(len(values).bit_length() - 1))


PUBLISHED: dict[str, tuple[Sequence[Any], tuple[Any, ...]]] = {
    # Aumann and Maschler 1985, table 1: claims of 100, 200 and 300
    "estate of 100": (claims_game(Fraction(100), (100, 200, 300)), ("100/3", "100/3", "100/3")),
    "estate of 200": (claims_game(Fraction(200), (100, 200, 300)), (50, 75, 75)),
    "estate of 300": (claims_game(Fraction(300), (100, 200, 300)), (50, 100, 150)),
    # Peleg and Sudhoelter 2007, example 5.5.12: the prenucleolus is another
    "no zero-monotonic game": (by_size(0, 0, 0, 10, 0, 0, 2), (1, 1, 0)),
    # the manual of CoopGame 0.2.2 (R), prenucleolus
    "four players": (
        by_size(0, 0, 0, 0, 5, 5, 8, 9, 10, 8, 13, 15, 16, 17, 21),
        ("7/2", "9/2", "11/2", "15/2"),
    ),
    # Peleg 1968: the homogeneous weights of a constant-sum majority game, divided by their sum
    "apex": (majority(3, (2, 1, 1, 1)), ("2/5", "1/5", "1/5", "1/5")),
    "five of nine": (majority(5, (3, 2, 2, 1, 1)), ("1/3", "2/9", "2/9", "1/9", "1/9")),
}


@pytest.mark.parametrize(("values", "division"), PUBLISHED.values(), ids=PUBLISHED)
def test_nucleolus_equals_published_values(
    values: Sequence[Any], division: tuple[Any, ...]
) -> None:
    assert nucleolus(values).division == tuple(map(Fraction, division))


def test_prenucleolus_may_violate_individual_rationality() -> None:
    values, _ = PUBLISHED["no zero-monotonic game"]
    assert list(prenucleolus(values).division) == [3, 3, -4]


@pytest.mark.parametrize("seed", range(6))
def test_nucleolus_of_claims_and_runway_games_equals_published_rules(seed: int) -> None:
    rng = random.Random(seed)
    players = rng.randint(2, 8)
    claims = [rng.randint(1, 50) for _ in range(players)]
    estate = Fraction(rng.randint(0, 3 * sum(claims)), 3)
    assert list(nucleolus(claims_game(estate, claims)).division) == talmud(estate, claims)
    costs = sorted(claims)
    saved = [
        total - max((costs[i] for i in range(players) if mask >> i & 1), default=0)
        for mask, total in enumerate(sums([Fraction(cost) for cost in costs], players))
    ]
    savings = zip(costs, nucleolus(saved).division, strict=True)
    assert [cost - saving for cost, saving in savings] == runway(costs)


@pytest.mark.parametrize("number", numbers(2_000, 20))
def test_nucleolus_equals_solution_of_linear_programs_in_fractions(number: int) -> None:
    rng, compared = random.Random(number), 0
    while compared < number:
        values = drawn(rng)
        for rational in (False, True):
            if rational and values[-1] < alone(values):
                with pytest.raises(InvalidOption):
                    nucleolus(values)
                continue
            division, levels = nucleolus_by_programs(values, rational=rational)
            found = nucleolus(values) if rational else prenucleolus(values)
            assert list(found.division) == division, values
            assert found.levels[0][0] == levels[0]
            if not rational:
                assert least_epsilon(values).levels[0][0] == levels[0]
            compared += 1


def worst_of(values: Sequence[Any], division: Sequence[Any]) -> tuple[Fraction, int]:
    """The largest excess, and the first coalition that has it."""
    has = sums([Fraction(share) for share in division], len(division))
    excess = [Fraction(value) - share for value, share in zip(values, has, strict=True)]
    worst = max(excess[1:-1])
    return worst, excess.index(worst, 1)


@pytest.mark.parametrize("seed", seeds(100, 10))
def test_in_core_names_first_coalition_of_largest_excess(seed: int) -> None:
    values = drawn(random.Random(seed), 6)
    least = least_epsilon(values)
    found, epsilon = in_core(values, least.division), least.levels[0][0]
    assert (found.excess, found.coalition) == worst_of(values, least.division)
    assert (found.excess, found.inside) == (epsilon, epsilon <= 0)


def test_inefficient_division_is_not_in_core() -> None:
    assert in_core([0, 0, 0, 1], [1, 0]).inside
    assert not in_core([0, 0, 0, 1], [1, 1]).inside
    assert not in_core([0, 0, 0, 1], [0, 0]).inside


def test_game_values_are_read_as_exact_decimals() -> None:
    assert nucleolus([0, 0.1, 0.2, 0.6]).division == (Fraction(1, 4), Fraction(7, 20))
    huge = 10**40 + 1
    assert nucleolus([0, 0, 0, Fraction(huge, 3)]).division == (Fraction(huge, 6),) * 2
    table = np.array([0.0, 0.0, 0.0, 0.1])
    assert least_epsilon(table).levels[0][0] == Fraction(-1, 20)


@pytest.mark.parametrize(
    ("values", "division"),
    [
        ([0, 1, 2], None),
        ([0, 1], None),
        ([], None),
        ([0] * 2**21, None),
        ([1, 1, 1, 1], None),
        ([0, 1, float("nan"), 1], None),
        ([0, 1, "some", 1], None),
        ([0, True, 1, 1], None),
        ([0, 3, 2, 3], None),
        ([0, 0, 0, 1], [1]),
        ([0, 0, 0, 1], [1, "half"]),
    ],
    ids=lambda given: str(given)[:30],
)
def test_invalid_games_are_refused(values: list[Any], division: list[Any] | None) -> None:
    with refused(InvalidOption, shown=len(values)):
        nucleolus(values) if division is None else in_core(values, division)


def game_file(folder: Path, values: Sequence[Any], **others: Any) -> Path:
    path = folder / "game.json"
    head = {"cotenant": 1, "problem": "game", "name": "made", "values": values}
    path.write_text(json.dumps({**head, **others}))
    return path


def proof_of(path: Path) -> tuple[bytes, Document]:
    """The file of an instance, and the accepted proof of its nucleolus."""
    out = path.with_suffix(".proof.json")
    core(path).prove(out)  # raises what is refused
    return path.read_bytes(), json.loads(out.read_text())


@pytest.mark.parametrize("seed", seeds(60, 4))
def test_nucleolus_proofs_of_games_are_accepted(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    values = [value / 4 if seed % 2 else value for value in drawn(rng, 9)]
    _, proof = proof_of(game_file(tmp_path, values))
    assert proof["method"] == ("nucleolus" if alone(values) <= values[-1] else "prenucleolus")


@cache
def estate() -> tuple[bytes, Document]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        values = claims_game(Fraction(400), (100, 200, 300))
        return proof_of(game_file(Path(folder), [int(value) for value in values]))


def steps(change: Callable[[list[Any]], object]) -> Callable[[Document], object]:
    return lambda proof: change(proof["steps"])


FORGED: dict[str, Callable[[Document], object]] = {
    "another division": put("witness", "division", "numbers", to=[50, 120, 230]),
    "more than there is": put("witness", "division", "numbers", to=[51, 125, 226]),
    "half of it": put("witness", "division", "over", to=2),
    "a player less": lambda p: p["witness"]["division"]["numbers"].pop(),
    "a smaller excess": lambda p: p["claim"].update(value=-51, bound=-51),
    "a larger bound": lambda p: p["claim"].update(bound=0, value=None, claim_kind="gap"),
    "near it": lambda p: p["levels"][0]["claim"].update(value=1, bound=0, claim_kind="gap"),
    "a step less": steps(lambda s: s.pop()),
    "no steps": steps(lambda s: s.clear()),
    "steps the other way": steps(lambda s: s.reverse()),
    "a step twice": steps(lambda s: s.append({**s[0], "kind": "balance"})),
    "weight 0": steps(lambda s: s[0]["weights"].__setitem__(0, 0)),
    "weights below 0": steps(lambda s: s[0].update(weights=[-1 for _ in s[0]["weights"]])),
    "other weights": steps(lambda s: s[0]["weights"].__setitem__(0, 2)),
    "a weight less": steps(lambda s: s[0]["weights"].pop()),
    "half a weight": steps(lambda s: s[0]["weights"].__setitem__(0, "1/2")),
    "another coalition": steps(lambda s: s[0]["coalitions"].__setitem__(0, 5)),
    "nobody": steps(lambda s: s[0]["coalitions"].__setitem__(0, 0)),
    "all": steps(lambda s: s[0].update(coalitions=[7], weights=[1])),
    "every player alone": lambda p: p.update(
        steps=[{"kind": "balanced", "coalitions": [1, 2, 4], "weights": [1, 1, 1]}]
    ),
    "a step too many": lambda p: p["levels"][0]["steps"].append(p["steps"][0]),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_forged_nucleolus_certificate_is_refused(change: Callable[[Document], object]) -> None:
    content, proof = estate()
    forged = json.loads(json.dumps(proof))
    change(forged)
    with refused(Refused):
        judged(content, forged)


def test_proofs_distinguish_nucleolus_and_prenucleolus(tmp_path: Path) -> None:
    values, _ = PUBLISHED["no zero-monotonic game"]
    whole = core(game_file(tmp_path, values))
    with refused(Claimed):
        replace(whole, proof=replace(whole.proof, method="prenucleolus")).prove(tmp_path / "one")
    found = prenucleolus(values)
    witness = {"division": {"over": 1, "numbers": [int(share) for share in found.division]}}
    steps_ = tuple(
        {"kind": "balanced", "coalitions": list(w), "weights": list(w.values())}
        for _, w in found.levels
    )
    least = found.levels[0][0]
    first = replace(whole.proof.levels[0], value=least, bound=least, steps=steps_)
    proof = replace(whole.proof, witness=witness, levels=(first, whole.proof.levels[1]))
    with refused(Claimed):
        replace(whole, proof=proof).prove(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    replace(whole, proof=replace(proof, method="prenucleolus")).prove(tmp_path / "own")


def test_nucleolus_of_games_beyond_verifier_has_no_proof(tmp_path: Path) -> None:
    tiny = read("scheduling/tiny", Scheduling)
    wide = write(tiny.replace(processors=[2, *[1] * (tiny.jobs - 1)]), tmp_path / "wide.json")
    with refused(Claimed):
        core(wide).prove(tmp_path / "proof.json")


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["one"]}, {"names": ["a", "a"]}, {"names": "abc"}, {"values": 3},
        {"values": {"a": 1, "b": 0, "ab": 3}}, {"values": {"a": 1, "b": 0, "a+b": 3, "b+a": 3}},
        {"values": {"a": 1, "b": 0, "a b": 3}, "names": ["a", "c"]}, {"values": {"a": 1, "a a": 3}},
        {"values": {"": 1, "a": 1, "b": 0, "a b": 3}}, {"values": {}},
        {"cost": True}, {"costs": [0, 1, 1, 1]}, {"values": [0, 0, 0, "1e99999999"]},
    ],
    ids=str,
)  # fmt: skip
def test_game_file_without_a_game_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    with refused((InvalidFile, InvalidInstance, InvalidOption)):
        core(game_file(tmp_path, **{"values": [0, 0, 0, 1], **change}))


@pytest.mark.parametrize(
    "text",
    [
        "coalition,value\na,1\nb,0\nb+a,3.5\n",
        "coalition;value\n{};0\n{a};1\n{b};0\n{a, b};3,5\n",
        "Coalition\tValue\na\t1\nb\t0\na b\t3.50\n",
        'coalition,value\n,0\na,1\nb,0\n"a,b",3.5\n',
        '{"": 0, "a": 1, "b": 0, "a b": 3.5}',
        '{"cotenant": 1, "problem": "game", "values": {"a;b": 3.5, "b": 0, "a": 1}}',
    ],
    ids=["plus", "braces", "spaces", "quoted", "object", "document"],
)
def test_all_game_formats_are_read_equally(text: str, tmp_path: Path) -> None:
    path = tmp_path / "game"
    path.write_text(text)
    found = core(path).document
    assert (found["players"], found["alone"], found["value"]) == (["a", "b"], ["1", "0"], "7/2")
    assert found["divisions"]["nucleolus"]["shares"] == ["9/4", "5/4"]


def test_mapping_of_coalitions_in_python_equals_the_list_by_bit_mask() -> None:
    values = {(): 0, ("b",): 1, frozenset("a"): 2, "a+b": 7, "c": 0, "b+c": 3, "a+c": 4, "a+b+c": 9}
    assert nucleolus(values) == nucleolus([0, 1, 2, 7, 0, 3, 4, 9])  # b, a, c as they are named


@pytest.mark.parametrize(
    "text",
    [
        "coalition,value\na,1\nb,0\na anb,3\n",
        "x,y\na,1\n",
        "coalition,value\na,much\n",
        f"coalition,value\na,1e-{'9' * 30}\n",
        "coalition,value,cost\na,1,1\n",
        "coalition,value\n" + "".join(f"p{i},{i}\n" for i in range(30)),
    ],
    ids=["slip", "columns", "number", "digits", "both", "many"],
)
def test_invalid_game_table_names_coalition_and_columns(text: str, tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text(text)
    with refused((InvalidFile, InvalidInstance)):
        core(path)


TVA = {"nav": 163520, "flood": 140826, "power": 250096, "nav flood": 301607,
       "nav power": 378821, "flood power": 367370, "nav flood power": 412584}  # fmt: skip
"""Costs of navigation, flood control and power in the Tennessee valley (Straffin, Heaney 1981)."""


def costs_file(costs: dict[str, int], path: Path) -> Path:
    path.write_text("coalition,cost\n" + "".join(f"{who},{c}\n" for who, c in costs.items()))
    return path


def test_costs_of_the_tennessee_valley_are_shared_as_published(tmp_path: Path) -> None:
    found = core(costs_file(TVA, tmp_path / "tva.csv")).document
    shares = {rule: entry["shares"] for rule, entry in found["divisions"].items()}
    assert shares["nucleolus"] == ["116234", "93540", "202810"]
    assert list(map(float, map(Fraction, shares["Shapley"]))) == [117829, 100756.5, 193998.5]
    assert found["alone"] == ["163520", "140826", "250096"]
    assert found["divisions"]["Shapley"]["in_core"]


def test_runway_nucleolus_equals_littlechild_owen_formula_and_is_proved(tmp_path: Path) -> None:
    runways = [12, 20, 32]
    costs = {
        " ".join(str(i) for i in range(3) if mask >> i & 1): max(
            cost for i, cost in enumerate(runways) if mask >> i & 1
        )
        for mask in range(1, 8)
    }
    table, game = costs_file(costs, tmp_path / "runways.csv"), tmp_path / "runways.json"
    with refused(Claimed):
        core(table).prove(tmp_path / "proof.json")  # names what to convert
    made = terminal("convert", str(table), "--from", "game", "--out", str(game))
    assert made.returncode == 0, made.stderr
    found = core(game)
    shares = {rule: entry["shares"] for rule, entry in found.document["divisions"].items()}
    # each part of the runway is shared by those who need it: 12 / 3, then 8 / 2, then 12
    assert shares == {"Shapley": ["4", "8", "20"], "nucleolus": list(map(str, runway(runways)))}
    found.prove(tmp_path / "proof.json")
    approved("\n".join([found.table.title, *found.table.notes]))


def test_division_outside_core_names_blocking_coalition(tmp_path: Path) -> None:
    costs = {"a": 6, "b": 6, "c": 6, "a b": 7, "a c": 7, "b c": 7, "a b c": 12}
    found = core(costs_file(costs, tmp_path / "empty.csv"))
    assert found.document["least_epsilon"] == "1"
    approved("\n".join([found.table.title, found.table.caption, *found.table.notes]))


def test_commands_given_a_coalition_game_suggest_analyze_core(tmp_path: Path) -> None:
    table = costs_file(TVA, tmp_path / "tva.csv")
    game = game_file(tmp_path, [0, 1, 2, 4])
    for words in (
        ("solve", str(table), "-m", "stable"),
        ("solve", str(game), "-m", "stable"),
        ("convert", str(table), "--from", "csv", "--out", str(tmp_path / "x.json")),
    ):
        done = terminal(*words)
        assert done.returncode == 2
        approved(re.sub(r"(?s)service,beside.*elastic\)", "a plain table", done.stderr))


def test_analyze_core_prints_divisions_and_proves_nucleolus(tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    done = terminal("analyze", "core", "scheduling/tiny", "--proof", str(proof), COLUMNS="80")
    assert done.returncode == 0, done.stderr
    approved(done.stdout)
    assert terminal("verify", "scheduling/tiny", str(proof)).returncode == 0
    assert terminal("verify", "scheduling/figure-2", str(proof)).returncode == 1
    game = game_file(tmp_path, [0, 1, 2, 2], names=["ann", "bob"])
    printed = terminal("analyze", "core", str(game), "--json")
    approved(printed.stdout)
