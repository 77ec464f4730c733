"""Comparison of methods on instances and seeds, one row for each run.

A row is a plain dict: what `Result.summary` gives, plus `error` for a run that failed. Rows are
appended whole to a JSONL file as they come, and finished cells are skipped when the same comparison
is started again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from numbers import Integral
from typing import Annotated, Any

from ... import catalog
from ...instances.problem.base import Instance
from ...instances.problem.errors import InvalidOption
from ...instances.problem.files import read
from ...instances.problem.option_types import Above, validate_options
from ...instances.problem.options import accepted, accepts, parse_options, require_settings
from ...solvers.outcome import validate_time_limit
from ..registry import analysis_of
from .cell import Cell, predictor
from .documents import require_good
from .gaps import Comparison
from .lock import locked
from .own_functions import Measures, code_of, own_name
from .progress import watched
from .result import fingerprint
from .rows import Row, RowFile, finished_rows
from .shards import Shard
from .workers import RunSettings, rows_of

TIME_LIMIT = 5.0
"""Seconds for each run when nothing else is said: a first table comes soon."""


@validate_options
def compare(
    instances: Iterable[Instance | str] | Instance | str,
    methods: Sequence[str | Callable[..., Any]] | str | Callable[..., Any] | None = None,
    *,
    seeds: Iterable[int] = (0,),
    time_limit: float | None = TIME_LIMIT,
    options: Mapping[str, Any] | None = None,
    predict: float | None = None,
    frontier: bool | Sequence[Instance] = False,
    prove: str | os.PathLike[str] | None = None,
    files: Mapping[str, str] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Comparison:
    """Run every method on every instance with every seed, and measure every gap.

    Parameters
    ----------
    instances, methods, seeds : what to run, one or several. Instances may be files or bundled ones
        by name; `methods` None is the whole catalogue of each problem. A name that only some of the
        problems know is run where it is known. What is exact, or takes no `rng`, runs once: no seed
        changes it.
    time_limit : seconds for each run; None for no limit, with which an exact method may never end.
    options : given to every method that takes them (engine, ...), and to the metrics of all
        (alpha); an option that neither takes is an error.
    predict : share of the penalties that is sampled; methods then see penalties predicted from the
        sample and their answers are judged on the true ones (problems that have a predictor).
    frontier : also find the proved frontiers of efficiency against fairness of each instance, or of
        these, a row of their own.
    prove : folder in which the proof of every answer that can have one is written, after the run
        and in as much time again, and verified; rows then say whether their claims are certified.
    files : where an instance was read from, by its fingerprint; for the commands that the report
        prints.
    jobs : processes, each of which runs one cell at a time; None runs in this process. Only a run
        in a process of its own has a hard limit, and may die without taking the comparison with it.
        With `executor`, how many of its runs share the cores of a machine (1 when not given).
    executor : runs the cells instead; any `concurrent.futures.Executor`, such as Dask's
        `client.get_executor()`. Whatever process it has take a cell, a child of that runs it. It is
        not shut down.
    shard : (number, count): run one of so many parts only, numbered from 1, and write it to a file
        of its own beside `out`, see `shards.Shard.file` and `shards.merge`.
    out : JSONL file to append rows to; rows of cells that it holds already are taken from it, and
        `Comparison.reused` counts them. A function of the user's own is also known by the files of
        its module and of what that imports, so that an edited one is run again; one that no file
        shows (a lambda, a function of a notebook) always is. One process at a time adds to a file.
    hard_limit : seconds after which a run is stopped from outside and becomes a failed row; 2 x
        `time_limit` + 20 s when not given, and none without a time limit. Needs `jobs` or
        `executor`.
    progress : called with (done, total, row). True shows a line in a terminal or a notebook once
        two seconds have passed, False none.
    manipulation : also find, in as much time again as each run has, what an agent gains at most by
        a misreport, see `analysis.manipulation` (problems whose agents report something).
    metrics : of your own, each f(instance, result) -> Annotated[float, "min"], or "max" where more
        is better.
    rules : of your own, each f(instance, answer) -> None, or a text of what the answer breaks; an
        answer that breaks one is marked and counts as none.
    stopping : called when processes or an executor were asked to stop, before the rows that they
        still hand in.

    A method that fails becomes a row with `error`. Ctrl-C keeps what is done: methods that keep
    their best answer when they are interrupted have 10 s to hand it in, and a second Ctrl-C ends at
    once. Rows are the same, up to seconds, wherever they are run.

    Raises
    ------
    InvalidOption, UnknownName
        Before any work. With `jobs` or `executor` also for a function that another process cannot
        import, such as a lambda or a function of the script that is running; and when a worker of
        the executor has another version of this package, or cannot import the function.
    InvalidFile
        `out` cannot be written, or another process is adding rows to it; the rows it holds are
        whole.
    EngineError
        The executor broke, or the machine starts no process; the rows so far are in
        `out`.
    """
    require_settings(compare, RunSettings, settings)
    named = [instances] if isinstance(instances, Instance | str) else instances
    listed = [read(one) if isinstance(one, str) else one for one in named]
    methods = [methods] if isinstance(methods, str) or callable(methods) else methods
    seeds = list(seeds)  # 1. Check the arguments before any work.
    validate_lists(listed, methods, seeds)
    validate_time_limit(time_limit)
    how = RunSettings(jobs, executor, **settings)
    validate_predict(predict, listed)
    measures = Measures(tuple(how.metrics), tuple(how.rules))
    measures.require_good([instance.problem for instance in listed])
    chosen = (listed if frontier else ()) if isinstance(frontier, bool) else tuple(frontier)
    cells = cells_of(listed, methods, seeds, options or {}, time_limit, predict, chosen)
    folder = None if prove is None else os.fspath(prove)  # 2. Complete the cells.
    codes: dict[tuple[int, ...], str] = {}
    for number, cell in enumerate(cells):
        cell = replace(cell, measures=measures) if cell.kind == "run" else cell
        own = tuple(map(id, cell.own))
        if own and own not in codes:
            codes[own] = code_of(cell.own)
        source = (files or {}).get(fingerprint(cell.instance))
        code = codes.get(own, "")
        searched = how.manipulation and cell.kind == "run" and predict is None
        cells[number] = replace(cell, file=source, prove=folder, code=code, manipulation=searched)
    place = {cell.key: index for index, cell in enumerate(cells)}
    part: dict[str, Any] | None = None  # 3. Keep the cells of one shard.
    if how.shard is not None:
        one = Shard(*how.shard)
        part = one.document(cells)
        cells = [cells[index] for index in one.indices(len(cells))]
        out = None if out is None else one.file(out)
    rows: list[Row] = []  # 4. Run what the file lacks; add each row to it.
    interrupted, reused = False, 0
    shown = watched() if how.progress is True else how.progress or None
    try:
        with locked(out):
            finished = finished_rows(out)
            rows += [finished[cell.key] for cell in cells if cell.key in finished]
            reused = len(rows)
            require_good(rows, str(out))
            todo = [cell for cell in cells if cell.key not in finished]
            with closing(rows_of(how, todo)) as coming:
                file = None if out is None else RowFile(out)
                for row in coming:
                    if part is not None:
                        row["shard"] = {**part, "cell": place[row["key"]]}
                    if file is not None:
                        file.add(row)
                    rows.append(row)
                    if shown is not None:
                        shown(len(rows), len(cells), row)
    except KeyboardInterrupt:
        interrupted = True
    return Comparison(sorted(rows, key=lambda row: place[row["key"]]), interrupted, reused)


Function = Callable[..., Any]
Methods = Sequence[str | Function] | None


def validate_lists(instances: Sequence[Instance], methods: Any, seeds: Sequence[int]) -> None:
    """Refuse arguments that are no nonempty lists of instances, methods and seeds."""
    if not instances:
        raise InvalidOption("no instances were given; name at least one file")
    for instance in instances:
        if not isinstance(instance, Instance):
            raise InvalidOption(
                f"instances holds a {type(instance).__name__}; expected instances, as "
                "cotenant.read returns them"
            )
    if methods is not None and (isinstance(methods, str) or len(methods) == 0):
        raise InvalidOption(
            f"methods is {methods!r}; expected a list of names or functions, or None for all"
        )
    if not seeds:
        raise InvalidOption("seeds is empty; expected at least one seed")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
            raise InvalidOption(f"seeds holds {seed!r}; expected whole numbers, 0 or more")
    named: dict[str, Any] = {}
    for method in methods or ():
        name = method if isinstance(method, str) else own_name(method)
        if named.setdefault(name, method) is not method and named[name] != method:
            raise InvalidOption(
                f"two methods are both called {name!r}; give each function a name of its own"
            )


@validate_options
def validate_predict(
    predict: Annotated[float, Above(0, "the share of penalties that is sampled", most=1)] | None,
    instances: Sequence[Instance],
) -> None:
    """Refuse an invalid share of penalties to predict from, and problems without a predictor."""
    if predict is None:
        return
    for problem in dict.fromkeys(instance.problem for instance in instances):
        predictor(problem)


def parse_comparison_options(
    instances: Sequence[Instance],
    methods: Methods,
    texts: Sequence[str],
    *,
    frontier: bool = False,
) -> dict[str, Any]:
    """Parse options of a comparison from `key=value` texts; one of its problems must know each.

    Raises
    ------
    UnknownName, InvalidOption
        A method is not known to any problem; a key is not known to any method that is compared, or
        its value is of no type that one of them takes.
    """
    problems = list(dict.fromkeys(instance.problem for instance in instances))
    names = [method for method in methods or () if isinstance(method, str)]
    own = [method for method in methods or () if not isinstance(method, str)]
    chosen = [method for name in names for method in catalog.find_among(problems, name).values()]
    takers: list[Callable[..., Any]] = list(own)
    for problem in problems:
        entries = (
            catalog.methods(problem)
            if methods is None
            else [method for method in chosen if method.problem == problem]
        )
        takers += [method.resolve() for method in entries]
        takers += [analysis_of(problem).metrics] if entries or own else []
        found = analysis_of(problem).frontiers if frontier else None
        takers += [] if found is None else [found]
    return parse_options(tuple(takers), texts, "this comparison")


def cells_of(
    instances: Sequence[Instance],
    methods: Methods,
    seeds: Sequence[int],
    options: Mapping[str, Any],
    time_limit: float | None,
    predict: float | None = None,
    frontier: Sequence[Instance] = (),
) -> list[Cell]:
    """Make every cell of a comparison once, in the order of the tables.

    Parameters
    ----------
    options : each cell gets those that its method or its problem's metrics take.
    frontier : the instances whose frontiers are found.

    Raises
    ------
    UnknownName, InvalidOption
        A method that no problem knows, an option that nothing takes, or no cell at all.
    """
    # 1. A cell for each instance, method and seed.
    problems = list(dict.fromkeys(instance.problem for instance in instances))
    cells = []
    for instance in instances:
        for function, entry in _chosen(problems, instance, methods):
            own = accepted((function, analysis_of(instance.problem).metrics), options)
            exact = entry is not None and entry.kind == "exact"
            # no seed changes what is exact, or draws nothing
            once = predict is None and (exact or not accepts(function, "rng"))
            method = function if entry is None else entry.name
            cells += [
                Cell(instance, method, seed, time_limit, own, predict)
                for seed in (seeds[:1] if once else seeds)
            ]
    # 2. Each exact method on the true penalties too: its bound judges predictions.
    if predict is not None:
        exact_methods = {(one.problem, one.name) for one in catalog.METHODS if one.kind == "exact"}
        judges = [cell for cell in cells if (cell.instance.problem, cell.name) in exact_methods]
        cells = [replace(cell, seed=0, predict=None) for cell in judges] + cells
    # 3. The frontiers of each instance of a problem that has some.
    found = [(instance, analysis_of(instance.problem).frontiers) for instance in frontier]
    cells += [
        Cell(instance, "frontier", 0, time_limit, accepted(function, options), kind="frontier")
        for instance, function in found
        if function is not None
    ]
    if frontier and not any(function for _, function in found):
        raise InvalidOption(
            f"frontier is asked for, and there is none for {frontier[0].problem}; leave it out"
        )
    # 4. Options that nothing takes, and no cell at all, are refused.
    if unknown := set(options) - {name for cell in cells for name in cell.options}:
        raise InvalidOption(
            f"no method of this comparison takes the option {min(unknown)!r}, nor do its metrics"
        )
    if not cells:
        lacking = sorted({need for each in instances for need in catalog.left_out(each)})
        raise InvalidOption(
            "no method given works on an instance given; see cotenant.methods()"
            if methods is not None
            else f"no method works on an instance given; expected {', or '.join(lacking)}"
        )
    return list({cell.key: cell for cell in cells}.values())


def _chosen(
    problems: Sequence[str], instance: Instance, methods: Methods
) -> list[tuple[Function, Any]]:
    """Methods to run on an instance, each with its catalog entry; None for the user's own."""
    if methods is None:
        return [(entry.resolve(), entry) for entry in catalog.usual_methods(instance)]
    chosen: list[tuple[Function, Any]] = []
    for method in methods:
        if not isinstance(method, str):
            chosen.append((method, None))
        elif (entry := catalog.find_among(problems, method).get(instance.problem)) is not None:
            chosen.append((entry.resolve(), entry))
    return chosen
