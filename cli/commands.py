"""The command line: `cotenant solve compare report check methods show generate convert fetch schema
reproduce audit advise measure profiles run advice prove verify warm new completion`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ..analysis.report.console import (
    Form,
    console,
    counter,
    open_missing_streams,
    print_json,
    print_tables,
    progress,
    quiet_stdout,
    require_folder,
    require_writable,
    say,
    waiting,
)
from ..instances.problem.registry import PROBLEM_NAMES
from ..solvers.interrupts import deferred, exit_code
from ..solvers.stopwatch import announce, start_seconds
from . import advice, measuring, parts, proofs, running
from .arguments import (
    As,
    Columns,
    InstancesShown,
    Json,
    Options,
    Parts,
    Schedule,
    SummaryOnly,
    TimeLimit,
    Width,
    listed,
    require_latex,
)
from .codes import BAD_INPUT, DONE, INTERRUPTED, NO_ANSWER
from .completion import Shell, instances, prepare, problems, problems_and_methods, script
from .completion import methods as method_names
from .functions import failing_in, given_method
from .usage import usage_lines

app = typer.Typer(
    name="cotenant",
    help="Exact optimization models for sharing a datacentre, beside the policies that "
    "clusters use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"cotenant {version('cotenant')}")
        raise typer.Exit(DONE)


@app.callback()
def whole(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@app.command("completion")
def completion_of(
    shell: Annotated[Shell, typer.Argument(help="The shell.")],
) -> None:
    """Print the shell code for tab completion.

    It completes commands, options, problems and methods.

    For bash: eval "$(cotenant completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish:
    cotenant completion fish > ~/.config/fish/completions/cotenant.fish
    """
    typer.echo(script(shell))


NARROW = 120
"""Columns of a terminal below which seven columns of text cannot be read."""


@app.command()
def solve(
    file: Annotated[
        str,
        typer.Argument(
            help="Instance file, or a bundled instance such as colocation/tiny.",
            autocompletion=instances,
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "-m",
            "--method",
            help="A method, see `cotenant methods`; or your own, module:function.",
            autocompletion=method_names,
        ),
    ],
    option: Options = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the method's random generator.")] = 0,
    time_limit: TimeLimit = None,
    out: Annotated[
        Path | None, typer.Option(metavar="RESULT.json", help="Write the whole result here.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write progress lines here.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes that hold a market in parts."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Scheduler of the Dask workers that hold a market in parts."
        ),
    ] = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Run one method on an instance and print its answer.

    Its value, bound, gap and metrics are printed too.

    FILE may also be a folder that holds a market in parts (see the page on markets in parts).
    """
    from .. import catalog
    from ..analysis.registry import analysis_of
    from ..analysis.run.solve import solve as run
    from ..instances.market.parts import is_parts
    from ..instances.problem import InvalidOption, read
    from ..instances.problem.answer_table import SHOWN
    from ..instances.problem.options import parse_options

    require_latex(width, form)
    if is_parts(file):
        require_writable(log)
        if parts.solve_folder(
            file,
            method,
            option or [],
            jobs=jobs,
            dask=dask,
            time_limit=time_limit,
            out=out,
            log=log,
            as_json=as_json,
            form=form,
            width=width,
        ):
            _interrupted("the best prices so far are kept")
        return
    if jobs is not None or dask is not None:
        raise InvalidOption(
            f"jobs and dask say who holds the parts of a market; {file} is not in parts; leave "
            "them out"
        )
    instance = read(file)
    require_writable(out, file)
    require_writable(log, file)
    chosen = given_method(method)
    if isinstance(chosen, str):
        entry = catalog.find(instance.problem, chosen)
        function, name = entry.resolve(), entry.name
    else:
        function, name = chosen, getattr(chosen, "__name__", method)
    takers = (function, analysis_of(instance.problem).metrics)
    options = parse_options(takers, option or [], f"method {name!r}")
    with ExitStack() as whole:
        with progress(f"{name} on {instance.name}", log) as report, failing_in(chosen, name):
            result = run(
                instance, chosen, seed=seed, time_limit=time_limit, report=report, **options
            )
            put_off = whole.enter_context(
                deferred()
            )  # what is known now is written and printed, whatever comes
            if out is not None:  # before the log, which may not find room
                result.write(out)
        interrupted = result.stop.value == "interrupted"
        if as_json:
            print_json(result.document())
        elif result.solution is not None or not interrupted:
            from ..analysis.report.tables import answer_tables, result_table

            most = SHOWN if form is Form.TABLE else None
            facts = result_table(result, analysis_of(instance.problem).metric_table)
            print_tables([facts, *answer_tables(result, most)], form, width=width)
        interrupted |= put_off.interrupted
    if interrupted:
        _interrupted(
            "no answer was known yet"
            if result.solution is None
            else "the best answer so far is kept"
        )
    if result.solution is None:
        if result.status.value == "infeasible" and instance.source:
            say(f"the instance: {instance.source}")
        raise typer.Exit(NO_ANSWER)


