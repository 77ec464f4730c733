"""The command line: `cotenant solve compare check methods show generate convert fetch schema reproduce audit`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    name="cotenant",
    help="Exact optimization models for sharing a datacentre, beside the policies that clusters use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DONE, NO_ANSWER, BAD_INPUT = 0, 1, 2
"""Exit codes: done; no solution or a check that fails; bad input or usage. An interrupt that kept an answer exits 130."""
INTERRUPTED = 130

Options = Annotated[list[str] | None, typer.Option("-o", "--option", metavar="KEY=VALUE", help="An option; repeat for more.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program instead of a table for a person.")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Seconds for each run.")]


@app.command()
def solve(
    file: Annotated[str, typer.Argument(help="Instance file, or a bundled instance such as colocation/tiny.")],
    method: Annotated[str, typer.Option("-m", "--method", help="A method; see `cotenant methods`.")],
    option: Options = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the method's random generator.")] = 0,
    time_limit: TimeLimit = None,
    out: Annotated[Path | None, typer.Option(metavar="RESULT.json", help="Write the whole result here.")] = None,
    log: Annotated[Path | None, typer.Option(metavar="FILE", help="Write progress lines here.")] = None,
    as_json: Json = False,
) -> None:
    """Run one method on an instance; print its answer's value, bound, gap and metrics."""
    from . import catalog
    from .instances.problem import read
    from .instances.problem.options import parse_options

    instance = read(file)
    _writable(out)
    _writable(log)
    entry = catalog.find(instance.problem, method)
    takers = (entry.resolve(), catalog.metrics_of(instance.problem))
    options = parse_options(takers, option or [], f"method {entry.name!r}")
    with _progress(f"{entry.name} on {instance.name}", log) as report:
        result = catalog.solve(instance, method, seed=seed, time_limit=time_limit, report=report, **options)
    if out is not None:
        result.write(out)
    if as_json:
        _print_json(result.document())
    else:
        from .analysis.tables import result_table

        _console().print(result_table(result, catalog.metric_table(instance.problem)))
    if result.solution is None:
        raise typer.Exit(NO_ANSWER)
    if result.stop.value == "interrupted":
        raise typer.Exit(INTERRUPTED)


@app.command()
def compare(
    files: Annotated[list[str], typer.Argument(help="Instance files or bundled instances.")],
    method: Annotated[list[str] | None, typer.Option("-m", "--method", help="A method; repeat for more; all when none.")] = None,
    option: Options = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1 for the methods that draw.")] = 1,
    time_limit: Annotated[float, typer.Option(metavar="S", help="Seconds for each run.")] = 60.0,
    predict: Annotated[
        float | None, typer.Option(help="Share of penalties sampled; methods see predictions, answers are judged on the truth.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: Annotated[Path | None, typer.Option(metavar="RUNS.jsonl", help="Append rows here; finished cells are skipped.")] = None,
    as_json: Json = False,
) -> None:
    """Run methods on instances and print how far each is from the proved bounds."""
    from . import catalog
    from .analysis.tables import comparison_tables
    from .instances.problem import read
    from .instances.problem.options import parse_options

    instances = [read(file) for file in files]
    _writable(out)
    options: dict[str, Any] = {}
    for problem in dict.fromkeys(instance.problem for instance in instances):
        names = method or [entry.name for entry in catalog.methods(problem)]
        takers = tuple(catalog.find(problem, name).resolve() for name in names)
        options |= parse_options((*takers, catalog.metrics_of(problem)), option or [], "this comparison")
    with _counter("comparing") as step:
        result = catalog.compare(
            instances,
            method,
            seeds=range(seeds),
            time_limit=time_limit,
            options=options,
            predict=predict,
            jobs=jobs,
            out=out,
            progress=step,
        )
    if as_json:
        _print_json(result.rows)
    else:
        console = _console()
        sources = {instance.name: instance.source for instance in instances}
        for table in comparison_tables(result, catalog.metric_table, sources):
            console.print(table)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(row["metrics"] for row in result.rows):
        raise typer.Exit(NO_ANSWER)


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="Instance file, or a bundled instance.")],
    result_file: Annotated[str, typer.Argument(metavar="RESULT.json", help="Result written by `cotenant solve --out`.")],
    as_json: Json = False,
) -> None:
    """Check a stored answer against its instance, and recompute what it claims."""
    from . import catalog
    from .analysis.result import Result, recheck
    from .instances.problem import read

    instance = read(file)
    claims = recheck(instance, Result.read(result_file), catalog.metrics_of(instance.problem))
    if as_json:
        _print_json({"ok": not claims, "broken": claims})
    elif claims:
        for claim in claims:
            _console().print(f"broken: {claim}", markup=False, highlight=False)
    else:
        _console().print("feasible; objective and metrics are as claimed", markup=False)
    if claims:
        raise typer.Exit(NO_ANSWER)


