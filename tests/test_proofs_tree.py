"""Trees of cases: compiled and verifier's propagation agree, and VIPR files follow its rules."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracles.placement import WEB
from support.oracles.vipr_rules import infeasible
from support.proof_cases import drawn, drawn_with_types
from support.proved import bundled_document, proved
from support.small_cases import gap, shared
from support.strategies import elastic
from support.terminal import run as terminal

from cotenant.instances.colocation import Colocation
from cotenant.instances.problem.documents import to_json_value
from cotenant.instances.problem.files import read
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import patience, tree
from cotenant.solvers.proofs.tree import relaxed_bound, tree_step
from cotenant.solvers.proofs.vipr import certificates
from cotenant.verify.program import Program
from cotenant.verify.reading import WorkLimit


def drawn_program(seed: int, columns: int, rows: int, factor: int = 1) -> Program:
    """A program of few small columns; all numbers of its rows times a factor."""
    rng = random.Random(seed)
    program = Program()
    for _ in range(columns):
        program.column(rng.choice([1, 1, 2, 3]))
    for k in range(rows):
        some = rng.sample(range(columns), rng.randint(2, min(5, columns)))
        terms = [(j, rng.choice([-3, -2, 2, 2, 3]) * factor) for j in some]
        if k % 2:
            program.equal(terms, rng.randint(0, 3) * factor)
        else:
            program.at_most(terms, rng.randint(0, 3) * factor)
    return program


def points(program: Program) -> list[tuple[int, ...]]:
    """All there are."""
    every = itertools.product(*(range(most + 1) for most in program.high))
    return [
        x for x in every if all(sum(a * x[j] for j, a in t) <= most for t, most in program.rows)
    ]


def test_compiled_bound_propagation_equals_that_of_verifier_step_by_step() -> None:
    seen = set()
    for seed in range(300):
        program = drawn_program(seed, 9, 5)
        search = tree._Search(program, False, Clock(), None)
        low, high = list(program.low), list(program.high)
        least, most = search.bounds()
        with patience():
            start = WorkLimit.left
            left = program.tighten(low, high, list(range(len(program.rows))))
            steps = start - WorkLimit.left
            assert search.tighten(least, most) == left
            assert start - WorkLimit.left == 2 * steps + 2 * len(low)
        if left:
            assert (least.tolist(), most.tolist()) == (low, high)
        seen.add(left)
    assert seen == {False, True}


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1, 10**30])
def test_tree_proof_exists_iff_program_has_no_point_within_cost_limit(factor: int) -> None:
    trees = 0
    for seed in range(60):
        program = drawn_program(seed, 7, 4, factor)
        step = tree_step(copy.deepcopy(program), None, Clock())
        assert (step is None) == bool(points(program)), seed
        if step is not None:
            trees += bool(step["tree"])
            program.impossible(step)
    for seed in range(30):
        program, rng = drawn_program(seed, 8, 2, factor), random.Random(seed)
        cost = [(j, rng.randint(-2, 4)) for j in range(8)]
        best = min((sum(a * x[j] for j, a in cost) for x in points(program)), default=None)
        if best is None:
            continue
        relaxed = relaxed_bound(copy.deepcopy(program), cost, Clock())
        assert relaxed is None or relaxed <= best
        assert tree_step(copy.deepcopy(program), (cost, best), Clock()) is None
        step = tree_step(copy.deepcopy(program), (cost, best - 1), Clock())
        assert step is not None
        program.at_most(cost, best - 1)
        program.impossible(step)
    assert trees > 5


def test_probing_removes_no_feasible_point() -> None:
    fixed = 0
    for seed in range(100):
        program = drawn_program(seed, 6, 3)
        search = tree._Search(program, False, Clock(), None)
        low, high = search.bounds()
        left = search.tighten(low, high)
        hints = list[int]()
        if left:
            left = search.fix(low, high, search.columns, 5, hints)
        fixed += len(hints) // 2
        for x in points(program):
            assert left
            assert (low <= np.array(x)).all()
            assert (np.array(x) <= high).all()
    assert fixed > 30


def of_types(types: int, agents: int, seed: int) -> dict[str, Any]:
    """Agents of many types with penalties by chance."""
    rng = np.random.default_rng(seed)
    penalty = np.round(rng.random((types, types)), 3)
    count = np.bincount(rng.integers(0, types, agents), minlength=types)
    proof = Colocation(penalty, count, name="many").document()
    return {"cotenant": 1, "problem": "colocation", "name": "many", **to_json_value(proof)}


@pytest.mark.slow
def test_both_levels_of_stable_over_fifty_types_are_proved() -> None:
    proof = proved(of_types(50, 100, 1), "stable", alpha=0.01)
    assert proof.proof.complete
    assert len(json.dumps(proof.document)) < 20_000


CHECKER = shutil.which("viprchk")


@pytest.fixture(scope="module")
def trees() -> list[str]:
    """Certificates of every kind of tree: of pairings, with cuts and leaves, of fillings, and of
    elastic jobs.
    """
    sources: list[tuple[Any, str, Any]] = [
        (bundled_document("colocation/cooper-gaussian-1000"), "stable", {}),
        (drawn_with_types(), "stable", {}),
        (drawn(1002), "fair", {}),
        (drawn(1013), "fair", {}),
        (drawn(1013), "fair", {"slack": 0.2}),
        (gap(), "min-servers", {}),
        (shared(0), "max-min-share", {}),
        (WEB, "min-servers", {}),
        (elastic(np.random.default_rng(4)), "optimal", {}),
        (WEB, "fewest-moves", {}),
        (read("groups/tiny"), "optimal", {}),
    ]
    proofs = [proved(given, method, **options) for given, method, options in sources]
    texts = [certificates(one.content, json.dumps(one.document).encode()) for one in proofs]
    return [text for part in texts for text in part]


@pytest.mark.slow
def test_vipr_certificates_follow_derivation_rules(trees: list[str]) -> None:
    assert len(trees) == 14
    assert all(infeasible(text) for text in trees)
    used = {word for text in trees for word in re.findall(r"\{ (\w+)", text)}
    assert used == {"asm", "lin", "rnd", "uns"}


def weaker(text: str) -> str:
    """The program with its rows of several columns less tight by enough that it has points."""
    lines = text.splitlines()
    for k, line in enumerate(lines):
        parts = line.split(" ", 4)
        if line.startswith("C") and " { " not in line and len(parts) == 5 and parts[3] != "1":
            more = 10**9 if parts[1] == "L" else -(10**9)
            lines[k] = f"{parts[0]} {parts[1]} {int(parts[2]) + more} {parts[3]} {parts[4]}"
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_vipr_certificate_of_weaker_program_is_invalid(trees: list[str]) -> None:
    for text in trees:
        with pytest.raises(AssertionError):
            assert infeasible(weaker(text))


@pytest.mark.skipif(CHECKER is None, reason="viprchk is not on the PATH (docs/proofs.md: build it)")
def test_viprchk_accepts_vipr_certificates(trees: list[str], tmp_path: Path) -> None:
    for text in trees:
        for content, accepted in ((text, True), (weaker(text), False)):
            file = tmp_path / "tree.vipr"
            file.write_text(content)
            done = subprocess.run([str(CHECKER), str(file)], capture_output=True, check=False)
            assert (done.returncode == 0) == accepted, done.stderr[-300:]


def test_prove_command_writes_one_vipr_file_per_tree(tmp_path: Path) -> None:
    out, vipr = tmp_path / "proof.json", tmp_path / "tree.vipr"
    chosen = ("--out", str(out), "--vipr", str(vipr))
    done = terminal("prove", "colocation/no-stable-4", "-m", "stable", *chosen)
    assert done.returncode == 0, done.stderr
    assert infeasible(vipr.read_text())
    again = terminal("prove", "colocation/tiny", "-m", "optimal", *chosen)
    assert "certificates: none" in again.stdout


def test_vipr_files_of_several_trees_are_numbered(tmp_path: Path) -> None:
    from cotenant.analysis.run.proving import write_certificates

    proof = proved(drawn_with_types(), "stable")
    instance, file = tmp_path / "few.json", tmp_path / "proof.json"
    instance.write_bytes(proof.content)
    file.write_text(json.dumps(proof.document))
    files = write_certificates(instance, file, tmp_path / "tree.vipr")
    assert [path.name for path in files] == ["tree-1.vipr", "tree-2.vipr"]
    assert all(infeasible(path.read_text()) for path in files)