@app.command()
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
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds 0 to N-1 for the methods that draw.")
    ] = 1,
    time_limit: Annotated[float, typer.Option(metavar="S", help="Seconds for each run.")] = 5.0,
    hard_limit: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Seconds after which a run is stopped; 2 x time limit + 20 when not given.",
        ),
    ] = None,
    predict: Annotated[
        float | None,
        typer.Option(
            help="Share of the penalties that methods see. The others are predicted for them; "
            "answers are measured on the true ones."
        ),
    ] = None,
    frontier: Annotated[
        bool | None,
        typer.Option(
            help="Also find the proved frontiers of efficiency against fairness; --report "
            "does, unless --no-frontier is given."
        ),
    ] = None,
    prove: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a proof of each answer here, and verify it."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes on this machine; 1 when not given."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="RUNS.jsonl",
            help="Append rows here; runs that it holds already are not done again.",
        ),
    ] = None,
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
) -> None:
    """Run methods and print how far each is from the proved bounds."""
    from ..analysis.registry import analysis_of
    from ..analysis.report.content import MOST_PICTURED
    from ..analysis.report.overview import overview_tables
    from ..analysis.report.page import require_report, write_report
    from ..analysis.report.tables import require_columns
    from ..analysis.run.compare import compare as run
    from ..analysis.run.grid import parse_comparison_options
    from ..analysis.run.result import fingerprint
    from ..instances.problem import InvalidOption, read_all

    if report is None and (summary_only or instances_shown is not None):
        raise InvalidOption("--summary-only and --instances-shown are for a page; add --report")
    require_latex(width, form)
    named = listed(columns)
    given = read_all(files)
    require_columns(dict.fromkeys(instance.problem for instance in given.instances), named)
    require_writable(out, *given.files)
    require_report(report, *given.files, *([] if out is None else [out]))
    if frontier is None:
        frontier = report is not None and any(
            analysis_of(instance.problem).frontiers for instance in given.instances
        )
    chosen = None if not method else [given_method(each) for each in method]
    options = parse_comparison_options(given.instances, chosen, option or [], frontier=frontier)
    _say_what_is_compared(given, chosen)
    with ExitStack() as whole:
        with counter("comparing") as step:
            result = run(
                given.instances,
                chosen,
                seeds=range(seeds),
                time_limit=time_limit,
                hard_limit=hard_limit,
                options=options,
                predict=predict,
                frontier=frontier,
                prove=prove,
                files={
                    fingerprint(instance): name for name, instance in reversed(given.files.items())
                },
                jobs=jobs
                if dask is not None
                else jobs or 1,  # in processes of their own: only those have a hard limit
                dask=dask,
                out=out,
                progress=step or False,
                running=None if step is None else step.running,
                stopping=lambda: say(
                    "stopping: methods hand in the best they have (10 s); Ctrl-C again ends at once"
                ),
            )
            put_off = whole.enter_context(deferred())
        _say_reused(result.reused, "run", out)
        if as_json:
            print_json(result.rows)
        elif result.rows or not result.interrupted:
            sources = {fingerprint(instance): instance.source for instance in given.instances}
            tables = overview_tables(result, sources)
            for name in named:
                if all(table.only([name]) is table for table in tables):
                    say(f"left out: {name}; no table of these runs has it")
            print_tables(tables, form, width=width, columns=named)
        interrupted = result.interrupted | put_off.interrupted
    kept = f"{len(result.rows)} runs are {'shown' if out is None else 'kept'}"
    if report is not None and any(row["metrics"] for row in result.rows):
        try:
            with waiting("writing the page") as show:
                _written(
                    write_report(
                        result.rows,
                        report,
                        shown=MOST_PICTURED if instances_shown is None else instances_shown,
                        summary_only=summary_only,
                        progress=show,
                    )
                )
        except KeyboardInterrupt:
            _interrupted(f"{kept}; the page is not written")
    if interrupted:
        _interrupted(kept)
    if any(row.get("error") for row in result.rows) or not any(
        row["metrics"] for row in result.rows
    ):
        raise typer.Exit(NO_ANSWER)


