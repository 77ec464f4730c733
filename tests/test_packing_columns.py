"""Column generation over many types: the interior point, the best patterns of every type, and dives
that raise their target.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from support.oracles import packing as brute
from support.seeds import seeds

from cotenant.models.program import ProgramBuilder
from cotenant.solvers.engines import solve_program
from cotenant.solvers.interior_point import central_point
from cotenant.solvers.outcome import Clock
from cotenant.solvers.packing.gap_closing import answer_at
from cotenant.solvers.packing.generation import generate
from cotenant.solvers.packing.patterns import Pool, price_patterns
from cotenant.solvers.packing.presolve import presolve


@pytest.mark.parametrize("seed", seeds(100, 4))
def test_interior_point_equals_simplex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 9)), int(rng.integers(10, 40))
    table = rng.integers(0, 4, size=(rows, columns)) + np.eye(rows, columns, dtype=int)
    right, cost = rng.integers(1, 9, size=rows).astype(float), rng.uniform(1, 5, size=columns)
    matrix = scipy.sparse.csr_array(np.hstack([table.astype(float), -np.eye(rows)]))
    full = np.concatenate([cost, np.zeros(rows)])
    found = central_point(matrix, right, full, 1e-9, lambda: False)
    builder = ProgramBuilder()
    item, place = np.nonzero(table)
    variables = builder.columns(columns, cost=cost, upper=np.inf)
    builder.sums(rows, (item, variables[place], table[item, place]), lower=right)
    assert found is not None
    assert found.value == pytest.approx(solve_program(builder.build()).objective, rel=1e-7)
    assert (found.point > 0).all()
    assert (matrix.T @ found.multipliers <= full + 1e-6).all()
    assert central_point(matrix, right, full, 1e-9, lambda: True) is None


@pytest.mark.parametrize("seed", seeds(100, 4))
def test_pricing_patterns_of_least_reduced_cost_equal_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = presolve(brute.random_requests(rng, 1, 8), costs=False)
    profit = rng.integers(0, 50, size=problem.types)
    every = [
        np.array(counts)
        for counts in itertools.product(*(range(int(number) + 1) for number in problem.request))
        if (np.array(counts) @ problem.demand <= problem.capacity[0]).all()
    ]
    worth = np.array([int(row @ profit) for row in every])
    least = int(worth.max()) * 2 // 3
    priced = price_patterns(problem, 0, profit, least, spread=True, keep=1000)
    assert priced.exact
    assert priced.best == max(int(worth.max()), least)
    values = priced.patterns @ profit
    assert (values > least).all()
    assert list(values) == sorted(values)
    assert worth.max() <= least or values[-1] == worth.max()
    # what half as far above as the best has of a type, is among them
    for i in np.flatnonzero(profit):
        top = max(int(w) for w, row in zip(worth, every, strict=True) if row[i])
        if top > least + (int(worth.max()) - least) // 2:
            assert values[priced.patterns[:, i] > 0].max() == top


@pytest.mark.parametrize("seed", seeds(60, 4))
def test_integer_program_over_all_patterns_is_exact(seed: int) -> None:
    instance = brute.random_requests(np.random.default_rng(seed), 1, 8)
    problem, truth = presolve(instance, costs=False), brute.fewest(instance)
    if truth is None:
        return
    prices = generate(problem, Pool(problem.types), Clock(), upper=None).prices
    limits = {"most": 1000, "nodes": 10**6}
    counts, _ = answer_at(problem, prices, truth, 10.0, **limits)
    assert counts is not None
    assert len(counts[1]) <= truth
    assert (counts[0].sum(axis=0) == problem.request).all()
    assert answer_at(problem, prices, truth - 1, 10.0, **limits) == (None, True)
