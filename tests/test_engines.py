"""Solver libraries: agreement, limits, checked claims, child processes and silenced output."""

from __future__ import annotations

# mypy: disable-error-code="union-attr,index,no-any-return,dict-item"
import math
import os
import subprocess
import sys
import threading
import time
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.messages import approved, refused
from support.oracles.rational_program import least
from support.small_cases import program_of

from cotenant.instances.problem import EngineError
from cotenant.models.program import LinearProgram, ProgramBuilder, from_pyomo
from cotenant.solvers.engines import (
    WarmStartedProgram,
    call_in_subprocess,
    highs,
    solve_convex,
    solve_cp_sat,
    solve_in_subprocess,
    solve_program,
    solve_refined,
)
from cotenant.solvers.engines.answer import EngineAnswer, settle
from cotenant.solvers.engines.cpsat import WholeProgram
from cotenant.solvers.engines.silence_c_stdout import _streams
from cotenant.solvers.outcome import Clock, Status, Stop

TOGETHER = """
import {modules}
import numpy as np
from cotenant.models.program import ProgramBuilder, from_pyomo
from cotenant.solvers.engines import solve_convex, solve_program

builder = ProgramBuilder()
x = builder.columns(2, upper=5, cost=[-1.0, -2.0], integer=True)
builder.row(x, [1.0, 3.0], upper=7.0)
program = builder.build()
model = pyomo.environ.ConcreteModel()
model.x = pyomo.environ.Var(bounds=(0, 5), domain=pyomo.environ.Integers)
model.y = pyomo.environ.Var(bounds=(0, 5), domain=pyomo.environ.Integers)
model.row = pyomo.environ.Constraint(expr=model.x + 3 * model.y <= 7)
model.value = pyomo.environ.Objective(expr=model.x + 2 * model.y, sense=pyomo.environ.maximize)
for given in (program, from_pyomo(model)):
    for engine in ("highs", "cp-sat", "highs"):
        answer = solve_program(given, engine=engine)
        assert answer.status == "optimal" and answer.objective == -6.0, answer
y = cvxpy.Variable(2)
convex = solve_convex(cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(y - np.array([1.0, 2.0])))))
assert convex.status == "optimal" and abs(convex.objective) < 1e-6, convex
"""


