"""One run of a comparison: a cell, the row it gives whatever happens, and the file rows are kept in."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..instances.problem.base import Instance, plain
from ..instances.problem.errors import CotenantError, InvalidFile, InvalidOption
from ..instances.problem.files import write_text
from ..instances.problem.options import accepts
from ..instances.problem.registry import resolve
from ..solvers.outcome import Status, Stop
from .price_map import PriceFrontier
from .result import Result, fingerprint, versions

Row = dict[str, Any]
"""A run: `Result.summary`, with `key`, `kind` ("run" or "frontier"), `predict`, `time_limit`, `file` (of the instance, or None),
`record` (small numbers for the report's pictures, by the problem's `pictures.record`), and `error` when it failed. A row of kind
"frontier" has no metrics but `frontiers`, the documents of the problem's `price_map.price_frontiers`."""

ROW_BEGINS = '{"problem": "'
"""How every row's line begins."""


@dataclass(frozen=True)
class Cell:
    """One run: an instance, a method and a seed, with the options that method takes."""

    instance: Instance
    method: str | Callable[..., Any]
    seed: int
    time_limit: float | None
    options: Mapping[str, Any]
    predict: float | None = None
    file: str | None = None
    kind: Literal["run", "frontier"] = "run"

    @property
    def name(self) -> str:
        """The method's name in tables."""
        return self.method if isinstance(self.method, str) else getattr(self.method, "__name__", type(self.method).__name__)

    @cached_property
    def key(self) -> str:
        """What identifies the cell in a JSONL file: what is run, on what, how, and by which version of this package."""
        where = (
            None
            if isinstance(self.method, str)
            else f"{self.method.__module__}.{getattr(self.method, '__qualname__', self.name)}"
        )
        parts = [self.instance.problem, self.instance.name, fingerprint(self.instance), self.name, where, self.seed]
        options = sorted([name, repr(value)] for name, value in self.options.items())
        return json.dumps([self.kind, *parts, self.time_limit, options, self.predict, versions().get("cotenant")])


def run_cell(cell: Cell, solve: Callable[..., Result]) -> Row:
    """One row, of JSON values: the run's summary, or its error; only KeyboardInterrupt passes through."""
    try:
        if cell.kind == "frontier":
            return _as_read(_run_frontier(cell))
        instance = cell.instance if cell.predict is None else _predicted(cell)
        result = solve(instance, cell.method, seed=cell.seed, time_limit=cell.time_limit, **cell.options)
        return _as_read(result.summary() | _judged(cell, result) | _recorded(cell, result) | _identity(cell))
    except (Exception, SystemExit) as error:
        return failed_row(cell, error)


def failed_row(cell: Cell, error: BaseException) -> Row:
    """The row of a run that failed, with its reason."""
    text = str(error) if isinstance(error, CotenantError) else f"{type(error).__name__}: {error}"
    return _as_read(_identity(cell) | {"status": "error", "metrics": {}, "error": text})


