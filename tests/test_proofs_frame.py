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
from support.messages import refused
from support.terminal import run as terminal

from cotenant import catalog, verify
from cotenant.cli.proofs import proof_words
from cotenant.instances.problem.files import locate
from cotenant.instances.problem.proof import Level, Proof, written
from cotenant.instances.problem.registry import resolve

PROOF_LINES = 1000
"""So many lines of `verify.py` at most have to be read to trust what it says of one proof."""

NEEDED = {
    "colocation stable": (3, 4, 5),
    "colocation fair": (3, 4, 6),
    "market": (7,),
    "packing min-servers": (3, 8, 9, 10),
    "packing max-min-share": (3, 8, 9, 11),
    "packing FUGA": (8, 12),
    "admission": (13,),
    "numa": (14,),
    "scheduling": (15,),
    "groups": (3, 16),
}
"""Parts of `verify.py` besides the first two and the table at its end."""
"""Of a part of the verifier at most: each can be read by itself, after the first two."""

ROOT = Path(__file__).resolve().parents[1]
TINY = (ROOT / "instances/data/colocation/tiny.json").read_bytes()


def proof_of(**changes: object) -> dict[str, object]:
    """A proof about the bundled instance of four jobs that says nothing yet."""
    content = {
        "cotenant_proof": 1,
        "problem": "colocation",
        "method": "stable",
        "options": {},
        "instance": {"sha256": hashlib.sha256(TINY).hexdigest(), "name": "tiny"},
        "claim": {
            "objective": "blocking_pairs",
            "sense": "min",
            "value": None,
            "bound": 0,
            "says": "gap",
        },
        "witness": None,
        "levels": [],
        "steps": [{"kind": "witness"}],
    }
    return content | changes


def judged(proof: object, instance: bytes = TINY) -> str:
    return verify.verify(
        instance, proof if isinstance(proof, bytes) else json.dumps(proof).encode()
    )


def run(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", str(ROOT / "verify.py"), *arguments],
        input=given,
        capture_output=True,
        check=False,
    )


def test_the_verifier_imports_six_modules_of_the_standard_library() -> None:
    text = (ROOT / "verify.py").read_text()
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
        if isinstance(node, ast.Name):
            assert node.id not in ("eval", "exec", "compile", "__import__", "globals", "float_"), (
                node.id
            )
    assert found <= {"json", "sys", "gzip", "hashlib", "math", "fractions"}


def test_a_reader_of_one_proof_reads_few_parts() -> None:
    """Names that a part uses stand in the parts that are listed for it."""
    text = (ROOT / "verify.py").read_text()
    head, *parts = text.partition("\n# What can be proved")[0].split("\n# Part ")
    assert [int(part.partition(".")[0]) for part in parts] == list(range(1, len(parts) + 1))
    trees = [ast.parse(part.partition("\n")[2]) for part in parts]
    kept = (ast.FunctionDef, ast.ClassDef, ast.Assign)
    made = [
        {getattr(n, "name", "") or n.targets[0].id for n in tree.body if isinstance(n, kept)}  # type: ignore[attr-defined]
        for tree in trees
    ]
    used = [{n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} for tree in trees]
    assert {part for needed in NEEDED.values() for part in needed} == set(range(3, len(parts) + 1))
    for needed in NEEDED.values():
        read = [0, 1, *(part - 1 for part in needed)]
        for part in range(len(parts)):
            missing = {name for k in read for name in used[k] & made[part]}
            assert part in read or not missing, (needed, part + 1, missing)
        lines = sum(len(parts[k].splitlines()) for k in read) + len(head.splitlines())
        assert lines <= PROOF_LINES, (needed, lines)


def test_a_bound_without_an_answer_is_accepted_as_what_it_is() -> None:
    assert judged(proof_of()) == "colocation 'tiny', stable: blocking_pairs: no answer is below 0"


FALSE = {
    "version": {"cotenant_proof": 2},
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
    "optimal without an answer": {"says": "optimal", "value": 0},
    "optimal without a value": {"says": "optimal"},
    "a negative zero of another kind": {"bound": "0/0"},
    "a bound in words": {"bound": "none"},
    "a bound in other digits": {"bound": "\u0661"},
    "true": {"bound": True},
    "infeasible": {"says": "infeasible", "bound": None},
    "an equilibrium": {"says": "equilibrium", "epsilon": {}},
    "epsilon": {"epsilon": {"regret": 0}},
    "another objective": {"objective": "penalty"},
    "another sense": {"sense": "max"},
    "nothing at all": {"bound": None},
    "unknown words": {"says": "surely"},
    "one key more": {"sure": 1},
}


@pytest.mark.parametrize("change", FALSE.values(), ids=FALSE)
def test_a_proof_that_is_not_what_it_should_be_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(verify.Refused):
        judged(proof_of(**change))


