"""Runners of the cells of a comparison: in this process, in others, or on an executor, such as that
of a Dask scheduler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any

from ...instances.problem.errors import InvalidOption, install
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.engines.answer import start_thread
from ...solvers.outcome import Stop
from .cell import Cell, run_cell
from .progress import Progress
from .rows import Row
from .workers import OnExecutor, pickled_cells

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
