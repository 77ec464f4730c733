"""Interface to CP-SAT: hand-made models, and linear programs translated to integers with a valid
bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import EngineError, InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.program import LinearProgram
from ..cores import cores
from ..outcome import Clock, Report, Status, Stop
from .answer import EngineAnswer, Floats, Progress, run_interruptibly, settle
from .silence_c_stdout import c_output_nowhere

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

LARGEST_SCALE, FINEST_OBJECTIVE = 10**9, 10**12
"""Coefficients of rows, and of the objective, are multiplied by about this at most to become whole
numbers, by more where all of them are below 1. The objective's rounding is what the bound is loose
by: below the 1e-9 of a value that proofs are held to.
"""

MOST_WORKERS = 8
"""Search threads when nothing else is said, where there are as many cores."""

BY_CORES = ("core", "lb_tree_search")
"""CP-SAT's workers that raise bounds, best first."""

EXACT = 2.0**48
"""Floats below it are less than a tenth apart, so integers are told from each other."""

# the sum of |coefficient| x |largest value| of a row or objective stays below this (int64 is 2**63)
_ROOM = 2**60
# float noise of a row's bounds, beside 1 and beside the bound
_NOISE = 1e-9
# so many units in the last place are the noise of decimals such as .7 + .1, not digits of their own
_ULPS = 4.0


def nearest_integer(bound: float) -> int | None:
    """Round a float that stands for an integer, with an error of a unit or two in the last place;
    None from `EXACT` on, where it is ambiguous.
    """
    return None if abs(bound) >= EXACT else round(bound)


@dataclass(frozen=True)
class CpSatAnswer:
    """Answer of CP-SAT to a hand-made model, in integers.

    Attributes
    ----------
    status, stop : how good, and why it stopped.
    values : value of each variable by its index in the model; None without an answer.
    objective, bound : in the model's own objective; None without one.
    message : CP-SAT's own word.
    trace : (seconds, objective, bound) as they improved.
    """

    status: Status
    stop: Stop
    values: npt.NDArray[np.int64] | None
    objective: float | None
    bound: float | None
    message: str
    trace: tuple[tuple[float, float | None, float | None], ...] = ()

    @property
    def integer_bound(self) -> int | None:
        """Bound as an exact integer, for a model with an integer objective; None without one.

        CP-SAT proves it in 64-bit integers and tells it as a float, see `nearest_integer`.
        """
        return None if self.bound is None else nearest_integer(self.bound)