def _say_what_is_compared(given: Any, chosen: list[str | Callable[..., Any]] | None) -> None:
    """On stderr: what a folder held, how several problems are grouped, and instances that no method
    named works on.
    """
    from .. import catalog

    if given.results:
        more = f" and {len(given.results) - 1} more" if len(given.results) > 1 else ""
        say(f"left out: {given.results[0]}{more}: results, no instances")
    problems = list(dict.fromkeys(instance.problem for instance in given.instances))
    if len(problems) > 1 or len(given.files) > 1:
        say(f"comparing {given.count}")
    if chosen is None:
        lacking: dict[tuple[str, str], list[Any]] = {}
        for instance in given.instances:
            for needed, names in catalog.left_out(instance).items():
                lacking.setdefault((needed, ", ".join(names)), []).append(instance)
        for (needed, them), instances in lacking.items():
            where = instances[0].name if len(instances) == 1 else f"{len(instances)} instances"
            say(f"left out on {where}: {them}; expected {needed}")
    elif names := [name for name in chosen if isinstance(name, str)]:
        idle = [
            problem
            for problem in problems
            if len(names) == len(chosen)
            and not any(problem in catalog.find_among(problems, name) for name in names)
        ]
        for problem in idle:
            say(f"left out: no method named works on {problem} instances")


@app.command()
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS.jsonl", help="Rows that `cotenant compare --out` wrote."),
    ],
    out: Annotated[Path, typer.Option(metavar="REPORT.html", help="Write the page here.")],
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write every picture here, as PDF and PNG."),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write every table here, as CSV and LaTeX."),
    ] = None,
    instances_shown: InstancesShown = None,
    summary_only: SummaryOnly = False,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="CM", help="Width of your paper's column, which figures and LaTeX tables fit."
        ),
    ] = None,
    columns: Columns = None,
) -> None:
    """Write one HTML page about comparisons, with pictures.

    It holds gaps, profiles and maps of what fairness costs, and loads nothing from the network.
    """
    from ..analysis.report.content import MOST_PICTURED
    from ..analysis.report.page import require_report, write_report
    from ..analysis.report.read_runs import gather
    from ..instances.problem.emitted import command_line, operand

    require_report(out, *runs)
    require_folder(figures)
    require_folder(tables)
    rows = gather(runs)
    words = ["cotenant", "report", *(operand(str(path)) for path in runs), "--out", str(out)]
    shown = MOST_PICTURED if instances_shown is None else instances_shown
    words += [] if instances_shown is None else ["--instances-shown", str(shown)]
    words += ["--summary-only"] if summary_only else []
    with waiting("writing the page") as show:
        _written(
            write_report(
                rows,
                out,
                figures=figures,
                tables=tables,
                command=command_line(words),
                shown=shown,
                summary_only=summary_only,
                width=width,
                columns=listed(columns),
                progress=show,
            )
        )


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="Instance file, or a bundled instance.")],
    result_file: Annotated[
        str, typer.Argument(metavar="RESULT.json", help="Result written by `cotenant solve --out`.")
    ],
    as_json: Json = False,
) -> None:
    """Check a stored answer and compute again what it claims."""
    from ..instances.market.parts import is_parts

    if is_parts(file):
        if not parts.check_folder(file, result_file, as_json):
            raise typer.Exit(NO_ANSWER)
        return
    from ..analysis.run.result import Result
    from ..analysis.run.verify_result import recheck
    from ..instances.problem import read
    from ..instances.problem.text import sanitize_for_terminal

    instance = read(file)
    result = Result.read(result_file)
    found = recheck(instance, result)
    unseen = ", ".join(found.not_looked_at) or "nothing"
    if result.solution is None:
        good = f"claims {result.status.value}: there is no answer to check"
        good += (
            "; that there is none is proved again"
            if found.bound == "none" and "status" not in found.not_looked_at
            else ""
        )
    else:
        good = "feasible; objective, metrics and levels are as claimed"
    good = f"{good}\n{found.sentence}\nnot looked at: {unseen}"
    if as_json:
        sentence = "" if found.broken else good
        rest = {"bound": found.bound, "not_looked_at": list(found.not_looked_at)}
        print_json({"ok": not found.broken, "broken": list(found.broken), "said": sentence} | rest)
    else:
        for line in [f"broken: {claim}" for claim in found.broken] or good.splitlines():
            console().print(sanitize_for_terminal(line), highlight=False)
    if found.broken:
        raise typer.Exit(NO_ANSWER)