def ran(code: str, *arguments: str, warnings: bool = False) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter; warnings are errors unless said otherwise."""
    flags = [] if warnings else ["-W", "error"]
    return subprocess.run(
        [sys.executable, *flags, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
    )


def knapsacks(rows: int, columns: int, seed: int = 0) -> LinearProgram:
    """Correlated knapsacks: a point at once, the proof takes for ever."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(50, 150, (rows, columns)).astype(float)
    cost = -(weight.mean(axis=0) + rng.integers(0, 9, columns)).round()
    full = [(row, -np.inf, float(row.sum() // 2)) for row in weight]
    return program_of(columns, *full, upper=1, cost=cost, integer=True)


def enumerated(program: LinearProgram) -> float | None:
    """The optimum by trying every point."""
    ranges = [
        range(int(low), int(high) + 1)
        for low, high in zip(program.lower, program.upper, strict=True)
    ]
    values = [
        program.objective(point) for point in product(*ranges) if program.violation(point) <= 1e-9
    ]
    return min(values, default=None)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
def test_solver_libraries_load_in_one_process_in_any_order(order: int) -> None:
    modules = ["highspy", "ortools.sat.python.cp_model", "cvxpy", "pyomo.environ"][::order]
    done = ran(TOGETHER.format(modules=", ".join(modules)))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_integer_program_that_highs_1_14_got_wrong_has_its_optimum(engine: str) -> None:
    """HiGHS#2961: 2 x + 3 z with x + z >= 4.5 and z integer is 9, not 15."""
    program = program_of(
        2, ([1, 1], 4.5, np.inf), upper=10.0, cost=[2.0, 3.0], integer=[False, True]
    )
    answer = solve_program(program, engine=engine)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, pytest.approx(9.0))


def test_program_with_highs_presolve_error_is_solved_again() -> None:
    """HiGHS 1.16 ends with an error at these tolerances, and leaves the bound 0; the optimum is -8."""
    rows = [
        ([0, 5, -9, 0], -np.inf, -8.5), ([-2, -4, 1, 3], -3, -1.25),
        ([1, 9, -9, -5], -np.inf, -2.25), ([-3, -9, -6, -5], -2, 0),
    ]  # fmt: skip
    program = program_of(
        4, *rows, lower=[-1, -2, 0, -2], upper=[1, 0, 1, 1], cost=[-7, -6, -2, 5],
        integer=[True, True, False, False],
    )  # fmt: skip
    solver = highs._solver(None)
    solver.passModel(highs._model(program, 1.0))
    once = highs._run(solver, 1.0, None, None)
    assert once.bound is None or once.bound == pytest.approx(-8.0)
    answer = solve_program(program)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, pytest.approx(-8.0))


@pytest.mark.slow
def test_highs_and_cp_sat_agree_on_programs_with_continuous_columns() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        builder = ProgramBuilder()
        x = builder.columns(3, upper=4, cost=rng.normal(size=3).round(6), integer=True)
        y = builder.columns(2, lower=-1.5, upper=[0.7, 2.0 / 3.0], cost=[0.3, -0.2])
        for _ in range(3):
            builder.row(
                np.concatenate([x, y]), rng.normal(size=5), upper=float(rng.uniform(0.5, 4))
            )
        program = builder.build()
        left, right = (solve_program(program, engine=engine) for engine in ("highs", "cp-sat"))
        assert left.status is right.status is Status.OPTIMAL, (seed, left, right)
        assert left.objective is not None
        assert right.bound is not None
        assert left.objective == pytest.approx(right.objective, abs=1e-6)
        assert right.bound <= left.objective + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_engine_at_time_limit_keeps_point_and_bound(engine: str) -> None:
    answer = solve_program(knapsacks(15, 90), engine=engine, time_limit=1.0)
    assert answer.stop is Stop.TIME_LIMIT
    assert answer.status is Status.FEASIBLE
    assert answer.bound is not None
    assert answer.objective is not None
    assert answer.bound < answer.objective


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_engine_callback_may_interrupt_and_gets_scaled_values(engine: str) -> None:
    program = knapsacks(15, 90)
    seen: list[float] = []

    def report(seconds: float, objective: float | None, bound: float | None, text: str) -> None:
        if objective is not None:
            seen.append(objective)
        if len(seen) >= 2:
            raise KeyboardInterrupt

    answer = solve_program(program, engine=engine, time_limit=60, report=report)
    assert answer.stop is Stop.INTERRUPTED
    assert answer.objective is not None
    assert answer.objective <= seen[0]
    assert program.objective(np.ones(90)) < seen[0] <= 0.0


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_engine_uses_valid_starting_point_and_ignores_invalid(engine: str) -> None:
    program = knapsacks(3, 12)
    best = solve_program(program, engine=engine)
    again = solve_program(program, engine=engine, start=best.point)
    broken = solve_program(program, engine=engine, start=np.ones(12))
    assert best.objective == again.objective == broken.objective


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_program_without_rows_is_solved_by_every_engine(engine: str) -> None:
    program = program_of(3, offset=0.25, upper=2, cost=[1.0, -1.0, 0.5], integer=True)
    answer = solve_program(program, engine=engine)
    assert (answer.status, answer.objective) == (Status.OPTIMAL, -1.75)


def test_unbounded_program_has_no_bound() -> None:
    program = program_of(1, cost=-1.0)
    answer = solve_program(program)
    assert answer.status is Status.FEASIBLE
    assert answer.bound is None
    assert "nbounded" in answer.message
    with refused(EngineError):
        solve_program(program, engine="cp-sat")


@pytest.mark.parametrize(
    ("cost", "scale"),
    [(2.0, 1.0), (0.25, 100.0), (0.7 + 0.1, 10.0), (0.1234, 1e4), (4 / 3, 1e12), (1 / 3, 1e13)],
)
def test_decimals_are_scaled_to_integers_by_least_power_of_ten(cost: float, scale: float) -> None:
    assert WholeProgram(program_of(1, upper=5, cost=cost, integer=True)).scale == scale


@pytest.mark.slow
def test_bound_of_program_translated_for_cp_sat_is_valid() -> None:
    """Costs that are no decimals, up to a scale that int64 must cut down, with columns below
    zero.
    """
    for seed in range(30):
        rng = np.random.default_rng(seed)
        size = 10.0 ** rng.integers(-3, 14)
        fields = {"lower": -2, "upper": [3, 2, 4], "cost": rng.normal(size=3) * size}
        row = (rng.normal(size=3), float(rng.normal()), np.inf)
        program = program_of(3, row, offset=float(rng.normal()), integer=True, **fields)
        expected = enumerated(program)
        answer = solve_program(program, engine="cp-sat")
        if expected is None:
            assert answer.status is Status.INFEASIBLE
            continue
        assert answer.bound is not None
        assert answer.objective is not None
        assert answer.bound <= expected + 1e-12 * abs(expected), seed
        assert answer.objective == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_engines_refuse_numbers_beyond_64_bits() -> None:
    program = program_of(2, ([1e14, 1.0], -np.inf, 1e15), upper=10**6, integer=True)
    with refused(EngineError):
        solve_program(program, engine="cp-sat")
    assert solve_program(program).status is Status.OPTIMAL


def test_engine_status_and_bound_are_checked_against_its_point() -> None:
    program, nothing = knapsacks(1, 3), np.zeros(3)
    for bound, point, status, word in (
        (program.objective(np.ones(3)), np.ones(3), Status.UNKNOWN, "breaks"),
        (5.0, nothing, Status.UNKNOWN, "above the value"),
        (-500.0, nothing, Status.FEASIBLE, "below the value"),
    ):
        claim = EngineAnswer(Status.OPTIMAL, Stop.FINISHED, bound=bound)
        settled = settle(program, claim, point)
        assert settled.status is status
        assert word in settled.message
        assert (settled.point is None) == (word == "breaks")
        assert word != "above the value" or settled.bound is None


def test_program_check_finds_row_broken_by_one_in_a_million() -> None:
    row = ([1.0, -1e6], -np.inf, 0.0)
    assert not program_of(2, row, upper=[1e6, 1], integer=True).holds([1.0, 0.0])


@pytest.mark.slow
def test_engine_calls_from_threads_are_serialized() -> None:
    """A user's cluster may have threaded workers; HiGHS and Pyomo do not survive two at a time."""
    values: list[float | None] = []
    program = knapsacks(3, 14)
    threads = [
        threading.Thread(target=lambda: values.append(solve_program(program).objective))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 6
    assert len(set(values)) == 1


SIZES = [10.0**power for power in range(-12, 13, 3)]
"""What costs are multiplied by: no absolute tolerance of an engine may decide."""


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
@pytest.mark.parametrize("size", SIZES)
def test_engine_result_does_not_depend_on_cost_scale(size: float, engine: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cost = rng.integers(-9, 10, 6) * size
        weight = rng.integers(1, 9, (2, 6)).astype(float)
        rows = [(row, 5.0, 11.0) for row in weight]
        program = program_of(6, *rows, offset=3 * size, upper=2, cost=cost, integer=True)
        points = np.array(list(product(range(3), repeat=6)))
        inside = ((points @ weight.T >= 5) & (points @ weight.T <= 11)).all(axis=1)
        best = float((points[inside] @ cost).min()) + 3 * size
        told: list[float] = []

        def report(_: float, value: float | None, bound: float | None, words: str) -> None:
            told.extend(entry for entry in (value,) if entry is not None)  # noqa: B023

        answer = solve_program(program, engine=engine, report=report)
        assert answer.status is Status.OPTIMAL
        assert answer.objective == pytest.approx(best, rel=1e-12, abs=1e-12 * size)
        assert answer.bound == pytest.approx(best, rel=1e-9, abs=1e-8 * size)
        assert all(value >= best - 1e-8 * size for value in told)
        if answer.trace:
            assert answer.trace[-1][1] == pytest.approx(best, rel=1e-9, abs=1e-8 * size)


@pytest.mark.parametrize("size", SIZES)
def test_incremental_program_duals_are_in_cost_units(size: float) -> None:
    two = (1.0, 2.0, 2.0)
    program = WarmStartedProgram(program_of(1, two, offset=size, cost=0.0, upper=1.0))
    for price, value in ((3.0, 4.0), (2.0, 3.0)):  # columns of other costs come, with the first
        program.add_columns(np.array([price * size]), np.array([np.inf]), [0], [0], np.ones(1))
        answer = program.solve()
        assert answer.status is Status.OPTIMAL
        assert answer.row_dual == pytest.approx(np.array([price * size]), rel=1e-12)
        assert answer.objective == answer.bound == pytest.approx(value * size, rel=1e-12)


def test_incremental_program_accepts_columns_and_rows() -> None:
    living = WarmStartedProgram(program_of(2, (1.0, 4.0, np.inf), cost=[2.0, 3.0]))
    assert living.solve().objective == pytest.approx(8.0)
    living.add_columns(np.array([1.0]), np.array([np.inf]), [0], [0], np.array([1.0]))
    assert living.solve().objective == pytest.approx(4.0)
    living.add_rows(np.array([1.0]), [0], [0], np.array([1.0]))
    answer = living.solve()
    assert answer.objective == pytest.approx(5.0)
    assert answer.row_dual == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("seed", [5, 10, 31, 88, 105, 106, 126, 294])
def test_refined_program_is_exact_beyond_engine_tolerance(seed: int) -> None:
    """Columns of very different size, and values that HiGHS may take for 0: by itself it misses
    these optima by up to 100 %.
    """
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-9, 10, (3, 6)) * 10.0 ** rng.integers(-4, 5, 6)
    matrix = np.hstack([matrix, np.eye(3)])
    right = matrix @ np.append(
        rng.integers(0, 3, 6) * 10.0 ** rng.integers(-9, 2, 6), rng.integers(0, 2, 3) * 1e-10
    )
    cost = np.append(rng.integers(1, 100, 6) * 10.0 ** rng.integers(-3, 4, 6), [1.0, 1.0, 1.0])
    rows = [(row, value, value) for row, value in zip(matrix, right, strict=True)]
    answer = solve_refined(program_of(9, *rows, cost=cost))
    exact = least(
        [Fraction(x) for x in cost.tolist()],
        [[Fraction(x) for x in row] for row in matrix.tolist()],
        [Fraction(x) for x in right.tolist()],
    )
    assert exact is not None
    assert answer.status is Status.OPTIMAL
    assert answer.objective == pytest.approx(float(exact[0]), rel=1e-12, abs=0.0)
    assert answer.row_dual is not None
    assert answer.row_dual @ right == pytest.approx(float(exact[0]), rel=1e-9, abs=0.0)


def test_cp_sat_solves_hand_made_models() -> None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x, y = model.new_int_var(0, 9, "x"), model.new_int_var(0, 9, "y")
    model.add(x + y <= 10)
    model.maximize(3 * x + 2 * y)
    answer = solve_cp_sat(model, hints={x.index: 1})
    assert (answer.status, answer.objective, answer.bound) == (Status.OPTIMAL, 29.0, 29.0)
    assert answer.values is not None
    assert answer.values.tolist() == [9, 1]
    model.add(x + y >= 11)
    assert solve_cp_sat(model).status is Status.INFEASIBLE
    model.add(x >= 100)
    assert solve_cp_sat(model).values is None


def test_pyomo_models_are_converted_to_arrays() -> None:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 4), domain=pyo.Integers)
    model.y = pyo.Var(bounds=(0, None))
    model.z = pyo.Var(bounds=(0, 9))
    model.z.fix(1.5)
    model.equal = pyo.Constraint(expr=model.x + 2 * model.y == 5)
    model.range = pyo.Constraint(expr=(1, model.x + model.z, 4))
    model.value = pyo.Objective(expr=3 * model.x + model.y + model.z + 7, sense=pyo.maximize)
    program = from_pyomo(model)
    answer = solve_program(program)
    assert answer.objective == pytest.approx(-(6 + 1.5 + 1.5 + 7))
    assert dict(zip(program.names, np.round(answer.point, 9).tolist(), strict=True)) == {
        "x": 2.0,
        "y": 1.5,
    }
    model.never = pyo.Constraint(expr=model.z <= 1)
    assert solve_program(from_pyomo(model)).status is Status.INFEASIBLE
    model.second = pyo.Objective(expr=model.x)
    model.never.deactivate()
    with pytest.raises(ValueError, match="2 active objectives"):
        from_pyomo(model)


