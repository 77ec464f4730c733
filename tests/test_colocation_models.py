"""The programs over types against enumeration over agents: Pyomo, arrays, HiGHS, CP-SAT and brute
force agree.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from support.messages import refused
from support.small_cases import colocations

from cotenant.instances.colocation import ALPHA_MODES, Colocation, Pairing
from cotenant.instances.problem import InvalidOption
from cotenant.models.colocation import (
    blocking_program,
    fair_program,
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


def same(left: float | None, right: float | None) -> bool:
    """Equal to the tolerance, or both missing."""
    if left is None or right is None:
        return left is right
    return abs(left - right) <= CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("mode", ALPHA_MODES)
def test_programs_over_types_equal_enumeration(reference: ModuleType, mode: str) -> None:
    """Arrays and Pyomo models, by both engines where they can."""
    offset = 1000 * ALPHA_MODES.index(mode)
    for index, instance in enumerate(colocations(range(offset, offset + 25))):
        alpha, agents = ALPHAS[index % len(ALPHAS)], instance.agents
        best = reference.best(instance, alpha, mode)
        fewest, none = best.fewest_blocking, best.penalty_within(0)
        one = stable_program(instance, alpha, mode, one=True).program
        # 1. program, what its objective is a multiple of, the optimum
        linear = [
            (penalty_program(instance).program, agents, best.least_penalty),
            (from_pyomo(predictor(instance)), 1, best.least_penalty),
            (stable_program(instance, alpha, mode).program, agents, none),
            (from_pyomo(stable_model(instance, alpha, mode)), 1, none),
            (one, agents, best.penalty_within(1)),
            (fair_program(instance).program, 1, best.least_slack),
            (from_pyomo(fair_model(instance)), 1, best.least_slack),
        ]
        if best.least_slack is not None:
            within = fair_program(instance, best.least_slack + 1e-9).program
            linear.append((within, agents, best.penalty_at_slack(best.least_slack)))
        pairs = blocking_program(instance, None, alpha, mode, objective="blocking").program
        counted = [
            (pairs, 1, fewest),
            (order_program(instance, None, alpha, mode).program, 1, fewest),
        ]
        if index < 2:
            counted.append((from_pyomo(fewest_model(instance, alpha, mode)), 1, fewest))
        for most in (0, 1, 3):
            least = best.penalty_within(most)
            counted.append((blocking_program(instance, most, alpha, mode).program, agents, least))
            order = order_program(instance, most, alpha, mode, objective="penalty").program
            linear.append((order, agents, least))
        # 2. the optimum by every engine that solves the program
        for engine, programs in (("highs", linear), ("cp-sat", linear + counted)):
            for place, (program, number_of, expected) in enumerate(programs):
                found = value_of(program, engine)
                mean = None if found is None else found / number_of
                assert same(mean, expected), (instance.name, alpha, engine, place)
        # 3. the order encoding of fewer steps is a lower bound
        if fewest is not None:
            few = order_program(instance, None, alpha, mode, steps=2).program
            assert value_of(few, "cp-sat") <= fewest


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


def test_highs_refuses_product_constraints() -> None:
    instance = Colocation([[0.1, 0.3], [0.2, 0.9]], [4, 4])
    program = blocking_program(instance, 3).program
    assert len(program.products) > 0
    with refused(InvalidOption):
        solve_program(program, engine="highs")


@pytest.mark.parametrize(("most", "objective"), [(-1, "penalty"), (2, "fairness")])
def test_blocking_program_refuses_unsupported_options(most: int, objective: Any) -> None:
    with pytest.raises(InvalidOption):
        blocking_program(Colocation([[0.1]], [2]), most, objective=objective)


def test_one_possibly_blocking_pair_has_no_linear_program() -> None:
    with refused(InvalidOption):
        stable_program(Colocation([[0.1]], [2]), uncertainty="possible", one=True)
