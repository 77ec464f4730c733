"""Runs on a Dask cluster: the cells of a comparison as tasks, each in a child process of the worker
that takes it.

A task runs its cell under the same hard limit as a local process does, in a child of its own
thread: solver libraries are not safe in the threads of a worker. Cells and instances are kept by
the scheduler as bytes, so that those of a worker that is lost are run by another; only the children
open them.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar

from ...instances.problem.errors import CotenantError, EngineError, InvalidOption, install
from ...solvers.interrupts import Interrupts
from .cell import Cell
from .result import fingerprint, versions
from .rows import Row
from .workers import (
    INTERRUPT_GRACE,
    CellOutcome,
    Worker,
    limit_of,
    pickled_cell,
    refuse_unpicklable,
    row_of,
    user_functions,
    why_unpicklable,
)


@dataclass(frozen=True)
class ClusterLimits:
    """How long a cluster is waited for, in seconds.

    Attributes
    ----------
    answer_seconds : that a scheduler, and then its workers, have to answer before any work.
    without_workers : that a cluster may be without any worker in the middle of a comparison.
    look_seconds : between two looks at whether the scheduler and a worker are there.
    """

    answer_seconds: float = 4.0
    without_workers: float = 60.0
    look_seconds: float = 5.0


LIMITS = ClusterLimits()
_HOW = "start one with `dask scheduler` and give the address it prints, such as tcp://10.0.0.1:8786"
Value = TypeVar("Value")


class Cluster:
    """Runs cells on the workers of a Dask scheduler.

    Parameters
    ----------
    address : of the scheduler.
    limit : hard limit in seconds of every run; None for `hard_limit` of its time limit.
    stopping : called when Ctrl-C is received, before the rows that are still handed in.

    Raises
    ------
    InvalidOption
        When it is entered: Dask is not installed, or no scheduler answers at the address. By
        `prepare`: it has no worker, or one without this package, with another version of it, or
        that cannot import a function of the user's own.
    """

    def __init__(
        self, address: str, limit: float | None = None, stopping: Callable[[], None] | None = None
    ) -> None:
        self._address, self._limit, self._stopping = address, limit, stopping
        self._token = uuid.uuid4().hex
        self._client: Any = None
        self._cells: list[Cell] = []
        self._levels: dict[str, int] = {}

    def __enter__(self) -> Self:
        try:
            from distributed import Client
        except ImportError as error:
            missing = f"dask needs the Dask libraries ({error}); {install('cluster')}"
            raise InvalidOption(missing) from None
        _require_scheduler(self._address)
        # The library tells of every connection that breaks; what matters of it becomes an error or
        # a row here. Its loggers
        # have levels of their own (Dask's configuration).
        self._levels = {name: logging.getLogger(name).level for name in _loggers()}
        for name in self._levels:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        connect: Any = Client  # not typed
        try:
            self._client = connect(
                self._address, timeout=LIMITS.answer_seconds, set_as_default=False, name="cotenant"
            )
        except Exception as error:
            self.__exit__()
            raise _nobody(self._address, str(error)) from None
        return self

    def __exit__(self, *reason: object) -> None:
        if self._client is not None:
            with suppress(Exception):
                _within(
                    LIMITS.answer_seconds,
                    lambda: self._client.run(end_all, self._token, on_error="ignore"),
                )
            with suppress(Exception):
                self._client.close(timeout=LIMITS.answer_seconds)
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Refuse, before any work, workers that would fail, and what cannot be sent to them."""
        self._cells = list(cells)
        own = user_functions(cells)
        found = self.workers()
        begin = time.monotonic()
        while not found and time.monotonic() - begin < LIMITS.answer_seconds / 2:
            time.sleep(0.2)
            found = self.workers()
        if not found:
            raise InvalidOption(
                f"dask is {self._address!r}: that cluster has no workers; start one: dask "
                f"worker {self._address}"
            )
        seen_by = self.asked(lambda: self._client.run(looked, list(own), on_error="return"))
        if seen_by is None:
            raise InvalidOption(
                f"dask is {self._address!r}: its workers do not answer within "
                f"{LIMITS.answer_seconds:g} s"
            )
        _require_fit(seen_by, own)

    def rows(self) -> Generator[Row]:
        """The rows as they come; after Ctrl-C those of the grace, and then KeyboardInterrupt."""
        finished: SimpleQueue[Any] = SimpleQueue()
        with Interrupts(lambda: finished.put(None)) as interrupts:
            going = self._submitted(finished)
            ends = float("inf")
            workerless_since = 0.0
            while going and time.monotonic() < ends:
                try:
                    future = finished.get(timeout=LIMITS.look_seconds)
                except Empty:
                    workerless_since = self._without_workers(workerless_since)
                    continue
                if future is None:
                    if self._stopping is not None:
                        self._stopping()
                    ends = time.monotonic() + INTERRUPT_GRACE + LIMITS.answer_seconds
                    self.asked(
                        lambda: self._client.run(interrupt_all, self._token, on_error="ignore")
                    )
                elif (
                    future.key in going
                    and (row := row_of(going.pop(future.key)[0], self._outcome(future))) is not None
                ):
                    yield row
            if interrupts.received:
                raise KeyboardInterrupt

    @property
    def client(self) -> Any:
        """Dask's own client, while this is entered."""
        return self._client

    def workers(self) -> Mapping[str, Any]:
        """The addresses of the workers that are there, and the threads of each."""
        return self.asked(lambda: self._client.nthreads()) or {}

    def asked(self, call: Callable[[], Any]) -> Any:
        """What the cluster answers; None when it takes too long; EngineError when it is gone."""
        try:
            return _within(LIMITS.answer_seconds, call)
        except Exception:
            raise self._gone() from None

    def _submitted(self, finished: SimpleQueue[Any]) -> dict[str, tuple[Cell, Any]]:
        """Every cell as a task: its name -> cell and future; `came` gets futures when done."""
        given: dict[str, Any] = {}
        going: dict[str, tuple[Cell, Any]] = {}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
            for number, cell in enumerate(self._cells):
                mark = fingerprint(cell.instance) + cell.instance.name
                if mark not in given:
                    # A task and not scattered data: when the worker that holds it is lost it is
                    # made again.
                    name = f"cotenant-instance-{self._token}-{len(given)}"
                    given[mark] = self._client.submit(
                        kept, pickle.dumps(cell.instance), key=name, pure=False
                    )
                future = self._client.submit(
                    run_there,
                    pickled_cell(cell),
                    given[mark],
                    limit_of(cell, self._limit),
                    cell.time_limit,
                    self._token,
                    key=f"cotenant-{self._token}-{number}",
                    pure=False,
                    priority=-number,  # in the order of the tables, as everywhere
                )
                going[future.key] = (cell, future)
        for _, future in list(going.values()):
            future.add_done_callback(finished.put)
        return going

    def _outcome(self, future: Any) -> CellOutcome:
        """What came of a task; a cell that no worker survives is a failure of the cell."""
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._gone()
        try:
            found: CellOutcome = future.result(timeout=LIMITS.answer_seconds)
        except KilledWorker:
            return (
                "failed",
                "every Dask worker that ran it died; see the workers' logs (out of memory?)",
            )
        except Exception as error:
            if self._client.status != "running":
                raise self._gone() from None
            return "failed", f"on the cluster: {type(error).__name__}: {error}"
        return found

    def _without_workers(self, workerless_since: float) -> float:
        """Raise EngineError when scheduler or workers are gone too long; returns since when."""
        if self._client.status != "running":
            raise self._gone()
        if self.workers():
            return 0.0
        now = time.monotonic()
        if workerless_since and now - workerless_since > LIMITS.without_workers:
            raise EngineError(
                f"the cluster at {self._address} has been without workers for "
                f"{LIMITS.without_workers:g} s; {_RESUME}"
            )
        return workerless_since or now

    def _gone(self) -> EngineError:
        return EngineError(f"the scheduler at {self._address} went away; {_RESUME}")


