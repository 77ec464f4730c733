"""Instances x methods x seeds: one row a run, every gap measured against the best proved bound.

A row is a plain dict: what `Result.summary` gives, plus `error` for a run that failed. Rows are appended whole to a JSONL
file as they come, and finished cells are skipped when the same comparison is started again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

from ..instances.problem.base import Instance
from ..instances.problem.registry import resolve
from ..solvers.outcome import AGREE, validate_time_limit
from .cells import Grid, validate_lists, validate_predict
from .metric import Metric
from .result import Result, fingerprint
from .runners import Here, runner_of, validate_place
from .runs import Row, RowFile, finished_rows

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
    def frontiers(self) -> list[Row]:
        """The rows of frontiers, of kind "frontier"."""
        return [row for row in self.rows if row.get("kind") == "frontier"]

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
        """One row per problem, instance, method and predicted share: means over the seeds with an answer, the others counted.

        A mean is None when a seed has no such value: a mean over the others would be of other runs than its neighbours.
        """
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in with_gaps(self.runs):
            key = (row["problem"], row["instance"], row["fingerprint"], row["method"], row.get("predict"))
            groups.setdefault(key, []).append(row)
        result = []
        for (problem, instance, mark, method, predict), rows in groups.items():
            done = [row for row in rows if not row.get("error")]  # an instance proved infeasible is no failure
            answered = [row for row in done if row["metrics"]]
            line: Row = {
                "problem": problem,
                "instance": instance,
                "fingerprint": mark,
                "method": method,
                "runs": len(rows),
                "failed": len(rows) - len(done),
                "unanswered": len(done) - len(answered),
            }
            line["predict"] = predict
            line["status"] = "+".join(sorted({row["status"] for row in rows if row.get("status")})) or "error"
            line["levels"] = done[0].get("levels", []) if done else []
            line["objective_name"] = next((row["objective_name"] for row in done if row.get("objective_name")), None)
            line["certified"] = any(row.get("tolerance") is not None for row in done)
            line["bounds"] = rows[0]["bounds"]
            for part in ("metrics", "gaps"):
                names = dict.fromkeys(name for row in answered for name in row[part])
                line[part] = {name: _mean([row[part].get(name) for row in answered]) for name in names}
            line["seconds"] = _mean([row["seconds"] for row in done])
            line["errors"] = dict(sorted(Counter(row["error"] for row in rows if row.get("error")).items()))
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
    told = {entry.name: options.get(entry.name, entry.default) for entry in parameters if entry.kind is entry.KEYWORD_ONLY}
    # 0 and 0.0 are one alpha: rows are told apart by what is written of it.
    return {name: float(value) if type(value) is int else value for name, value in told.items()}


@cache
def _signature(problem: str) -> Signature:
    return signature(resolve(f"analysis.{problem}.metrics:metrics"))


def compare(
    instances: Sequence[Instance],
    methods: Sequence[str | Callable[..., Any]] | None,
    *,
    solve: Callable[..., Result],
    catalogue: Callable[[str], Sequence[Any]],
    find: Callable[[Sequence[str], str], Mapping[str, Any]],
    seeds: Sequence[int] = (0,),
    time_limit: float | None = TIME_LIMIT,
    options: Mapping[str, Any] | None = None,
    predict: float | None = None,
    frontier: bool = False,
    files: Mapping[str, str] | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    hard_limit: float | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    stopping: Callable[[], None] | None = None,
) -> Comparison:
    """Run every method on every instance with every seed.

    Parameters
    ----------
    instances, methods, seeds : what to run; `methods` None for the whole catalogue of each problem. A name that only some
        of the problems know is run where it is known. What is exact, or takes no `rng`, runs once: no seed changes it.
    time_limit : seconds for each run; None for no limit, with which an exact method may never end.
    options : given to every method that takes them (engine, ...), and to the metrics of all (alpha); an option that
        neither takes is an error.
    predict : share of the penalties that is sampled; methods then see penalties predicted from the sample and their
        answers are judged on the true ones (problems that have a predictor).
    frontier : also find each instance's proved frontiers of efficiency against fairness, a row of their own.
    files : where an instance was read from, by its fingerprint; for the commands that the report prints.
    jobs : processes, each of which runs one cell at a time; None runs in this process. Only a run in a process of its own
        has a hard limit, and may die without taking the comparison with it.
    dask : address of a Dask scheduler, whose workers run the cells instead; see `analysis.cluster`.
    hard_limit : seconds after which a run is stopped from outside and becomes a failed row; 2 x `time_limit` + 20 s when
        not given, and none without a time limit. Needs `jobs` or `dask`.
    out : JSONL file to append rows to; cells it already holds are skipped.
    progress : called with (done, total, row).
    stopping : called when processes or a cluster were asked to stop, before the rows that they still hand in.

    A method that fails becomes a row with `error`. Ctrl-C keeps what is done: methods that keep their best answer when they
    are interrupted have 10 s to hand it in, and a second Ctrl-C ends at once. Rows are the same, up to seconds, wherever
    they are run.

    Raises
    ------
    InvalidOption, UnknownName
        Before any work. With `jobs` or `dask` also for a function that another process cannot import, such as a lambda or a
        function of the script that is running.
    InvalidFile
        `out` cannot be written; the rows it holds are whole.
    EngineError
        The cluster, or the machine's last process, went away in the middle; the rows so far are in `out`.
    """
    validate_lists(instances, methods, seeds)
    validate_time_limit(time_limit)
    validate_place(jobs, dask, hard_limit)
    validate_predict(predict, instances)
    grid = Grid(catalogue, find, options or {}, time_limit, predict)
    cells = grid.cells(instances, methods, seeds, frontier=frontier)
    cells = [replace(cell, file=(files or {}).get(fingerprint(cell.instance))) for cell in cells]
    finished = finished_rows(out)
    rows = [finished[cell.key] for cell in cells if cell.key in finished]
    todo = [cell for cell in cells if cell.key not in finished]
    interrupted = False
    try:
        with runner_of(solve, jobs, dask, hard_limit, stopping) if todo else Here(solve) as runner:
            runner.prepare(todo)
            file = None if out is None else RowFile(out)
            with closing(runner.rows()) as coming:
                for row in coming:
                    if file is not None:
                        file.add(row)
                    rows.append(row)
                    if progress is not None:
                        progress(len(rows), len(cells), row)
    except KeyboardInterrupt:
        interrupted = True
    place = {cell.key: index for index, cell in enumerate(cells)}
    return Comparison(sorted(rows, key=lambda row: place[row["key"]]), interrupted)


def _judged_together(row: Row) -> tuple[Any, ...]:
    """Rows of one instance whose metrics mean the same share their bounds."""
    return (row["problem"], row["fingerprint"], repr(reading(row)))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
