"""The table of bounds: nothing comes in by word, nothing is lost, and what was changed is seen."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, no_chromium, shape
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.analysis.report.bounds_page import write_bounds_page
from cotenant.analysis.run import bounds
from cotenant.analysis.run.bounds import (
    BoundRow,
    add,
    check,
    question_of,
    questions,
    read_table,
    status,
)
from cotenant.analysis.run.proving import prove_file
from cotenant.catalog import METHODS, Method
from cotenant.instances.problem import PROBLEM_NAMES
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidFile, NotAdded
from cotenant.instances.problem.files import locate

NAME = "packing/tiny"
TINY = cotenant.read(NAME)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


def solved(folder: Path, method: str, name: str = NAME, **options: Any) -> Path:
    """The file of what a method finds on a bundled instance."""
    result = cotenant.solve(cotenant.read(name), method, time_limit=20, **options)
    return result.write(folder / f"{method}.json")


def proved(folder: Path, method: str = "min-servers", name: str = NAME, **options: Any) -> Path:
    """The file of a proof of what a method finds on a bundled instance."""
    instance = cotenant.read(name)
    result = cotenant.solve(instance, method, time_limit=20, **options)
    out = folder / f"{instance.problem}-{method}.proof.json.gz"
    assert prove_file(instance, locate(name), result, out, 20).file
    return out


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a JSON file with a change."""
    content = path.read_bytes()
    packed = content.startswith(b"\x1f\x8b")
    document = json.loads(gzip.decompress(content) if packed else content)
    change(document)
    other = path.with_name(f"changed-{path.name.removesuffix('.gz')}")
    other.write_text(json.dumps(document))
    return other


def known(row: BoundRow) -> tuple[Any, ...]:
    return row["objective"], row["value"], row["bound"], status(row)


def broken(table: Path) -> list[str]:
    return [why for _, why in check(table, jobs=2) if why]


def test_a_row_becomes_better_file_by_file(tmp_path: Path, table: Path) -> None:
    row, before = add(table, NAME, set_name="small")
    assert before is None
    assert known(row) == ("servers", None, None, "open")
    assert row["size"] == {"classes": 2, "resources": 2, "types": 4}
    worst, _ = add(table, NAME, [solved(tmp_path, "FFD")])
    assert known(worst) == ("servers", 5, None, "open")
    best, was = add(table, NAME, [proved(tmp_path)], command="by hand")
    assert was == worst
    assert known(best) == ("servers", 4, 4, "closed")
    assert (best["set"], best["command"]) == ("small", "by hand")
    assert read_table(table) == [best]
    kept = {str(path.relative_to(table)) for path in table.rglob("*.json.gz")}
    assert kept == {bounds.instance_place(best), best["proof"]}
    assert broken(table) == []


@pytest.mark.slow
def test_methods_that_ask_the_same_have_one_row(tmp_path: Path, table: Path) -> None:
    add(table, NAME, [solved(tmp_path, "cp-sat")])
    row, _ = add(table, NAME, [proved(tmp_path, "arc-flow")])
    assert known(row) == ("servers", 4, 4, "closed")
    other, _ = add(table, NAME, [proved(tmp_path, "min-cost")])
    assert known(other) == ("cost", 5, 5, "closed")
    assert len(read_table(table)) == 2
    same = questions("packing")
    assert same["min-servers"] == same["cp-sat"] == same["arc-flow"] != same["min-cost"]
    assert same["FUGA"] != same["joint-optimum"]


def test_what_a_file_says_of_itself_counts_for_nothing(tmp_path: Path, table: Path) -> None:
    def boast(document: dict[str, Any]) -> None:
        document["result"] |= {"objective": 1.0, "bound": 1.0, "gap": 0.0, "status": "optimal"}
        document["result"]["metrics"]["servers"] = 1.0

    row, _ = add(table, NAME, [changed(solved(tmp_path, "FFD"), boast)])
    assert known(row) == ("servers", 5, None, "open")
    bare = tmp_path / "bare.json"
    solution = cotenant.solve(TINY, "min-servers").solution
    assert solution is not None
    bare.write_text(json.dumps({"solution": solution.document()}))
    row, _ = add(table, NAME, [bare])
    assert known(row) == ("servers", 4, None, "open")
    assert broken(table) == []


