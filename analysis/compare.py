"""Instances x methods x seeds: one row a run, every gap measured against the best proved bound.

A row is a plain dict: what `Result.summary` gives, plus `error` for a run that failed. Rows are appended whole to a JSONL
file as they come, and finished cells are skipped when the same comparison is started again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from ..instances.problem.base import Instance
from ..instances.problem.errors import InvalidOption, UnknownName
from ..instances.problem.options import accepts
from ..instances.problem.registry import resolve
from ..solvers.outcome import AGREE, Stop, validate_time_limit
from .metric import Metric
from .result import Result, fingerprint
from .runs import Cell, Row, append_row, failed_row, finished_rows, run_cell

if TYPE_CHECKING:
    import pandas

TIME_LIMIT = 60.0
"""Seconds for each run when nothing else is said: one hard cell must not hold up a sweep for ever."""

Progress = Callable[[int, int, Row], None]


@dataclass(frozen=True)
class Comparison:
    """The rows of a comparison, and the tables made of them."""

    rows: list[Row] = field(default_factory=list)
    interrupted: bool = False

    @property
    def runs(self) -> list[Row]:
        """The rows of methods, without those of frontiers."""
        return [row for row in self.rows if row.get("kind", "run") == "run"]

    @property
    def table(self) -> pandas.DataFrame:
        """One line per run: problem, instance, method, seed, status, seconds, each metric, and its gap."""
        import pandas

        flat = []
        for row in with_gaps(self.runs):
            names = ("problem", "instance", "fingerprint", "method", "seed", "predict", "status", "stop")
            base = {name: row.get(name) for name in names}
            flat.append(base | row["metrics"] | row["gaps"] | {"seconds": row.get("seconds"), "error": row.get("error")})
        return pandas.DataFrame(flat).dropna(axis="columns", how="all") if flat else pandas.DataFrame()

    def summary(self) -> list[Row]:
        """One row per problem, instance, method and predicted share: means over seeds, and failures counted."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in with_gaps(self.runs):
            key = (row["problem"], row["instance"], row["fingerprint"], row["method"], row.get("predict"))
            groups.setdefault(key, []).append(row)
        result = []
        for (problem, instance, mark, method, predict), rows in groups.items():
            done = [row for row in rows if not row.get("error") and row["metrics"]]
            line: Row = {
                "problem": problem,
                "instance": instance,
                "fingerprint": mark,
                "method": method,
                "runs": len(rows),
                "failed": len(rows) - len(done),
            }
            line["predict"] = predict
            line["status"] = "+".join(sorted({row["status"] for row in rows if row.get("status")})) or "error"
            line["levels"] = done[0].get("levels", []) if done else []
            line["objective_name"] = next((row["objective_name"] for row in done if row.get("objective_name")), None)
            line["certified"] = any(row.get("tolerance") is not None for row in done)
            line["bounds"] = rows[0]["bounds"]
            for part in ("metrics", "gaps"):
                names = dict.fromkeys(name for row in done for name in row[part])
                line[part] = {name: _mean([row[part][name] for row in done if row[part].get(name) is not None]) for name in names}
            line["seconds"] = _mean([row["seconds"] for row in done])
            line["errors"] = sorted({row["error"] for row in rows if row.get("error")})
            result.append(line)
        return result


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
    """The rows with `bounds` (the best that some method of the same instance proved, by metric) and `gaps` to them.

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
        result.append(row | {"bounds": bounds, "gaps": gaps})
    return result


def reading(row: Row) -> dict[str, Any]:
    """What the problem's metrics were told (alpha, ...), defaults filled in: values under two readings are two quantities."""
    options = row.get("options") or {}
    parameters = _signature(row["problem"]).parameters.values()
    return {entry.name: options.get(entry.name, entry.default) for entry in parameters if entry.kind is entry.KEYWORD_ONLY}


@cache
def _signature(problem: str) -> Signature:
    return signature(resolve(f"analysis.{problem}.metrics:metrics"))


