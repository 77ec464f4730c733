"""Runs in processes of their own: a hard limit around each, a death takes its cell only."""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import fields
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Literal, Self

from ...instances.problem.errors import EngineError, InvalidOption
from ...solvers.engines import START_LIMIT, Child
from ...solvers.engines.answer import start_thread
from ...solvers.interrupts import Interrupts
from .cell import Cell, failed_row, run_cell
from .own_functions import why_other_code
from .rows import Row

HARD_FACTOR, HARD_EXTRA = 2.0, 20.0
"""The hard limit of a run: so many times its time limit, and so many seconds more."""

INTERRUPT_GRACE = 10.0
"""Seconds that the runs going on have after Ctrl-C to hand in the best they have."""

_POLL = 0.2

What = Literal["row", "failed", "interrupted"]
CellOutcome = tuple[What, Any]
"""What came of a cell: its row, or why it failed, or that Ctrl-C ended it with nothing to keep."""


def hard_limit(time_limit: float | None) -> float | None:
    """Seconds after which a run is stopped: 2 x `time_limit` + 20 s; None without a limit."""
    return None if time_limit is None else HARD_FACTOR * time_limit + HARD_EXTRA


def limit_of(cell: Cell, given: float | None) -> float | None:
    """The hard limit of a cell: the one given, else the rule's; a proof takes as long again."""
    if given is not None or cell.time_limit is None:
        return given
    return hard_limit(cell.time_limit * cell.parts)


def overran_text(limit: float, time_limit: float | None) -> str:
    """Why a run was stopped, in words."""
    if time_limit is None or limit <= time_limit:
        return f"was stopped at its hard limit of {limit:g} s"
    return f"passed its limit of {time_limit:g} s by {limit - time_limit:g} s and was stopped"


def pickled_cell(cell: Cell) -> bytes:
    """A cell without its instance, for another process; raises InvalidOption when the method or an
    option cannot be had there.
    """
    if "<" in getattr(cell.method, "__qualname__", ""):
        raise _unsendable(
            cell, "a lambda, or a function made inside another one, has no name to import it by"
        )
    rest = {
        entry.name: getattr(cell, entry.name) for entry in fields(cell) if entry.name != "instance"
    }
    try:
        frame = pickle.dumps(rest)
    except Exception as error:
        raise _unsendable(cell, f"{type(error).__name__}: {error}") from None
    if b"__main__" in frame:
        raise _unsendable(cell, "it is defined in the script that is running")
    return frame


def why_unpicklable(frame: bytes) -> str:
    """Why the process that is to run a pickled cell cannot open it; "" when it can."""
    try:
        pickle.loads(frame)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def user_functions(cells: Sequence[Cell]) -> dict[bytes, Cell]:
    """One pickled cell for each function of the user's: other processes may lack it."""
    own = {cell.name: cell for cell in cells if not isinstance(cell.method, str)}
    return {pickled_cell(cell): cell for cell in own.values()}


def refuse_unpicklable(found: dict[bytes, Cell], opened: Callable[[bytes], str]) -> None:
    """Raise InvalidOption for the first that `opened` gives a reason against."""
    for frame, cell in found.items():
        if why := opened(frame):
            raise _unsendable(cell, why)


def _unsendable(cell: Cell, why: str) -> InvalidOption:
    return InvalidOption(
        f"method {cell.name!r} or its options cannot be used in another process ({why}); put the "
        "function into a module that can be imported there, or leave out jobs and dask"
    )


def run_pickled_cell(frame: bytes, instance: bytes) -> Row:
    """Run a pickled cell; what the child calls."""
    cell = Cell(instance=pickle.loads(instance), **pickle.loads(frame))
    if why := why_other_code(cell.own, cell.code):
        return failed_row(cell, EngineError(f"{cell.name} was not run: {why}"))
    return run_cell(cell)


