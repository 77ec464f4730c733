"""One run of a comparison: a cell, the row it gives whatever happens, and the file rows are kept in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ..instances.problem.base import Instance
from ..instances.problem.errors import CotenantError, InvalidFile, InvalidOption
from ..instances.problem.files import write_text
from ..instances.problem.options import accepts
from ..instances.problem.registry import resolve
from .result import Result, versions

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run: an instance, a method and a seed, with the options that method takes."""

    instance: Instance
    method: str | Callable[..., Any]
    seed: int
    time_limit: float | None
    options: Mapping[str, Any]
    predict: float | None = None

    @property
    def name(self) -> str:
        """The method's name in tables."""
        return self.method if isinstance(self.method, str) else getattr(self.method, "__name__", type(self.method).__name__)

    @cached_property
    def key(self) -> str:
        """What identifies the cell in a JSONL file."""
        parts = [self.instance.problem, self.instance.name, fingerprint(self.instance), self.name, self.seed]
        return json.dumps([*parts, self.time_limit, sorted(map(list, self.options.items())), self.predict])


def fingerprint(instance: Instance) -> str:
    """Sixteen hexadecimal digits of the instance's content: two instances of one name are two."""
    from hashlib import sha256

    digest = sha256()
    for entry in fields(instance):
        value = getattr(instance, entry.name)
        digest.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
        digest.update(f"|{entry.name}|{getattr(value, 'shape', '')}".encode())
    return digest.hexdigest()[:16]


def run_cell(cell: Cell, solve: Callable[..., Result]) -> Row:
    """One row: the run's summary, or its error; only KeyboardInterrupt passes through."""
    try:
        if cell.predict is None:
            result = solve(cell.instance, cell.method, seed=cell.seed, time_limit=cell.time_limit, **cell.options)
            return result.summary() | {"key": cell.key, "predict": None}
        return _run_predicted(cell, solve)
    except Exception as error:
        return failed_row(cell, error)


def _run_predicted(cell: Cell, solve: Callable[..., Result]) -> Row:
    """Solve the predicted instance, judge the answer on the true one; bounds on predictions are no bounds and are dropped."""
    try:
        predicted = resolve(f"analysis.{cell.instance.problem}.prediction:predicted_instance")
    except ImportError:
        raise InvalidOption(f"there is no predictor for {cell.instance.problem}") from None
    import numpy as np

    instance = predicted(cell.instance, cell.predict, np.random.default_rng(cell.seed))
    row = solve(instance, cell.method, seed=cell.seed, time_limit=cell.time_limit, **cell.options)
    measure = resolve(f"analysis.{cell.instance.problem}.metrics:metrics")
    shared = {name: value for name, value in cell.options.items() if accepts(measure, name)}
    metrics = {} if row.solution is None else measure(cell.instance, row.solution, **shared)
    judged = {"metrics": metrics, "bound": None, "gap": None, "gap_absolute": None, "predict": cell.predict, "key": cell.key}
    objective = None if row.objective_name is None else metrics.get(row.objective_name)
    status = "feasible" if row.solution is not None else row.status.value
    return row.summary() | judged | {"objective": objective, "instance": cell.instance.name, "status": status}


def failed_row(cell: Cell, error: BaseException) -> Row:
    """The row of a run that failed, with its reason."""
    text = str(error) if isinstance(error, CotenantError) else f"{type(error).__name__}: {error}"
    return {
        "problem": cell.instance.problem,
        "instance": cell.instance.name,
        "method": cell.name,
        "seed": cell.seed,
        "predict": cell.predict,
        "status": "error",
        "metrics": {},
        "options": dict(cell.options),
        "error": text,
        "versions": versions(),
        "key": cell.key,
    }


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """The rows of a JSONL file; a last line cut short by a crash is left out, any other broken line is an error."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise InvalidFile(f"{os.fspath(path)} cannot be read: {error.strerror}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            if not isinstance(row, dict) or "key" not in row:
                raise ValueError("no comparison row")
            rows.append(row)
        except ValueError:
            if number < len(lines):
                raise InvalidFile(f"{os.fspath(path)}, line {number} is not a row of a comparison; give another --out") from None
    return rows


def finished_rows(out: str | os.PathLike[str] | None) -> dict[str, Row]:
    """The rows that `out` holds already, by key; failed ones are run again. A last line cut short is taken off the file."""
    if out is None or not Path(out).exists():
        return {}
    rows = read_rows(out)
    text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    if Path(out).read_text() != text:
        write_text(out, text)
    return {row["key"]: row for row in rows if not row.get("error")}


def append_row(out: str | os.PathLike[str], row: Row) -> None:
    """Append one row to a JSONL file."""
    try:
        with open(out, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, allow_nan=False) + "\n")
    except OSError as error:
        raise InvalidFile(f"{os.fspath(out)} cannot be written: {error.strerror}; choose another --out") from None
