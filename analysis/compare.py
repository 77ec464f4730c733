"""Instances x methods x seeds: one row a run, every gap measured against the best proved bound.

A row is a plain dict: what `Result.summary` gives, plus `error` for a run that failed. Rows are appended whole to a JSONL
file as they come, and finished cells are skipped when the same comparison is started again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..instances.problem.base import Instance
from ..instances.problem.errors import CotenantError, InvalidFile, InvalidOption, UnknownName
from ..instances.problem.files import write_text
from ..instances.problem.options import accepts
from ..instances.problem.registry import resolve
from ..solvers.outcome import AGREE, validate_time_limit
from .metric import Metric
from .result import Result, versions

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]
Progress = Callable[[int, int, Row], None]


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


@dataclass(frozen=True)
class Comparison:
    """The rows of a comparison, and the tables made of them."""

    rows: list[Row] = field(default_factory=list)
    interrupted: bool = False

    @property
    def table(self) -> pandas.DataFrame:
        """One line per run: problem, instance, method, seed, status, seconds, each metric, and its gap."""
        import pandas

        flat = []
        for row in with_gaps(self.rows):
            base = {name: row.get(name) for name in ("problem", "instance", "method", "seed", "predict", "status", "stop")}
            flat.append(base | row["metrics"] | row["gaps"] | {"seconds": row.get("seconds"), "error": row.get("error")})
        return pandas.DataFrame(flat).dropna(axis="columns", how="all") if flat else pandas.DataFrame()

    def summary(self) -> list[Row]:
        """One row per problem, instance and method: means over seeds of metrics, gaps and seconds, and failures counted."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in with_gaps(self.rows):
            groups.setdefault((row["problem"], row["instance"], row["method"]), []).append(row)
        result = []
        for (problem, instance, method), rows in groups.items():
            done = [row for row in rows if not row.get("error") and row["metrics"]]
            line: Row = {
                "problem": problem,
                "instance": instance,
                "method": method,
                "runs": len(rows),
                "failed": len(rows) - len(done),
            }
            line["status"] = "+".join(sorted({row["status"] for row in rows if row.get("status")})) or "error"
            line["levels"] = done[0].get("levels", []) if done else []
            for part in ("metrics", "gaps"):
                names = dict.fromkeys(name for row in done for name in row[part])
                line[part] = {name: _mean([row[part][name] for row in done if row[part].get(name) is not None]) for name in names}
            line["seconds"] = _mean([row["seconds"] for row in done])
            line["errors"] = sorted({row["error"] for row in rows if row.get("error")})
            result.append(line)
        return result


def fingerprint(instance: Instance) -> str:
    """Sixteen hexadecimal digits of the instance's content: two instances of one name are two."""
    from hashlib import sha256

    digest = sha256()
    for entry in fields(instance):
        value = getattr(instance, entry.name)
        digest.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
        digest.update(f"|{entry.name}|{getattr(value, 'shape', '')}".encode())
    return digest.hexdigest()[:16]


def gap_to(metric: Metric, value: float | None, bound: float | None) -> float | None:
    """How far a value of a metric is from a proved bound on it, as a fraction; the one definition used in every table.

    |value - bound| / max(|bound|, 1e-9) when the value is on the worse side of the bound, 0 when they agree to 1e-9. A
    value better than the bound is negative: the bound was proved for another objective's constraints, or is wrong.
    """
    if value is None or bound is None or metric.sense == "":
        return None
    excess = value - bound if metric.sense == "min" else bound - value
    return 0.0 if abs(excess) <= AGREE else excess / max(abs(bound), AGREE)


def with_gaps(rows: Iterable[Row]) -> list[Row]:
    """The rows with `gaps`: per metric that some method of the same instance proved a bound on, the gap to the best bound.

    Rows of predicted penalties are judged against bounds of the true instance.
    """
    listed = list(rows)
    tables = {row["problem"]: {m.name: m for m in resolve(f"analysis.{row['problem']}.metrics:METRICS")} for row in listed}
    best: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in listed:
        name, bound = row.get("objective_name"), row.get("bound")
        if name is None or bound is None or row.get("predict") is not None or row.get("tolerance") is not None:
            continue  # the error of an equilibrium is no gap to an optimum
        bounds = best.setdefault(_judged_together(row), {})
        sense = tables[row["problem"]][name].sense
        bounds[name] = bound if name not in bounds else (max if sense == "min" else min)(bounds[name], bound)
    result = []
    for row in listed:
        metrics = tables[row["problem"]]
        bounds = best.get(_judged_together(row), {})
        gaps = {f"gap_{name}": gap_to(metrics[name], row["metrics"].get(name), bound) for name, bound in bounds.items()}
        result.append(row | {"gaps": gaps})
    return result