def test_convex_engine_statuses_are_mapped() -> None:
    import cvxpy

    x = cvxpy.Variable()
    assert solve_convex(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2])).objective == pytest.approx(2.0)
    assert (
        solve_convex(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2, x <= 1])).status is Status.INFEASIBLE
    )
    unbounded = solve_convex(cvxpy.Problem(cvxpy.Minimize(x)))
    assert unbounded.status is Status.UNKNOWN
    assert unbounded.objective is None


@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_large_program_at_expired_time_limit_is_not_loaded(engine: str) -> None:
    """Loading and presolving one takes half a second in which no engine looks at its clock."""
    program = knapsacks(110, 1000)
    over = Clock(1e-9).time_slice()
    for start, status in (
        (np.zeros(1000), Status.FEASIBLE), (None, Status.UNKNOWN), (np.ones(1000), Status.UNKNOWN),
    ):  # fmt: skip
        answer = solve_program(program, engine=engine, time_limit=over, start=start)
        assert (answer.status, answer.stop, answer.bound) == (status, Stop.TIME_LIMIT, None)
        assert answer.objective == (0.0 if status is Status.FEASIBLE else None)
        approved(answer.message)


def knapsack():
    row = ([3.0, 4.0, 2.0], -math.inf, 6.0)
    return program_of(3, row, upper=1.0, cost=[-4.0, -5.0, -3.0], integer=True)