@app.command()
def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PROBLEM",
            help="A problem, or a method. Without it, all problems.",
            autocompletion=problems_and_methods,
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Argument(metavar="METHOD", help="A method of the problem.")
    ] = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """List the methods; of one method, say what its options mean.

    The list says what each method does, what it optimizes, its options and its source.
    """
    from dataclasses import asdict

    from .. import catalog
    from ..analysis.report.tables import method_tables, methods_in_words, methods_table
    from ..instances.problem import UnknownName
    from ..instances.problem.options import described

    require_latex(width, form)
    if name is None or name in PROBLEM_NAMES or method is not None:
        found = catalog.methods(name) if method is None else [catalog.find(name or "", method)]
    else:
        found = [entry for entry in catalog.METHODS if name in (entry.name, *entry.aliases)]
        if not found:
            raise UnknownName(
                "problem or method",
                name,
                [*PROBLEM_NAMES, *(entry.name for entry in catalog.METHODS)],
            )
    one = method is not None or name not in (None, *PROBLEM_NAMES)
    if as_json:
        listed = [[option.document() for option in described(m.resolve())] for m in found]
        print_json(
            [
                asdict(m) | {"summary": m.summary, "options": options}
                for m, options in zip(found, listed, strict=True)
            ]
        )
    elif one:
        print_tables([table for m in found for table in method_tables(m)], form, width=width)
    else:
        narrow = form is Form.TABLE and console().width < NARROW
        shown = methods_in_words(found) if narrow else [methods_table(found)]
        print_tables(shown, form, width=width)
    if not as_json and (words := proofs.proof_words(found)):
        if form in (Form.TABLE, Form.WIDE):
            console().print(words, highlight=False)
        else:  # no part of a file of CSV or LaTeX
            say(words)


