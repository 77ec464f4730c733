"""Models that a reader has extended come back as answers that are checked, measured and
compared.
"""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pyomo.environ as pyo
import pytest
from support.messages import refused

import cotenant
from cotenant.instances.problem import InfeasibleSolution, InvalidOption
from cotenant.models.admission.arrays import assignment_program
from cotenant.models.admission.readable import readable
from cotenant.models.answer import instance_answer
from cotenant.models.colocation import penalty_program
from cotenant.models.colocation.readable import predictor
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.models.numa.arrays import throughput_program
from cotenant.models.numa.readable import throughput_model
from cotenant.models.packing.assignment import assignment_model
from cotenant.models.program import from_pyomo
from cotenant.models.scheduling import interval_model
from cotenant.solvers.engines import solve_convex, solve_cp_sat, solve_program


def metric(instance: Any, solution: Any, name: str) -> float:
    """A metric of an answer, as a comparison has it."""

    def theirs(instance: Any) -> Any:
        return solution

    (row,) = cotenant.compare([instance], [theirs]).rows
    assert row.get("error") is None
    return float(row["metrics"][name] or 0)


def test_extended_pyomo_model_converts_to_pairing() -> None:
    tiny = cotenant.read("colocation/tiny")
    best = cotenant.solve(tiny, "optimal")
    a, b = int(best.solution.first[0]), int(best.solution.second[0])
    model = predictor(tiny)
    model.apart = pyo.Constraint(expr=model.x[a, b] == 0)
    answer = solve_program(from_pyomo(model))
    answer.load(model)
    pairing = instance_answer(tiny, model)
    assert not ((pairing.first == a) & (pairing.second == b)).any()  # type: ignore[attr-defined]
    value = metric(tiny, pairing, "penalty")
    assert value == pytest.approx(answer.objective)
    assert value > best.objective + 1e-6


def test_array_programs_convert_to_answers() -> None:
    tiny = cotenant.read("colocation/tiny")
    built = penalty_program(tiny)
    pairing = instance_answer(tiny, built, solve_program(built.program))
    assert metric(tiny, pairing, "penalty") == pytest.approx(
        cotenant.solve(tiny, "optimal").objective
    )
    jobs = cotenant.read("admission/tiny")
    program = assignment_program(jobs)
    assignment = instance_answer(jobs, program, solve_program(program.program).point)
    best = cotenant.solve(jobs, "optimal").objective
    assert metric(jobs, assignment, "total_speed") == pytest.approx(best)
    model = readable(jobs)
    solve_program(from_pyomo(model)).load(model)
    assert metric(jobs, instance_answer(jobs, model), "total_speed") == pytest.approx(best)


@pytest.mark.slow
def test_cp_sat_models_convert_to_answers() -> None:
    vms = cotenant.read("packing/tiny")
    parts = assignment_model(vms)
    placement = instance_answer(vms, parts, solve_cp_sat(parts.model, time_limit=30))
    assert metric(vms, placement, "cost") == cotenant.solve(vms, "min-cost").objective
    work = cotenant.read("scheduling/figure-2")
    best = cotenant.solve(work, "max-utility").objective
    intervals = interval_model(work, "utility", lambda: False)
    schedule = instance_answer(work, intervals, solve_cp_sat(intervals.model, time_limit=30))
    assert metric(work, schedule, "utility") == best


def test_flow_and_market_models_convert_to_answers() -> None:
    numa = cotenant.read("numa/tiny")
    best = cotenant.solve(numa, "fluid").objective
    model = throughput_model(numa)
    solve_program(from_pyomo(model)).load(model)
    assert instance_answer(numa, model).throughput == pytest.approx(best)  # type: ignore[attr-defined]
    built = throughput_program(numa)
    flow = instance_answer(numa, built, solve_program(built.program))
    assert flow.throughput == pytest.approx(best)  # type: ignore[attr-defined]
    market = cotenant.read("market/tiny")
    program = eisenberg_gale(market)
    floored = cvxpy.Problem(
        program.problem.objective, [*program.problem.constraints, program.share >= 0.2]
    )
    with refused(InvalidOption):
        instance_answer(market, program)
    solve_convex(floored)
    allocation = instance_answer(market, program)
    share = allocation.cores / market.capacity[market.server]  # type: ignore[attr-defined]
    assert share[program.job].min() >= 0.2 - 1e-6
    assert metric(market, allocation, "nash_welfare") <= cotenant.solve(
        market, "nash-welfare"
    ).objective * (1 + 1e-9)


def test_unsolved_model_is_refused() -> None:
    tiny = cotenant.read("colocation/tiny")
    model = predictor(tiny)
    with refused(InvalidOption):
        instance_answer(tiny, model)
    with refused(InvalidOption):
        instance_answer(tiny, object())
    other = readable(cotenant.read("admission/tiny"))
    answer = solve_program(from_pyomo(model))
    with refused(InvalidOption):
        answer.load(other)
    model.never = pyo.Constraint(expr=model.single[0] >= tiny.agents)
    with refused(InvalidOption):
        solve_program(from_pyomo(model)).load(model)
    built = penalty_program(tiny)
    with refused(InfeasibleSolution):
        instance_answer(tiny, built, np.zeros(built.program.columns))
    with refused(InvalidOption):
        instance_answer(tiny, built, solve_program(from_pyomo(model)))