def test_whatever_is_wrong_is_refused_with_the_reason(tmp_path: Path, table: Path) -> None:
    proof, result = proved(tmp_path), solved(tmp_path, "min-servers")
    add(table, NAME, [result])
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    with refused(NotAdded):
        add(table, NAME, [result])
    with refused(NotAdded):
        add(table, NAME)
    with refused(NotAdded):
        add(table, "packing/vm-types-8", [proof])
    with refused(NotAdded):
        add(table, "packing/vm-types-8", [result])
    with refused(NotAdded):
        add(table, NAME, [changed(proof, lambda d: d["claim"].update(bound=5, claim_kind="gap"))])
    with refused(NotAdded):
        add(table, NAME, [changed(proof, lambda d: d["witness"]["count"].pop())])
    with refused(InfeasibleSolution):
        add(table, NAME, [changed(result, lambda d: d["solution"]["count"][0].__setitem__(0, 99))])
    with refused(InvalidFile):
        add(table, NAME, [changed(result, lambda d: d["solution"].pop("count"))])
    with refused(InvalidFile):
        add(table, NAME, [locate(NAME)])
    (tmp_path / "bytes.json").write_bytes(b"\xff\x00")
    for files in ([NAME, tmp_path / "bytes.json"], [tmp_path / "bytes.json"]):
        with refused(InvalidFile):
            add(table, files[0], files[1:])
    with refused(InvalidFile):
        read_table(tmp_path / "no such")
    with refused(NotAdded):
        add(table, NAME, [solved(tmp_path, "min-cost"), proof])
    with refused(NotAdded):
        add(table, "market/tiny", [solved(tmp_path, "fisher", "market/tiny")])
    with refused(NotAdded):
        add(table, "numa/tiny", [solved(tmp_path, "IB", "numa/tiny")])
    assert before == {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}


def test_an_answer_that_contradicts_a_proof_is_not_taken(tmp_path: Path, table: Path) -> None:
    row, _ = add(table, NAME, [proved(tmp_path)])
    lines = table / bounds.TABLE
    lines.write_text(json.dumps(row | {"bound": 6, "value": 7}) + "\n")
    with refused(NotAdded):
        add(table, NAME, [solved(tmp_path, "FFD")])


def test_an_answer_to_another_question_is_none(tmp_path: Path, table: Path) -> None:
    within = proved(tmp_path, "fair", "colocation/tiny", slack=0.02)
    row, _ = add(table, "colocation/tiny", [within])
    assert known(row) == ("penalty", 0.0525, 0.0525, "closed")
    assert row["options"] == {"slack": "1/50"}
    unfair = changed(
        solved(tmp_path, "optimal", "colocation/tiny"),
        lambda d: d["result"].update(method="fair", options={"slack": 0.02}),
    )
    with refused(NotAdded):
        add(table, "colocation/tiny", [unfair])


@pytest.mark.slow
def test_options_that_change_nothing_make_no_row_of_their_own(table: Path, tmp_path: Path) -> None:
    usual = {"alpha": 0.0, "alpha_mode": "penalty-points"}
    for options in ({}, usual, {"alpha": 0.05}, {"alpha": 0.05, "alpha_mode": "penalty-points"}):
        files = [
            make(tmp_path, "stable", "colocation/tiny", **options) for make in (solved, proved)
        ]
        with suppress(NotAdded):
            add(table, "colocation/tiny", files)
    assert [row["options"] for row in read_table(table)] == [{}, {"alpha": "1/20"}]