@app.command()
def show(
    file: Annotated[
        str | None,
        typer.Argument(
            help="Instance file or bundled instance. Without it, the bundled ones are listed."
        ),
    ] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show what an instance holds, or list the bundled instances."""
    from ..analysis.report.tables import facts_table
    from ..instances.market.parts import is_parts, read_header
    from ..instances.problem import bundled, read

    rows: dict[str, object]
    if file is None:
        rows = {name: read(name).source for name in bundled()}
        title = "bundled instances"
    elif is_parts(file):
        rows, title = read_header(file).summary(), file
    else:
        rows = {name: value for name, value in read(file).summary().items() if value != ""}
        title = file
    if as_json:
        print_json(rows)
    else:
        print_tables([facts_table(rows, title)], form)


@app.command()
def generate(
    problem: Annotated[str, typer.Argument(help="A problem.", autocompletion=problems)],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the instance here (.json or .json.gz); with --seeds, a folder.",
        ),
    ],
    option: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--option",
            metavar="KEY=VALUE",
            help="An option of the generator. A wrong name lists them.",
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Which generator; the problem's first when not given. A wrong name lists them."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draws.")] = 0,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Write N instances, one file for each seed from --seed on."
        ),
    ] = None,
    parted: Parts = None,
) -> None:
    """Generate an instance, or a folder of them."""
    import numpy as np

    from ..instances.problem import InvalidOption, UnknownName, problem_named, write
    from ..instances.problem.options import parse_options
    from ..instances.problem.registry import resolve

    generators = problem_named(problem).generators
    chosen = kind or next(iter(generators))
    if chosen not in generators:
        raise UnknownName(f"{problem} generator", chosen, generators)
    function = resolve(generators[chosen])
    options = parse_options(function, option or [], f"generator {chosen!r}")

    def drawn(seed: int) -> Any:
        instance = function(rng=np.random.default_rng(seed), **options)
        return instance.replace(
            name=f"{instance.name}-seed-{seed}",
            source=f"{instance.source}; generator {chosen}, seed {seed}",
        )

    if parted is not None:
        if seeds is not None:
            raise InvalidOption("parts and seeds are both given; leave out one")
        parts.write_market(drawn(seed), out, parted)
        return
    if seeds is None:
        require_writable(out)
        _said(drawn(seed), write, out)
        return
    require_folder(out)
    for each in range(seed, seed + seeds):
        instance = drawn(each)
        write(instance, out / f"{instance.name}.json")
    typer.echo(f"{out}: {seeds} instances, seeds {seed} to {seed + seeds - 1}")


@app.command()
def convert(
    source: Annotated[str, typer.Argument(help="File in another format, or a folder of tables.")],
    form: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="Its format, such as penalty-csv; csv for tables whose plain headers say what "
            "they are; json or parts for an instance of this package.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the instance here (.json or .json.gz); with --parts, a folder.",
        ),
    ],
    option: Options = None,
    fill: Annotated[
        str | None,
        typer.Option(
            metavar="predict|forbid",
            help="What to do with pairs that are missing: predict them from the others, or forbid "
            "them.",
        ),
    ] = None,
    parted: Parts = None,
) -> None:
    """Convert a file of a foreign format to an instance."""
    from ..advice.reading import known_formats
    from ..instances.market.parts import read_parts
    from ..instances.problem import UnknownName, read, write
    from ..instances.problem.csv_headers import plain_form, plain_forms, unread
    from ..instances.problem.options import accepts, described, parse_options
    from ..instances.problem.registry import resolve

    formats = known_formats()
    if form == "csv":
        form = plain_form(source)
    own: dict[str, Callable[..., Any]] = {"json": read, "parts": read_parts}
    if form not in formats and form not in own:
        raise UnknownName("format", form, [*formats, "csv", *own])
    function = own[form] if form in own else resolve(formats[form])
    options = parse_options(function, option or [], f"format {form!r}")
    if fill is not None:
        options["missing"] = _filling(fill, form, accepts(function, "missing"))
    if parted is None:
        require_writable(out, source)
    instance = function(source, **options)
    if parted is None:
        _said(instance, write, out)
    else:
        parts.write_market(instance, out, parted)
    say(f"{instance.problem}: {instance.source}")
    files = [plain.file for plain in plain_forms().values() if plain.form == form]
    # the other tables are options of the reader, by their names
    files += [f"{each.name}.csv" for each in described(function) if "text" in each.takes]
    if len(files) > 1 and (others := unread(source, files)):
        say(f"not read: {', '.join(others)}; tables of this format are {', '.join(files)}")


def _filling(fill: str, form: str, taken: bool) -> Any:
    """What a reader is given for its missing pairs."""
    from ..analysis.colocation.prediction import predicted_penalties
    from ..instances.problem import InvalidOption

    if fill not in ("predict", "forbid"):
        raise InvalidOption(f"fill is {fill!r}; expected predict or forbid")
    if not taken:
        raise InvalidOption(
            f"fill is {fill}; format {form!r} has no pairs to fill in; leave it out"
        )
    return predicted_penalties if fill == "predict" else fill


@app.command()
def fetch(
    dataset: Annotated[
        str | None, typer.Argument(help="A data set. Without it, they are listed.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where to keep it; the user's cache when not given.")
    ] = None,
) -> None:
    """Download a public data set and check its sha256.

    Prints where the file is, and the command that converts it.
    """
    from ..analysis.report.tables import facts_table
    from ..instances.problem.datasets import DATASETS
    from ..instances.problem.datasets import fetch as download
    from ..instances.problem.emitted import file_word

    if dataset is None:
        print_tables(
            [facts_table({name: entry.what for name, entry in DATASETS.items()}, "data sets")]
        )
        return
    path = download(dataset, folder)
    typer.echo(path)
    form = DATASETS[dataset].form
    say(f"next: cotenant convert {file_word(path)} --from {form} --out {dataset}.json")


@app.command()
def schema(
    problem: Annotated[str, typer.Argument(help="A problem.", autocompletion=problems)],
) -> None:
    """Print the JSON Schema of a problem's instance files."""
    from ..instances.problem import schema as json_schema

    typer.echo(json.dumps(json_schema(problem), indent=2))


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="Experiments by name, or all. Without a name, they are listed."),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option("--list", help="List the experiments, and what the papers do not determine."),
    ] = False,
    option: Options = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Your copies of measured files, in the folders that CONTRIBUTING.md names.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="ROWS.jsonl",
            help="Append rows here; runs that it holds already are not done again.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write each figure redrawn here, as PDF and PNG."),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write findings and figures' numbers here, as CSV and LaTeX."
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="PAGE.md", help="Write pages of all rows of --out.")
    ] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Compute the papers' tables and figures again.

    Prints the papers' numbers beside ours.
    """
    from dataclasses import asdict

    from ..analysis.report.drawing import require_matplotlib
    from ..instances.problem.errors import CotenantError, InvalidOption
    from ..instances.problem.options import parse_options
    from ..papers import page as pages
    from ..papers import run as work
    from ..papers.registry import (
        EXPERIMENTS,
        NOT_DETERMINED,
        ExperimentRow,
        experiment_named,
    )

    if (
        not listed
        and not experiments
        and (option or any(path is not None for path in (data, out, figures, tables, page)))
    ):
        raise InvalidOption(
            "no experiment is named; name some, or all (`cotenant reproduce --list` lists them)"
        )
    if listed or not experiments:
        if as_json:
            print_json(
                {
                    "experiments": [asdict(one) for one in EXPERIMENTS],
                    "not_determined": [list(row) for row in NOT_DETERMINED],
                }
            )
        else:
            print_tables([pages.list_table(), pages.not_determined_table()], form)
        return
    chosen = (
        list(EXPERIMENTS)
        if experiments == ["all"]
        else [experiment_named(name) for name in dict.fromkeys(experiments)]
    )
    # An experiment runs many cells: its time limit is for each of them, and an option like others.
    takers = tuple(one.resolve() for one in chosen)
    options = parse_options(takers, option or [], f"{', '.join(experiments)}", reserved={"seed"})
    todo = work.tasks(chosen, seed=seed, options=options, data=data)
    if page is not None and out is None:
        raise InvalidOption("--page is made from rows; give --out ROWS.jsonl too")
    require_writable(out)
    require_writable(page)
    require_folder(None if page is None else pages.paper_folder(page))
    require_folder(figures)
    require_folder(tables)
    if figures is not None:
        require_matplotlib()

    with waiting(todo[0].experiment.name) as show:

        def show_row(done: int, total: int, row: ExperimentRow) -> None:
            if not as_json and (
                total > 1 or row["status"] != "failed"
            ):  # alone, its error is all there is to say
                print_tables([pages.findings_table(row)], form)
            if total > 1:
                say(f"{done} of {total}: {row['experiment']} {row['status']}")
            if done < total:
                show(f"{done} of {total} done, now {todo[done].experiment.name}")

        alone = len(todo) == 1 and data is None
        result = work.run_tasks(
            todo, out=out, figures=figures, tables=tables, fetch=alone, progress=show_row
        )
    _say_reused(result.reused, "experiment", out)
    if page is not None and out is not None and out.exists():
        pages.write_page(page, out)
    if as_json:
        print_json(result.rows[0] if len(todo) == 1 and result.rows else result.rows)
    elif len(todo) > 1 and result.rows:
        print_tables([pages.summary_table(result.rows)], form)
    if result.interrupted:
        _interrupted(f"{len(result.rows)} of {len(todo)} experiments are done")
    if len(todo) == 1 and result.errors:
        if isinstance(result.errors[0], CotenantError):
            raise result.errors[0]
        say(f"error: {result.failed[0]['error']}")
    if result.failed:
        raise typer.Exit(NO_ANSWER)


@app.command()
def audit(
    log: Annotated[
        str,
        typer.Argument(
            help="What sacct prints, a Standard Workload Format log (.swf, .swf.gz), an "
            "accounting CSV (-o form=accounting-csv), or an instance with --schedule."
        ),
    ],
    schedule: Schedule = None,
    option: Options = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="S",
            help="Seconds for REF; when they are over, RAND takes its place.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="AUDIT.json", help="Write the whole audit here.")
    ] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Judge a log's own schedule by the Shapley value.

    Prints who contributed, who received and who is owed, over time; each account is an
    organization. `advise fairness` says it in words, with causes. For an instance, give the answer
    to judge with --schedule.

    Options: nodes, shares, release, partition, top, begin, length, machines, by, reference, points
    and those of a window of a log.
    """
    from ..analysis.scheduling.audit import audit_file, audit_tables
    from ..instances.problem.files import write_text
    from ..instances.problem.option_types import RESERVED_PARAMETERS
    from ..instances.problem.options import parse_options

    options = parse_options(
        audit_file, option or [], "the audit", RESERVED_PARAMETERS | {"schedule"}
    )
    require_writable(out)
    found = audit_file(log, schedule=schedule, time_limit=time_limit, **options)
    if out is not None:
        write_text(out, json.dumps(found.document(), allow_nan=False, indent=2) + "\n")
    if as_json:
        print_json(found.document())
    else:
        print_tables(audit_tables(found), form)


