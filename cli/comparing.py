"""The command `compare`: methods beside each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis.report.console import (
    Form,
    print_json,
    print_tables,
    require_writable,
    say,
    waiting,
)
from ..instances.problem.option_types import Above, AtLeast, validate_options
from ..solvers.interrupts import deferred
from .arguments import (
    As,
    From,
    Json,
    Options,
    SettingsFile,
    read_settings,
    require_latex,
)
from .codes import NO_ANSWER, leave_interrupted
from .completion import instances
from .completion import methods as method_names
from .functions import given_function, given_method, read_several


@validate_options
@dataclass(frozen=True)
class ComparisonSettings:
    """Rarely changed settings of a comparison, from the file of `--settings`.

    Attributes
    ----------
    hard_limit : seconds after which a run is stopped; 2 x time limit + 20 when not given
    predict : share of the penalties that methods see; the others are predicted for them, and
        answers are measured on the true ones
    manipulation : also find what an agent gains by a misreport
    dask : run on the workers of the Dask scheduler at this address
    shard : run part I of N ("3/40"), into a file beside --out; "auto" is the task of an array
    metrics : metrics of your own, "module:function"
    rules : rules of your own that answers must obey, "module:function"
    against : test the others against this method, over 6 instances or more; without it, against
        the best of each metric
    columns : the columns that tables show, by header
    width : width [cm] of the line that tables of `--format latex` must fit
    """

    hard_limit: Annotated[float | None, Above(0, "seconds")] = None
    predict: float | None = None
    manipulation: bool = False
    dask: str | None = None
    shard: str | None = None
    metrics: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    against: str | None = None
    columns: tuple[str, ...] = ()
    width: Annotated[float | None, Above(0, "cm")] = None


@dataclass(frozen=True)
class Runs:
    """Options on how the runs of a comparison are done, and where their results are kept.

    Attributes
    ----------
    seeds : seeds 0 to N-1 for the methods that draw
    jobs : processes on this machine
    frontier : also find the proved frontiers of efficiency against fairness
    prove : write a proof of each answer here, and verify it
    out : append rows here; runs that it holds already are not done again
    """

    seeds: Annotated[int, "--seeds", AtLeast(1)] = 1
    time_limit: Annotated[float, "S"] = 5.0
    jobs: Annotated[int, "N", AtLeast(1)] = 1
    frontier: Annotated[bool, "--frontier"] = False
    prove: Annotated[Path | None, "FOLDER"] = None
    out: Annotated[Path | None, "RUNS.jsonl"] = None


def compare(
    files: Annotated[list[str], instances],
    *,
    method: Annotated[list[str] | None, "-m --method", method_names] = None,
    option: Options = None,
    source: From = None,
    runs: Annotated[dict[str, Any], Runs],
    settings: SettingsFile = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Run methods and print how far each is from the proved bounds.

    Parameters
    ----------
    files : instance files, folders of them, or bundled instances
    method : a method, or your own as module:function. Repeat for more. Without it, all that suit
        the instance and usually end in time
    """
    from ..analysis.report.overview import overview_tables
    from ..analysis.report.significance import require_against
    from ..analysis.report.tables import require_columns
    from ..analysis.run.compare import compare as run
    from ..analysis.run.compare import parse_comparison_options
    from ..analysis.run.result import fingerprint
    from ..analysis.run.shards import Shard
    from ..analysis.run.workers import dask_executor
    from ..instances.problem import InvalidOption

    # 1. What is asked for, refused before any run where it is wrong.
    (rare,) = read_settings(settings, ComparisonSettings)
    require_latex(rare.width, form)
    given, texts = read_several(files, source, option)
    problems = [instance.problem for instance in given.instances]
    require_columns({*problems}, rare.columns, [each.partition(":")[2] for each in rare.metrics])
    out, frontier = runs["out"], runs["frontier"]
    kept_in, shard = out, None
    if rare.shard is not None:
        if out is None:
            raise InvalidOption("shard writes a file beside --out; add --out RUNS.jsonl")
        part = Shard.parse(rare.shard)
        shard, kept_in = (part.number, part.count), part.file(out)
    require_writable(kept_in, *given.files)
    chosen = None if not method else [given_method(each) for each in method]
    require_against(rare.against, problems, chosen)
    options = parse_comparison_options(given.instances, chosen, texts, frontier=frontier)
    say_what_is_compared(given, chosen)
    pairs = () if source else reversed(given.files.items())
    names = {fingerprint(instance): name for name, instance in pairs}
    # 2. The runs; each in a process of its own, as only those have a hard limit.
    with ExitStack() as whole:
        pool = None if rare.dask is None else whole.enter_context(dask_executor(rare.dask))
        with waiting("comparing") as tell:
            result = run(
                given.instances,
                chosen,
                seeds=range(runs.pop("seeds")),
                options=options,
                predict=rare.predict,
                files=names,
                executor=pool,
                shard=shard,
                **runs,
                hard_limit=rare.hard_limit,
                manipulation=rare.manipulation,
                metrics=[given_function(each, "metric") for each in rare.metrics],
                rules=[given_function(each, "rule") for each in rare.rules],
                progress=lambda done, of, row: tell(f"{done} of {of} runs, last {row['method']}"),
                stopping=lambda: say(
                    "stopping: methods hand in the best they have (10 s); Ctrl-C again ends at once"
                ),
            )
            put_off = whole.enter_context(deferred())
        # 3. The tables.
        say_reused(result.reused, "run", kept_in)
        if as_json:
            print_json(result.rows)
        elif result.rows or not result.interrupted:
            sources = {fingerprint(instance): instance.source for instance in given.instances}
            tables = overview_tables(result, sources, rare.against)
            for name in rare.columns:
                if all(table.only([name]) is table for table in tables):
                    say(f"left out: {name}; no table of these runs has it")
            print_tables(tables, form, width=rare.width, columns=rare.columns)
        interrupted = result.interrupted | put_off.interrupted
    if interrupted:
        verb = "shown" if kept_in is None else "kept"
        leave_interrupted(f"{len(result.rows)} runs are {verb}")
    answered = any(row["metrics"] for row in result.rows)
    if any(row.get("error") for row in result.rows) or (result.rows and not answered):
        raise typer.Exit(NO_ANSWER)


def say_reused(number: int, what: str, out: Path | None) -> None:
    """Say on stderr how many rows were taken from the file of an earlier command."""
    if number:
        say(f"{number} {what}{'s' * (number > 1)} taken from {out}")


def say_what_is_compared(given: Any, chosen: list[str | Callable[..., Any]] | None) -> None:
    """Say on stderr which files, methods and instances of a comparison are left out."""
    from .. import catalog

    if given.results:
        more = f" and {len(given.results) - 1} more" if len(given.results) > 1 else ""
        say(f"left out: {given.results[0]}{more}: results, no instances")
    problems = list(dict.fromkeys(instance.problem for instance in given.instances))
    if len(problems) > 1 or len(given.files) > 1:
        say(f"comparing {given.count}")
    if chosen is None:
        left = dict.fromkeys(name for one in given.instances for name in catalog.left_out(one))
        if left:
            first = ", ".join([*left][:3]) + ", ..." * (len(left) > 3)
            why = "an instance lacks what they need, or lets them end at a time limit only"
            say(f"left out: {first} ({len(left)}: {why}; -m NAME runs one)")
    elif names := [name for name in chosen if isinstance(name, str)]:
        known = [catalog.find_among(problems, name) for name in names]
        none = len(names) == len(chosen)
        idle = [each for each in problems if none and not any(each in some for some in known)]
        for problem in idle:
            say(f"left out: no method named works on {problem} instances")
