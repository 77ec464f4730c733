"""The workers of a Dask scheduler as an executor, for the setting `dask` of `compare`.

It is Dask's own, `client.get_executor()`, with what only Dask can tell: whether scheduler and
workers are there and have this version, and, after Ctrl-C, that runs shall hand in their best.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ...instances.problem.errors import EngineError, InvalidOption, install
from ...solvers.engines.answer import start_thread
from .result import versions
from .workers import RESUME


@dataclass(frozen=True)
class DaskLimits:
    """How long a cluster is waited for.

    Attributes
    ----------
    answer_seconds : that a scheduler, and then its workers, have to answer.
    without_workers : seconds that a cluster may be without any worker amid a comparison.
    look_seconds : between two looks at whether there is a worker.
    shared_bytes : of which size on an argument is sent to the scheduler once.
    """

    answer_seconds: float = 4.0
    without_workers: float = 60.0
    look_seconds: float = 5.0
    shared_bytes: int = 10_000


LIMITS = DaskLimits()
Value = TypeVar("Value")


class DaskExecutor(Executor):
    """An executor whose calls run on the workers of a Dask scheduler.

    Nothing is logged while it is there: Dask tells of every connection that breaks, and what
    matters of it becomes an error or a row.

    Parameters
    ----------
    address : of the scheduler.

    Raises
    ------
    InvalidOption
        Dask is not installed, no scheduler answers at the address, or it has no worker, or one
        without this package or with another version of it.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            missing = f"dask needs the Dask libraries ({error}); {install('cluster')}"
            raise InvalidOption(missing) from None
        _require_scheduler(address)
        self._address = address
        self._shared: dict[int, tuple[bytes, Any]] = {}
        self._looked = self._there = time.monotonic()
        self._client: Any = None
        connect: Any = Client  # not typed
        logging.disable(logging.CRITICAL)
        try:
            self._client = connect(
                address, timeout=LIMITS.answer_seconds, set_as_default=False, name="cotenant"
            )
            self._executor = self._client.get_executor(pure=False)
            self._require_workers()
        except BaseException:
            self.shutdown()
            raise

    def submit(
        self, function: Callable[..., Value], /, *arguments: Any, **keywords: Any
    ) -> Future[Value]:
        """See `concurrent.futures.Executor`."""
        given = [self._share(value) for value in arguments]
        future: Future[Value] = self._executor.submit(function, *given, **keywords)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; what runs there ends by itself."""
        with suppress(Exception):
            self._client.close(timeout=LIMITS.answer_seconds)
        logging.disable(logging.NOTSET)

    def everywhere(self, function: Callable[[str], None], token: str) -> None:
        """Call a function in the process of every worker."""
        with suppress(Exception):
            _within(
                LIMITS.answer_seconds,
                lambda: self._client.run(function, token, on_error="ignore"),
            )

    def check(self) -> None:
        """Raise EngineError when the scheduler is gone, or all workers for too long."""
        if self._client.status != "running":
            raise EngineError(f"the scheduler at {self._address} went away; {RESUME}")
        now = time.monotonic()
        if now - self._looked < LIMITS.look_seconds:
            return
        self._looked = now
        with suppress(Exception):
            if _within(LIMITS.answer_seconds, self._client.nthreads):
                self._there = now
        if now - self._there > LIMITS.without_workers:
            raise EngineError(
                f"the cluster at {self._address} has been without workers for "
                f"{LIMITS.without_workers:g} s; {RESUME}"
            )

    def _share(self, value: Any) -> Any:
        """A long argument as a task, sent once; when a worker that has it is lost it is made again,
        which scattered data is not.
        """
        if not isinstance(value, bytes) or len(value) < LIMITS.shared_bytes:
            return value
        if id(value) not in self._shared:
            self._shared[id(value)] = (value, self._client.submit(bytes, value, pure=False))
        return self._shared[id(value)][1]

    def _require_workers(self) -> None:
        """Require that there are workers, and that all have this version."""
        here = versions().get("cotenant")
        with suppress(Exception):
            self._client.wait_for_workers(1, timeout=LIMITS.answer_seconds / 2)
        found = _within(
            LIMITS.answer_seconds, lambda: self._client.run(versions, on_error="return")
        )
        if not found:
            raise InvalidOption(
                f"dask is {self._address!r}: that cluster has no workers that answer; start one: "
                f"dask worker {self._address}"
            )
        for worker, seen in found.items():
            why = (
                seen.get("cotenant") if isinstance(seen, dict) else f"{type(seen).__name__}: {seen}"
            )
            if why != here:
                raise InvalidOption(
                    f"the Dask worker {worker} does not have cotenant {here} ({why}); install it "
                    "where that runs and start it again"
                )


def _require_scheduler(address: str) -> None:
    """Raise InvalidOption unless a Dask scheduler answers at the address; Dask's client waits for
    ever for what listens there and says nothing.
    """
    from distributed import Security
    from distributed.core import rpc

    connect: Any = rpc  # not typed
    security: Any = Security  # certificates, where Dask's configuration names some
    seconds = LIMITS.answer_seconds

    async def kind() -> Any:
        arguments = security().get_connection_args("client")
        async with connect(address, timeout=seconds, connection_args=arguments) as scheduler:
            return (await scheduler.identity()).get("type")

    # In a thread of its own: the caller may be inside a running event loop, as in a notebook.
    try:
        found = _within(2 * seconds, lambda: asyncio.run(asyncio.wait_for(kind(), seconds)))
        why = f"a {found} does" if found else "no word"
    except Exception as error:
        found, why = None, str(error) or "no word"
    if found != "Scheduler":
        raise InvalidOption(
            f"dask is {address!r}: no scheduler answers there within {seconds:g} s ({why}); start "
            "one with `dask scheduler` and give the address it prints, such as tcp://10.0.0.1:8786"
        )


def _within(seconds: float, call: Callable[[], Value]) -> Value | None:
    """What a call returns, or raises; None when it takes longer, and it is then left to itself."""
    done: SimpleQueue[tuple[Value | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            done.put((call(), None))
        except Exception as error:
            done.put((None, error))

    start_thread(work, "cotenant-asking")
    try:
        value, error = done.get(timeout=seconds)
    except Empty:
        return None
    if error is not None:
        raise error
    return value
