"""Output form of all benchmarks: rows printed as they come, and kept by `--json FILE`.

A bench makes its options with `parser(__doc__)`, times with `timed`, and says what it found with
`Rows.add`, a table's title and its columns by name. Stored ratios to peers are those of release.py.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

WIDTH, FIRST = 10, 36
"""Least width of a column, and of a table's first one."""


class Timed(NamedTuple):
    """The last value of some runs; medians of their wall and processor seconds."""

    value: Any
    wall: float
    cpu: float


def timed(run: Callable[[], Any], repeats: int = 1) -> Timed:
    """Call `run` so many times. Processor seconds are of this process, its threads, and processes
    that it started and that have ended.
    """
    wall, cpu, value = [], [], None
    for _ in range(repeats):
        began, before = time.perf_counter(), busy()
        value = run()
        wall.append(time.perf_counter() - began)
        cpu.append(busy() - before)
    return Timed(value, statistics.median(wall), statistics.median(cpu))


def busy() -> float:
    """Processor seconds of this process and of its ended children."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def parser(text: str | None) -> argparse.ArgumentParser:
    """The command line of a bench, with `--json`."""
    made = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", type=Path, help="write every row here too")
    return made


class Rows:
    """The rows so far; `file`, where there is one, holds them after each."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.rows = file, list[dict[str, Any]]()
        self.head: tuple[str, ...] = ()

    def add(self, table: str, **columns: Any) -> None:
        """Print a row, below the table's title and heading where they are new."""
        head = (table, *columns)
        if head != self.head:
            self.head = head
            print(f"\n{table}\n{self._line(list(columns))}")
        print(self._line([_shown(value) for value in columns.values()]), flush=True)
        self.rows.append({"table": table, **columns})
        if self.file is not None:
            self.file.write_text(json.dumps(self.rows, indent=1, default=np.generic.item) + "\n")

    def _line(self, cells: list[str]) -> str:
        _, first, *others = self.head
        line = f"{cells[0]:<{max(FIRST, len(first))}}"
        for name, cell in zip(others, cells[1:], strict=True):
            line += f"  {cell:>{max(WIDTH, len(name))}}"
        return line.rstrip()


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
