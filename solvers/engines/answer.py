"""Answer of an engine, and the way all engines are run: one at a time, interruptible, with points
checked by this package.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import EngineError, InvalidOption, ShortOfMemory
from ...models.program import LinearProgram, unit_of
from ..interrupts import deferred
from ..memory import sentence
from ..outcome import Report, Status, Stop

Floats = npt.NDArray[np.float64]

LOCK = threading.RLock()
"""One solver call at a time in a process: Pyomo is not thread-safe, and a user's cluster may have
threaded workers.
"""

EngineName = Literal["highs", "cp-sat"]

NOISE = 1e-6
"""A solver's bound may pass its own value by this much, relative to 1 (or the `unit_of` smaller
costs) + |value|; more is a contradiction.
"""

_POLL = 0.05  # seconds between two looks at a running solver
_GRACE = 0.5  # seconds a solver may pass its own time limit before it is asked to stop


@dataclass(frozen=True, eq=False)
class EngineAnswer:
    """Answer of an engine: status, point, objective, bound.

    Attributes
    ----------
    status, stop : how good the answer is, and why the engine stopped.
    point : (columns,) the best point, integer columns rounded, checked against the rows; None when
        there is none.
    objective : its value, recomputed by us.
    bound : a proved lower bound on the objective; None without one; inf never.
    message : the engine's own words, and whatever had to be corrected.
    trace : (seconds, objective, bound) as they improved.
    row_dual : (rows,) multipliers of a continuous program, else None; row_dual @ row is what a
        row's bound is worth.
    names : (columns,) the program's, if it has any.
    """

    status: Status
    stop: Stop
    point: Floats | None = None
    objective: float | None = None
    bound: float | None = None
    message: str = ""
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    row_dual: Floats | None = field(default=None, repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)

    def load(self, model: Any) -> None:
        """Set the variables of a Pyomo model to the values of the point, by name.

        Parameters
        ----------
        model : the model that `from_pyomo` took. A variable that stands in no row and no objective
            is in no program: it gets 0, or the bound nearest to it.

        Raises
        ------
        InvalidOption
            There is no point, or the program came from another model.
        """
        import pyomo.environ as pyo

        if self.point is None:
            raise InvalidOption(f"the answer is {self.status}: it has no point to load")
        values = dict(zip(self.names, self.point.tolist(), strict=False))
        variables = list(model.component_data_objects(pyo.Var))
        known = {variable.name for variable in variables}
        if not values or not set(values) <= known:
            odd = next((name for name in self.names if name not in known), "none")
            raise InvalidOption(
                f"the answer's columns ({odd}, ...) are not variables of this model; load it into "
                "the model that from_pyomo took"
            )
        for variable in variables:
            if not variable.fixed:
                value = values.get(variable.name)
                if value is None:
                    value = min(
                        max(0.0, variable.lb or 0.0), np.inf if variable.ub is None else variable.ub
                    )
                variable.set_value(value, skip_validation=True)


def settle(program: LinearProgram, answer: EngineAnswer, raw: npt.ArrayLike | None) -> EngineAnswer:
    """Round and check the engine's point, recompute its objective, and cap the bound at it.

    A claim that does not survive is lowered: a point that breaks a row is dropped and the status
    becomes unknown; a point in hand after a solver error is kept as feasible; a bound above the
    value by more than noise makes the whole answer unknown, for one of the two must be wrong.
    """
    status, message = answer.status, answer.message
    if status is Status.INFEASIBLE or raw is None:
        lowered = Status.UNKNOWN if status in (Status.OPTIMAL, Status.FEASIBLE) else status
        return replace(
            answer, status=lowered, point=None, objective=None, bound=_finite(answer.bound)
        )
    point = program.rounded(raw)
    if not program.holds(point):
        worst = f"its point breaks the program by {program.violation(point):.1e}"
        return replace(
            answer,
            status=Status.UNKNOWN,
            bound=_finite(answer.bound),
            message=_joined(message, worst),
        )
    objective, bound = program.objective(point), _finite(answer.bound)
    if bound is not None:
        excess = bound - objective
        noise = NOISE * (min(1.0, unit_of(program.cost)) + abs(objective))
        if excess > noise:
            contradiction = f"the bound {bound:.9g} is above the value {objective:.9g}"
            return replace(
                answer, status=Status.UNKNOWN, point=point, objective=objective, bound=None,
                message=_joined(message, contradiction),
            )  # fmt: skip
        bound = min(bound, objective)
        if status is Status.OPTIMAL and objective - bound > noise:
            status, message = Status.FEASIBLE, _joined(message, "its bound stays below the value")
    elif status is Status.OPTIMAL:
        status = Status.FEASIBLE
    if status is Status.UNKNOWN:
        status = Status.FEASIBLE
    return replace(
        answer, status=status, point=point, objective=objective, bound=bound, message=message
    )


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread that is not interrupted while it starts.

    Raises
    ------
    ShortOfMemory
        The machine starts no more threads.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    with deferred():
        try:
            thread.start()
        except RuntimeError as error:
            raise ShortOfMemory(sentence(str(error))) from None
    return thread


def run_interruptibly(
    work: Callable[[], None],
    stop: Callable[[], None],
    *,
    time_limit: float | None = None,
    poll: Callable[[], None] | None = None,
    quick: bool = False,
) -> bool:
    """Run `work` in a thread; Ctrl-C calls `stop` and waits for its best answer. If `quick`, run it
    in this thread.

    A solver's own C++ loop never sees Python's signals, and a handler that raises inside its
    callback would tear it down half-way. A second Ctrl-C gives up at once. Returns whether the run
    was interrupted.
    """
    failure: list[BaseException] = []
    done = threading.Event()

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    # 1. start the work, in a thread of its own
    interrupted = False
    with LOCK, deferred() as put_off:
        deadline = None if time_limit is None else time.perf_counter() + time_limit + _GRACE
        thread = None if quick else start_thread(guarded, "cotenant-engine")
        if thread is None:
            guarded()
        # 2. wait for it; Ctrl-C, the deadline or an error of `poll` stop it
        waiting = True
        abandoned: BaseException | None = None
        while waiting:
            waiting = not done.wait(_POLL)
            try:
                put_off.deliver()
                if poll is not None and not interrupted:
                    poll()
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
            except BaseException as error:  # the solver is not left running behind it
                interrupted, abandoned = True, error
            if waiting and (
                interrupted or (deadline is not None and time.perf_counter() > deadline)
            ):
                # asked again and again, since a solver that has not begun yet does not hear it
                stop()
        # 3. errors of the callbacks and of the work
        if thread is not None:
            thread.join()
        if abandoned is not None:
            raise abandoned
    if failure and isinstance(failure[0], KeyboardInterrupt):  # a second one, in this thread
        raise failure[0]
    if failure:
        raise EngineError(
            f"{type(failure[0]).__name__} in the solver library: {failure[0]}"
        ) from failure[0]
    return interrupted


class Progress:
    """Improvements recorded by the solver's thread and reported by the waiting thread."""

    def __init__(self, report: Report | None, text: str) -> None:
        self._start = time.perf_counter()
        self._report = report
        self._text = text
        self._reported = 0
        self.trace: list[tuple[float, float | None, float | None]] = []

    def note(self, objective: float | None, bound: float | None) -> None:
        """Record an improvement and return at once; called by the solver's thread."""
        entry = (_finite(objective), _finite(bound))
        if not self.trace or self.trace[-1][1:] != entry:
            self.trace.append((time.perf_counter() - self._start, *entry))

    def tell(self) -> None:
        """Hand new improvements to `report` in the waiting thread; may raise KeyboardInterrupt."""
        while self._reported < len(self.trace):
            entry = self.trace[self._reported]
            self._reported += 1
            if self._report is not None:
                self._report(*entry, self._text)


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)
