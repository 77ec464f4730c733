"""Column generation over many types: the interior point, the restricted master by both engines,
the best patterns of every type, and dives that raise their target.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from support.oracles import packing as brute
from support.seeds import seeds

from cotenant.instances.packing import Packing
from cotenant.instances.packing.generators import caprara_toth
from cotenant.models.packing.columns import pattern_program
from cotenant.models.program import ProgramBuilder
from cotenant.solvers.engines import solve_program
from cotenant.solvers.interior_kernels import cholesky
from cotenant.solvers.interior_point import central_point
from cotenant.solvers.outcome import Clock
from cotenant.solvers.packing.diving import dive
from cotenant.solvers.packing.gap_closing import answer_at
from cotenant.solvers.packing.generation import Relaxation, generate
from cotenant.solvers.packing.patterns import Pool, penalty_of, price_patterns
from cotenant.solvers.packing.presolve import Reduced, presolve
from cotenant.solvers.packing.restricted_master import RestrictedMaster


def many_types(items: int = 70, classes: int = 1, seed: int = 0) -> Reduced:
    """An instance of so many types that an interior point solves its master; of classes with two
    servers each, but for the last.
    """
    rng = np.random.default_rng(seed)
    capacity = np.array([[100 + 20 * c] * 3 for c in range(classes)])
    return presolve(
        Packing(
            demand=rng.integers(10, 60, size=(items, 3)),
            capacity=capacity,
            servers=[2.0] * (classes - 1) + [np.inf],
            request=np.ones(items),
            cost=[3 + c for c in range(classes)],
        ),
        costs=True,
    )


@pytest.mark.parametrize("size", [1, 8, 9, 30])
def test_cholesky_equals_numpy_and_rejects_indefinite(size: int) -> None:
    rng = np.random.default_rng(size)
    half = rng.normal(size=(size, size))
    matrix = half @ half.T + np.eye(size)
    factor = matrix.copy()
    assert cholesky(factor)
    assert np.allclose(np.triu(factor).T, np.linalg.cholesky(matrix))
    matrix[-1, -1] = -1.0
    assert not cholesky(matrix)


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


@pytest.mark.parametrize("classes", [1, 3])
def test_master_engines_agree_as_patterns_are_added(classes: int) -> None:
    problem = many_types(classes=classes)
    pool, rng = Pool(problem.types), np.random.default_rng(1)
    for c in range(classes):
        for i in range(problem.types):
            pool.add(np.eye(problem.types, dtype=np.int64)[i], c)
    master = RestrictedMaster(problem, pool, float(penalty_of(problem)), Clock())
    assert master.central
    for _ in range(4):
        answer = master.solve(1e-9, None)
        table, kind = pool.arrays()
        program = pattern_program(
            table, kind, problem.request, problem.servers, problem.price,
            integer=False, penalty=float(penalty_of(problem)),
        )  # fmt: skip
        exact = solve_program(program)
        assert answer is not None
        assert answer.value == pytest.approx(exact.objective, rel=1e-6)
        duals, prices = answer.duals[: problem.types], answer.duals[problem.types :]
        assert (table @ duals + prices[kind] <= problem.price[kind] + 1e-5).all()
        weights = master.weights(None)
        assert (table.T @ weights >= problem.request - 1e-6).all()
        assert answer.value - 1e-5 <= problem.price[kind] @ weights <= 1.05 * answer.value
        for _ in range(200):
            chosen = rng.choice(problem.types, size=3, replace=False)
            row = np.zeros(problem.types, dtype=np.int64)
            row[chosen] = 1
            for c in range(classes):
                if (row @ problem.demand <= problem.capacity[c]).all():
                    pool.add(row, c)


def solved_by(master: type[RestrictedMaster], problem: Reduced) -> Relaxation:
    """The relaxation by column generation over a master of this kind."""
    pool = Pool(problem.types)
    over = master(problem, pool, float(penalty_of(problem)), Clock())
    return generate(problem, pool, Clock(), upper=None, master=over)


class Forgetful(RestrictedMaster):
    """Puts nearly all patterns aside after each round."""

    active, trimmed = 0, 2


class Basic(RestrictedMaster):
    """Solves by the simplex alone."""

    most = 0


class Rounded(RestrictedMaster):
    """Has an interior point that rounding stops."""

    def _interior(self, *_: object) -> None:  # type: ignore[override]
        return None


@pytest.mark.slow
def test_removed_pattern_returns_when_needed() -> None:
    problem = many_types()
    trimmed = solved_by(Forgetful, problem)
    whole = generate(problem, Pool(problem.types), Clock(), upper=None)
    assert trimmed.bound == whole.bound
    assert trimmed.value == pytest.approx(whole.value, rel=0.02)


class Shortest(RestrictedMaster):
    """Goes on with one pattern for each type after each round."""

    active, trimmed = 0, 1


@pytest.mark.slow
def test_removed_patterns_do_not_change_master_value() -> None:
    problem = many_types()
    pool = generate(problem, Pool(problem.types), Clock(), upper=None).pool
    master = Shortest(problem, pool, float(penalty_of(problem)), Clock())
    values = [answer.value for _ in range(3) if (answer := master.solve(1e-9, None))]
    assert values == pytest.approx(values[:1] * 3, rel=1e-6)


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


@pytest.mark.slow
@pytest.mark.sampled(10)
@pytest.mark.parametrize("classes", [1, 2])
def test_dive_stays_within_cost_limit(classes: int) -> None:
    problem = many_types(classes=classes)
    relaxation = generate(problem, Pool(problem.types), Clock(), upper=None)
    most = int(problem.price.max()) * problem.vms
    found = dive(problem, relaxation, (relaxation.bound, most), Clock(), None, seconds=60)
    assert found is not None
    rows, kinds = found
    assert (rows.sum(axis=0) == problem.request).all()
    assert (rows @ problem.demand <= problem.capacity[kinds]).all()
    assert (np.bincount(kinds, minlength=classes) <= problem.servers).all()
    cost = int(problem.price[kinds].sum())
    assert relaxation.bound <= cost <= relaxation.bound + int(problem.price.max())
    low = relaxation.bound - 1
    assert dive(problem, relaxation, (low, low), Clock(), None, seconds=60) is None


def test_dive_beyond_cost_limit_has_no_answer() -> None:
    problem = many_types()
    pool, alone = Pool(problem.types), np.eye(problem.types, dtype=np.int64)
    for row in alone:
        pool.add(row, 0)
    solved = generate(problem, Pool(problem.types), Clock(), upper=None)
    alone_each = replace(solved, pool=pool, weight=np.ones(problem.types))
    cost = int(problem.price[0]) * problem.types
    found = dive(problem, alone_each, (cost, cost), Clock(), None, seconds=60)
    assert found is not None
    assert len(found[1]) == problem.types
    assert dive(problem, alone_each, (cost - 1, cost - 1), Clock(), None, seconds=60) is None


@pytest.mark.slow
@pytest.mark.parametrize("master", [Basic, Rounded])
def test_column_bound_equals_simplex(master: type[RestrictedMaster]) -> None:
    instance = caprara_toth(number=1, items=70, rng=np.random.default_rng(3))
    problem = presolve(instance, costs=False)
    central = generate(problem, Pool(problem.types), Clock(), upper=None)
    basic = solved_by(master, problem)
    assert central.bound == basic.bound
    assert central.value == pytest.approx(basic.value, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_dive_backtracks_if_target_is_unreachable(draws: int) -> None:
    problem = many_types(items=110, seed=5)
    relaxation = generate(problem, Pool(problem.types), Clock(), upper=None)
    most = -(-relaxation.bound // 3) * 3
    rng = np.random.default_rng(draws)
    found = dive(problem, relaxation, (most, most), Clock(), rng, seconds=60)
    # by the first of these draws the target is met after going back twice, by the other one never
    assert (found is not None) == (draws == 2)
    if found is not None:
        rows, kinds = found
        assert (rows.sum(axis=0) >= problem.request).all()
        assert (rows @ problem.demand <= problem.capacity[kinds]).all()
        assert int(problem.price[kinds].sum()) <= most


@pytest.mark.slow
@pytest.mark.parametrize("classes", [1, 2])
def test_master_with_other_requests_equals_new_master(classes: int) -> None:
    problem = many_types(classes=classes)
    pool = generate(problem, Pool(problem.types), Clock(), upper=None).pool
    penalty = float(penalty_of(problem))
    for kind in (Basic, RestrictedMaster):
        turned = kind(problem, pool, penalty, Clock())
        assert turned.solve(1e-9, None) is not None
        todo, servers = problem.request.copy(), problem.servers.copy()
        for step in (slice(0, 20), slice(10, 50), slice(0, 0)):  # back in the end
            todo = problem.request.copy()
            todo[step] = 0
            servers = np.where(problem.servers < 2**60, step.stop % 3, problem.servers)
            rest = replace(problem, request=todo, servers=servers)
            again = turned.turn_to(rest).solve(1e-9, None)
            new = kind(rest, pool, penalty, Clock()).solve(1e-9, None)
            assert again is not None
            assert new is not None
            assert again.value == pytest.approx(new.value, rel=1e-6)


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
