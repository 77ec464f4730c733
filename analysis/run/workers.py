"""Runners of the cells of a comparison: in this process, in others, or on an executor, such as that
of a Dask scheduler. Each process of an executor runs a cell in a child, under a hard limit, and the
death of that child is a failed row.

Everything that an executor is given is bytes, of which the process that takes a cell reads only the
version of this package; its child opens the rest.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import partial
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal

from ...instances.problem.errors import (
    CotenantError,
    EngineError,
    InvalidOption,
    ShortOfMemory,
    install,
)
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.engines import START_LIMIT, Child, call_in_subprocess
from ...solvers.engines.answer import start_thread
from ...solvers.engines.child import Reply
from ...solvers.interrupts import Interrupts
from ...solvers.memory import sentence
from ...solvers.outcome import Stop
from .cell import Cell, failed_row, run_cell
from .own_functions import why_other_code
from .progress import Progress
from .result import fingerprint, versions
from .rows import Row

HARD_FACTOR, HARD_EXTRA = 2.0, 20.0
"""The hard limit of a run: so many times its time limit, and so many seconds more."""

INTERRUPT_GRACE = 10.0
"""Seconds that the runs going on have after Ctrl-C to hand in the best they have."""

_HAND_IN = 5.0  # seconds more in which an executor brings what they handed in
_POLL = 0.2
RESUME = "with --out the rows so far are kept; to go on from there, give the same command again"

CellOutcome = tuple[Literal["row", "failed", "interrupted", "refused", "unopened"], Any]
"""What came of a cell: its row, or why it failed, or that Ctrl-C ended it with nothing to keep, or
why this worker runs none, or cannot open this one.
"""


def pickled_cell(cell: Cell) -> bytes:
    """Cell without its instance, for another process; raises InvalidOption when the method or an
    option cannot be pickled.
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
    """Message if this process cannot open a pickled cell; "" when it can."""
    try:
        pickle.loads(frame)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def pickled_cells(cells: Sequence[Cell]) -> list[tuple[Cell, bytes]]:
    """Cells with their pickles; raises InvalidOption for one that no other process can run."""
    calls = [(cell, pickled_cell(cell)) for cell in cells]
    own = {cell.name: (cell, frame) for cell, frame in calls if callable(cell.method)}
    for cell, frame in own.values():
        if why := call_in_subprocess(why_unpicklable, frame):
            raise _unsendable(cell, why)
    return calls


def _unsendable(cell: Cell, why: str) -> InvalidOption:
    return InvalidOption(
        f"method {cell.name!r} or its options cannot be used in another process ({why}); put the "
        "function into a module that can be imported there, or leave out jobs and executor"
    )


# 1. What runs where an executor has a cell run.


def run_there(call: bytes, instance: bytes, processes: int = 1) -> CellOutcome:
    """Run a cell in a child of this process; the function that executors call.

    Parameters
    ----------
    call : the pickled version of this package, token of the comparison, pickled cell, hard limit
        and time limit.
    instance : pickled.
    processes : how many cells run on this machine at the same time, and share its cores.
    """
    version, token, frame, limit, time_limit = pickle.loads(call)
    here = versions().get("cotenant")
    if version != here:
        return "refused", (
            f"a worker of the executor has cotenant {here}, and this is {version}; install "
            f"{version} there and start it again"
        )
    # In the main thread, as in the processes of a pool, Ctrl-C at a terminal is received here too;
    # its handler may find this thread with the lock that interrupting takes.
    interrupt = partial(interrupt_runs, token)
    with Interrupts(lambda: start_thread(interrupt, "cotenant-interrupting")):
        return _children(token).run(frame, instance, limit, time_limit, processes)


def run_pickled_cell(frame: bytes, instance: bytes) -> Row | str:
    """Run a pickled cell in a child; returns a message if it cannot be opened."""
    if why := why_unpicklable(frame):
        return why
    cell = Cell(instance=pickle.loads(instance), **pickle.loads(frame))
    if why := why_other_code(cell.own, cell.code):
        return failed_row(cell, EngineError(f"{cell.name} was not run: {why}"))
    return run_cell(cell)


