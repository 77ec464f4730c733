"""The frame of proofs: what is read, what a claim may say, what the one program that judges imports;
and a proof of every producer, however the verifier is run.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.messages import approved, refused
from support.proved import REFUSALS, Document, Proved, proved
from support.terminal import run as terminal

import cotenant
from cotenant import catalog
from cotenant.analysis.run.proving import prove
from cotenant.analysis.run.solve import solve
from cotenant.cli.proofs import proof_words
from cotenant.instances.problem.files import bundled, locate, read
from cotenant.instances.problem.proof import Level, Proof, written
from cotenant.instances.problem.reading import read_bytes
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Outcome
from cotenant.solvers.proofs import Claimed
from cotenant.verify import methods_of, verify
from cotenant.verify.reading import Decimal, Refused, Unreadable, exact, listed, parse, scaled
from cotenant.verify.reading import read as checked_read

PROOF_LINES = 1300
"""Most lines of the verifier that have to be read to trust what it says of one proof."""

FRAME = {"reading", "frame"}
"""Files that are read for every proof."""

NEEDED = {
    "colocation": {"program", "pairing"},
    "colocation_stable": {"program", "pairing", "colocation"},
    "colocation_fair": {"program", "pairing", "colocation"},
    "market": {"logarithms"},
    "packing_servers": {"program", "packing", "packing_prices"},
    "packing_shares": {"program", "packing", "packing_prices"},
    "packing_game": {"packing"},
    "packing_cards": {"program", "packing"},
    "admission": set(),
    "numa": set(),
    "accelerators": set(),
    "quanta": {"logarithms"},
    "lifetimes": {"program", "packing", "packing_prices"},
    "elastic": {"program"},
    "cooperative": set(),
    "scheduling": {"cooperative"},
    "groups": {"program", "pairing"},
}
"""By file with a table of methods: what it needs besides these."""

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "verify"
TINY = (ROOT / "instances/data/colocation/tiny.json").read_bytes()


def proof_of(**changes: object) -> dict[str, object]:
    """A proof about the bundled instance of four jobs that says nothing yet."""
    proof = Proof("colocation", "stable", (Level("blocking_pairs", "min", None, Fraction(0)),))
    content = proof.document("tiny", hashlib.sha256(TINY).hexdigest())
    return content | {"steps": [{"kind": "witness"}]} | changes


def judged(proof: object, instance: bytes = TINY) -> str:
    return verify(instance, proof if isinstance(proof, bytes) else json.dumps(proof).encode())


def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-I", str(FOLDER), *arguments]
    return subprocess.run(words, input=given, capture_output=True, check=False)


def imports_of(path: Path) -> tuple[set[str], set[str]]:
    """The modules that a file of the verifier imports: of its folder, and others."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    assert not {node.id for node in nodes if isinstance(node, ast.Name)} & {
        "eval", "exec", "compile", "__import__", "globals"
    }  # fmt: skip
    others = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    own = set[str]()
    for node in [node for node in nodes if isinstance(node, ast.ImportFrom)]:
        if not node.level:
            others.add(str(node.module))
        elif node.module is None:
            own |= {alias.name for alias in node.names}
        else:
            assert node.level == 1
            own.add(node.module)
    return own, others


def test_verifier_imports_itself_and_eight_modules_of_the_standard_library() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert not names & sys.stdlib_module_names  # the folder stands before them in the path
    assert names == {"__init__", "__main__", "methods", "packing"} | FRAME | set(NEEDED) | {
        name for needed in NEEDED.values() for name in needed
    }
    for path in FOLDER.glob("*.py"):
        own, others = imports_of(path)
        assert own <= names
        assert others <= set("json sys gzip hashlib heapq math fractions bisect".split()), path


@pytest.mark.parametrize("name", NEEDED)
def test_verifier_of_one_proof_has_at_most_1300_lines(name: str) -> None:
    read = set[str]()
    waiting = [name]
    while waiting:
        waiting += imports_of(FOLDER / f"{(file := waiting.pop())}.py")[0] - read
        read.add(file)
    assert read == FRAME | NEEDED[name] | {name}
    lines = sum(len((FOLDER / f"{file}.py").read_text().splitlines()) for file in read)
    assert lines <= PROOF_LINES


def test_proof_of_bound_without_witness_is_accepted() -> None:
    approved(judged(proof_of()))