@pytest.mark.slow
def test_engine_in_child_process_has_same_answer() -> None:
    here, apart = solve_program(knapsack()), solve_in_subprocess(knapsack(), time_limit=30)
    assert apart.status is here.status is Status.OPTIMAL
    assert apart.objective == here.objective == apart.bound == -8.0
    assert apart.point.tolist() == here.point.tolist()


@pytest.mark.slow
def test_engine_process_beyond_limit_is_killed() -> None:
    begin = time.perf_counter()
    assert call_in_subprocess(time.sleep, 900, hard_limit=0.5) is None
    assert time.perf_counter() - begin < 600


def test_killed_engine_process_is_not_awaited(monkeypatch) -> None:
    """It was given two seconds to leave by itself, beyond every limit."""
    waits = []
    wait = subprocess.Popen.wait

    def waited(process, timeout=None):
        waits.append(timeout)
        return wait(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", waited)
    assert call_in_subprocess(time.sleep, 60, hard_limit=0.1) is None
    assert waits
    assert set(waits) == {None}


def test_killed_engine_has_status_unknown(engines) -> None:
    engines(call_in_subprocess=lambda *_, **__: None)
    answer = solve_in_subprocess(knapsack(), time_limit=1)
    assert (answer.status, answer.stop, answer.point) == (Status.UNKNOWN, Stop.TIME_LIMIT, None)


def test_dead_engine_process_is_an_error_with_stderr() -> None:
    with refused(EngineError):
        call_in_subprocess(os._exit, 3)
    with refused(EngineError):
        call_in_subprocess(divmod, 1, 0)


needs_glibc = pytest.mark.skipif(
    _streams() is None, reason="this C library's streams cannot be pointed elsewhere"
)

LINE_OF_HIGHS = """
import numpy as np
from cotenant.models.program import ProgramBuilder
from cotenant.solvers.engines import solve_program
builder = ProgramBuilder()
x = builder.columns(7, upper=6.0, cost=[2.0, -4.0, -4.0, 3.0, -6.0, 1.0, -5.0], integer=True)
builder.row(x[[1, 4, 5, 6]], np.array([2.0, -5.0, -1.0, 5.0]), upper=-3.0)
print(solve_program(builder.build()).objective)
"""

LOG_OF_CP_SAT = """
import ctypes
from ortools.sat.python import cp_model
from cotenant.solvers.engines import solve_cp_sat
model = cp_model.CpModel()
model.minimize(model.new_int_var(7, 9, "x"))
solve = cp_model.CpSolver.solve
def logged(*given):
    ctypes.CDLL(None).perror(b"Infeasible LNS solution!")
    return solve(*given)
cp_model.CpSolver.solve = logged
print(solve_cp_sat(model).objective)
"""

GUARD = """
import ctypes, sys, threading
from cotenant.solvers.engines.silence_c_stdout import c_output_nowhere
library = ctypes.CDLL(None)
def say(text):
    library.puts(text.encode())
    library.perror(text.encode())
    library.fflush(None)
say("before")
with c_output_nowhere():
    say("stray")
    print("python's own", flush=True)
    outer = c_output_nowhere()
    outer.__enter__()
say("stray too")  # a run that Ctrl-C gave up is still going on
outer.__exit__(None, None, None)
say("after")
"""


def run(script: str) -> tuple[list[str], list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.slow
@needs_glibc
def test_silencing_drops_only_c_output_and_restores_stream() -> None:
    out, err = run(GUARD)
    assert out == ["before", "python's own", "after"]
    assert [line.partition(":")[0] for line in err] == ["before", "after"]


@pytest.mark.slow
@needs_glibc
def test_cp_sat_log_is_never_printed() -> None:
    assert run(LOG_OF_CP_SAT) == (["7.0"], [])


@pytest.mark.slow
@needs_glibc
def test_highs_banner_is_never_printed() -> None:
    assert run(LINE_OF_HIGHS) == (
        ["-99.0"],
        [],
    )  # 24 + 24 + 36 + 15, all but the last at its upper bound
