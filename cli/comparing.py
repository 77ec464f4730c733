"""The command `compare`: methods beside each other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis.report.console import (
    Form,
    counter,
    print_json,
    print_tables,
    require_writable,
    say,
    waiting,
)
from ..solvers.interrupts import deferred
from .arguments import (
    Against,
    As,
    Columns,
    InstancesShown,
    Json,
    Metrics,
    Options,
    Rules,
    SummaryOnly,
    Width,
    listed,
    require_latex,
)
from .codes import NO_ANSWER, leave_interrupted
from .completion import instances
from .completion import methods as method_names
from .derived import options_of
from .functions import given_function, given_method
from .reading import From, read_several
from .reporting import say_reused, say_what_is_compared, say_written


@dataclass(frozen=True)
class Runs:
    """Which runs a comparison has, and where they are done and kept."""

    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1 for the methods that draw.")] = 1
    time_limit: Annotated[float, typer.Option(metavar="S", help="Seconds for each run.")] = 5.0
    hard_limit: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Seconds after which a run is stopped; 2 x time limit + 20 when not given.",
        ),
    ] = None
    predict: Annotated[
        float | None,
        typer.Option(
            help="Share of the penalties that methods see. The others are predicted for them; "
            "answers are measured on the true ones."
        ),
    ] = None
    frontier: Annotated[
        bool | None,
        typer.Option(
            help="Also find the proved frontiers of efficiency against fairness; --report "
            "does, unless --no-frontier is given."
        ),
    ] = None
    prove: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a proof of each answer here, and verify it."),
    ] = None
    manipulation: Annotated[
        bool,
        typer.Option(
            "--manipulation",
            help="Also find what an agent gains by a misreport; see `cotenant manipulate`.",
        ),
    ] = False
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes on this machine; 1 when not given."),
    ] = None
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler."),
    ] = None
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Run part I of N, into a file beside --out; or auto."),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUNS.jsonl",
            help="Append rows here; runs that it holds already are not done again.",
        ),
    ] = None
    metric: Metrics = None
    rule: Rules = None
    against: Against = None


@options_of(Runs, method=None, option=None)
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Instance files, folders of them, or bundled instances.",
            autocompletion=instances,
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--method",
            help="A method, or your own as module:function. Repeat for more. Without it, all "
            "methods run.",
            autocompletion=method_names,
        ),
    ] = None,
    option: Options = None,
    source: From = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="REPORT.html", help="Write a page; see `cotenant report`."),
    ] = None,
    instances_shown: InstancesShown = None,
    summary_only: SummaryOnly = False,
    columns: Columns = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
    **runs: Any,
) -> None:
    """Run methods and print how far each is from the proved bounds."""
    from ..analysis.registry import analysis_of
    from ..analysis.report.content import MOST_PICTURED, first_shown
    from ..analysis.report.overview import overview_tables
    from ..analysis.report.page import require_report, write_report
    from ..analysis.report.significance import require_against
    from ..analysis.report.tables import require_columns
    from ..analysis.run.compare import compare as run
    from ..analysis.run.dask_executor import DaskExecutor
    from ..analysis.run.grid import parse_comparison_options
    from ..analysis.run.result import fingerprint
    from ..analysis.run.shards import Shard
    from ..instances.problem import InvalidOption

    if report is None and (summary_only or instances_shown is not None):
        raise InvalidOption("--summary-only and --instances-shown are for a page; add --report")
    require_latex(width, form)
    named, against = listed(columns), runs.pop("against")
    own = {kind: runs.pop(kind) or [] for kind in ("metric", "rule")}
    runs |= {f"{kind}s": [given_function(each, kind) for each in own[kind]] for kind in own}
    given, texts = read_several(files, source, option)
    problems = [instance.problem for instance in given.instances]
    require_columns({*problems}, named, [each.partition(":")[2] for each in own["metric"]])
    frontier, seeds, out = runs.pop("frontier"), runs.pop("seeds"), runs["out"]
    dask, shard = runs.pop("dask"), runs.pop("shard")
    if dask is not None and runs["jobs"] is not None:
        raise InvalidOption("--dask runs in the processes of its workers; leave out --jobs")
    runs["jobs"] = runs["jobs"] or 1  # in processes of their own: only those have a hard limit
    if shard is not None:
        if out is None:
            raise InvalidOption("--shard writes a file beside --out; add --out RUNS.jsonl")
        part = Shard.parse(shard)
        runs["shard"], out = (part.number, part.count), part.file(out)
    require_writable(out, *given.files)
    require_report(report, *given.files, *([] if out is None else [out]))
    shown = MOST_PICTURED if instances_shown is None else instances_shown
    if frontier is None:  # of the instances whose maps the page shows, and of no other
        pictured = [] if report is None or summary_only else first_shown(given.instances, shown)
        frontier = [each for each in pictured if analysis_of(each.problem).frontiers]
    chosen = None if not method else [given_method(each) for each in method]
    require_against(against, problems, chosen)
    options = parse_comparison_options(given.instances, chosen, texts, frontier=bool(frontier))
    say_what_is_compared(given, chosen)
    with ExitStack() as whole:
        if dask is not None:
            runs["executor"] = whole.enter_context(DaskExecutor(dask))
        with counter("comparing") as step:
            result = run(
                given.instances,
                chosen,
                seeds=range(seeds),
                options=options,
                frontier=frontier,
                files={}
                if source
                else {
                    fingerprint(instance): name for name, instance in reversed(given.files.items())
                },
                progress=step or False,
                running=None if step is None else step.running,
                stopping=lambda: say(
                    "stopping: methods hand in the best they have (10 s); Ctrl-C again ends at once"
                ),
                **runs,
            )
            put_off = whole.enter_context(deferred())
        say_reused(result.reused, "run", out)
        if as_json:
            print_json(result.rows)
        elif result.rows or not result.interrupted:
            sources = {fingerprint(instance): instance.source for instance in given.instances}
            tables = overview_tables(result, sources, against)
            for name in named:
                if all(table.only([name]) is table for table in tables):
                    say(f"left out: {name}; no table of these runs has it")
            print_tables(tables, form, width=width, columns=named)
        interrupted = result.interrupted | put_off.interrupted
    kept = f"{len(result.rows)} runs are {'shown' if out is None else 'kept'}"
    if report is not None and any(row["metrics"] for row in result.rows):
        try:
            with waiting("writing the page") as show:
                say_written(
                    write_report(
                        result.rows,
                        report,
                        shown=shown,
                        summary_only=summary_only,
                        progress=show,
                    )
                )
        except KeyboardInterrupt:
            leave_interrupted(f"{kept}; the page is not written")
    if interrupted:
        leave_interrupted(kept)
    answered = any(row["metrics"] for row in result.rows)
    if any(row.get("error") for row in result.rows) or (result.rows and not answered):
        raise typer.Exit(NO_ANSWER)