FALSE: dict[str, dict[str, object]] = {
    "unknown option": {"options": {"beta": 1}},
    "another instance": {"instance": {"sha256": "0" * 64, "name": "tiny"}},
    "another name": {
        "instance": {"sha256": hashlib.sha256(TINY).hexdigest(), "name": "cooper-1000"}
    },
    "unknown key": {"note": "trust me"},
    "a step with more than it needs": {"steps": [{"kind": "witness", "bound": 9}]},
    "three levels": {"levels": [{"claim": {}, "steps": []}] * 2},
}
CLAIMS = {
    "a bound that is not proved": {"bound": 1},
    "optimal without an answer": {"claim_kind": "optimal", "value": 0},
    "optimal without a value": {"claim_kind": "optimal"},
    "a fraction over zero": {"bound": "0/0"},
    "a bound in other digits": {"bound": "\u0661"},
    "infeasible": {"claim_kind": "infeasible", "bound": None},
    "nothing at all": {"bound": None},
}


FALSE |= {
    f"a claim: {name}": {"claim": {**proof_of()["claim"], **change}}  # type: ignore[dict-item]
    for name, change in CLAIMS.items()
}


@pytest.mark.parametrize("change", FALSE.values(), ids=FALSE)
def test_proof_with_invalid_field_or_claim_is_refused(change: dict[str, object]) -> None:
    with refused(Refused):
        judged(proof_of(**change))