def test_further_levels_are_of_the_best_answer(tmp_path: Path, table: Path) -> None:
    whole = proved(tmp_path, "stable", "colocation/tiny")
    first = changed(whole, lambda d: d.update(levels=[]))
    row, _ = add(table, "colocation/tiny", [first])
    assert (known(row), row["levels"]) == (("blocking_pairs", 0, 0, "closed"), [])
    row, _ = add(table, "colocation/tiny", [whole])
    assert [(level["objective"], level["bound"]) for level in row["levels"]] == [
        ("penalty", 0.0525)
    ]
    assert broken(table) == []
    with refused(NotAdded):
        add(table, "colocation/tiny", [first])
    edited = row | {"levels": [row["levels"][0] | {"bound": 0.06}]}
    (table / bounds.TABLE).write_text(json.dumps(edited) + "\n")
    assert len(broken(table)) == 1


def test_what_was_changed_is_seen(tmp_path: Path, table: Path) -> None:
    row, _ = add(table, NAME, [solved(tmp_path, "min-servers"), proved(tmp_path)])
    lines, seen = table / bounds.TABLE, list[str]()
    other = {"value": 3, "bound": 3, "kind": "gap", "name": "another", "objective": "cost",
             "options": {"x": 1}, "question": "min-cost", "size": {}, "answer": None}  # fmt: skip
    for field, value in other.items():
        lines.write_text(json.dumps(row | {field: value}) + "\n")
        seen += broken(table)
    assert len(seen) == len(other)
    lines.write_text(json.dumps(row) + "\n")
    assert broken(table) == []
    for role in ("answer", "proof"):
        path = table / row[role]
        content = path.read_bytes()
        path.write_bytes(gzip.compress(gzip.decompress(content) + b" "))
        seen += broken(table)
        path.unlink()
        seen += broken(table)
        path.write_bytes(content)
    shutil.rmtree(table / "instances")
    approved(re.sub("[0-9a-f]{32}", "<hash>", line) for line in (*seen, *broken(table)))


@pytest.mark.parametrize(
    ("field", "value"),
    [("value", "4"), ("sense", "least"), ("proof", "../secret.json.gz"), ("levels", [{}])],
)
def test_a_line_that_is_no_row_is_named(table: Path, field: str, value: object) -> None:
    row, _ = add(table, NAME)
    lines = table / bounds.TABLE
    lines.write_text(json.dumps(row) + "\n" + json.dumps(row | {field: value}) + "\n")
    with refused(InvalidFile):
        read_table(table)


def test_nobody_who_adds_at_the_same_time_loses_a_row(table: Path, tmp_path: Path) -> None:
    files = [cotenant.write(TINY.replace(name=f"n{n}"), tmp_path / f"{n}.json") for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda file: add(table, file), files))
    assert sorted(row["name"] for row in read_table(table)) == sorted(f"n{n}" for n in range(12))
    assert [path.name for path in table.glob("*.lock")] == []


def test_a_file_that_cannot_be_written_leaves_the_table_as_it_was(
    tmp_path: Path, table: Path
) -> None:
    row, _ = add(table, NAME, [solved(tmp_path, "FFD")])
    proof = proved(tmp_path)
    place = table / judged_place(proof)
    place.mkdir()
    with pytest.raises(InvalidFile):
        add(table, NAME, [proof])
    assert read_table(table) == [row]
    assert broken(table) == []
    place.rmdir()
    assert known(add(table, NAME, [proof])[0]) == ("servers", 4, 4, "closed")


def judged_place(proof: Path) -> str:
    text = gzip.decompress(proof.read_bytes()).decode()
    return str(bounds.judged(locate(NAME).read_text(), TINY, text, "x")["file"])


