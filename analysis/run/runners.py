"""Where the cells of a comparison are run: in this process, in processes of their own, or on a
cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Annotated, Protocol, Self

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.outcome import Stop
from .cell import Cell, run_cell
from .rows import Row
from .workers import Processes


class Runner(Protocol):
    """Where cells are run: here, in processes, or on a cluster. Entered, prepared once, asked for
    its rows, left.
    """

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Take the cells; refuse before any work what cannot be run."""

    def rows(self) -> Generator[Row]:
        """The rows as they come; raises KeyboardInterrupt when Ctrl-C ended it, after all rows that
        could be kept.
        """


class InProcess:
    """Runs cells in this process, one after the other."""

    def __init__(self) -> None:
        self._cells: Sequence[Cell] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        return None

    def prepare(self, cells: Sequence[Cell]) -> None:
        """Take the cells."""
        self._cells = cells

    def rows(self) -> Generator[Row]:
        """The rows as they come."""
        for cell in self._cells:
            row = run_cell(cell)
            yield row
            if (
                row.get("stop") == Stop.INTERRUPTED.value
            ):  # the method kept its best answer; the rest is not begun
                raise KeyboardInterrupt


def runner_of(
    jobs: int | None,
    dask: str | None,
    hard_limit: float | None,
    stopping: Callable[[], None] | None = None,
) -> Runner:
    """What runs the cells where the settings say."""
    if dask is not None:
        from .cluster import Cluster

        return Cluster(dask, hard_limit, stopping)
    return InProcess() if jobs is None else Processes(jobs, hard_limit, stopping)


@validate_options
def validate_place(
    jobs: Annotated[int, AtLeast(1, "a number of processes")] | None,
    dask: str | None,
    hard_limit: Annotated[float, Above(0, "seconds", cure="none is 2 x time_limit + 20")] | None,
) -> None:
    """Refuse contradictory or impossible settings of where cells are run."""
    if jobs is not None and dask is not None:
        raise InvalidOption(
            "jobs and dask are both given; a cluster runs in the processes of its workers; "
            "leave out jobs"
        )
    if hard_limit is not None and jobs is None and dask is None:
        raise InvalidOption(
            "hard_limit needs processes that can be stopped; give jobs (1 or more) or dask"
        )