UNREADABLE = {
    "empty": b"",
    "not a number": b'{"cotenant_proof": NaN}',
    "a float": b'{"cotenant_proof": 2.0}',
    "an enormous exponent": b'{"cotenant_proof": 2e999999999}',
    "a key given twice": b'{"cotenant_proof": 2, "cotenant_proof": 2}',
    "a number of a million digits": b'{"cotenant_proof": 2%s}' % (b"0" * 10**6),
    "a hundred thousand lists in each other": b'{"a": %s' % (b"[" * 100_000),
    "millions of lists": b'{"a": [%s[]]}' % (b"[]," * 4_000_000),
    "not UTF-8": b'{"a": "\xff"}',
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_invalid_proof_files_are_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        judged(data)


def test_verifier_reads_exact_decimals() -> None:
    content = parse(b'{"a": [0.1, 12, -0.25, 2.5e-3, 1E2, null]}', decimals=True)["a"]
    assert scaled(content, "a") == ([1000, 120000, -2500, 25, 1000000, None], 10000)
    assert [exact(value, "a") for value in listed(content, "a")[:5]] == [
        Fraction(value) for value in ("0.1", "12", "-0.25", "0.0025", "100")
    ]
    for text in ("1e401", "1e-999999999", f"0.{'1' * 401}"):
        with pytest.raises(Refused):
            exact(Decimal(text), "a")


@pytest.mark.slow
def test_verifier_script_alone_exits_with_documented_codes(tmp_path: Path) -> None:
    instance, proof, wrong = (tmp_path / name for name in ("tiny.json.gz", "proof.json", "no.json"))
    instance.write_bytes(gzip.compress(TINY))
    proof.write_text(json.dumps(proof_of()))
    wrong.write_text(json.dumps(proof_of(witness={})))
    given, packed = [str(instance), str(proof)], gzip.compress(proof.read_bytes())
    for code, says, arguments in (
        (0, b"accepted", given),
        (0, b"accepted", [str(instance), "-"]),
        (1, b"refused", [str(instance), str(wrong)]),
        (2, b"unreadable", []),
        (2, b"unreadable", ["-", "-"]),
        (2, b"unreadable", [str(instance), str(tmp_path)]),
        (2, b"unreadable", [str(instance), str(tmp_path / "none.json")]),
        (2, b"unreadable", [*given, "--patience", "0"]),
        (2, b"unreadable", [*given, "--times", "2"]),
    ):
        done = run(*arguments, given=packed if arguments == [str(instance), "-"] else b"")
        assert (done.returncode, done.stdout.partition(b":")[0], done.stderr) == (code, says, b"")


def test_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "proof.json.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        for _ in range(70):
            stream.write(b" " * 10**6)
    with refused(Unreadable):
        checked_read(str(bomb))
    bomb.write_bytes(bomb.read_bytes()[:1000])
    with pytest.raises(Unreadable):
        checked_read(str(bomb))


def test_long_fractions_of_proofs_are_rounded_outward() -> None:
    for value in (Fraction(1, 3**200), Fraction(-(7**300), 3**200), Fraction(10**90 + 1, 3**150)):
        low, high = Fraction(written(value, up=False)), Fraction(written(value, up=True))
        assert low < value < high
        assert high - low < abs(value) / 10**9
    assert [written(value, up=True) for value in (Fraction(3, 8), Fraction(4))] == ["3/8", 4]


def test_proof_level_is_optimal_only_if_value_equals_bound() -> None:
    third = Fraction(1, 3)
    equal, short, bare = (
        Level("penalty", "min", value, bound)
        for value, bound in ((third, third), (third, third - Fraction(1, 10**30)), (None, third))
    )
    assert [level.claim_kind for level in (equal, short, bare)] == ["optimal", "gap", "gap"]
    assert Proof("colocation", "optimal", (equal,)).complete
    assert not Proof("colocation", "optimal", (equal, Level("x", "min", third, None))).complete


def test_methods_with_proof_producer_equal_methods_of_verifier() -> None:
    # fair with an allowance of slack, stable with another objective, `cotenant analyze core`
    others = {"colocation": ("fair-within", "stable-agents", "stable-minimax"),
              "scheduling": ("nucleolus", "prenucleolus")}  # fmt: skip
    within = {(problem, name) for problem, names in others.items() for name in names}
    filed = [method for method in catalog.METHODS if method.proof_producer]
    known = {(p, name) for p in {method.problem for method in filed} for name in methods_of(p)}
    assert {(method.problem, method.name) for method in filed} | within == known
    assert methods_of("made up") == {}
    assert all(callable(resolve(method.proof_producer)) for method in filed)
    named = [catalog.find("colocation", "optimal"), catalog.find("market", "nash-welfare")]
    without = replace(catalog.find("packing", "min-cost"), proof_producer="", unproved="")
    approved(proof_words([*named, without]).splitlines())


def test_prove_and_verify_commands_agree(tmp_path: Path) -> None:
    proof, result, tiny = tmp_path / "proof.json.gz", tmp_path / "result.json", "colocation/tiny"
    assert terminal("solve", tiny, "-m", "stable", "--out", str(result)).returncode == 0
    chosen = ("-m", "stable", "--from", str(result), "--out", str(proof))
    done = terminal("prove", tiny, *chosen)
    assert (done.returncode, "proof: certified" in done.stdout) == (0, True), done.stderr
    approved(done.stdout.splitlines()[:2])  # the verdict, and what the verifier takes of the file
    done = terminal("prove", "colocation/no-stable-4", *chosen)
    assert (done.returncode, "other content" in done.stderr) == (2, True)
    handed, end = os.pipe()  # as a shell's <(zcat tiny.json.gz)
    os.write(end, locate(tiny).read_bytes())
    os.close(end)
    for code, says, file in (
        (0, "accepted", tiny),
        (0, "accepted", f"/dev/fd/{handed}"),
        (1, "refused", "colocation/no-stable-4"),
    ):
        judged = terminal("verify", file, str(proof))
        assert (judged.returncode, judged.stdout.partition(":")[0]) == (code, says)
    os.close(handed)
    none = terminal("verify", tiny, str(tmp_path / "none.json"))
    assert none.returncode == 2
    approved(none.stderr)


@pytest.mark.slow
def test_sentence_on_proof_by_recomputation_names_recomputed_schedules(tmp_path: Path) -> None:
    again = [m for m in catalog.METHODS if m.proof_producer.startswith("solvers.proofs.recompute:")]
    stored = ("stored_steps", "greedy_slices")  # these have steps beside the instance
    again = [m for m in again if m.proof_producer.partition(":")[2] not in stored]
    assert [m for m in catalog.METHODS if m.replayed] == again
    game = read("packing/paper-example")
    proved = prove(game, solve(game, "FUGA", eta=3), tmp_path)
    assert proved.proof_status == "certified"
    other = prove(game, solve(game, "FUGA", alpha=2.37), tmp_path)
    assert (other.proof_status, other.basis) == ("claimed", proved.basis)
    approved(proved.basis)
    jobs = read("scheduling/tiny")
    assert "all coalitions" in prove(jobs, solve(jobs, "REF"), tmp_path).basis
    assert "basis" not in proved.document()


def test_prove_command_prints_claimed_if_no_proof_can_be_written(tmp_path: Path) -> None:
    out, result = str(tmp_path / "proof.json"), str(tmp_path / "result.json")
    chosen = ("-m", "FUGA", "-o", "alpha=2.37")
    claimed = terminal("prove", "packing/paper-example", *chosen, "--out", out)
    assert (claimed.returncode, claimed.stdout.partition(";")[0]) == (1, "proof: claimed")
    assert not Path(out).exists()
    optimal = ("colocation/tiny", "-m", "optimal")
    assert terminal("solve", "colocation/tiny", "-m", "GR", "--out", result).returncode == 0
    for words in (("--from", result, "--out", out), ("--out", f"{out}.txt")):
        wrong = terminal("prove", *optimal, *words)
        assert wrong.returncode == 2
        approved(wrong.stderr)


METHODS = sorted((m.problem, m.name) for m in catalog.METHODS if m.proof_producer)


@cache
def smallest(problem: str, name: str) -> tuple[Any, Outcome, Proved]:
    """The smallest bundled instance of which a method proves anything, and what it says."""
    method = catalog.find(problem, name)
    files = [file for file in bundled() if file.startswith(f"{problem}/")]
    for instance in map(
        cotenant.read, sorted(files, key=lambda file: len(read_bytes(locate(file))))
    ):
        if method.applies_to(instance):
            outcome = method.resolve()(instance, time_limit=5)
            try:
                return instance, outcome, proved(instance, name, outcome)
            except Claimed:
                continue
    raise AssertionError((problem, name))


RUN = """import runpy, sys
program, *files = sys.argv[1:]
for instance, proof in zip(files[::2], files[1::2]):
    sys.argv[1:] = [instance, proof]
    try:
        if program == "cotenant.verify":
            runpy.run_module(program, run_name="__main__")
        else:
            runpy.run_path(program, run_name="__main__")
    except SystemExit as done:
        assert done.code == 0, proof
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", ["verify", "verify.pyz", "cotenant.verify"])
def test_file_archive_and_module_of_verifier_accept_all_proofs(
    program: str, tmp_path: Path
) -> None:
    files, sentences = list[str](), list[str]()
    for problem, name in METHODS:
        proof, stem = smallest(problem, name)[2], tmp_path / f"{problem}-{name}"
        stem.with_suffix(".json").write_bytes(proof.content)
        stem.with_suffix(".proof.json").write_text(json.dumps(proof.document))
        files += [f"{stem}.json", f"{stem}.proof.json"]
        sentences.append(f"accepted: {proof.sentence}")
    where = program if program == "cotenant.verify" else str(ROOT / program)
    if program == "verify.pyz":
        where = str(tmp_path / program)
        subprocess.run([sys.executable, str(ROOT / ".ci" / "zip-verifier"), where], check=True)
    alone = [] if program == "cotenant.verify" else ["-I"]
    command = [sys.executable, *alone, "-W", "error", "-c", RUN, where, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == sentences


def better(claim: Document) -> str:
    """A bound that says a little more than what a claim says."""
    bound = Fraction(claim["bound"])
    step = max(abs(bound), Fraction(1)) / 1000
    return str(bound - step if claim["sense"] == "max" else bound + step)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("problem", "name"), METHODS)
def test_claimed_bound_above_proved_bound_is_refused(problem: str, name: str) -> None:
    instance, outcome, proof = smallest(problem, name)
    # the method says more than is true: its producer proves no more than before
    up = proof.document["claim"]["sense"] == "max"
    wrong = replace(outcome, bound=None if outcome.bound is None else -1e6 if up else 1e6)
    try:
        [first, *_] = proved(instance, name, wrong).proof.levels
    except Claimed:
        pass
    else:
        least = None not in (first.value, first.bound)
        assert not least or (first.bound >= first.value if up else first.bound <= first.value)
    # and a file that claims more than its steps show is refused, at every level
    for level in range(len(proof.proof.levels)):

        def forge(document: Document, level: int = level, hide: bool = False) -> None:
            claim = [document, *document["levels"]][level]["claim"]
            if claim["bound"] is not None:
                claim["bound"] = better(claim)
                if claim["claim_kind"] == "optimal":
                    claim["claim_kind"] = "gap"
            else:
                claim["epsilon"] = {key: "-1/10" for key in claim["epsilon"]}
            claim["value"] = None if hide else claim["value"]

        proof.refuses(forge)
        proof.refuses(lambda document, forge=forge: forge(document, hide=True))


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all parts of a document."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from nodes(value[key], (*path, key))


def spread_over_shapes(paths: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first and the last path of those that differ only in indices of lists."""
    shapes: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for path in paths:
        shape = tuple("*" if isinstance(key, int) else key for key in path)
        shapes.setdefault(shape, []).append(path)
    return [path for same in shapes.values() for path in {same[0], same[-1]}]


DEEP = json.loads("[" * 401 + "]" * 401)
WRONG: tuple[Any, ...] = ("x", "1/0", "-1", None, True, -1, 10**30, 1.5, [], {}, [0], DEEP)
MISSING = object()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("problem", "name"), METHODS)
def test_proof_with_any_part_replaced_is_refused_or_proves_the_same_claim(
    problem: str, name: str, step: int
) -> None:
    """Each part takes every wrong value, or every fourth, beginning with another one."""
    proof = smallest(problem, name)[2]
    for number, (*above, last) in enumerate(spread_over_shapes(nodes(proof.document))):
        for value in (*WRONG, MISSING)[number % step :: step]:
            forged = proof.document
            holder: Any = forged
            for key in above:
                holder = holder[key]
            if value is MISSING:
                del holder[last]
            else:
                holder[last] = value
            try:
                says = proof.judge(forged)
            except REFUSALS:
                continue
            # the claim as it was, proved by other hints, or a part of it
            less = "claim" in above and value is None
            assert less or proof.sentence.startswith(says), (above, last, value)