@validate_options
def solve_cp_sat(
    model: cp_model.CpModel,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    hints: dict[int, int] | None = None,
    by_cores: bool = False,
) -> CpSatAnswer:
    """Solve a CP-SAT model.

    Parameters
    ----------
    model : a `CpModel` with a minimization, a maximization, or no objective.
    time_limit : seconds.
    report : progress.
    hints : variable index -> value, a start that need not be complete.
    by_cores : raise the bound by unsatisfiable cores, with lower-bound tree search beside it, and
        look for no good points: for objectives of very many 0/1 columns that start at zero.
    """
    from ortools.sat.python import cp_model as library

    if not isinstance(model, library.CpModel):
        raise InvalidOption(f"model is a {type(model).__name__}; expected a CpModel of OR-Tools")
    # 1. the start and the settings
    if hints:
        model.clear_hints()  # type: ignore[no-untyped-call]
        for index, value in hints.items():
            model.add_hint(model.get_int_var_from_proto_index(index), value)
    solver = library.CpSolver()
    settings = solver.parameters
    settings.num_workers = min(MOST_WORKERS, cores())
    if by_cores:
        settings.num_workers = min(settings.num_workers, len(BY_CORES))
        settings.subsolvers.extend(BY_CORES)
        # what a single worker goes by, which looks at no list; linear relaxations only slow it down
        settings.optimize_with_core, settings.linearization_level = True, 0
    settings.random_seed = 0
    # Ctrl-C is received by the waiting thread, for every engine alike
    settings.catch_sigint_signal = False
    settings.log_search_progress = False
    # 9.15 adds up coefficients of Booleans in 32 bits there, and proves false optima (#5293)
    settings.presolve_inclusion_work_limit = 0
    settings.relative_gap_limit = 0.0
    settings.absolute_gap_limit = 0.0
    if time_limit is not None:
        settings.max_time_in_seconds = float(time_limit)
    # 2. callbacks for answers and bounds
    has_objective = model.has_objective()
    progress = Progress(report, "CP-SAT")

    class Improvements(library.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            progress.note(self.objective_value, self.best_objective_bound)

    watcher = Improvements() if report is not None and has_objective else None
    bounds: list[float] = []

    def note_bound(bound: float) -> None:
        bounds.append(bound)
        progress.note(None, bound)

    if by_cores:
        solver.best_bound_callback = note_bound

    # 3. the run
    def work() -> None:
        with c_output_nowhere():
            solver.solve(model, watcher)

    interrupted = run_interruptibly(
        work, solver.stop_search, time_limit=time_limit, poll=progress.tell
    )
    # a run cut before its first point reports the bound 0, whatever the objective
    bound = bounds[-1] if bounds else None
    return _read(solver.response_proto, has_objective, interrupted, progress, bound)


def solve_with_cp_sat(
    program: LinearProgram,
    *,
    time_limit: float | None = None,
    start: npt.ArrayLike | None = None,
    report: Report | None = None,
    by_cores: bool = False,
) -> EngineAnswer:
    """Minimize a linear program with CP-SAT; see `solve_program` and `solve_cp_sat`."""
    clock = Clock(time_limit)  # translating a large program takes seconds too
    translated = WholeProgram(program)
    hints = None if start is None else translated.hints(start)
    report = translated.report(report)
    answer = solve_cp_sat(
        translated.model, time_limit=clock.time_slice(), report=report, hints=hints,
        by_cores=by_cores,
    )  # fmt: skip
    bound = None if answer.bound is None else translated.true_bound(answer.bound)
    raw = None if answer.values is None else answer.values / translated.grid
    trace = tuple(
        (seconds, translated.value(o), translated.value(b)) for seconds, o, b in answer.trace
    )
    return settle(
        program,
        EngineAnswer(answer.status, answer.stop, None, None, bound, answer.message, trace),
        raw,
    )


class WholeProgram:
    """Integer translation of a linear program whose optimum is never above the original's.

    Every feasible point of the given program is feasible here at no higher cost, so CP-SAT's bound
    holds for it too:

    - a column that is not integer becomes multiples of 1/grid; its rows are widened by the half
      step lost in rounding;
    - a row is multiplied by the smallest power of ten that makes its coefficients whole, at most by
      `LARGEST_SCALE` (over its largest coefficient, if that is below 1) and as much as int64 holds;
      what is left over is rounded and the row widened by what that can amount to;
    - the objective likewise, up to `FINEST_OBJECTIVE`, with what is left over rounded down.

    A point found here is checked against the given program before it counts.

    Raises
    ------
    EngineError
        A column has no finite bounds, or numbers too large for int64 even unscaled.
    """

    def __init__(self, program: LinearProgram) -> None:
        from ortools.sat.python import cp_model as library

        if not (np.isfinite(program.lower).all() and np.isfinite(program.upper).all()):
            place = int(np.argmin(np.isfinite(program.lower) & np.isfinite(program.upper)))
            raise EngineError(
                f"column {place} has no finite bounds, which CP-SAT needs; use engine='highs'"
            )
        if not program.integer[program.products].all():
            raise EngineError("a product has a column that is not integer")
        self.program = program
        reach = np.maximum(np.abs(program.lower), np.abs(program.upper))
        self.grid = np.where(program.integer, 1.0, _grid(program, reach))
        self._step = np.where(program.integer, 0.0, 0.5 / self.grid)
        self._low = np.where(
            program.integer, np.ceil(program.lower), np.floor(program.lower * self.grid)
        ).astype(np.int64)
        self._high = np.where(
            program.integer, np.floor(program.upper), np.ceil(program.upper * self.grid)
        ).astype(np.int64)
        self.model: Any = library.CpModel()
        self._weighted_sum = library.LinearExpr.weighted_sum
        self.columns = [
            self.model.new_int_var(low, max(low, high), "")
            for low, high in zip(self._low.tolist(), self._high.tolist(), strict=True)
        ]
        if (self._low > self._high).any():  # a column without an integer between its bounds
            self.model.add_bool_or()
        self._rows()
        for product, left, right in program.products.tolist():
            factors = [self.columns[left], self.columns[right]]
            self.model.add_multiplication_equality(self.columns[product], factors)
        self._objective()

    def true_bound(self, bound: float) -> float:
        """Lower bound on the original objective from one on the translated objective."""
        return (bound + self._slack) / self.scale + self.program.offset

    def value(self, objective: float | None) -> float | None:
        """Convert an objective of the translated program to the original unit, up to rounding."""
        return None if objective is None else objective / self.scale + self.program.offset

    def report(self, report: Report | None) -> Report | None:
        """Progress callback that converts translated objectives to the original unit."""
        if report is None:
            return None
        return lambda seconds, objective, bound, text: report(
            seconds, self.value(objective), self.value(bound), text
        )

    def hints(self, start: npt.ArrayLike) -> dict[int, int]:
        """Start point of the original program as integers."""
        values = np.round(self.program.rounded(start) * self.grid).astype(np.int64).tolist()
        return dict(enumerate(values))

    def _rows(self) -> None:
        # rows of whole numbers as they are, all at once: the loop over the others is slow
        program, matrix = self.program, self.program.matrix
        extent = np.maximum(np.abs(self._low), np.abs(self._high)).astype(float)
        fraction = (matrix.data != np.round(matrix.data)) | ~program.integer[matrix.indices]
        of = np.repeat(np.arange(program.rows), np.diff(matrix.indptr))
        plain = np.bincount(of[fraction], minlength=program.rows) == 0
        plain &= abs(matrix) @ extent <= _ROOM
        noise = _NOISE * (
            1 + np.abs(np.where(np.isfinite(program.row_lower), program.row_lower, 0))
        )
        least = _outward(np.ceil(program.row_lower - noise)).tolist()
        most = _outward(np.floor(program.row_upper + noise)).tolist()
        columns, values = matrix.indices.tolist(), matrix.data.tolist()
        for row, (first, last) in enumerate(pairwise(matrix.indptr.tolist())):
            low, high, coefficients = least[row], most[row], values[first:last]
            if not plain[row]:
                low, high, coefficients = self._whole_row(row, extent)
            # no integer in between: an empty clause is false (CP-SAT refuses empty domains)
            if low > high:
                self.model.add_bool_or()
                continue
            terms = [self.columns[column] for column in columns[first:last]]
            total = self._weighted_sum(terms, [int(value) for value in coefficients])
            self.model.add_linear_constraint(total, low, high)

    def _whole_row(self, row: int, extent: Floats) -> tuple[int, int, list[float]]:
        """Bounds and coefficients of a row scaled to integers, relaxed by the maximum rounding
        error.
        """
        program = self.program
        part = slice(program.matrix.indptr[row], program.matrix.indptr[row + 1])
        where = program.matrix.indices[part]
        exact = program.matrix.data[part] / self.grid[where]
        lower, upper = program.row_lower[row], program.row_upper[row]
        widen = float(np.abs(program.matrix.data[part]) @ self._step[where])
        scale = _scale(exact, extent[where], self.grid[where], f"row {row}")
        whole = np.round(exact * scale)
        widen = widen * scale + float(np.abs(_leftover(exact * scale, whole)) @ extent[where])
        widen += _NOISE * (1 + abs(scale * lower if np.isfinite(lower) else 0.0))
        least, most = _outward(np.ceil([lower * scale - widen, -(upper * scale + widen)])).tolist()
        return least, -most, whole.tolist()

    def _objective(self) -> None:
        program = self.program
        where = np.flatnonzero(program.cost)
        exact = program.cost[where] / self.grid[where]
        extent = np.maximum(np.abs(self._low), np.abs(self._high)).astype(float)[where]
        self.scale = _scale(exact, extent, self.grid[where], "the objective", FINEST_OBJECTIVE)
        scaled = exact * self.scale
        nearest = np.round(scaled)
        coefficients = np.where(_leftover(scaled, nearest) == 0.0, nearest, np.floor(scaled))
        leftover = _leftover(
            scaled, coefficients
        )  # at least 0, so only a negative column can make it worth less than nothing
        self._slack = float(leftover @ np.minimum(0.0, self._low[where].astype(float)))
        self._slack -= float(np.abs(program.cost) @ self._step) * self.scale
        if len(where):
            terms = [self.columns[column] for column in where.tolist()]
            self.model.minimize(self._weighted_sum(terms, coefficients.astype(np.int64).tolist()))


def _scale(
    coefficients: Floats, extent: Floats, grid: Floats, what: str, most: int = LARGEST_SCALE
) -> float:
    """Power of ten by which coefficients become integers, or nearly so. It is limited by about
    `most` and by 64-bit sums; what it leaves over is rounded.
    """
    total = float(np.abs(coefficients) @ extent)
    largest = (
        most
        * float(np.max(grid, initial=1.0))
        / min(1.0, float(np.abs(coefficients).max(initial=0.0)) or 1.0)
    )
    scale = 1.0
    while scale < largest and _leftover(coefficients * scale, np.round(coefficients * scale)).any():
        scale *= 10.0
    while scale > 1.0 and total * scale > _ROOM:
        scale /= 10.0
    if total * scale > _ROOM:
        raise EngineError(
            f"{what} reaches {total:.1e}, beyond CP-SAT's 64-bit numbers; use engine='highs'"
        )
    return scale


def _leftover(scaled: Floats, whole: Floats) -> Floats:
    """Differences of scaled numbers from integers, with float noise counted as 0."""
    difference = scaled - whole
    noise = _ULPS * np.finfo(float).eps * np.abs(scaled)
    return np.where(np.abs(difference) <= noise, 0.0, difference)


def _grid(program: LinearProgram, reach: Floats) -> Floats:
    """Steps per unit (columns,) by which continuous columns become integers: powers of ten.

    A column with decimals for coefficients gets coarser steps, for the digits of both have to share
    64 bits.
    """
    decimal = np.zeros(program.columns, dtype=bool)
    decimal[program.matrix.indices[program.matrix.data != np.round(program.matrix.data)]] = True
    return np.asarray(
        10.0 ** np.clip(12 - np.ceil(np.log10(np.maximum(reach, 1.0))), 3, np.where(decimal, 8, 10))
    )


def _outward(bounds: Floats) -> npt.NDArray[np.int64]:
    return np.clip(bounds, -(2.0**62), 2.0**62).astype(np.int64)


def _read(
    response: Any, has_objective: bool, interrupted: bool, progress: Progress, bound: float | None
) -> CpSatAnswer:
    """Convert a CP-SAT response; `bound` is the last one reported during the solve."""
    word = str(response.status.name)
    status = {
        "OPTIMAL": Status.OPTIMAL,
        "FEASIBLE": Status.FEASIBLE,
        "INFEASIBLE": Status.INFEASIBLE,
    }.get(word, Status.UNKNOWN)
    if word == "MODEL_INVALID":
        raise EngineError("CP-SAT calls the model invalid; its numbers may be too large")
    found = status in (Status.OPTIMAL, Status.FEASIBLE)
    if interrupted:
        stop = Stop.INTERRUPTED
    elif status in (Status.OPTIMAL, Status.INFEASIBLE):
        stop = Stop.FINISHED
    else:
        stop = Stop.TIME_LIMIT
    objective = None
    if has_objective and found:
        objective, bound = float(response.objective_value), float(response.best_objective_bound)
    elif found:
        objective = bound = 0.0
    values = np.array(response.solution, dtype=np.int64) if found else None
    return CpSatAnswer(status, stop, values, objective, bound, word, tuple(progress.trace))
