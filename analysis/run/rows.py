"""Rows of a comparison, and the JSONL files that store them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from ...instances.problem.errors import InvalidFile, spelled
from ...instances.problem.files import write_text
from ...instances.problem.reading import is_standard_input, parse_json, read_text, require_few
from ...solvers.outcome import Stop


class Row(TypedDict, total=False):
    """Run as `compare` returns it and a JSONL file stores it: `Result.summary` and the fields of
    its cell.

    A row of kind "frontier" has no metrics but `frontiers`. The report adds `reading`, `named` and
    `instance_named`, and `gaps.with_gaps` adds `bounds`, `scales`, `gaps` and `differences`.

    Attributes
    ----------
    key : what tells cells apart, see `Cell.key`.
    kind : "run" or "frontier".
    file : where the instance was read from.
    code : the files that a function of the user's own is made of, `own_functions.code_of`.
    measures, own_metrics, broken : the user's own metrics and rules, which way is better in the
        metrics, and what the answer breaks of the rules, by their names; `own_functions.Measures`.
    shard : which part of a comparison wrote it, see `shards.Shard.document`; absent otherwise.
    predict : the share of penalties that was sampled, None when the method saw the true ones.
    answer : the decision in a sentence, see `instances.problem.answer_table`.
    answer_table : the answer with names: `columns`, the first `rows`, and how many there are in
        `total`.
    record : small numbers for the report's pictures, by the problem's `record`.
    proof : how its claims stand, see `proving.Proved`.
    manipulation : the best misreport that was found, `manipulation.Manipulation.document`.
    error : why a run failed; absent otherwise.
    frontiers : documents of `PriceFrontier`.
    reading : what the metrics were given, see `gaps.reading`.
    named, instance_named : method and instance before they were distinguished by options.
    bounds, scales, gaps, differences : by metric, the best proved bound on the instance, what
        agreement with it is relative to, how far the row is from it as a fraction (None where the
        bound is 0) and in the metric's unit.
    """

    key: str
    kind: Literal["run", "frontier"]
    problem: str
    instance: str
    fingerprint: str
    method: str
    seed: int
    predict: float | None
    time_limit: float | None
    file: str | None
    code: str
    measures: list[str]
    own_metrics: dict[str, Literal["min", "max"]]
    broken: dict[str, str]
    shard: dict[str, Any]
    source: str | None
    status: str
    stop: str
    objective_name: str | None
    objective: float | None
    bound: float | None
    gap: float | None
    gap_absolute: float | None
    tolerance: float | None
    scale: float
    levels: list[dict[str, Any]]
    proof: dict[str, Any]
    manipulation: dict[str, Any]
    seconds: float
    options: dict[str, Any]
    metrics: Mapping[str, float | None]
    versions: dict[str, str]
    answer: str | None
    answer_table: dict[str, Any] | None
    record: dict[str, Any] | None
    frontiers: list[dict[str, Any]]
    error: str | None
    reading: dict[str, Any]
    named: str
    instance_named: str
    bounds: dict[str, float]
    scales: dict[str, float]
    gaps: dict[str, float | None]
    differences: dict[str, float | None]


class Line(TypedDict, total=False):
    """A line of `Comparison.summary`: one method on one instance, means over its seeds.

    Attributes
    ----------
    runs, failed, unanswered : how many runs there were, failed, and ended without an answer.
    status : of the runs, joined by "+".
    equilibrium : whether a run's claim is an equilibrium's, within its tolerance.
    own_gap : mean gap of the runs to the bound that each proved itself; None where one has none.
    proof : how the claims of the runs stand: certified only where those of all are.
    metrics, gaps, differences : means over the seeds that have an answer; None where one has none.
    spreads : standard deviations of the metrics over those seeds; None of fewer than two.
    manipulation : the misreport of the runs that gains most, with the bound of all of them.
    errors : reasons of failures, with how often each occurred.
    own_metrics, broken : of its rows together; `broken` is there where there are rules.
    """

    problem: str
    instance: str
    fingerprint: str
    method: str
    predict: float | None
    runs: int
    failed: int
    unanswered: int
    status: str
    levels: list[dict[str, Any]]
    objective_name: str | None
    equilibrium: bool
    own_gap: float | None
    proof: dict[str, Any]
    manipulation: dict[str, Any]
    bounds: dict[str, float]
    scales: dict[str, float]
    metrics: dict[str, float | None]
    gaps: dict[str, float | None]
    differences: dict[str, float | None]
    spreads: dict[str, float | None]
    seconds: float | None
    errors: dict[str, int]
    own_metrics: dict[str, Literal["min", "max"]]
    broken: dict[str, str]


ROW_BEGINS = '{"problem": "'
"""How every row's line begins."""


def read_rows(path: str | os.PathLike[str]) -> list[Any]:
    """Rows of a JSONL file, without a truncated last line; raises InvalidFile when it cannot be
    read or a line is no row of a comparison.
    """
    if not os.path.exists(path) and not is_standard_input(path):
        raise InvalidFile(
            f"{os.fspath(path)} does not exist; `cotenant compare ... --out` makes files of rows"
        )
    return _rows(read_text(path), path)


def _rows(text: str, path: str | os.PathLike[str]) -> list[Any]:
    """Rows in a text that was read from `path`."""
    require_few(text, "\n", "lines", os.fspath(path))
    lines = text.splitlines()
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = parse_json(line, path)
        except InvalidFile:
            row = {}
        if isinstance(row.get("key"), str):
            rows.append(row)
        elif number < len(lines) or text.endswith("\n") or not line.startswith(ROW_BEGINS):
            # Only what looks like the beginning of one of our rows, at the very end, is taken for
            # one cut short.
            raise InvalidFile(
                f"{os.fspath(path)}, line {number} is not a row of a comparison; expected "
                "what compare --out writes"
            )
    return rows


def finished_rows(out: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Rows of the file `out` by key, without failed and interrupted ones; a truncated last line is
    removed from the file.
    """
    if out is None or not os.path.isfile(out):
        return {}
    text = read_text(out)
    rows = _rows(text, out)
    if text and not text.endswith("\n"):
        write_text(out, "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
    return {
        row["key"]: row
        for row in rows
        if not row.get("error") and row.get("stop") != Stop.INTERRUPTED.value
    }


class RowFile:
    """JSONL file to which rows are added as a whole or not at all.

    Parameters
    ----------
    out : path; made when it does not exist. What it is (a disk that is full, a pipe) shows at the
        first row.

    Raises
    ------
    InvalidFile
        It cannot be made or opened for writing.
    """

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._out = os.fspath(out)
        self._opened(os.O_CREAT)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row to the file.

        Raises
        ------
        InvalidFile
            The disk is full, or the file is gone or no longer writable; what part of the row was
            written is taken off again.
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
        except (OSError, ValueError) as error:  # ValueError: a path with a null character
            gone = isinstance(error, FileNotFoundError)
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = "it vanished while rows were added" if gone and not how else why
            cure = "its rows so far are whole; make room and start again to go on"
            if how or gone:
                cure = f"choose another {spelled('--out', 'out')}"
            raise InvalidFile(f"{self._out} cannot be written: {why}; {cure}") from None


def _append(stream: int, line: bytes) -> None:
    """Append a line to an open file, whole or not at all."""
    before = os.fstat(stream).st_size
    left = line
    try:
        while left:
            left = left[os.write(stream, left) :]
    except BaseException:
        if 0 < os.fstat(stream).st_size - before < len(line):
            os.ftruncate(stream, before)
        raise