WARMING: tuple[str, ...] = (
    *(f"{problem}/tiny" for problem in PROBLEM_NAMES),
    "admission/hines-romano-I",
    "packing/vm-types-8",
    "colocation scores",
    "packing caprara-toth",
)
"""Bundled instances and generators whose runs, with every method, need every kernel."""

WARMING_JOBS = 8
"""Processes that compile at the same time, where there are as many cores: what all need is compiled
by each.
"""


@app.command()
def warm() -> None:
    """Compile every kernel now, so that later runs start at once.

    Needed once for each installed version.
    """
    import numpy as np

    from ..analysis.run.compare import compare as run
    from ..instances.problem import problem_named, read
    from ..instances.problem.errors import InvalidFile
    from ..instances.problem.registry import resolve
    from ..solvers.compiled import cache_folder, why_uncached
    from ..solvers.cores import cores

    folder = cache_folder()
    if folder is None:
        raise InvalidFile(f"compiled kernels cannot be kept: {why_uncached()}")
    made = []
    for text in WARMING:
        problem, _, generator = text.partition(" ")
        draw = resolve(problem_named(problem).generators[generator]) if generator else None
        made.append(read(text) if draw is None else draw(rng=np.random.default_rng(0)))
    with counter("compiling") as step:
        done = run(
            made, None, time_limit=1.0, jobs=min(cores(), WARMING_JOBS), progress=step or False
        )
    kept = f"{sum(1 for _ in folder.rglob('*.nbc'))} compiled kernels are kept in {folder}"
    if done.interrupted:
        _interrupted(kept)
    typer.echo(kept)


