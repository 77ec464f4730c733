"""The programs over types against enumeration over agents: Pyomo, arrays, HiGHS, CP-SAT and brute
force agree.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.seeds import numbers
from support.small_cases import colocations

from cotenant.instances.colocation import ALPHA_MODES, Colocation, Pairing, blocking_pairs
from cotenant.instances.problem import InvalidOption
from cotenant.models.colocation import (
    blocking_program,
    fair_program,
    gain_sets,
    order_program,
    penalty_program,
    stable_program,
)
from cotenant.models.colocation.readable import (
    fair_model,
    fewest_model,
    predictor,
    stable_model,
)
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status

CLOSE = 2e-8
ALPHAS = (0.0, 0.05, 0.1, 0.2)


def value_of(program: Any, engine: str) -> float | None:
    """The optimum, None when infeasible; anything undecided fails."""
    answer = solve_program(program, engine=engine)
    if answer.status is Status.INFEASIBLE:
        return None
    assert answer.status is Status.OPTIMAL, answer
    assert answer.bound <= answer.objective
    return float(answer.objective)


def mean_of(program: Any, engine: str, instance: Colocation) -> float | None:
    """The optimum for each agent."""
    total = value_of(program, engine)
    return None if total is None else total / instance.agents


def same(left: float | None, right: float | None) -> bool:
    """Equal to the tolerance, or both missing."""
    if left is None or right is None:
        return left is right
    return abs(left - right) <= CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("number", numbers(30, 5))
def test_least_penalty_is_the_same_by_every_route(reference: ModuleType, number: int) -> None:
    for instance in colocations(range(number)):
        expected = reference.best(instance).least_penalty
        array, readable = penalty_program(instance).program, from_pyomo(predictor(instance))
        for engine in ("highs", "cp-sat"):
            assert same(mean_of(array, engine, instance), expected), instance.name
            assert same(value_of(readable, engine), expected), instance.name


@pytest.mark.slow
@pytest.mark.parametrize("number", numbers(25, 8))
@pytest.mark.parametrize("mode", ALPHA_MODES)
def test_zero_blocking_pairs_is_the_same_by_every_route(
    reference: ModuleType, mode: str, number: int
) -> None:
    offset = 1000 * ALPHA_MODES.index(mode)
    for place, instance in enumerate(colocations(range(offset, offset + number))):
        alpha = ALPHAS[place % len(ALPHAS)]
        expected = reference.best(instance, alpha, mode).penalty_by_blocking.get(0)
        array = stable_program(instance, alpha, mode).program
        readable = from_pyomo(stable_model(instance, alpha, mode))
        for engine in ("highs", "cp-sat"):
            assert same(mean_of(array, engine, instance), expected), (instance.name, alpha)
            assert same(value_of(readable, engine), expected), (instance.name, alpha)


@pytest.mark.slow
@pytest.mark.parametrize("number", numbers(25, 8))
def test_least_slack_is_the_same_by_every_route(reference: ModuleType, number: int) -> None:
    for instance in colocations(range(3000, 3000 + number)):
        expected = reference.best(instance)
        array, readable = fair_program(instance), from_pyomo(fair_model(instance))
        for engine in ("highs", "cp-sat"):
            assert same(value_of(array.program, engine), expected.least_slack), instance.name
            assert same(value_of(readable, engine), expected.least_slack), instance.name
        if expected.least_slack is not None:
            second = fair_program(instance, expected.least_slack + 1e-9).program
            least = expected.penalty_at_slack(expected.least_slack)
            assert same(mean_of(second, "highs", instance), least), instance.name


@pytest.mark.slow
@pytest.mark.parametrize("number", numbers(25, 8))
def test_fewest_and_at_most_so_many_blocking_pairs_equal_enumeration(
    reference: ModuleType, number: int
) -> None:
    for place, instance in enumerate(colocations(range(4000, 4000 + number))):
        alpha = ALPHAS[place % 2]
        expected = reference.best(instance, alpha)
        program = blocking_program(instance, None, alpha, objective="blocking").program
        assert same(value_of(program, "cp-sat"), expected.fewest_blocking), instance.name
        for most in (0, 1, 3):
            least = mean_of(blocking_program(instance, most, alpha).program, "cp-sat", instance)
            assert same(least, expected.penalty_within(most)), instance.name
        one = stable_program(instance, alpha, one=True).program
        assert same(mean_of(one, "highs", instance), expected.penalty_within(1)), instance.name


@pytest.mark.slow
@pytest.mark.parametrize("number", numbers(25, 8))
def test_order_encoding_counts_blocking_pairs_like_enumeration(
    reference: ModuleType, number: int
) -> None:
    for place, instance in enumerate(colocations(range(4500, 4500 + number))):
        mode = ALPHA_MODES[place % len(ALPHA_MODES)]
        alpha = ALPHAS[place % len(ALPHAS)]
        expected = reference.best(instance, alpha, mode)
        exact = order_program(instance, None, alpha, mode)
        assert same(value_of(exact.program, "cp-sat"), expected.fewest_blocking), instance.name
        if place < 4:
            readable = from_pyomo(fewest_model(instance, alpha, mode))
            assert same(value_of(readable, "cp-sat"), expected.fewest_blocking), instance.name
        if expected.fewest_blocking is None:
            continue
        below = value_of(order_program(instance, None, alpha, mode, steps=2).program, "cp-sat")
        assert below <= expected.fewest_blocking
        for most in (0, 1, 3):
            within = order_program(instance, most, alpha, mode, objective="penalty").program
            least = mean_of(within, "highs", instance)
            assert same(least, expected.penalty_within(most)), instance.name


def test_order_encoding_steps_give_lower_bounds() -> None:
    """Two types of which each would rather be with the other: 6 x 6 pairs of agents block when all
    are with their like.
    """
    instance = Colocation([[0.5, 0.1], [0.1, 0.5]], [6, 6])
    alike = Pairing([0, 1], [0, 1], [3, 3], [0, 0])
    for steps, counted in ((None, 36), (7, 36), (5, 25), (3, 16), (2, 9)):
        program = order_program(instance, steps=steps)
        assert program.program.objective(program.point(alike)) == counted
    own = instance.replace(penalty=1 - instance.penalty)  # each would rather be with its like
    apart = Pairing([0], [1], [6], [0, 0])
    for steps, counted in ((None, 30), (7, 30), (5, 20), (3, 12), (2, 6)):
        program = order_program(own, steps=steps)
        assert program.program.objective(program.point(apart)) == counted
    mixed = Pairing([0, 0, 1], [0, 1, 1], [2, 2, 2], [0, 0])
    for steps, counted in ((None, 16), (7, 16), (5, 9), (4, 9), (3, 16), (2, 9)):
        program = order_program(instance, steps=steps)
        assert program.program.objective(program.point(mixed)) == counted
        assert program.program.holds(program.point(mixed))


def test_all_different_agents_need_no_products_so_highs_counts_blocking_pairs_too(
    reference: ModuleType,
) -> None:
    for seed in range(12):
        penalty = np.random.default_rng(seed).random((6, 6))
        instance = Colocation(penalty, np.ones(6, dtype=int))
        program = blocking_program(instance, objective="blocking").program
        assert len(program.products) == 0
        assert same(value_of(program, "highs"), reference.best(instance).fewest_blocking)


def test_highs_refuses_product_constraints() -> None:
    instance = Colocation([[0.1, 0.3], [0.2, 0.9]], [4, 4])
    program = blocking_program(instance, 3).program
    assert len(program.products) > 0
    with refused(InvalidOption):
        solve_program(program, engine="highs")


@pytest.mark.slow
def test_point_of_each_pairing_is_feasible_in_every_program(reference: ModuleType) -> None:
    """`point` and `pairing` are inverse, and the other columns are filled in as the rows demand."""
    for instance in colocations(range(5000, 5030)):
        for number, partner in enumerate(reference.pairings(instance)):
            if number % 7:
                continue
            pairing = Pairing.from_partners(reference.agents_of(instance), partner, instance.types)
            count = reference.blocking(instance, partner)
            for made in (
                penalty_program(instance),
                fair_program(instance),
                blocking_program(instance),
                order_program(instance),
            ):
                assert made.program.holds(made.point(pairing)), instance.name
                assert made.pairing(made.point(pairing)) == pairing
            assert fair_program(instance).program.objective(
                fair_program(instance).point(pairing)
            ) == pytest.approx(reference.slack(instance, partner), abs=1e-12)
            for counted in (
                blocking_program(instance, objective="blocking"),
                order_program(instance),
            ):
                assert counted.program.objective(counted.point(pairing)) == pytest.approx(count)
            stable = stable_program(instance)
            assert stable.program.holds(stable.point(pairing)) == (count == 0), instance.name
            one = stable_program(instance, one=True)
            assert one.program.holds(one.point(pairing)) == (count <= 1), instance.name


def test_gain_sets_are_nested_prefixes(reference: ModuleType) -> None:
    for mode in ALPHA_MODES:
        for instance in colocations(range(6000, 6020)):
            sets = gain_sets(instance, 0.05, mode)
            for a in range(instance.types):
                for c in range(instance.types):
                    if sets.size[a, c] == 0:
                        continue
                    old = [
                        instance.unpaired if b < 0 else instance.penalty[a, b]
                        for b in sets.order[a].tolist()
                    ]
                    moved = [
                        reference.leaves(value, instance.penalty[a, c], 0.05, mode) for value in old
                    ]
                    assert moved == [place < sets.size[a, c] for place in range(len(old))]


@pytest.mark.slow
def test_even_self_pairing_types_reach_zero_blocking_pairs() -> None:
    """Scarf's lemma on rows = types, columns = pairs and loops."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        types = int(rng.integers(1, 8))
        penalty = rng.random((types, types)).round(int(rng.integers(1, 4)))
        apart = rng.random((types, types)) < 0.2
        penalty[apart & ~np.eye(types, dtype=bool)] = np.inf
        instance = Colocation(penalty, 2 * rng.integers(1, 6, types))
        made = stable_program(instance, objective=False)
        answer = solve_program(made.program)
        assert answer.status is Status.OPTIMAL, seed
        assert blocking_pairs(instance, made.pairing(answer.point)).count == 0


@pytest.mark.slow
def test_optimum_does_not_depend_on_splitting_types() -> None:
    """Twelve agents of three types, as types and as twelve types of one."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        instance = Colocation(rng.random((3, 3)).round(2), [4, 3, 5])
        kinds = instance.agent_types()
        single = Colocation(instance.penalty[np.ix_(kinds, kinds)], np.ones(12, dtype=int))
        for build in (penalty_program, stable_program):
            assert same(
                value_of(build(instance).program, "highs"), value_of(build(single).program, "highs")
            )


@pytest.mark.parametrize(("most", "objective"), [(-1, "penalty"), (2, "fairness")])
def test_blocking_program_refuses_unsupported_options(most: int, objective: Any) -> None:
    with pytest.raises(InvalidOption):
        blocking_program(Colocation([[0.1]], [2]), most, objective=objective)


def test_one_possibly_blocking_pair_has_no_linear_program() -> None:
    with refused(InvalidOption):
        stable_program(Colocation([[0.1]], [2]), uncertainty="possible", one=True)