@pytest.mark.slow
@pytest.mark.parametrize("after", range(1, 8, 2))
def test_whoever_is_killed_loses_no_row_that_was_there(
    tmp_path: Path, table: Path, after: int
) -> None:
    adding = """
import sys, cotenant
from cotenant.analysis.run.bounds import add
tiny = cotenant.read("packing/tiny")
for n in range(10_000):
    file = cotenant.write(tiny.replace(name=f"n{n}"), f"{sys.argv[1]}/{n}.json")
    print(add(f"{sys.argv[1]}/table", file)[0]["name"], flush=True)
"""
    words = [sys.executable, "-c", adding, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        names = [child.stdout.readline().strip() for _ in range(after)]
        child.kill()
    assert [row["name"] for row in read_table(table)][:after] == names
    assert broken(table) == []
    assert add(table, NAME)[0]["name"] == "tiny"


def test_data_that_may_not_be_handed_on_is_not_copied(table: Path, tmp_path: Path) -> None:
    row, _ = add(table, NAME, [proved(tmp_path)], keep_instance=False)
    place = table / bounds.instance_place(row)
    assert not place.exists()
    assert len(broken(table)) == 1
    again, _ = add(table, NAME)
    assert place.exists()
    assert again["value"] == 4
    assert broken(table) == []


def test_every_problem_has_a_question_of_a_method_that_there_is() -> None:
    for problem in PROBLEM_NAMES:
        asked = question_of(cotenant.read(f"{problem}/tiny"))
        assert asked in questions(problem).values()
        entries = {question.entry.name for question in questions(problem).values()}
        assert entries <= {method.name for method in METHODS if method.problem == problem}


FAST = ("groups optimal", "admission most-jobs")
EVERY = [
    pytest.param(each, marks=[] if f"{each.problem} {each.name}" in FAST else pytest.mark.slow)
    for each in METHODS
    if each.proof_producer
]


@pytest.mark.parametrize("method", EVERY, ids=lambda each: f"{each.problem}-{each.name}")
def test_what_every_method_proves_comes_in_and_holds(
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
    files = [] if result.solution is None else [result.write(tmp_path / "result.json")]
    proof = prove_file(meant[0], path, result, tmp_path / "proof.json", 20)
    assert proof.file is not None
    row, _ = add(table, path, [*files, proof.file])
    assert broken(table) == []
    assert row["question"] == questions(method.problem)[method.name].method
    optimal = result.status.value == "optimal" and proof.proof_status == "certified"
    assert (status(row) != "open") == (optimal or row["kind"] == "equilibrium")
    if row["question"] != "FUGA":  # the proof is of the play, not of what it is worth
        assert row["value"] == pytest.approx(result.objective, rel=1e-6, abs=1e-6)


def test_an_equilibrium_that_is_far_off_is_none(tmp_path: Path, table: Path) -> None:
    market = cotenant.read("market/tiny")
    result = cotenant.solve(market, "fisher")
    allocation: Any = result.solution
    dear = allocation.replace(price=allocation.price * [1.2, 0.8])
    result = replace(result, outcome=replace(result.outcome, solution=dear))
    out = tmp_path / "proof.json"
    assert prove_file(market, locate("market/tiny"), result, out, 20).file
    with refused(NotAdded):
        add(table, "market/tiny", [out])


def test_the_commands_add_show_check_and_write_the_page(tmp_path: Path, table: Path) -> None:
    words = ("--table", str(table))
    added = run("bounds", "add", NAME, "-m", "min-servers", *words, "--set", "small")
    assert added.returncode == 0
    approved(added.stdout.splitlines()[-1])
    approved(read_table(table)[0]["command"].partition(" --table")[0])
    again = run("bounds", "add", NAME, "-m", "FFD", *words)
    assert again.returncode == 1
    approved(line for line in again.stderr.splitlines() if line.startswith("error"))
    assert run("bounds", "add", "scheduling/tiny", *words).returncode == 0
    approved(re.sub(r"20\d\d-\d\d-\d\d", "<date>", run("bounds", "show", *words).stdout))
    opened = run("bounds", "show", *words, "--open", "--json").stdout
    assert [row["problem"] for row in json.loads(opened)] == ["scheduling"]
    assert json.loads(run("bounds", "show", *words, "--set", "none", "--json").stdout) == []
    held = run("bounds", "check", *words, "--jobs", "2")
    assert (held.returncode, held.stdout.split()[0]) == (0, "2")
    text = (table / bounds.TABLE).read_text()
    (table / bounds.TABLE).write_text(text.replace('"value": 4', '"value": 3'))
    held = run("bounds", "check", *words)
    assert (held.returncode, held.stdout.split()[0]) == (1, "1")
    approved(line for line in held.stderr.splitlines() if line.startswith("broken"))
    assert run("bounds", "page", *words, "--out", str(table / "index.html")).returncode == 0


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a table with two sets, of instances of two sizes."""
    folder = tmp_path_factory.mktemp("site")
    add(folder / "b", NAME, [proved(folder)], set_name="small")
    for number in range(7):
        file = cotenant.write(TINY.replace(name=f"n{number}<b>"), folder / f"{number}.json")
        files = [solved(folder, "FFD")] if number == 0 else []
        if files:
            files = [changed(files[0], lambda d: d["result"].pop("fingerprint"))]
        add(folder / "b", file, files, set_name="others")
    add(folder / "b", "colocation/tiny", set_name="others")
    return write_bounds_page(folder / "b", folder / "b" / "index.html", "../verify/index.html")


def test_links_lead_to_the_files_and_to_the_page_that_judges_them(page: Path) -> None:
    links = re.findall(r'<a href="([^"#]+)">([^<]+)</a>', page.read_text())
    judge = [link.replace("&amp;", "&") for link, words in links if words == "verify this here"]
    row = read_table(page.parent)[0]
    given = f"instance=../b/{bounds.instance_place(row)}&proof=../b/{row['proof']}"
    assert judge == [f"../verify/index.html?{given}"]
    files = [link for link, words in links if words in ("instance", "answer", "proof")]
    assert len(files) == 3 + 7 + 1 + 1
    assert all((page.parent / link).is_file() for link in files)
    assert "<b>" not in page.read_text()


@no_chromium
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_page_is_filtered_by_set_and_size_and_sorted(
    shared_browser: Browser, page: Path, scheme: str
) -> None:
    shape(shared_browser, 390, scheme)
    shared_browser.get(page.as_uri())
    assert shared_browser.get_log("browser") == []
    wide = "return document.documentElement.scrollWidth <= 390"
    assert shared_browser.execute_script(wide)
    seen = """
        return [...document.querySelectorAll('#rows tbody tr:not([hidden])')].map(
            (row) => row.cells[1].textContent)
    """
    everything = [row["name"] for row in read_table(page.parent)]
    assert shared_browser.execute_script(seen) == everything
    choose = """
        const labels = [...document.querySelectorAll('.filter label')];
        const select = labels.find(
            (label) => label.textContent.startsWith(arguments[0])).querySelector('select');
        select.value = arguments[1];
        select.dispatchEvent(new Event('change'));
        return [...select.options].map((option) => option.textContent);
    """
    options = shared_browser.execute_script(choose, "set", "small")
    assert options == ["all", "others", "small"]
    assert shared_browser.execute_script(seen) == ["tiny"]
    shared_browser.execute_script(choose, "set", "")
    assert shared_browser.execute_script(seen) == everything
    shared_browser.execute_script(choose, "size", "4 types")
    assert len(shared_browser.execute_script(seen)) == 1
    shared_browser.execute_script(choose, "status", "closed")
    assert shared_browser.execute_script(seen) == []
    shared_browser.execute_script(choose, "size", "")
    assert shared_browser.execute_script(seen) == ["tiny"]
    shared_browser.execute_script(choose, "status", "")
    sort = "document.querySelectorAll('#rows th button')[1].click()"
    shared_browser.execute_script(sort)
    assert shared_browser.execute_script(seen) == sorted(everything)
