"""The frame of proofs: what is read, what a claim may say, and what the one program that judges
imports.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from support.messages import approved, refused
from support.terminal import run as terminal

from cotenant import catalog
from cotenant.analysis.run.proving import prove
from cotenant.analysis.run.solve import solve
from cotenant.cli.proofs import proof_words
from cotenant.instances.problem.files import locate, read
from cotenant.instances.problem.proof import Level, Proof, written
from cotenant.instances.problem.registry import resolve
from cotenant.verify import methods_of, verify
from cotenant.verify.reading import (
    Decimal,
    Refused,
    Unreadable,
    exact,
    listed,
    parse,
    scaled,
)
from cotenant.verify.reading import read as checked_read

PROOF_LINES = 1300
"""So many lines of the verifier at most have to be read to trust what it says of one proof."""

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
    return subprocess.run(
        [sys.executable, "-I", str(FOLDER), *arguments],
        input=given,
        capture_output=True,
        check=False,
    )


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


def test_the_verifier_imports_itself_and_eight_modules_of_the_standard_library() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert not names & sys.stdlib_module_names  # the folder stands before them in the path
    assert names == {"__init__", "__main__", "methods", "packing"} | FRAME | set(NEEDED) | {
        name for needed in NEEDED.values() for name in needed
    }
    for path in FOLDER.glob("*.py"):
        own, others = imports_of(path)
        assert own <= names
        assert others <= {
            "json",
            "sys",
            "gzip",
            "hashlib",
            "heapq",
            "math",
            "fractions",
            "bisect",
        }, path


@pytest.mark.parametrize("name", NEEDED)
def test_a_reader_of_one_proof_reads_few_files(name: str) -> None:
    read = set[str]()
    waiting = [name]
    while waiting:
        waiting += imports_of(FOLDER / f"{(file := waiting.pop())}.py")[0] - read
        read.add(file)
    assert read == FRAME | NEEDED[name] | {name}
    lines = sum(len((FOLDER / f"{file}.py").read_text().splitlines()) for file in read)
    assert lines <= PROOF_LINES


def test_files_of_other_problems_are_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "proof.json").write_text(json.dumps(proof_of()))
    (tmp_path / "tiny.json").write_bytes(TINY)
    code = f"""import runpy, sys
sys.argv[1:] = {[str(tmp_path / name) for name in ("tiny.json", "proof.json")]}
try:
    runpy.run_path({str(FOLDER)!r}, run_name="__main__")
except SystemExit:
    print(*sorted(name[7:] for name in sys.modules if name.startswith("verify.")))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {
        "methods",
        "program",
        "pairing",
        *FRAME,
        *(name for name in NEEDED if "coloc" in name),
    }
    assert set(done.stdout.splitlines()[-1].split()) == loaded


def test_a_bound_without_an_answer_is_accepted_as_what_it_is() -> None:
    approved(judged(proof_of()))


FALSE: dict[str, dict[str, object]] = {
    "version": {"cotenant_proof": 3},
    "version that is true": {"cotenant_proof": True},
    "another problem": {"problem": "market"},
    "no such method": {"method": "GR"},
    "method that is no text": {"method": ["stable"]},
    "unknown option": {"options": {"beta": 1}},
    "another instance": {"instance": {"sha256": "0" * 64, "name": "tiny"}},
    "another name": {
        "instance": {"sha256": hashlib.sha256(TINY).hexdigest(), "name": "cooper-1000"}
    },
    "unknown key": {"note": "trust me"},
    "unknown kind": {"steps": [{"kind": "oracle"}]},
    "a kind that is a list": {"steps": [{"kind": ["witness"]}]},
    "a step with more than it needs": {"steps": [{"kind": "witness", "bound": 9}]},
    "steps that are none": {"steps": {"kind": "witness"}},
    "three levels": {"levels": [{"claim": {}, "steps": []}] * 2},
    "a witness of half agents": {
        "witness": {"first": [0], "second": [1], "pairs": ["1/2"], "single": [0, 0, 0, 0]}
    },
}
CLAIMS = {
    "a bound that is not proved": {"bound": 1},
    "optimal without an answer": {"claim_kind": "optimal", "value": 0},
    "optimal without a value": {"claim_kind": "optimal"},
    "a negative zero of another kind": {"bound": "0/0"},
    "a bound in words": {"bound": "none"},
    "a bound in other digits": {"bound": "\u0661"},
    "true": {"bound": True},
    "infeasible": {"claim_kind": "infeasible", "bound": None},
    "an equilibrium": {"claim_kind": "equilibrium", "epsilon": {}},
    "epsilon": {"epsilon": {"regret": 0}},
    "another objective": {"objective": "penalty"},
    "another sense": {"sense": "max"},
    "nothing at all": {"bound": None},
    "unknown words": {"claim_kind": "surely"},
    "one key more": {"sure": 1},
}