def interrupt_runs(token: str) -> None:
    """Request the best answers so far from a comparison's runs in this process; start no others."""
    _children(token).interrupt()


_CHILDREN: dict[str, Children] = {}
"""By the token of the comparison."""


def _children(token: str) -> Children:
    """Child processes of this process for the cells of one comparison, by its token. Idle children
    of other comparisons are dropped, since a worker is not told when a comparison is over.
    """
    if token not in _CHILDREN:
        for other, children in list(_CHILDREN.items()):
            if children.waiting:
                _CHILDREN.pop(other, None)
    return _CHILDREN.setdefault(token, Children())


class Children:
    """Child processes of this process that run one comparison's cells, as many as run at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: list[Child] = []
        self._idle: list[Child] = []
        self._stopped = self._worked = False

    def run(
        self,
        frame: bytes,
        instance: bytes,
        limit: float | None,
        time_limit: float | None,
        processes: int,
    ) -> CellOutcome:
        """Run a pickled cell and return its outcome; EngineError if no process can be started."""
        # The call is made while the lock is held: an interrupt comes before it, or reaches it.
        with self._lock:
            if self._stopped:
                return "interrupted", None
            child = self._ready_child(processes)
            child.ask(run_pickled_cell, frame, instance, limit=limit)
            self._busy.append(child)
        reply = Reply("died")
        try:
            reply = child.answer(limit)
        finally:
            self._worked |= child.started
            end = child.end() if reply.kind in ("died", "overran") else ""
            with self._lock:
                self._busy.remove(child)
                if child.fresh:
                    self._idle.append(child)
        if reply.kind == "done":
            return ("unopened" if isinstance(reply.value, str) else "row"), reply.value
        if reply.kind == "raised":
            return "failed", reply.value
        if self._stopped:
            return "interrupted", None
        if reply.kind == "interrupted":
            return "failed", "was interrupted"
        if not child.started:
            how = f"is not ready after {START_LIMIT:g} s" if reply.kind == "overran" else end
            if not self._worked:  # not this cell's fault
                raise EngineError(f"a process for the runs does not start: it {how}")
            return "failed", f"its process did not start: it {how}"
        if reply.kind == "overran" and limit is not None:
            if time_limit is None or limit <= time_limit:
                return "failed", f"was stopped at its hard limit of {limit:g} s"
            passed = f"passed its limit of {time_limit:g} s by {limit - time_limit:g} s"
            return "failed", f"{passed} and was stopped"
        return "failed", f"its process {end}"

    def interrupt(self) -> None:
        """Request the best answers of the runs in progress; start no others. From any thread."""
        with self._lock:
            self._stopped = True
            for child in self._busy:
                child.interrupt(INTERRUPT_GRACE)

    def end(self) -> None:
        """End every child at once; start no others. From any thread."""
        with self._lock:
            self._stopped = True
            ending, self._idle = [*self._busy, *self._idle], []
        for thread in [start_thread(child.end, "cotenant-ending") for child in ending]:
            thread.join()

    @property
    def waiting(self) -> bool:
        """Whether no child runs a cell, and more may be started."""
        return not (self._busy or self._stopped)

    def _ready_child(self, processes: int) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.fresh:
                return child
            child.end()
        try:
            return Child(leads=True, processes=processes)
        except OSError as error:
            raise EngineError(f"a process for the runs does not start: {error.strerror}") from None


# 2. What has them run.


class OnExecutor:
    """Runner of cells on an executor, or in processes of this machine.

    Parameters
    ----------
    calls : cells with their pickles.
    executor : see `compare`; None for a pool of `jobs` threads, each of which waits for a child.
    jobs : how many cells run on one machine at a time.
    limit : hard limit in seconds of every run; None for 2 x its time limit + 20 s.
    stopping : called when Ctrl-C is received, before the rows that are still handed in.
    """

    def __init__(
        self,
        calls: Sequence[tuple[Cell, bytes]],
        executor: Executor | None,
        jobs: int,
        limit: float | None = None,
        stopping: Callable[[], None] | None = None,
    ) -> None:
        self._calls = calls
        self._executor, self._jobs, self._limit = executor, jobs, limit
        self._stopping = stopping
        self._pool: ThreadPoolExecutor | None = None
        self._token = uuid.uuid4().hex
        self._going: dict[Future[CellOutcome], Cell] = {}

    def rows(self) -> Generator[Row]:
        """Yield each row when its run ends; after Ctrl-C only the rows that come within the grace
        period, then raise KeyboardInterrupt. Runs in progress end with the generator.
        """
        try:
            yield from self._rows()
        finally:
            for future in list(self._going):
                future.cancel()
            _children(self._token).end()
            if self._pool is not None:
                self._pool.shutdown()
            _CHILDREN.pop(self._token, None)

    def _rows(self) -> Generator[Row]:
        finished: SimpleQueue[Future[CellOutcome] | None] = SimpleQueue()
        with Interrupts(lambda: finished.put(None)) as interrupts:
            self._submit(finished)
            ends = float("inf")
            while self._going and time.monotonic() < ends:
                try:
                    future = finished.get(timeout=_POLL)
                # a signal that the system gave to another thread is received between two waits only
                except Empty:
                    continue
                if future is None:
                    if self._stopping is not None:
                        self._stopping()
                    ends = time.monotonic() + INTERRUPT_GRACE + _HAND_IN
                    interrupt_runs(self._token)
                    if self._pool is None:
                        for each in list(self._going):  # what runs goes on
                            each.cancel()
                elif (cell := self._going.pop(future, None)) is not None and (
                    row := self._row(cell, future, stopped=interrupts.received)
                ):
                    yield row
            if interrupts.received:
                raise KeyboardInterrupt

    def _submit(self, finished: SimpleQueue[Future[CellOutcome] | None]) -> None:
        """Submit every cell to the executor in the tables' order; done futures go to `finished`."""
        executor = self._executor
        if executor is None:
            executor = self._pool = ThreadPoolExecutor(self._jobs, "cotenant-run")
        version, instances = versions().get("cotenant"), dict[str, bytes]()
        try:
            for cell, frame in self._calls:
                mark = fingerprint(cell.instance) + cell.instance.name
                if mark not in instances:
                    instances[mark] = pickle.dumps(cell.instance)
                limit = self._limit
                if limit is None and cell.time_limit is not None:  # a proof takes as long again
                    limit = HARD_FACTOR * cell.time_limit * cell.parts + HARD_EXTRA
                call = pickle.dumps((version, self._token, frame, limit, cell.time_limit))
                future = executor.submit(run_there, call, instances[mark], self._jobs)
                self._going[future] = cell
                future.add_done_callback(finished.put)
        except (RuntimeError, BrokenExecutor) as error:
            if self._pool is not None:
                raise ShortOfMemory(sentence(str(error))) from None
            raise EngineError(f"the executor takes no runs: {error}; {RESUME}") from None

    def _row(self, cell: Cell, future: Future[CellOutcome], *, stopped: bool) -> Row | None:
        """Row of a finished future of a cell; None when there is nothing to keep."""
        try:
            what, value = future.result()
        except CancelledError:
            if stopped:
                return None
            raise EngineError(f"the executor canceled its runs; {RESUME}") from None
        except BrokenExecutor as error:
            why = " ".join(str(error).split())
            raise EngineError(f"the executor is broken ({why}); {RESUME}") from None
        except CotenantError:
            raise
        except Exception as error:
            what, value = (
                "failed",
                f"its executor failed: {type(error).__name__}: {error}".partition(". ")[0],
            )
        if what in ("refused", "unopened"):
            raise _unsendable(cell, value) if what == "unopened" else InvalidOption(value)
        if what == "failed":
            return failed_row(cell, EngineError(value))
        if what == "interrupted":
            return None
        row: Row = value
        row["key"] = cell.key  # as here: an option may have another repr there
        return row


