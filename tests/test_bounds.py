"""The table of bounds: only accepted proofs come in, no row is lost or torn, changes are seen."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.analysis.run.bounds import BoundRow, add, check, known, read_table
from cotenant.analysis.run.proving import prove_file
from cotenant.catalog import METHODS, Method
from cotenant.instances.problem import PROBLEM_NAMES
from cotenant.instances.problem.errors import InvalidFile, NotAdded
from cotenant.instances.problem.files import locate
from cotenant.verify import methods_of

NAME = "packing/tiny"
TINY = cotenant.read(NAME)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table.jsonl"


def proved(folder: Path, method: str = "min-servers", name: str = NAME, **options: Any) -> Path:
    """The file of a proof of what a method finds on a bundled instance."""
    instance = cotenant.read(name)
    result = cotenant.solve(instance, method, time_limit=20, **options)
    out = folder / f"{instance.problem}-{method}.proof.json"
    assert prove_file(instance, locate(name), result, out, 20).file
    return out


def changed(path: Path, change: Callable[[dict[str, Any]], object], name: str = "changed") -> Path:
    """A copy of a JSON file with a change."""
    document = json.loads(path.read_text())
    change(document)
    other = path.with_name(f"{name}-{path.name}")
    other.write_text(json.dumps(document))
    return other


def answer_alone(folder: Path, method: str = "FFD") -> Path:
    """The file of a method's answer as a proof without any bound."""
    found: Any = cotenant.solve(TINY, method)

    def bare(document: dict[str, Any]) -> None:
        document |= {"witness": found.solution.document(), "steps": []}
        value = int(found.metrics["servers"])
        document["claim"] |= {"value": value, "bound": None, "claim_kind": "gap"}

    return changed(proved(folder), bare)


def facts(row: BoundRow) -> tuple[Any, ...]:
    return row["levels"][0]["objective"], row["value"], row["bound"], row["status"]


def broken(table: Path) -> list[str]:
    return [why for _, why in check(table, jobs=2) if why]


@pytest.mark.slow
def test_bounds_row_improves_with_each_proof(tmp_path: Path, table: Path) -> None:
    assert facts(add(table, NAME, set_name="small")) == ("servers", None, None, "open")
    assert facts(add(table, NAME, answer_alone(tmp_path))) == ("servers", 5, None, "open")
    best = add(table, NAME, proved(tmp_path), set_name="small")
    assert (facts(best), best["set"]) == (("servers", 4, 4, "closed"), "small")
    assert known(read_table(table)) == [best]
    with refused(NotAdded):  # a method that asks the same
        add(table, NAME, proved(tmp_path, "cp-sat"))
    assert facts(add(table, NAME, proved(tmp_path, "min-cost"))) == ("cost", 5, 5, "closed")
    assert (len(known(read_table(table))), len(read_table(table)), broken(table)) == (2, 4, [])


def test_invalid_bounds_submissions_are_refused(tmp_path: Path, table: Path) -> None:
    proof, other = proved(tmp_path), "packing/vm-types-8"
    wide = changed(proof, lambda d: d["claim"].update(bound=5, claim_kind="gap"), "wide")
    short = changed(proof, lambda d: d["witness"]["count"].pop(), "short")
    (tmp_path / "bytes.json").write_bytes(b"\xff\x00")
    add(table, NAME, proof)
    before = table.read_bytes()
    for kind, name, given in (
        (NotAdded, NAME, proof), (NotAdded, NAME, None), (NotAdded, other, proof), (NotAdded, NAME, wide),
        (NotAdded, NAME, short), (InvalidFile, NAME, locate(NAME)), (InvalidFile, NAME, tmp_path / "bytes.json"),
        (InvalidFile, tmp_path / "bytes.json", None),
    ):  # fmt: skip
        with refused(kind):
            add(table, name, given)
    for words in (
        ("a\0b", NAME),
        (table, "a\0b"),
        (table, NAME, "a\0b"),
        (tmp_path / "no" / "t", NAME),
    ):
        with pytest.raises(InvalidFile):
            add(*words)
    with refused(InvalidFile):
        read_table(tmp_path / "no such")
    assert table.read_bytes() == before