advice.add_to(app)
proofs.add_to(app)
measuring.add_to(app)
running.add_to(app)

making = typer.Typer(help="Write the files of something new into a checkout.", no_args_is_help=True)
app.add_typer(making, name="new")


@making.command("problem")
def new_problem(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, in lower case.")],
) -> None:
    """Write the files of a small problem that works, with its tests.

    Change them into the problem that you mean.
    """
    from .template import write_problem

    root = Path(__file__).resolve().parents[1]
    for path in write_problem(name, root):
        typer.echo(path.relative_to(root))
    say(
        "install the checkout again, and run the tests: they name the pages that have to "
        "speak of it"
    )


def run() -> int:
    """Run the command that the arguments name; returns its exit code."""
    from ..instances.problem.errors import CotenantError, InfeasibleSolution, NoSolution

    _kept.clear()
    open_missing_streams()
    prepare()
    announce("loading libraries and compiling kernels")
    code: object = DONE
    try:
        with quiet_stdout():
            code = app(standalone_mode=False, prog_name="cotenant")
    except SystemExit as leaving:
        code = leaving.code
    except _UsageError as error:
        for line in usage_lines(error, sys.argv[1:]):
            say(line)
        return BAD_INPUT
    except (NoSolution, InfeasibleSolution) as error:
        return _fail(error, NO_ANSWER)
    except CotenantError as error:
        return _fail(error, BAD_INPUT)
    except (
        OSError
    ) as error:  # a stream or a folder of the system, such as the one for temporary files
        return _fail(error, BAD_INPUT)
    if (
        code == INTERRUPTED and not _kept
    ):  # a command's own Ctrl-C, before there was anything to keep
        raise KeyboardInterrupt
    if start_seconds() > LONG_START:
        _say_what_starting_took()
    return code if isinstance(code, int) else DONE


