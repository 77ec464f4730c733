"""Trees of cases: what the compiled propagation does is what the verifier does, and a tree is made
exactly where there is no point.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from support.proved import proved

from cotenant.instances.colocation import Colocation
from cotenant.instances.problem.documents import to_json_value
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import patience, tree
from cotenant.solvers.proofs.tree import relaxed_bound, tree_step
from cotenant.verify.program import Program
from cotenant.verify.reading import WorkLimit


def drawn(seed: int, columns: int, rows: int, factor: int = 1) -> Program:
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


def test_compiled_propagation_equals_propagation_of_the_verifier_step_by_step() -> None:
    seen = set()
    for seed in range(300):
        program = drawn(seed, 9, 5)
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
def test_proof_tree_exists_iff_program_is_infeasible_below_cost(factor: int) -> None:
    trees = 0
    for seed in range(60):
        program = drawn(seed, 7, 4, factor)
        step = tree_step(copy.deepcopy(program), None, Clock())
        assert (step is None) == bool(points(program)), seed
        if step is not None:
            trees += bool(step["tree"])
            program.impossible(step)
    for seed in range(30):
        program, rng = drawn(seed, 8, 2, factor), random.Random(seed)
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
        program = drawn(seed, 6, 3)
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
