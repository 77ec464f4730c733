"""Runners of a comparison's cells: in this process, in others, or on an executor."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, Self

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.outcome import Stop
from .cell import Cell, run_cell
from .progress import Progress
from .rows import Row
from .workers import OnExecutor


class Runner(Protocol):
    """Context manager that runs cells in this process, in others, or on an executor."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Accept the cells to run; refuse before any work those that cannot be run."""

    def rows(self) -> Generator[Row]:
        """Yield the rows of cells as their runs end; raises KeyboardInterrupt after the rows that
        Ctrl-C left.
        """


class InProcess:
    """Runner of cells in this process, one after the other."""

    def __init__(self) -> None:
        self._cells: Sequence[Cell] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        return None

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Accept the cells to run in this process."""
        self._cells = cells

    def rows(self) -> Generator[Row]:
        """Yield the rows of cells as their runs end."""
        for cell in self._cells:
            row = run_cell(cell)
            yield row
            # the method kept its best answer; the rest is not begun
            if row.get("stop") == Stop.INTERRUPTED.value:
                raise KeyboardInterrupt


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


def runner_of(settings: RunSettings) -> Runner:
    """Make the runner that the settings name."""
    if settings.jobs is None and settings.executor is None:
        return InProcess()
    jobs = settings.jobs or 1
    return OnExecutor(settings.executor, jobs, settings.hard_limit, settings.stopping)