ANSWER_SECONDS = 4.0
"""How long a scheduler, and then its first worker, have to answer."""


@validate_options
@dataclass(frozen=True)
class RunSettings:
    """Settings of where the cells of a comparison run, the user's measures, and callbacks; see
    `compare`.

    Raises
    ------
    InvalidOption
        The settings contradict each other, or are impossible.
    """

    jobs: Annotated[int, AtLeast(1, "a number of processes")] | None = None
    executor: Executor | None = None
    hard_limit: Annotated[float, Above(0, "seconds", cure="none is 2 x time_limit + 20")] | None = (
        None
    )
    shard: tuple[int, int] | None = None
    progress: Progress | bool = True
    stopping: Callable[[], None] | None = None
    manipulation: bool = False
    metrics: Sequence[Callable[..., Any]] = ()
    rules: Sequence[Callable[..., Any]] = ()

    def __post_init__(self) -> None:
        if self.hard_limit is not None and self.jobs is None and self.executor is None:
            raise InvalidOption(
                "hard_limit needs processes that can be stopped; give jobs (1 or more) or executor"
            )


def rows_of(settings: RunSettings, cells: Sequence[Cell]) -> Generator[Row]:
    """Rows of cells as their runs end; refuses, before any work, cells that cannot be run. After
    the rows that Ctrl-C left it raises KeyboardInterrupt.
    """
    if not cells or (settings.jobs is None and settings.executor is None):
        return rows_here(cells)
    calls, jobs = pickled_cells(cells), min(settings.jobs or 1, len(cells))
    limit, stopping = settings.hard_limit, settings.stopping
    return OnExecutor(calls, settings.executor, jobs, limit, stopping).rows()