_RESUME = "with --out the rows so far are kept; to go on from there, give the same command again"


def _loggers() -> list[str]:
    return [
        name
        for name in ["distributed", *logging.root.manager.loggerDict]
        if name.split(".")[0] == "distributed"
    ]


def _require_scheduler(address: str) -> None:
    """Raise InvalidOption unless a Dask scheduler answers at the address."""
    _require_address(address)
    from distributed import Security
    from distributed.core import rpc

    connect: Any = rpc  # not typed
    security: Any = Security  # certificates, where Dask's configuration names some

    seconds = LIMITS.answer_seconds

    async def identity() -> Mapping[str, Any]:
        arguments = security().get_connection_args("client")
        async with connect(address, timeout=seconds, connection_args=arguments) as scheduler:
            found: Mapping[str, Any] = await scheduler.identity()
            return found

    async def bounded() -> Mapping[str, Any]:
        return await asyncio.wait_for(identity(), seconds)

    # In a thread of its own: the caller may be inside a running event loop, as in a notebook.
    try:
        found = _within(2 * seconds, lambda: asyncio.run(bounded()))
        if found is not None and found.get("type") == "Scheduler":
            return
        why = "no word" if found is None else f"a {found.get('type')} does"
    except Exception as error:
        why = str(error) or "no word"
    raise _nobody(address, why)