def test_answer_better_than_proved_bound_is_refused(tmp_path: Path, table: Path) -> None:
    row = add(table, NAME, proved(tmp_path))
    row["levels"][0] |= {"bound": 6, "value": 7}
    table.write_text(json.dumps(row) + "\n")
    with refused(NotAdded):
        add(table, NAME, answer_alone(tmp_path))


@pytest.mark.slow
def test_best_bounds_of_options_changing_optimum_have_own_rows(tmp_path: Path, table: Path) -> None:
    name = "colocation/tiny"
    for options in ({}, {"alpha": 0.05}, {"alpha": 0.05, "alpha_mode": "penalty-points"}):
        with suppress(NotAdded):
            add(table, name, proved(tmp_path, "stable", name, **options))
    rows = [row["options"] for row in known(read_table(table))]
    assert rows == [{}, {"alpha": "1/20", "alpha_mode": "penalty-points"}]


@pytest.mark.slow
def test_row_of_best_bounds_keeps_levels_of_best_answer(tmp_path: Path, table: Path) -> None:
    both = proved(tmp_path, "stable", "colocation/tiny")
    first = changed(both, lambda d: d.update(levels=[]))
    row = add(table, "colocation/tiny", first)
    assert (facts(row), len(row["levels"])) == (("blocking_pairs", 0, 0, "closed"), 1)
    _, level = add(table, "colocation/tiny", both)["levels"]
    assert (level["objective"], level["bound"]) == ("penalty", 0.0525)
    assert broken(table) == []
    with refused(NotAdded):
        add(table, "colocation/tiny", first)


@pytest.mark.slow
def test_changed_bounds_table_is_detected(tmp_path: Path, table: Path) -> None:
    given, proof = cotenant.write(TINY, tmp_path / "given.json"), tmp_path / "proof.json"
    assert prove_file(TINY, given, cotenant.solve(TINY, "min-servers"), proof, 20).file
    add(table, given, proof)
    row, seen = read_table(table)[0], list[str]()
    assert (row["instance"], row["proof"]) == ("given.json", "proof.json")
    other = {"levels": [row["levels"][0] | {"value": 3, "bound": 3}], "kind": "gap",
             "name": "another", "options": {"x": 1}, "question": "min-cost", "sha256": "0" * 64,
             "proof": "", "problem": "market", "instance": "proof.json"}  # fmt: skip
    for change in [*({field: value} for field, value in other.items()), {}]:
        table.write_text(json.dumps(row | change) + "\n")
        seen += broken(table)
    assert len(seen) == len(other)
    assert [line.partition(" ")[0] for line in seen[:6]] == [*other][:6]
    given.write_text(given.read_text() + " ")
    seen += broken(table)
    proof.unlink()
    seen += broken(table)
    for line in seen:
        approved(re.sub("[0-9a-f]{32,}|0{20,}", "<hash>", line))


@pytest.mark.parametrize(
    ("field", "value"), [("kind", 4), ("sha256", "abc"), ("proof", 3), ("levels", [{}])]
)
def test_invalid_line_of_bounds_table_is_named(table: Path, field: str, value: object) -> None:
    add(table, NAME)
    row = read_table(table)[0]
    table.write_text(json.dumps(row) + "\n" + json.dumps(row | {field: value}) + "\n")
    with refused(InvalidFile):
        read_table(table)


def test_concurrent_commands_bounds_add_lose_no_row(table: Path, tmp_path: Path) -> None:
    files = [cotenant.write(TINY.replace(name=f"n{n}"), tmp_path / f"{n}.json") for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda file: add(table, file), files))
    assert sorted(row["name"] for row in read_table(table)) == sorted(f"n{n}" for n in range(12))
    assert [path.name for path in tmp_path.glob("*.lock")] == []