@app.command()
def methods(
    problem: Annotated[str | None, typer.Argument(help="A problem; all when none.")] = None, as_json: Json = False
) -> None:
    """List the methods: what each does, what it optimises, where it comes from, and its options."""
    from dataclasses import asdict

    from . import catalog
    from .analysis.tables import methods_table
    from .instances.problem.options import option_names

    found = catalog.methods(problem)
    if as_json:
        _print_json([asdict(m) | {"summary": m.summary, "options": option_names(m.resolve())} for m in found])
    else:
        _console().print(methods_table(found))


@app.command()
def show(
    file: Annotated[
        str | None, typer.Argument(help="Instance file or bundled instance; lists the bundled ones when none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what an instance holds, or list the bundled instances."""
    from .analysis.tables import facts_table
    from .instances.problem import bundled, read

    if file is None:
        rows = {name: read(name).source for name in bundled()}
        title = "bundled instances"
    else:
        rows = {name: value for name, value in read(file).summary().items() if value != ""}  # type: ignore[misc]
        title = file
    if as_json:
        _print_json(rows)
    else:
        _console().print(facts_table(rows, title))


@app.command()
def generate(
    problem: Annotated[str, typer.Argument(help="A problem.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the instance here (.json or .json.gz).")],
    option: Options = None,
    kind: Annotated[str | None, typer.Option(help="Which generator; the problem's first when not given.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
) -> None:
    """Generate an instance."""
    import numpy as np

    from .instances.problem import UnknownName, problem_named, write
    from .instances.problem.options import parse_options
    from .instances.problem.registry import resolve

    generators = problem_named(problem).generators
    chosen = kind or next(iter(generators))
    if chosen not in generators:
        raise UnknownName(f"{problem} generator", chosen, generators)
    function = resolve(generators[chosen])
    options = parse_options(function, option or [], f"generator {chosen!r}")
    _writable(out)
    instance = function(rng=np.random.default_rng(seed), **options)
    _said(instance.replace(source=f"{instance.source}; generator {chosen}, seed {seed}"), write, out)


@app.command()
def convert(
    source: Annotated[str, typer.Argument(help="File in a foreign format.")],
    form: Annotated[str, typer.Option("--from", metavar="FORMAT", help="Its format, such as penalty-csv.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the instance here (.json or .json.gz).")],
    option: Options = None,
) -> None:
    """Convert a file of a foreign format to an instance."""
    from .instances.problem import PROBLEM_NAMES, UnknownName, problem_named, write
    from .instances.problem.options import parse_options
    from .instances.problem.registry import resolve

    formats = {name: path for problem in PROBLEM_NAMES for name, path in problem_named(problem).formats.items()}
    if form not in formats:
        raise UnknownName("format", form, formats)
    function = resolve(formats[form])
    options = parse_options(function, option or [], f"format {form!r}")
    _writable(out)
    _said(function(source, **options), write, out)


@app.command()
def fetch(
    dataset: Annotated[str | None, typer.Argument(help="A data set; lists them when none.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to keep it; the user's cache when not given.")] = None,
) -> None:
    """Download a data set of others, checked by its sha256, and print where it is and how to convert it."""
    from .analysis.tables import facts_table
    from .instances.problem.datasets import DATASETS
    from .instances.problem.datasets import fetch as download

    if dataset is None:
        _console().print(facts_table({name: entry.what for name, entry in DATASETS.items()}, "data sets"))
        return
    path = download(dataset, folder)
    typer.echo(path)
    typer.echo(f"next: cotenant convert {path} --from {DATASETS[dataset].form} --out {dataset}.json", err=True)


@app.command()
def schema(problem: Annotated[str, typer.Argument(help="A problem.")]) -> None:
    """Print the JSON Schema of a problem's instance files."""
    from .instances.problem import schema as json_schema

    typer.echo(json.dumps(json_schema(problem), indent=2))


@app.command()
def reproduce(
    experiment: Annotated[str | None, typer.Argument(help="An experiment; lists them when none.")] = None,
    option: Options = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of whatever is drawn.")] = 0,
    as_json: Json = False,
) -> None:
    """Redo a table or figure of a paper: what it says beside what comes out here."""
    import time
    from dataclasses import asdict

    from .analysis.experiments import EXPERIMENTS, experiment_named
    from .analysis.tables import facts_table, findings_table
    from .instances.problem.options import parse_options

    if experiment is None:
        rows = {entry.name: f"{entry.what} ({entry.source})" for entry in EXPERIMENTS}
        if as_json:
            _print_json(rows)
        else:
            _console().print(facts_table(rows, "experiments"))
        return
    entry = experiment_named(experiment)
    options = parse_options(entry.resolve(), option or [], f"experiment {experiment!r}")
    begin = time.perf_counter()
    findings = entry.run(seed=seed, **options)
    seconds = time.perf_counter() - begin
    if as_json:
        _print_json({"experiment": asdict(entry), "seconds": seconds, "findings": [asdict(finding) for finding in findings]})
    else:
        _console().print(findings_table(entry, findings, seconds))


@app.command()
def audit(
    log: Annotated[str, typer.Argument(help="A cluster's log: Standard Workload Format (.swf, .swf.gz) or an accounting CSV.")],
    option: Options = None,
    out: Annotated[Path | None, typer.Option(metavar="AUDIT.json", help="Write the whole audit here.")] = None,
    as_json: Json = False,
) -> None:
    """Judge a log's own schedule by the Shapley value: who contributed, who received, who is owed, over time."""
    from .analysis.scheduling.audit import audit_file, audit_tables
    from .instances.problem.files import write_text
    from .instances.problem.options import parse_options

    options = parse_options(audit_file, option or [], "the audit")
    _writable(out)
    found = audit_file(log, **options)
    if out is not None:
        write_text(out, json.dumps(found.document(), allow_nan=False, indent=2) + "\n")
    if as_json:
        _print_json(found.document())
    else:
        for table in audit_tables(found):
            _console().print(table)


def main() -> None:
    """Entry point: errors of ours are one or two lines on stderr, never a traceback."""
    from .instances.problem.errors import CotenantError, InfeasibleSolution, NoSolution

    with _quiet_stdout():
        try:
            app()
        except (NoSolution, InfeasibleSolution) as error:
            _fail(error, NO_ANSWER)
        except CotenantError as error:
            _fail(error, BAD_INPUT)
        except KeyboardInterrupt:
            typer.echo("interrupted; nothing was written", err=True)
            sys.exit(INTERRUPTED)
        except MemoryError:
            typer.echo("error: not enough memory for an instance of this size", err=True)
            sys.exit(BAD_INPUT)


def _fail(error: Exception, code: int) -> None:
    typer.echo(f"error: {error}", err=True)
    sys.exit(code)


def _console() -> Console:
    from rich.console import Console

    # Not a terminal: wide enough that no column is cut; rich would assume 80. No markup: "[s]" is a unit, not a style.
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, soft_wrap=False, markup=False)


def _print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, allow_nan=False, indent=2) + "\n")


def _said(instance: Any, write: Callable[..., Path], out: Path) -> None:
    path = write(instance, out)
    facts = instance.summary()
    typer.echo(f"{path}: " + ", ".join(f"{name} {facts[name]}" for name in list(facts)[3:6]))


def _writable(path: Path | None) -> None:
    """Refuse an output that cannot be written before any work starts."""
    from .instances.problem.errors import InvalidFile

    if path is None:
        return
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidFile(f"{path} cannot be written; choose a file in a folder that exists and is writable")


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Send what solver libraries print on descriptor 1 to stderr; our own output goes to a duplicate of it."""
    try:
        keep = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # no such descriptors, as under some test runners
        yield
        return
    original = sys.stdout
    ours = os.fdopen(keep, "w", encoding="utf-8", errors="replace")
    sys.stdout = ours
    try:
        yield
    finally:
        try:
            ours.flush()
        except BrokenPipeError:  # the reader left, as `| head` does
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, keep)
            os.close(nowhere)
        os.dup2(keep, 1)
        ours.close()
        sys.stdout = original


@contextmanager
def _progress(title: str, log: Path | None) -> Iterator[Callable[..., None] | None]:
    """A line on stderr once a wait passes two seconds (terminals only), and a log file when asked for."""
    lines: list[str] = []
    shown = sys.stderr.isatty()
    if not shown and log is None:
        yield None
        return
    from rich.console import Console

    status = Console(stderr=True).status(title) if shown else None
    started = False

    def report(seconds: float, objective: float | None, bound: float | None, text: str = "") -> None:
        nonlocal started
        words = f"{seconds:8.1f} s  value {_number(objective)}  bound {_number(bound)}  {text}".rstrip()
        lines.append(words)
        if status is not None and seconds >= 2:
            if not started:
                status.start()
                started = True
            status.update(f"{title}: {words.strip()}")

    try:
        yield report
    finally:
        if status is not None and started:
            status.stop()
        if log is not None:
            from .instances.problem.files import write_text

            write_text(log, "".join(f"{line}\n" for line in lines))


@contextmanager
def _counter(title: str) -> Iterator[Callable[[int, int, dict[str, Any]], None] | None]:
    """A progress bar over runs, on stderr, for terminals."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def step(done: int, total: int, row: dict[str, Any]) -> None:
            bar.update(task, completed=done, total=total, description=f"{row['instance']} {row['method']}")

        yield step


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


if __name__ == "__main__":
    main()