def compare(
    instances: Sequence[Instance],
    methods: Sequence[str | Callable[..., Any]] | None,
    *,
    solve: Callable[..., Result],
    catalogue: Callable[[str], Sequence[Any]],
    seeds: Sequence[int] = (0,),
    time_limit: float | None = TIME_LIMIT,
    options: Mapping[str, Any] | None = None,
    predict: float | None = None,
    frontier: bool = False,
    files: Mapping[str, str] | None = None,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run every method on every instance with every seed.

    Parameters
    ----------
    instances, methods, seeds : what to run; `methods` None for the whole catalogue of each problem. An exact method
        does not depend on the seed and runs once.
    time_limit : seconds for each run; None for no limit, with which an exact method may never end.
    options : given to every method that takes them (engine, ...), and to the metrics of all (alpha); an option that
        neither takes is an error.
    predict : share of the penalties that is sampled; methods then see penalties predicted from the sample and their
        answers are judged on the true ones (problems that have a predictor).
    frontier : also find each instance's proved frontiers of efficiency against fairness, a row of their own.
    files : where an instance was read from, by its fingerprint; for the commands that the report prints.
    jobs : processes; 1 runs in this one.
    out : JSONL file to append rows to; cells it already holds are skipped.
    progress : called with (done, total, row).

    A method that fails becomes a row with `error`; Ctrl-C keeps what is done.
    """
    _validate_lists(instances, methods, seeds)
    validate_time_limit(time_limit)
    if jobs < 1:
        raise InvalidOption(f"jobs is {jobs}; expected a number of processes, at least 1")
    if predict is not None and not 0 < predict <= 1:
        raise InvalidOption(f"predict is {predict}; expected the share of penalties that is sampled, above 0 and at most 1")
    cells = _cells(instances, methods, seeds, time_limit, options or {}, predict, catalogue)
    if frontier:
        cells += _frontier_cells(instances, time_limit, options or {})
    cells = [replace(cell, file=(files or {}).get(fingerprint(cell.instance))) for cell in cells]
    finished = finished_rows(out)
    rows = [finished[cell.key] for cell in cells if cell.key in finished]
    todo = [cell for cell in cells if cell.key not in finished]
    interrupted = False
    try:
        for row in _rows(todo, solve, jobs):
            rows.append(row)
            if out is not None:
                append_row(out, row)
            if progress is not None:
                progress(len(rows), len(cells), row)
            if row.get("stop") == Stop.INTERRUPTED.value:  # the method kept its best answer; the rest is not begun
                interrupted = True
                break
    except KeyboardInterrupt:
        interrupted = True
    place = {cell.key: index for index, cell in enumerate(cells)}
    return Comparison(sorted(rows, key=lambda row: place[row["key"]]), interrupted)


def _validate_lists(instances: Sequence[Instance], methods: Any, seeds: Sequence[int]) -> None:
    """Refuse what is no list of instances, methods and seeds, or an empty one."""
    if not instances:
        raise InvalidOption("no instances were given; name at least one file")
    for instance in instances:
        if not isinstance(instance, Instance):
            raise InvalidOption(f"instances holds a {type(instance).__name__}; expected instances, as cotenant.read returns them")
    if methods is not None and (isinstance(methods, str) or not methods):
        raise InvalidOption(f"methods is {methods!r}; expected a list of names or functions, or None for all")
    if not seeds:
        raise InvalidOption("seeds is empty; expected at least one seed")
    named: dict[str, Any] = {}
    for method in methods or ():
        name = method if isinstance(method, str) else getattr(method, "__name__", type(method).__name__)
        if named.setdefault(name, method) is not method and named[name] != method:
            raise InvalidOption(f"two methods are both called {name!r}; give each function a name of its own")


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


def _frontier_cells(instances: Sequence[Instance], time_limit: float | None, options: Mapping[str, Any]) -> list[Cell]:
    """One cell for each different instance: its frontiers."""
    cells = []
    for instance in instances:
        try:
            function = resolve(f"analysis.{instance.problem}.price_map:price_frontiers")
        except ImportError:  # a problem without frontiers: the row says so
            own = {}
        else:
            own = {name: value for name, value in options.items() if accepts(function, name)}
        cells.append(Cell(instance, "frontier", 0, time_limit, own, kind="frontier"))
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
                yield failed_row(waiting[future], error)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _judged_together(row: Row) -> tuple[Any, ...]:
    """Rows of one instance whose metrics mean the same share their bounds."""
    return (row["problem"], row["fingerprint"], repr(reading(row)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
