"""One run of a comparison: its cell, and the row that it gives even if it fails."""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...instances.problem.base import Instance
from ...instances.problem.documents import to_json_value
from ...instances.problem.errors import CotenantError, InvalidOption
from ...instances.problem.options import accepted
from ...solvers.interrupts import deferred
from ...solvers.memory import short_of_memory
from ...solvers.outcome import Clock, Status, Stop
from ..manipulation import best_misreport
from ..registry import analysis_of
from .own_functions import NO_MEASURES, UNKNOWN, Measures, own_name, place_of
from .proving import prove_beside
from .result import Result, fingerprint, versions
from .rows import Row
from .solve import solve

ANSWER_ROWS = 1000
"""Rows of an answer that a comparison keeps for the page; a result file has more."""


@dataclass(frozen=True)
class Cell:
    """One run of a comparison: an instance, a method and a seed, with the method's options. `prove`
    names the folder for the proof of its answer, `manipulation` asks for the best misreport,
    `measures` judge its answer, and `code` identifies the user's own functions in it.
    """

    instance: Instance
    method: str | Callable[..., Any]
    seed: int
    time_limit: float | None
    options: Mapping[str, Any]
    predict: float | None = None
    file: str | None = None
    kind: Literal["run", "frontier"] = "run"
    prove: str | None = None
    code: str = ""
    manipulation: bool = False
    measures: Measures = NO_MEASURES

    @property
    def parts(self) -> int:
        """Number of searches in the cell that may each take its time limit."""
        return 1 + (self.prove is not None) + self.manipulation

    @property
    def own(self) -> list[Callable[..., Any]]:
        """The user's own functions in the cell: method, values of options, metrics and rules."""
        judges = (*self.measures.metrics, *self.measures.rules)
        given = (self.method, *self.options.values(), *judges)
        return [value for value in given if callable(value)]

    @property
    def name(self) -> str:
        """Name of the method in tables."""
        return self.method if isinstance(self.method, str) else own_name(self.method)

    @cached_property
    def key(self) -> str:
        """Identifier of the cell in a JSONL file: instance, method, options, settings, version of
        this package, and code of the user's functions.
        """
        where = (
            ""
            if isinstance(self.method, str)
            else f"{self.method.__module__}.{getattr(self.method, '__qualname__', self.name)}"
        )
        judged = self.measures.names
        parts = [
            self.instance.problem,
            self.instance.name,
            fingerprint(self.instance),
            self.name,
            f"{where} {self.code}" if self.code and (where or not judged) else where or None,
            self.seed,
        ]
        options = sorted([name, _content(value)] for name, value in self.options.items())
        how = [self.time_limit, options, self.predict, versions().get("cotenant")]
        more = {"proved": self.prove is not None, "misreports": self.manipulation}
        more[" ".join([*judged, self.code])] = bool(judged)
        return json.dumps(
            [self.kind, *parts, *how, *(word for word, asked in more.items() if asked)]
        )


def run_cell(cell: Cell) -> Row:
    """Run a cell and return its row, with the result or the error; KeyboardInterrupt passes."""
    try:
        if cell.kind == "frontier":
            return _as_read(_run_frontier(cell))
        instance = cell.instance
        if cell.predict is not None:
            rng = np.random.default_rng(cell.seed)
            instance = predictor(instance.problem)(instance, cell.predict, rng)
        result = solve(
            instance, cell.method, seed=cell.seed, time_limit=cell.time_limit, **cell.options
        )
        gains = _manipulated(cell)
        with deferred() as put_off:  # the answer is known: its row is made, whatever comes
            row = {
                **result.summary(),
                **_proved(cell, result),
                **_judged(cell, result),
                **_recorded(cell, result),
                **_described(result),
                **gains,
                **_identity(cell),
            }
            row |= cell.measures.judge(cell.instance, result, row["metrics"])
            return _as_read({**row, "stop": Stop.INTERRUPTED.value} if put_off.interrupted else row)
    except (Exception, SystemExit) as error:
        return failed_row(cell, error)


def _proved(cell: Cell, result: Result) -> Row:
    """Fields of a row about the proof of its answer; a failure to prove never loses the answer."""
    if cell.prove is None or cell.predict is not None:
        return {}
    name = f"{result.problem}-{result.method}-{sha256(cell.key.encode()).hexdigest()[:8]}"
    try:
        found = prove_beside(
            cell.instance, cell.file, result, Path(cell.prove), name, cell.time_limit
        )
    except Exception as error:
        return {"proof": {"proof_status": "claimed", "says": f"{type(error).__name__}: {error}"}}
    return {"proof": found.document()}


def _manipulated(cell: Cell) -> Row:
    """Fields of a row about the best misreport; a failed search never loses the answer."""
    if not cell.manipulation or analysis_of(cell.instance.problem).reports is None:
        return {}
    given = (cell.instance, cell.method, None, cell.time_limit)
    try:
        found = best_misreport(*given, seed=cell.seed, **cell.options)
    except KeyboardInterrupt:
        return {"stop": Stop.INTERRUPTED.value}
    except Exception as error:
        return {"manipulation": {"why": failure(error, cell.own)}}
    stopped: Row = {"stop": found.stop.value} if found.stop is Stop.INTERRUPTED else {}
    return {"manipulation": found.document(), **stopped}


