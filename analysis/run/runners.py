"""Runners of a comparison's cells: in this process, in others, or on an executor."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Annotated, Any

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.outcome import Stop
from .cell import Cell, run_cell
from .progress import Progress
from .rows import Row
from .workers import OnExecutor, pickled_cells


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