@pytest.mark.parametrize("change", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_that_was_not_found_is_refused(change: dict[str, object]) -> None:
    claim = {**proof_of()["claim"], **change}  # type: ignore[dict-item]
    with pytest.raises(verify.Refused):
        judged(proof_of(claim=claim))


UNREADABLE = {
    "empty": b"",
    "no object": b"[1]",
    "truncated": b'{"cotenant_proof": 1',
    "not a number": b'{"cotenant_proof": NaN}',
    "infinity": b'{"cotenant_proof": -Infinity}',
    "a float": b'{"cotenant_proof": 1.0}',
    "an enormous exponent": b'{"cotenant_proof": 1e999999999}',
    "a key given twice": b'{"cotenant_proof": 1, "cotenant_proof": 1}',
    "a number of a million digits": b'{"cotenant_proof": 1%s}' % (b"0" * 10**6),
    "a hundred thousand lists in each other": b'{"a": %s' % (b"[" * 100_000),
    "millions of lists": b'{"a": [%s[]]}' % (b"[]," * 4_000_000),
    "not UTF-8": b'{"a": "\xff"}',
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_proof_is_unreadable(data: bytes) -> None:
    with pytest.raises(verify.Unreadable):
        judged(data)


def test_decimals_are_read_as_they_are_written() -> None:
    content = verify.parse(b'{"a": [0.1, 12, -0.25, 2.5e-3, 1E2, null]}', decimals=True)["a"]
    assert verify.scaled(content, "a") == ([1000, 120000, -2500, 25, 1000000, None], 10000)
    assert [verify.exact(value, "a") for value in verify.listed(content, "a")[:5]] == [
        Fraction(value) for value in ("0.1", "12", "-0.25", "0.0025", "100")
    ]
    for text in ("1e401", "1e-999999999", f"0.{'1' * 401}"):
        with pytest.raises(verify.Refused):
            verify.exact(verify.Decimal(text), "a")


@pytest.mark.parametrize("version", [b"true", b"1.0", b"2", b"null"])
def test_an_instance_of_another_format_is_refused(version: bytes) -> None:
    other = TINY.replace(b'"cotenant": 1', b'"cotenant": ' + version)
    meant = {"sha256": hashlib.sha256(other).hexdigest(), "name": "tiny"}
    with refused(verify.Refused):
        judged(proof_of(instance=meant), other)


def test_the_program_runs_alone_and_its_exit_code_says_how_it_went(tmp_path: Path) -> None:
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
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout[:11], done.stderr) == (2, b"unreadable:", b"")


def test_a_gigabyte_of_zeros_in_a_small_gzip_file_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "proof.json.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        for _ in range(70):
            stream.write(b" " * 10**6)
    with refused(verify.Unreadable):
        verify.read(str(bomb))
    bomb.write_bytes(bomb.read_bytes()[:1000])
    with pytest.raises(verify.Unreadable):
        verify.read(str(bomb))


def test_long_fractions_are_rounded_to_the_side_where_they_claim_less() -> None:
    for value in (Fraction(1, 3**200), Fraction(-(7**300), 3**200), Fraction(10**90 + 1, 3**150)):
        low, high = Fraction(written(value, up=False)), Fraction(written(value, up=True))
        assert low < value < high
        assert high - low < abs(value) / 10**9
    assert written(Fraction(3, 8), up=True) == "3/8"
    assert written(Fraction(4), up=False) == 4


def test_a_level_calls_itself_optimal_only_where_value_and_bound_are_one() -> None:
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
    within = {("colocation", "fair-within")}  # fair with an allowance of slack
    made = {(m.problem, m.name) for m in catalog.METHODS if m.proof_producer}
    assert made | within == set(verify.METHODS)
    for method in catalog.METHODS:
        if method.proof_producer:
            assert callable(resolve(method.proof_producer))
    named = [catalog.find("colocation", "optimal"), catalog.find("market", "nash-welfare")]
    without = replace(catalog.find("packing", "min-cost"), proof_producer="", unproved="")
    assert proof_words([*named, without]).splitlines() == [
        "a proof as a file (cotenant prove): colocation optimal, market nash-welfare",
        "no proof as a file: packing min-cost",
        f"no proof as a file of colocation optimal for: {named[0].unproved}",
        f"no proof as a file of market nash-welfare for: {named[1].unproved}",
    ]


def test_the_command_line_proves_and_verifies(tmp_path: Path) -> None:
    proof, result = tmp_path / "proof.json.gz", tmp_path / "result.json"
    solved = terminal("solve", "colocation/tiny", "-m", "stable", "--out", str(result))
    assert solved.returncode == 0
    chosen = ("--from", str(result), "--out", str(proof))
    done = terminal("prove", "colocation/tiny", "-m", "stable", *chosen)
    assert done.returncode == 0, done.stderr
    assert "blocking_pairs is 0, and no answer is below 0: optimal" in done.stdout
    assert "certified" in done.stdout
    judged = terminal("verify", "colocation/tiny", str(proof))
    assert (judged.returncode, judged.stdout[:9]) == (0, "accepted:")
    other = terminal("verify", "colocation/no-stable-4", str(proof))
    assert (other.returncode, other.stdout[:8]) == (1, "refused:")
    none = terminal("verify", "colocation/tiny", str(tmp_path / "none.json"))
    assert (none.returncode, "none.json does not exist" in none.stderr) == (2, True)
    handed, end = os.pipe()  # as a shell's <(zcat tiny.json.gz)
    os.write(end, locate("colocation/tiny").read_bytes())
    os.close(end)
    read = terminal("verify", f"/dev/fd/{handed}", str(proof))
    os.close(handed)
    assert (read.returncode, read.stdout[:9]) == (0, "accepted:")


def test_what_has_no_proof_says_so_and_a_result_of_another_is_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "proof.json")
    chosen = ("-m", "joint-optimum", "-o", "over=all", "-o", "engine=counts")
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
    assert "result of GR" in wrong.stderr
    form = terminal("prove", "colocation/tiny", "-m", "optimal", "--out", out + ".txt")
    assert form.returncode == 2