def rows_here(cells: Sequence[Cell]) -> Generator[Row]:
    """Rows of cells that run in this process, one after the other."""
    for cell in cells:
        row = run_cell(cell)
        yield row
        # the method kept its best answer; the rest is not begun
        if row.get("stop") == Stop.INTERRUPTED.value:
            raise KeyboardInterrupt


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Dask's own executor, `client.get_executor()`; runs in progress end when it is closed.

    Nothing is logged meanwhile: Dask tells of every connection that breaks, and what matters of it
    becomes an error or a row.

    Raises
    ------
    InvalidOption
        Dask is not installed, no scheduler answers at the address, or it has no worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        missing = f"dask needs the Dask libraries ({error}); {install('cluster')}"
        raise InvalidOption(missing) from None
    connect: Any = Client  # not typed
    found: Future[Any] = Future()

    def ask() -> None:
        try:
            client = connect(address, timeout=ANSWER_SECONDS, set_as_default=False)
            client.wait_for_workers(1, timeout=ANSWER_SECONDS)
            found.set_result(client)
        except Exception as error:
            found.set_exception(error)

    logging.disable(logging.CRITICAL)
    try:
        # In a thread: Dask waits without end for what listens at the address and says nothing.
        start_thread(ask, "cotenant-asking")
        try:
            client = found.result(2 * ANSWER_SECONDS + 1)
        except Exception as error:
            raise InvalidOption(
                f"dask is {address!r}: no scheduler with a worker answers there within "
                f"{ANSWER_SECONDS:g} s ({str(error) or type(error).__name__}); start `dask "
                "scheduler` and `dask worker ADDRESS`, and give the address that the first prints, "
                "such as tcp://10.0.0.1:8786"
            ) from None
        try:
            yield client.get_executor(pure=False)
        finally:
            with suppress(Exception):
                client.close(timeout=ANSWER_SECONDS)
    finally:
        logging.disable(logging.NOTSET)