def compare(
    instances: Sequence[Instance],
    methods: Sequence[str | Callable[..., Any]] | None,
    *,
    solve: Callable[..., Result],
    catalogue: Callable[[str], Sequence[Any]],
    seeds: Sequence[int] = (0,),
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    predict: float | None = None,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method on every instance with every seed.

    Parameters
    ----------
    instances, methods, seeds : what to run; `methods` None for the whole catalogue of each problem. An exact method
        does not depend on the seed and runs once.
    time_limit : seconds for each run.
    options : given to every method that takes them (engine, ...), and to the metrics of all (alpha); an option that
        neither takes is an error.
    predict : share of the penalties that is sampled; methods then see penalties predicted from the sample and their
        answers are judged on the true ones (problems that have a predictor).
    jobs : processes; 1 runs in this one.
    out : JSONL file to append rows to; cells it already holds are skipped.
    progress : called with (done, total, row).

    A method that fails becomes a row with `error`; Ctrl-C keeps what is done.
    """
    if not instances:
        raise InvalidOption("no instances were given; name at least one file")
    validate_time_limit(time_limit)
    if jobs < 1:
        raise InvalidOption(f"jobs is {jobs}; expected a number of processes, at least 1")
    if predict is not None and not 0 < predict <= 1:
        raise InvalidOption(f"predict is {predict}; expected the share of penalties that is sampled, above 0 and at most 1")
    cells = _cells(instances, methods, seeds, time_limit, options or {}, predict, catalogue)
    finished = _finished(out)
    rows = [finished[cell.key] for cell in cells if cell.key in finished]
    todo = [cell for cell in cells if cell.key not in finished]
    interrupted = False
    try:
        for row in _rows(todo, solve, jobs):
            rows.append(row)
            if out is not None:
                _append(out, row)
            if progress is not None:
                progress(len(rows), len(cells), row)
    except KeyboardInterrupt:
        interrupted = True
    place = {cell.key: index for index, cell in enumerate(cells)}
    return Comparison(sorted(rows, key=lambda row: place[row["key"]]), interrupted)


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


def _cells(
    instances: Sequence[Instance],
    methods: Sequence[str | Callable[..., Any]] | None,
    seeds: Sequence[int],
    time_limit: float | None,
    options: Mapping[str, Any],
    predict: float | None,
    catalogue: Callable[[str], Sequence[Any]],
) -> list[Cell]:
    cells = []
    taken: set[str] = set()
    for instance in instances:
        metrics = resolve(f"analysis.{instance.problem}.metrics:metrics")
        table = {name: method for method in catalogue(instance.problem) for name in (method.name, *method.aliases)}
        for method in methods if methods is not None else [entry.name for entry in catalogue(instance.problem)]:
            exact = False
            function: Callable[..., Any]
            if isinstance(method, str):
                if method not in table:
                    raise UnknownName(f"{instance.problem} method", method, table)
                exact, function, method = table[method].kind == "exact", table[method].resolve(), table[method].name
            else:
                function = method
            takers = (function, metrics)
            own = {name: value for name, value in options.items() if any(accepts(taker, name) for taker in takers)}
            taken |= set(own)
            for seed in list(seeds)[:1] if exact and predict is None else seeds:
                cells.append(Cell(instance, method, seed, time_limit, own, None if exact and predict is None else predict))
    if unknown := set(options) - taken:
        raise InvalidOption(f"no method of this comparison takes the option {min(unknown)!r}, nor do its metrics")
    if predict is not None:
        cells = _with_true_bounds(cells, catalogue)
    return list({cell.key: cell for cell in cells}.values())


def _with_true_bounds(cells: list[Cell], catalogue: Callable[[str], Sequence[Any]]) -> list[Cell]:
    """With predicted penalties, each exact method is also run once on the true ones: its bound is what all are judged by."""
    truth = []
    for cell in cells:
        kinds = {method.name: method.kind for method in catalogue(cell.instance.problem)}
        if kinds.get(cell.name) == "exact":
            truth.append(Cell(cell.instance, cell.method, 0, cell.time_limit, cell.options, None))
    return truth + cells


def _rows(cells: Sequence[Cell], solve: Callable[..., Result], jobs: int) -> Iterator[Row]:
    if jobs == 1 or len(cells) <= 1:
        for cell in cells:
            yield run_cell(cell, solve)
        return
    import multiprocessing

    # spawn: solver libraries hold threads that a forked child would inherit broken
    pool = ProcessPoolExecutor(min(jobs, len(cells)), mp_context=multiprocessing.get_context("spawn"))
    try:
        waiting: dict[Future[Row], Cell] = {pool.submit(run_cell, cell, solve): cell for cell in cells}
        for future in as_completed(waiting):
            try:
                yield future.result()
            except Exception as error:  # a worker that died takes its cell with it, never the sweep
                yield _failed(waiting[future], error)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def run_cell(cell: Cell, solve: Callable[..., Result]) -> Row:
    """One row: the run's summary, or its error; only KeyboardInterrupt passes through."""
    try:
        if cell.predict is None:
            result = solve(cell.instance, cell.method, seed=cell.seed, time_limit=cell.time_limit, **cell.options)
            return result.summary() | {"key": cell.key, "predict": None}
        return _run_predicted(cell, solve)
    except Exception as error:
        return _failed(cell, error)


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


def _failed(cell: Cell, error: BaseException) -> Row:
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


def _judged_together(row: Row) -> tuple[Any, ...]:
    """Rows of one instance under one reading of stability share their bounds."""
    options = row.get("options") or {}
    key = json.loads(row["key"])
    return (*key[:3], options.get("alpha", 0.0), options.get("alpha_mode"))


def _finished(out: str | os.PathLike[str] | None) -> dict[str, Row]:
    """The rows that `out` holds already, by key; failed ones are run again. A last line cut short is taken off the file."""
    if out is None or not Path(out).exists():
        return {}
    rows = read_rows(out)
    text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    if Path(out).read_text() != text:
        write_text(out, text)
    return {row["key"]: row for row in rows if not row.get("error")}


def _append(out: str | os.PathLike[str], row: Row) -> None:
    try:
        with open(out, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, allow_nan=False) + "\n")
    except OSError as error:
        raise InvalidFile(f"{os.fspath(out)} cannot be written: {error.strerror}; choose another --out") from None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