def _as_read(row: Row) -> Row:
    """The row as it will be read from a file: it must not matter whether it comes from there, from here or from afar."""
    try:
        found: Row = json.loads(json.dumps(plain(row), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise CotenantError(f"what came out cannot be kept in a file: {error}") from None
    return found


def _option(value: Any) -> Any:
    """An option as a JSON value; what has none is told by its name."""
    try:
        return json.loads(json.dumps(plain(value), allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)


def _identity(cell: Cell) -> Row:
    """What is known of a row before it is run; its key comes last, so that a line cut short has none."""
    return {
        "problem": cell.instance.problem,
        "instance": cell.instance.name,
        "fingerprint": fingerprint(cell.instance),
        "kind": cell.kind,
        "method": cell.name,
        "seed": cell.seed,
        "predict": cell.predict,
        "time_limit": cell.time_limit,
        "options": {name: _option(value) for name, value in cell.options.items()},
        "file": cell.file,
        "versions": versions(),
        "key": cell.key,
    }


def _run_frontier(cell: Cell) -> Row:
    """The problem's proved frontiers of efficiency against fairness."""
    begin = time.perf_counter()
    frontiers = resolve(f"analysis.{cell.instance.problem}.price_map:price_frontiers")
    found: Sequence[PriceFrontier] = frontiers(cell.instance, time_limit=cell.time_limit, **cell.options)
    status = Status.OPTIMAL if all(each.status is Status.OPTIMAL for each in found) else Status.FEASIBLE
    documents = [each.document() for each in found]
    return _identity(cell) | {
        "status": status.value,
        "stop": _stopped([each.stop for each in found]).value,
        "seconds": time.perf_counter() - begin,
        "metrics": {},
        "frontiers": documents,
    }


def _stopped(stops: Sequence[Stop]) -> Stop:
    """Why several searches ended, in one word: interrupted before out of time before finished."""
    return next((stop for stop in (Stop.INTERRUPTED, Stop.TIME_LIMIT) if stop in stops), Stop.FINISHED)


def predictor(problem: str) -> Callable[..., Instance]:
    """What makes an instance of predicted values: (instance, share, rng) -> instance; raises InvalidOption when nothing does."""
    try:
        found: Callable[..., Instance] = resolve(f"analysis.{problem}.prediction:predicted_instance")
    except ModuleNotFoundError:
        raise InvalidOption(f"there is no predictor for {problem}; leave predict out") from None
    return found


def _predicted(cell: Cell) -> Instance:
    """The instance as the predictor sees it."""
    import numpy as np

    return predictor(cell.instance.problem)(cell.instance, cell.predict, np.random.default_rng(cell.seed))


def _judged(cell: Cell, result: Result) -> Row:
    """An answer to a predicted instance is judged on the true one; bounds on predictions are no bounds and are dropped."""
    if cell.predict is None:
        return {}
    measure = resolve(f"analysis.{cell.instance.problem}.metrics:metrics")
    metrics = {} if result.solution is None else measure(cell.instance, result.solution, **_taken(measure, cell.options))
    objective = None if result.objective_name is None else metrics.get(result.objective_name)
    status = "feasible" if result.solution is not None else result.status.value
    return {"metrics": metrics, "bound": None, "gap": None, "gap_absolute": None, "objective": objective, "status": status}


def _recorded(cell: Cell, result: Result) -> Row:
    """Small numbers for the report's pictures; a picture that fails never takes the run with it."""
    if result.solution is None:
        return {"record": None}
    try:
        record = resolve(f"analysis.{cell.instance.problem}.pictures:record")
        found = record(cell.instance, result.solution, **_taken(record, cell.options))
        json.dumps(found, allow_nan=False)
    except Exception as error:
        return {"record": {"error": f"{type(error).__name__}: {error}"}}
    return {"record": found}


def _taken(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if accepts(function, name)}


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """The rows of a JSONL file; a last line that a crash cut short is left out.

    Raises
    ------
    InvalidFile
        The file cannot be read, or a line is no row of a comparison.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidFile(f"{os.fspath(path)} does not exist; `cotenant compare ... --out` makes files of rows") from None
    except IsADirectoryError:
        raise InvalidFile(f"{os.fspath(path)} is a folder; name the files of rows in it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFile(f"{os.fspath(path)} cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None
    lines = text.splitlines()
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict) and "key" in row:
            rows.append(row)
        elif number < len(lines) or text.endswith("\n") or not line.startswith(ROW_BEGINS):
            # Only what looks like the beginning of one of our rows, at the very end, is taken for one cut short.
            raise InvalidFile(
                f"{os.fspath(path)}, line {number} is not a row of a comparison; expected what compare --out writes"
            )
    return rows


def finished_rows(out: str | os.PathLike[str] | None) -> dict[str, Row]:
    """The rows that `out` holds already, by key; failed and interrupted ones are run again, a line cut short is taken off."""
    if out is None or not Path(out).is_file():
        return {}
    rows = read_rows(out)
    text = Path(out).read_text(encoding="utf-8")
    if text and not text.endswith("\n"):
        write_text(out, "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
    return {row["key"]: row for row in rows if not row.get("error") and row.get("stop") != Stop.INTERRUPTED.value}


class RowFile:
    """A JSONL file that rows are added to, each of them whole or not at all.

    Parameters
    ----------
    out : path; made when it does not exist. What it is (a disk that is full, a pipe) shows at the first row.

    Raises
    ------
    InvalidFile
        It cannot be made or opened for writing.
    """

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._out = os.fspath(out)
        self._opened(os.O_CREAT)

    def add(self, row: Row) -> None:
        """Add one row.

        Raises
        ------
        InvalidFile
            The disk is full, or the file is gone or no longer writable; what part of the row was written is taken off again.
        """
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        # Opened without O_CREAT: a file that vanished would come back with the later rows only.
        self._opened(0, line)

    def _opened(self, how: int, line: bytes = b"") -> None:
        try:
            stream = os.open(self._out, os.O_WRONLY | os.O_APPEND | how, 0o666)
            try:
                _append(stream, line)
            finally:
                os.close(stream)
        except FileNotFoundError as error:
            why = error.strerror if how else "it vanished while rows were added"
            raise InvalidFile(f"{self._out} cannot be written: {why}; choose another --out") from None
        except OSError as error:
            raise InvalidFile(f"{self._out} cannot be written: {error.strerror}; {_CURE[bool(how)]}") from None


_CURE = {True: "choose another --out", False: "its rows so far are whole; make room and start again to go on"}


def _append(stream: int, line: bytes) -> None:
    """Write all of a line or nothing of it."""
    before = os.fstat(stream).st_size
    left = line
    try:
        while left:
            left = left[os.write(stream, left) :]
    except BaseException:
        if 0 < os.fstat(stream).st_size - before < len(line):
            os.ftruncate(stream, before)
        raise