class Worker:
    """Runs cells one at a time in a child, which is started when it is needed and replaced when it
    had to be ended.

    Parameters
    ----------
    processes : how many such children share this machine's cores.
    """

    def __init__(self, processes: int = 1) -> None:
        self._processes = processes
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._stopped = False
        self._worked = False

    def run(
        self, frame: bytes, instance: bytes, limit: float | None, time_limit: float | None
    ) -> CellOutcome:
        """Run a pickled cell; its end, or EngineError when no process can be started."""
        with self._lock:
            if self._stopped:
                return "interrupted", None
            child = self._ready_child()
            child.ask(run_pickled_cell, frame, instance, limit=limit)
        reply = child.answer(limit)
        self._worked |= child.started
        if reply.kind == "done":
            return "row", reply.value
        if reply.kind == "raised":
            return "failed", reply.value
        if reply.kind == "interrupted" and not self._stopped:
            return "failed", "was interrupted"
        end = child.end() if reply.kind in ("died", "overran") else ""
        if self._stopped:
            return "interrupted", None
        if not child.started:
            how = f"is not ready after {START_LIMIT:g} s" if reply.kind == "overran" else end
            if not self._worked:  # not this cell's fault
                raise EngineError(f"a process for the runs does not start: it {how}")
            return "failed", f"its process did not start: it {how}"
        if reply.kind == "overran" and limit is not None:
            return "failed", overran_text(limit, time_limit)
        return "failed", f"its process {end}"

    def opened(self, frame: bytes) -> str:
        """`why_unpicklable` in the child."""
        child = self._ready_child()
        child.ask(why_unpicklable, frame)
        reply = child.answer()
        return str(reply.value) if reply.kind == "done" else f"its process {child.end()}"

    def interrupt(self) -> None:
        """Ask the run going on for the best it has; no other is begun. From any thread."""
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.interrupt(INTERRUPT_GRACE)

    def end(self) -> None:
        """End the child, whatever it is doing."""
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.end()

    def _ready_child(self) -> Child:
        if self._child is not None and not self._child.fresh:
            self._child.end()
            self._child = None
        if self._child is None:
            try:
                self._child = Child(leads=True, processes=self._processes)
            except OSError as error:
                raise EngineError(
                    f"a process for the runs does not start: {error.strerror}"
                ) from None
        return self._child


class Processes:
    """Runs cells in `jobs` processes on this machine.

    Parameters
    ----------
    jobs : how many.
    limit : hard limit in seconds of every run; None for `hard_limit` of its time limit.
    stopping : called when Ctrl-C is received, before the rows that are still handed in.
    """

    def __init__(
        self, jobs: int, limit: float | None = None, stopping: Callable[[], None] | None = None
    ) -> None:
        self._jobs, self._limit, self._stopping = jobs, limit, stopping
        self._waiting: deque[tuple[Cell, bytes]] = deque()
        self._workers: list[Worker] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self._waiting.clear()
        for worker in self._workers:
            worker.end()
        for thread in self._threads:
            thread.join()

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Refuse, before any work, what cannot be had in another process."""
        self._waiting.extend((cell, pickled_cell(cell)) for cell in cells)
        number = min(self._jobs, len(cells))
        self._workers = [Worker(number) for _ in range(number)]
        if found := user_functions(cells):
            refuse_unpicklable(found, self._workers[0].opened)

    def rows(self) -> Generator[Row]:
        """The rows as they come; after Ctrl-C those of the grace, and then KeyboardInterrupt."""
        outcomes: SimpleQueue[tuple[Cell, CellOutcome] | BaseException | None] = SimpleQueue()
        going = len(self._workers)
        with Interrupts(lambda: outcomes.put(None)) as interrupts:
            for worker in self._workers:
                self._threads.append(
                    start_thread(partial(self._work, worker, outcomes), "cotenant-worker")
                )
            while going:
                try:
                    entry = outcomes.get(timeout=_POLL)
                # a signal that the system gave to another thread is received between two waits only
                except Empty:
                    continue
                if entry is None:
                    self._interrupt()
                elif isinstance(entry, _Done):
                    going -= 1
                elif isinstance(entry, BaseException):
                    raise entry
                elif (row := row_of(*entry)) is not None:
                    yield row
            if interrupts.received:
                raise KeyboardInterrupt

    def _interrupt(self) -> None:
        if self._stopping is not None:
            self._stopping()
        self._waiting.clear()
        for worker in self._workers:
            worker.interrupt()

    def _work(
        self, worker: Worker, outcomes: SimpleQueue[tuple[Cell, CellOutcome] | BaseException | None]
    ) -> None:
        """One worker's thread: cells until there are none."""
        try:
            while True:
                try:
                    cell, frame = self._waiting.popleft()
                except IndexError:
                    break
                limit = limit_of(cell, self._limit)
                outcomes.put(
                    (cell, worker.run(frame, pickle.dumps(cell.instance), limit, cell.time_limit))
                )
        except BaseException as error:
            outcomes.put(error)
        outcomes.put(_Done())
        worker.end()  # here, so that many children leave at the same time


class _Done(Exception):
    """A worker's thread has no more cells."""


def row_of(cell: Cell, outcome: CellOutcome) -> Row | None:
    """The row that what came of a cell makes; None when there is nothing to keep."""
    what, value = outcome
    if what == "row":
        row: Row = value
        row["key"] = cell.key  # as here: an option may have another repr there
        return row
    return failed_row(cell, EngineError(value)) if what == "failed" else None