def failed_row(cell: Cell, error: BaseException) -> Row:
    """Row of a failed run, with its reason."""
    text = failure(error, cell.own)
    return _as_read({**_identity(cell), "status": "error", "metrics": {}, "error": text})


def failure(error: BaseException, own: Sequence[Callable[..., Any]]) -> str:
    """Message of a failed run, with the line of the user's functions where it failed."""
    if short := short_of_memory(error):
        return short
    place = place_of(error, own) if own else ""
    if isinstance(error, CotenantError):
        return f"{place}: {error}" if place else str(error)
    return f"{type(error).__name__}{f' at {place}' if place else ''}: {error}"


def _as_read(row: Mapping[str, Any]) -> Row:
    """Row as JSON would return it, so that rows do not depend on where they were run."""
    try:
        found: Row = json.loads(json.dumps(to_json_value(dict(row)), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise CotenantError(f"the result cannot be written to a file: {error}") from None
    return found


def _content(value: Any) -> str:
    """Text of an option in a cell's key: its repr, and a digest of the content of a large array or
    frame.
    """
    text = repr(value)
    if callable(value) or value is None or isinstance(value, bool | int | float | str):
        return text
    try:
        return f"{text} {sha256(pickle.dumps(value)).hexdigest()[:16]}"
    except Exception:  # whatever it raises: it cannot be stored, nor be another one's
        return f"{text} {UNKNOWN}{secrets.token_hex(4)}"


def _option(value: Any) -> Any:
    """Value of an option for JSON; its repr where it has none."""
    try:
        return json.loads(json.dumps(to_json_value(value), allow_nan=False))
    except (TypeError, ValueError):
        return repr(value)


def _identity(cell: Cell) -> Row:
    """Row fields that identify a run before it starts. A line cut off lacks the last, the key."""
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
        **({"code": cell.code} if cell.code else {}),
        **cell.measures.document(),
        "versions": versions(),
        "key": cell.key,
    }


def _run_frontier(cell: Cell) -> Row:
    """Compute the problem's proved frontiers of efficiency against fairness."""
    clock = Clock()
    frontiers = analysis_of(cell.instance.problem).frontiers
    assert frontiers is not None, "the grid makes no such cell"
    found = frontiers(cell.instance, time_limit=cell.time_limit, **cell.options)
    status = (
        Status.OPTIMAL if all(each.status is Status.OPTIMAL for each in found) else Status.FEASIBLE
    )
    documents = [each.document() for each in found]
    return {
        **_identity(cell),
        "status": status.value,
        "stop": _stopped([each.stop for each in found]).value,
        "seconds": clock.seconds,
        "metrics": {},
        "frontiers": documents,
    }


def _stopped(stops: Sequence[Stop]) -> Stop:
    """Reason why several searches stopped: an interrupt if any, else a time limit if any, else the
    end.
    """
    return next(
        (stop for stop in (Stop.INTERRUPTED, Stop.TIME_LIMIT) if stop in stops), Stop.FINISHED
    )


def predictor(problem: str) -> Callable[..., Instance]:
    """Function that predicts a problem's instance from a share of it; InvalidOption if none."""
    found = analysis_of(problem).predicted
    if found is None:
        raise InvalidOption(f"there is no predictor for {problem}; leave predict out")
    return found


def _judged(cell: Cell, result: Result) -> Row:
    """Row of an answer to a predicted instance, measured on the true one, without its bounds."""
    if cell.predict is None:
        return {}
    measure = analysis_of(cell.instance.problem).metrics
    metrics = (
        {}
        if result.solution is None
        else measure(cell.instance, result.solution, **accepted(measure, cell.options))
    )
    objective = None if result.objective_name is None else metrics.get(result.objective_name)
    status = "feasible" if result.solution is not None else result.status.value
    return {
        "metrics": metrics,
        "bound": None,
        "gap": None,
        "gap_absolute": None,
        "objective": objective,
        "status": status,
    }


def _described(result: Result) -> Row:
    """Sentence and first rows of the answer, with the names of its instance."""
    table = result.described(ANSWER_ROWS)
    if table is None:
        return {"answer": None, "answer_table": None}
    document = to_json_value(table)
    return {"answer": document.pop("sentence"), "answer_table": document}


def _recorded(cell: Cell, result: Result) -> Row:
    """Field `record` of a row: the numbers for the report's pictures, or the error of computing
    them, which never loses the run.
    """
    record = analysis_of(cell.instance.problem).record
    if result.solution is None or record is None:
        return {"record": None}
    try:
        found = record(cell.instance, result.solution, **accepted(record, cell.options))
        json.dumps(found, allow_nan=False)
    except Exception as error:
        return {"record": {"error": f"{type(error).__name__}: {error}"}}
    return {"record": found}
