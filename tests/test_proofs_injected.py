"""Every method with a producer of proofs: its proof is accepted however the verifier is run, and
what the method or the producer claims wrongly is not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.proved import REFUSALS, Document, Proved, proved

import cotenant
from cotenant import catalog
from cotenant.instances.problem.files import bundled, locate
from cotenant.instances.problem.reading import read_bytes
from cotenant.solvers.outcome import Outcome
from cotenant.solvers.proofs import Claimed

ROOT = Path(__file__).resolve().parents[1]
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
