"""What runs now in a comparison, and how long the rest of it may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...catalog import find
from .cell import Cell
from .rows import Row


@dataclass(frozen=True)
class Outlook:
    """What a progress bar tells.

    Attributes
    ----------
    now : the runs that go on, such as "fair on tiny"; empty where nobody here knows.
    most : seconds that the rest may take, if every method that keeps a time limit uses all of it;
        None without a limit. Heuristics take what they took so far.
    done, total : runs.
    """

    now: tuple[str, ...]
    most: float | None
    done: int
    total: int


def outlook(cells: Sequence[Cell], rows: Sequence[Row], processes: int | None) -> Outlook:
    """The outlook when these rows are there; `processes` is None for a cluster."""
    done = {row["key"] for row in rows}
    left = [cell for cell in cells if cell.key not in done]
    taken: dict[tuple[str, str], float] = {}  # the longest run of each method so far
    for row in rows:
        key = (row["problem"], row["method"])
        taken[key] = max(taken.get(key, 0.0), row.get("seconds") or 0.0)
    limits = [_most(cell, taken) for cell in left]
    known = [limit for limit in limits if limit is not None]
    at_once = processes or 1
    most = None
    if len(known) == len(left) and processes is not None:
        # the last run begins when all processes are busy with the others, at the latest
        most = (sum(known) - max(known, default=0.0)) / at_once + max(known, default=0.0)
    now = left[: processes or 0]
    names = tuple(f"{cell.name} on {cell.instance.name}" for cell in now)
    return Outlook(names, most, len(rows), len(cells))


def _most(cell: Cell, taken: dict[tuple[str, str], float]) -> float | None:
    """Seconds that a run may take; None when nothing limits it."""
    if isinstance(cell.method, str) and cell.kind == "run":
        entry = find(cell.instance.problem, cell.method)
        if entry.kind == "heuristic":
            return taken.get((cell.instance.problem, cell.name), 0.0)
    return None if cell.time_limit is None else cell.time_limit * cell.parts