LONG_START = 3.0
"""Seconds of loading and compiling that are worth a line."""


def _say_what_starting_took() -> None:
    """On stderr: what is in no method's seconds, and whether it will be again in the next run."""
    from ..solvers.compiled import why_uncached

    why = why_uncached()
    anew = f"; kernels are compiled again in every run: {why}" if why else ""
    say(
        f"+ {start_seconds():.1f} s to start (libraries, kernels, processes), in no run's "
        f"seconds{anew}"
    )


_UsageError: Any = typer.BadParameter.__mro__[1]
"""click's; typer may have a click of its own, which it does not hand out."""

_LONGEST = 1200
"""Letters of an error that are said."""

_kept: list[str] = []
"""What an interrupt left of the command that is running."""


def _interrupted(what: str) -> NoReturn:
    """Say what an interrupt left, and leave."""
    _kept.append(what)
    say(f"interrupted: {what}")
    raise typer.Exit(exit_code())


def _fail(error: Exception, code: int) -> int:
    words = str(error)
    if len(words) > _LONGEST:  # a name of a file may have millions of letters
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    say(f"error: {words}")
    return code


def _say_reused(number: int, what: str, out: Path | None) -> None:
    """On stderr: how many rows were not made anew."""
    if number:
        say(f"{number} {what}{'s' * (number > 1)} taken from {out}")


def _written(paths: list[Path]) -> None:
    others = f", and {len(paths) - 1} files of its pictures and tables" if len(paths) > 1 else ""
    size = paths[0].stat().st_size
    say(f"{paths[0]}: {f'{size / 1e6:.1f} MB' if size >= 1e6 else f'{size / 1e3:.0f} kB'}{others}")


def _said(instance: Any, write: Callable[..., Path], out: Path) -> None:
    from ..instances.problem.text import sanitize_for_terminal

    path = write(instance, out)
    facts = instance.summary()
    typer.echo(
        sanitize_for_terminal(
            f"{path}: " + ", ".join(f"{name}: {facts[name]}" for name in list(facts)[3:6])
        )
    )