def _require_address(address: str) -> None:
    """Raise InvalidOption for what can be no address; HOST:PORT alone is tcp, as in Dask."""
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    good = scheme == "inproc" or (
        host and port.isascii() and port.isdigit() and 0 < int(port) < 2**16
    )
    if not good or scheme not in ("", "tcp", "tls", "ws", "wss", "ucx", "inproc"):
        raise InvalidOption(
            f"dask is {address!r}; expected tcp://HOST:PORT or tls://HOST:PORT, as `dask "
            "scheduler` prints it"
        )


def _nobody(address: str, why: str) -> InvalidOption:
    return InvalidOption(
        f"dask is {address!r}: no scheduler answers there within {LIMITS.answer_seconds:g} s "
        f"({why}); {_HOW}"
    )


def _require_fit(seen_by: Mapping[str, Any], own: dict[bytes, Cell]) -> None:
    """Require that every worker has this version and can open the user's own functions."""
    here = versions().get("cotenant")
    for worker, found in seen_by.items():
        if isinstance(found, BaseException):
            raise InvalidOption(
                f"the Dask worker {worker} cannot run this package ({type(found).__name__}: "
                f"{found}); install cotenant {here} where it runs and start it again"
            )
        there, reasons = found
        if there != here:
            raise InvalidOption(
                f"the Dask worker {worker} has cotenant {there}, and this is {here}; install "
                f"{here} there and start it again"
            )
        refuse_unpicklable(own, dict(zip(own, reasons, strict=True)).__getitem__)


def _within(seconds: float, call: Callable[[], Value]) -> Value | None:
    """What a call returns, or raises; None when it takes longer, and it is then left to itself."""
    done: SimpleQueue[tuple[Value | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            done.put((call(), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=work, name="cotenant-asking", daemon=True).start()
    try:
        value, error = done.get(timeout=seconds)
    except Empty:
        return None
    if error is not None:
        raise error
    return value


# What follows runs on the workers: one child for each thread and comparison.
_WORKERS: dict[tuple[str, int], Worker] = {}
_STOPPED: set[str] = set()


def kept(instance: bytes) -> bytes:
    """An instance's bytes, for the worker that is to run its cells."""
    return instance


def looked(own: Sequence[bytes]) -> tuple[str | None, list[str]]:
    """The package's version on a worker, and why functions of the user's cannot be opened there."""
    return versions().get("cotenant"), [why_unpicklable(frame) for frame in own]


def run_there(
    frame: bytes, instance: bytes, limit: float | None, time_limit: float | None, token: str
) -> CellOutcome:
    """Run a pickled cell in the child of this thread."""
    if token in _STOPPED:
        return "interrupted", None
    worker = _WORKERS.setdefault((token, threading.get_ident()), Worker(_threads()))
    try:
        return worker.run(frame, instance, limit, time_limit)
    except CotenantError as error:
        return "failed", str(error)


def _threads() -> int:
    """How many cells this Dask worker runs at a time."""
    from distributed import get_worker

    find: Any = get_worker  # not typed
    return int(find().state.nthreads)


def interrupt_all(token: str) -> None:
    """Ask the runs of a comparison on this worker for the best they have; no other is begun."""
    _STOPPED.add(token)
    for worker in _of(token):
        worker.interrupt()


def end_all(token: str) -> None:
    """End the children of a comparison on this worker."""
    _STOPPED.add(token)
    for worker in _of(token):
        # it may wait; the worker may not
        threading.Thread(target=worker.end, name="cotenant-ending", daemon=True).start()
    for key in [key for key in list(_WORKERS) if key[0] == token]:
        del _WORKERS[key]


def _of(token: str) -> list[Worker]:
    return [worker for (owner, _), worker in list(_WORKERS.items()) if owner == token]
