"""Interface to HiGHS.

HiGHS's tolerances are absolute, so it is given every objective in a unit in which they are small
(`unit_of`); values, bounds and multipliers come back in the program's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...models.program import LinearProgram, unit_of
from ..outcome import LEAST_SECONDS, Clock, Report, Status, Stop
from .answer import EngineAnswer, Floats, Progress, run_interruptibly, settle
from .silence_c_stdout import c_output_nowhere

if TYPE_CHECKING:
    import highspy

THREADS = 1
"""The one number of threads HiGHS gets: a second value in one process makes it fail without a
word.
"""

TOLERANCES = (
    "mip_feasibility_tolerance",
    "primal_feasibility_tolerance",
    "dual_feasibility_tolerance",
)

_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "log_to_console": False,
    "threads": THREADS,
    "random_seed": 0,
    "mip_rel_gap": 0.0,  # the default 1e-4 would call "optimal" what is not
    "mip_abs_gap": 1e-9,
    # after a restart it has proved a penalty of .02740221 the least where .02734823 exists
    "mip_allow_restart": False,
    # a 0/1 column at 1e-6 times a million agents would let one agent through
    **dict.fromkeys(TOLERANCES, 1e-9),
}

FEW = 500
"""Nonzeros up to which a continuous program takes less time than to start a thread."""

WITHOUT_HEURISTICS: dict[str, Any] = {
    "mip_heuristic_effort": 0.0,
    "mip_detect_symmetry": False,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_heuristic_run_zi_round": False,
    "mip_heuristic_run_shifting": False,
}
"""Branch and bound alone: half the time where programs are small and solved by the hundred."""

_ERROR = " with an error from run()"

_MEANING: dict[str, tuple[Status, Stop]] = {
    "kOptimal": (Status.OPTIMAL, Stop.FINISHED),
    "kModelEmpty": (Status.OPTIMAL, Stop.FINISHED),
    "kInfeasible": (Status.INFEASIBLE, Stop.FINISHED),
    "kTimeLimit": (Status.UNKNOWN, Stop.TIME_LIMIT),
    "kIterationLimit": (Status.UNKNOWN, Stop.ITERATION_LIMIT),
    "kSolutionLimit": (Status.UNKNOWN, Stop.ITERATION_LIMIT),
    "kInterrupt": (Status.UNKNOWN, Stop.INTERRUPTED),
    "kHighsInterrupt": (Status.UNKNOWN, Stop.INTERRUPTED),
}
"""Everything else (solve error, unbounded, memory limit, unknown) stays unknown, with HiGHS's own
word as message.
"""


def solve_with_highs(
    program: LinearProgram,
    *,
    time_limit: float | None = None,
    start: npt.ArrayLike | None = None,
    report: Report | None = None,
    options: dict[str, Any] | None = None,
) -> EngineAnswer:
    """Minimize a linear program; see `solve_program`."""
    import highspy

    clock = Clock(time_limit)  # handing a large program over takes seconds too
    solver = _solver(options)
    unit = unit_of(program.cost)
    loaded = solver.passModel(_model(program, unit))
    if loaded == highspy.HighsStatus.kError:
        return EngineAnswer(Status.UNKNOWN, Stop.FINISHED, message="HiGHS refused the program")
    if start is not None:
        _hint(solver, program, start)
    answer = _run(solver, unit, clock.time_slice(), report)
    # presolve could not tell, or its reductions ended in an error; the simplex can without it
    if answer.message == "kUnboundedOrInfeasible" or answer.message.endswith(_ERROR):
        solver.setOptionValue("presolve", "off")
        answer = _run(solver, unit, clock.time_slice(), report)
    settled = settle(program, answer, _point(solver, program))
    if start is not None and answer.status is Status.OPTIMAL and settled.status is Status.FEASIBLE:
        # 1.16 returns the start in place of a better point that presolve reduces to the same
        again = solve_with_highs(
            program, time_limit=clock.time_slice(), report=report, options=options
        )
        if again.objective is not None and settled.objective is not None:
            return again if again.objective <= settled.objective else settled
    return settled


class WarmStartedProgram:
    """Linear program that grows by rows and columns and is solved again from its last basis.

    For column generation and cutting planes; `solve` answers with row multipliers. `options` are
    HiGHS's own.
    """

    def __init__(self, program: LinearProgram, *, options: dict[str, Any] | None = None) -> None:
        self._solver: Any = _solver(options)
        self._load(program)

    def _load(self, program: LinearProgram) -> None:
        self._cost, self._offset = program.cost, program.offset
        self._unit = unit_of(program.cost)
        self._solver.passModel(_model(program, self._unit))

    def add_columns(
        self,
        cost: Floats,
        upper: Floats,
        starts: npt.ArrayLike,
        rows: npt.ArrayLike,
        values: Floats,
    ) -> None:
        """Append columns with lower bound 0, in compressed column format (starts, rows, values)."""
        number = len(cost)
        self._cost = np.concatenate([self._cost, cost])
        self._solver.addCols(
            number, cost / self._unit, np.zeros(number), upper, len(values),
            np.asarray(starts, dtype=np.int32), np.asarray(rows, dtype=np.int32), values,
        )  # fmt: skip

    def add_rows(
        self, lower: Floats, starts: npt.ArrayLike, columns: npt.ArrayLike, values: Floats
    ) -> None:
        """Append rows without upper bounds, in compressed row format (starts, columns, values)."""
        number = len(lower)
        self._solver.addRows(
            number, lower, np.full(number, np.inf), len(values),
            np.asarray(starts, dtype=np.int32), np.asarray(columns, dtype=np.int32), values,
        )  # fmt: skip

    def bound_row(self, row: int, lower: float, upper: float = np.inf) -> None:
        """Set the bounds of a row; -inf and inf for none."""
        self._solver.changeRowBounds(row, lower, upper)

    def again(self, program: LinearProgram, time_limit: float | None = None) -> EngineAnswer:
        """Solve another program of the same shape from the last basis."""
        basis = self._solver.getBasis()
        self._load(program)
        if basis.valid:
            self._solver.setBasis(basis)
        return self.solve(time_limit)

    def solve(self, time_limit: float | None = None) -> EngineAnswer:
        """Solve the program from its last basis; its solution is not checked for feasibility."""
        unit = unit_of(self._cost)
        if unit != self._unit:  # columns have come whose costs are of another size
            every = np.arange(len(self._cost), dtype=np.int32)
            self._solver.changeColsCost(len(every), every, self._cost / unit)
            self._solver.changeObjectiveOffset(self._offset / unit)
            self._unit = unit
        answer = _run(self._solver, unit, time_limit, None)
        found = self._solver.getSolution()
        if not found.value_valid or not found.dual_valid:
            return answer
        value = float(self._solver.getInfo().objective_function_value) * unit
        return EngineAnswer(
            answer.status, answer.stop, np.array(found.col_value), value, answer.bound,
            answer.message,
            row_dual=np.array(found.row_dual) * unit,
        )  # fmt: skip


def _solver(options: dict[str, Any] | None) -> highspy.Highs:
    import highspy

    with c_output_nowhere():  # the first one prints a banner
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {**_OPTIONS, **(options or {})}.items():
        solver.setOptionValue(name, value)
    solver.HandleUserInterrupt = True
    return solver


def _model(program: LinearProgram, unit: float) -> highspy.HighsLp:
    """HiGHS model of a program, with the objective in the given unit."""
    import highspy

    matrix = program.matrix
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = program.columns, program.rows
    model.col_cost_, model.offset_ = program.cost / unit, program.offset / unit
    model.col_lower_, model.col_upper_ = program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = program.columns, program.rows
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data.astype(float)
    branched = program.integer if program.implied is None else program.integer & ~program.implied
    if branched.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[flag] for flag in branched.tolist()]
    return model


def _hint(solver: highspy.Highs, program: LinearProgram, start: npt.ArrayLike) -> None:
    """Pass a starting point to HiGHS if it is feasible."""
    import highspy

    values = program.rounded(start)
    if program.holds(values):
        solution = highspy.HighsSolution()
        solution.col_value = values.tolist()
        solver.setSolution(solution)


def _run(
    solver: highspy.Highs, unit: float, time_limit: float | None, report: Report | None
) -> EngineAnswer:
    """Run HiGHS and convert its answer; both the run's and the model's status are read, since
    either may be wrong.
    """
    import highspy

    # 1. the callback and the time limit
    progress = Progress(report, "HiGHS")
    outcome: list[Any] = []

    def improved(event: Any) -> None:
        found = event.data_out
        progress.note(found.objective_function_value * unit, found.mip_dual_bound * unit)

    if report is not None:
        solver.cbMipImprovingSolution.subscribe(improved)

    # HiGHS counts from the first run of a solver.
    solver.setOptionValue(
        "time_limit",
        np.inf if time_limit is None else solver.getRunTime() + max(time_limit, LEAST_SECONDS),
    )

    # 2. the run
    def work() -> None:
        with c_output_nowhere():
            outcome.append(solver.run())

    interrupted = run_interruptibly(
        work, solver.cancelSolve, time_limit=time_limit, poll=progress.tell,
        quick=report is None and solver.getNumNz() <= FEW and not solver.getLp().integrality_,
    )  # fmt: skip
    if report is not None:
        solver.cbMipImprovingSolution.unsubscribe(improved)
    # 3. status, stop and bound
    word = str(solver.getModelStatus().name)
    status, stop = _MEANING.get(word, (Status.UNKNOWN, Stop.FINISHED))
    if outcome and outcome[0] == highspy.HighsStatus.kError:
        status = Status.UNKNOWN
        word += _ERROR
    # it may have ended by itself at the same moment: the interrupt is for the whole method all the
    # same
    if interrupted:
        stop = Stop.INTERRUPTED
    elif stop is Stop.INTERRUPTED:
        stop = Stop.TIME_LIMIT  # only our own watch asks it to stop
    # after an error the tree's bound is anything: 0 where the optimum is -8
    bound = None if word.endswith(_ERROR) else _bound(solver, status)
    return EngineAnswer(
        status,
        stop,
        bound=None if bound is None else bound * unit,
        message=word,
        trace=tuple(progress.trace),
    )


def _bound(solver: highspy.Highs, status: Status) -> float | None:
    """Lower bound in HiGHS's unit: of the tree for an integer program, the value of a solved
    continuous one.
    """
    info = solver.getInfo()
    if status is Status.INFEASIBLE:
        return None
    if np.any([kind.name != "kContinuous" for kind in solver.getLp().integrality_]):
        return float(info.mip_dual_bound)
    return float(info.objective_function_value) if status is Status.OPTIMAL else None


def _point(solver: highspy.Highs, program: LinearProgram) -> Floats | None:
    solution = solver.getSolution()
    if not solution.value_valid or len(solution.col_value) != program.columns:
        return None
    return np.array(solution.col_value, dtype=float)