FALSE |= {
    f"a claim: {name}": {"claim": {**proof_of()["claim"], **change}}  # type: ignore[dict-item]
    for name, change in CLAIMS.items()
}


@pytest.mark.parametrize("change", FALSE.values(), ids=FALSE)
def test_a_proof_that_is_not_what_it_should_be_is_refused(change: dict[str, object]) -> None:
    with refused(Refused):
        judged(proof_of(**change))


UNREADABLE = {
    "empty": b"",
    "no object": b"[1]",
    "truncated": b'{"cotenant_proof": 2',
    "not a number": b'{"cotenant_proof": NaN}',
    "infinity": b'{"cotenant_proof": -Infinity}',
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


@pytest.mark.parametrize("version", [b"true", b"1.0", b"2", b"null"])
def test_an_instance_of_another_format_is_refused(version: bytes) -> None:
    other = TINY.replace(b'"cotenant": 1', b'"cotenant": ' + version)
    meant = {"sha256": hashlib.sha256(other).hexdigest(), "name": "tiny"}
    with refused(Refused):
        judged(proof_of(instance=meant), other)


@pytest.mark.slow
def test_verifier_runs_alone_with_exit_codes(tmp_path: Path) -> None:
    instance, proof = tmp_path / "tiny.json.gz", tmp_path / "proof.json"
    instance.write_bytes(gzip.compress(TINY))
    proof.write_text(json.dumps(proof_of()))
    done = run(str(instance), str(proof))
    assert (done.returncode, done.stdout[:9], done.stderr) == (0, b"accepted:", b"")
    assert run(str(instance), "-", given=gzip.compress(proof.read_bytes())).returncode == 0
    proof.write_text(json.dumps(proof_of(witness={})))
    refused = run(str(instance), str(proof))
    assert (refused.returncode, refused.stdout[:8]) == (1, b"refused:")
    for arguments in (
        [],
        ["-", "-"],
        [str(instance), str(tmp_path)],
        [str(instance), str(tmp_path / "none.json")],
        [str(instance), str(proof), "--patience", "0"],
        [str(instance), str(proof), "--times", "2"],
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout[:11], done.stderr) == (2, b"unreadable:", b"")


def test_a_gigabyte_of_zeros_in_a_small_gzip_file_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "proof.json.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        for _ in range(70):
            stream.write(b" " * 10**6)
    with refused(Unreadable):
        checked_read(str(bomb))
    bomb.write_bytes(bomb.read_bytes()[:1000])
    with pytest.raises(Unreadable):
        checked_read(str(bomb))


def test_long_fractions_are_rounded_conservatively() -> None:
    for value in (Fraction(1, 3**200), Fraction(-(7**300), 3**200), Fraction(10**90 + 1, 3**150)):
        low, high = Fraction(written(value, up=False)), Fraction(written(value, up=True))
        assert low < value < high
        assert high - low < abs(value) / 10**9
    assert written(Fraction(3, 8), up=True) == "3/8"
    assert written(Fraction(4), up=False) == 4


def test_level_is_optimal_only_if_value_equals_bound() -> None:
    def said(value: Fraction | None, bound: Fraction | None) -> str:
        return Level("penalty", "min", value, bound).claim_kind

    third = Fraction(1, 3)
    assert [said(third, third), said(third, third - Fraction(1, 10**30)), said(None, third)] == [
        "optimal",
        "gap",
        "gap",
    ]
    whole = Level("penalty", "min", third, third)
    assert Proof("colocation", "optimal", (whole,)).complete
    assert not Proof("colocation", "optimal", (whole, Level("x", "min", third, None))).complete


def test_methods_with_a_producer_are_those_the_verifier_knows() -> None:
    # fair with an allowance of slack, and stable with another objective
    within = {("colocation", name) for name in ("fair-within", "stable-agents", "stable-minimax")}
    within |= {
        ("scheduling", name) for name in ("nucleolus", "prenucleolus")
    }  # `cotenant analyze core`
    proof = {(m.problem, m.name) for m in catalog.METHODS if m.proof_producer}
    problems = {problem for problem, _ in proof}
    assert proof | within == {(p, method) for p in problems for method in methods_of(p)}
    assert methods_of("made up") == {}
    for method in catalog.METHODS:
        if method.proof_producer:
            assert callable(resolve(method.proof_producer))
    named = [catalog.find("colocation", "optimal"), catalog.find("market", "nash-welfare")]
    without = replace(catalog.find("packing", "min-cost"), proof_producer="", unproved="")
    approved(proof_words([*named, without]).splitlines())


def test_the_command_line_proves_and_verifies(tmp_path: Path) -> None:
    proof, result = tmp_path / "proof.json.gz", tmp_path / "result.json"
    solved = terminal("solve", "colocation/tiny", "-m", "stable", "--out", str(result))
    assert solved.returncode == 0
    chosen = ("--from", str(result), "--out", str(proof))
    done = terminal("prove", "colocation/tiny", "-m", "stable", *chosen)
    assert done.returncode == 0, done.stderr
    assert "blocking_pairs is 0, and no answer is below 0: optimal" in done.stdout
    assert "certified" in done.stdout
    approved(done.stdout.splitlines()[1])  # what the verifier takes of the file
    done = terminal("prove", "colocation/no-stable-4", "-m", "stable", *chosen)
    assert done.returncode == 2
    assert "other content" in done.stderr
    judged = terminal("verify", "colocation/tiny", str(proof))
    assert (judged.returncode, judged.stdout[:9]) == (0, "accepted:")
    other = terminal("verify", "colocation/no-stable-4", str(proof))
    assert (other.returncode, other.stdout[:8]) == (1, "refused:")
    none = terminal("verify", "colocation/tiny", str(tmp_path / "none.json"))
    assert none.returncode == 2
    approved(none.stderr)
    handed, end = os.pipe()  # as a shell's <(zcat tiny.json.gz)
    os.write(end, locate("colocation/tiny").read_bytes())
    os.close(end)
    read = terminal("verify", f"/dev/fd/{handed}", str(proof))
    os.close(handed)
    assert (read.returncode, read.stdout[:9]) == (0, "accepted:")


def test_replay_proof_names_what_is_replayed(tmp_path: Path) -> None:
    again = [m for m in catalog.METHODS if m.proof_producer.startswith("solvers.proofs.recompute:")]
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


def test_prove_without_producer_reports_claimed(tmp_path: Path) -> None:
    out = str(tmp_path / "proof.json")
    chosen = ("-m", "FUGA", "-o", "alpha=2.37")
    claimed = terminal("prove", "packing/paper-example", *chosen, "--out", out)
    assert claimed.returncode == 1
    assert claimed.stdout.startswith("proof: claimed")
    assert not Path(out).exists()
    result = tmp_path / "result.json"
    assert terminal("solve", "colocation/tiny", "-m", "GR", "--out", str(result)).returncode == 0
    wrong = terminal(
        "prove", "colocation/tiny", "-m", "optimal", "--from", str(result), "--out", out
    )
    assert wrong.returncode == 2
    approved(wrong.stderr)
    form = terminal("prove", "colocation/tiny", "-m", "optimal", "--out", out + ".txt")
    assert form.returncode == 2