ADDING = """
import sys, cotenant
from cotenant.analysis.run.bounds import add
tiny = cotenant.read("packing/tiny")
for n in range(10_000):
    file = cotenant.write(tiny.replace(name=f"n{n}"), f"{sys.argv[1]}/{n}.json")
    print(add(f"{sys.argv[1]}/table.jsonl", file)["name"], flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("after", [1, 4])
def test_killing_the_command_bounds_add_loses_no_row(
    tmp_path: Path, table: Path, after: int, number: int
) -> None:
    words = [sys.executable, "-c", ADDING, str(tmp_path)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(words, **pipes) as child:
        names = [child.stdout.readline().strip() for _ in range(after)]
        child.send_signal(number)
    assert [row["name"] for row in read_table(table)][:after] == names
    assert broken(table) == []
    assert add(table, NAME)["name"] == "tiny"


def test_table_of_best_bounds_accepts_a_method_of_every_problem(table: Path) -> None:
    for problem in PROBLEM_NAMES:
        assert add(table, f"{problem}/tiny")["question"] in methods_of(problem)


FAST = ("groups optimal", "admission most-jobs")
EVERY = [
    pytest.param(each, marks=[] if f"{each.problem} {each.name}" in FAST else pytest.mark.slow)
    for each in METHODS
    if each.proof_producer
]


@pytest.mark.parametrize("method", EVERY, ids=lambda each: f"{each.problem}-{each.name}")
def test_table_of_best_bounds_accepts_proofs_of_every_method(
    tmp_path: Path, table: Path, method: Method
) -> None:
    names = [f"{method.problem}/tiny", "packing/paper-example", "packing/cards"]
    read = [cotenant.read(name) for name in names]
    meant = [one for one in read if one.problem == method.problem and method.applies_to(one)]
    if not meant or method.name == "fewest-moves":
        pytest.skip("no small bundled instance is meant for it")
    path = cotenant.write(meant[0], tmp_path / "instance.json")
    options = {"throughput": 100.0} if method.name == "fluid-power" else {}
    result = cotenant.solve(meant[0], method.name, time_limit=20, **options)
    proof = prove_file(meant[0], path, result, tmp_path / "proof.json", 20)
    assert proof.file is not None
    row = add(table, path, proof.file)
    assert broken(table) == []
    optimal = result.status.value == "optimal" and proof.proof_status == "certified"
    assert (row["status"] != "open") == (optimal or row["kind"] == "equilibrium")
    if row["question"] != "FUGA":  # the proof is of the play, not of what it is worth
        assert row["value"] == pytest.approx(result.objective, rel=1e-6, abs=1e-6)


def test_inaccurate_equilibrium_is_not_accepted(tmp_path: Path, table: Path) -> None:
    market = cotenant.read("market/tiny")
    result = cotenant.solve(market, "fisher")
    allocation: Any = result.solution
    dear = allocation.replace(price=allocation.price * [1.2, 0.8])
    out = tmp_path / "proof.json"
    assert prove_file(market, locate("market/tiny"), replace(result, solution=dear), out, 20).file
    with refused(NotAdded):
        add(table, "market/tiny", out)


@pytest.mark.slow
def test_bounds_commands_add_show_and_check(tmp_path: Path, table: Path) -> None:
    def command(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = run("bounds", *words, "--table", str(table))
        assert done.returncode == code, done.stderr
        return done

    proof = str(proved(tmp_path))
    approved(command("add", NAME, proof, "--set", "small").stdout.splitlines()[-1])
    approved(command("add", NAME, proof, code=1).stderr.partition("error")[2])
    command("add", "scheduling/tiny")
    approved(re.sub(r"20\d\d-\d\d-\d\d", "<date>", command("show").stdout))
    opened = json.loads(command("show", "--open", "--json").stdout)
    assert [row["problem"] for row in opened] == ["scheduling"]
    assert json.loads(command("show", "--set", "none", "--json").stdout) == []
    assert command("check", "--jobs", "2").stdout.split()[0] == "2"
    table.write_text(table.read_text().replace('"value": 4', '"value": 3'))
    held = command("check", code=1)
    assert held.stdout.split()[0] == "1"
    approved(held.stderr.partition("broken")[2])
