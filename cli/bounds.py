"""The commands of `bounds`: a table of instances with their best answers and best proved bounds."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from ..analysis.report.console import print_json, print_tables, progress, say, waiting
from .arguments import As, Form, Json, Options, TimeLimit
from .codes import NO_ANSWER, leave_interrupted

Folder = Annotated[Path, typer.Option("--table", metavar="FOLDER", help="The table's folder.")]
Problem = Annotated[str | None, typer.Option(metavar="NAME", help="Rows of this problem.")]
Set = Annotated[str | None, typer.Option("--set", metavar="NAME", help="Rows of this set.")]
Open = Annotated[bool, typer.Option("--open", help="Rows that are not closed.")]


def add(
    file: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="Instance file, or a bundled instance.")
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RESULT] [PROOF]", help="Of anybody, in any order."),
    ] = None,
    table: Folder = Path("bounds"),
    method: Annotated[
        str | None,
        typer.Option("-m", "--method", help="Solve by this method, and prove its answer, first."),
    ] = None,
    option: Options = None,
    time_limit: TimeLimit = None,
    question: Annotated[
        str, typer.Option(metavar="METHOD", help="The method whose question is answered.")
    ] = "",
    set_name: Annotated[
        str,
        typer.Option("--set", metavar="NAME", help="The instance's set; its folder if not given."),
    ] = "",
    instance: Annotated[
        bool, typer.Option(help="Keep a copy of the instance, without which nobody can check.")
    ] = True,
) -> None:
    """Add an instance, and an answer and a proof of it that are better than the table's.

    Answers are checked and measured, and proofs judged: what anybody says counts for nothing.
    """
    from ..analysis.run import bounds
    from ..instances.problem.emitted import command_line
    from ..instances.problem.files import locate

    interrupted = False
    with TemporaryDirectory() as folder:
        found: list[Any] = [*(files or ())]
        if method is not None:
            more, interrupted = _solved(locate(file), method, option, time_limit, Path(folder))
            found += more
        try:
            with waiting("judging"):
                row, before = bounds.add(
                    table, file, found, question=question, set_name=set_name,
                    keep_instance=instance, command=command_line(["cotenant", *sys.argv[1:]]),
                )  # fmt: skip
        except bounds.NotAdded as why:
            say(f"refused: {why}")
            raise typer.Exit(NO_ANSWER) from None
    was = {} if before is None else before
    words = (f"{name} {row[name]} (before {was.get(name)})" for name in ("value", "bound"))
    status = "closed" if bounds.is_closed(row) else "open"
    typer.echo(f"{row['name']}, {row['objective']}: {', '.join(words)}: {status}")
    if interrupted:
        leave_interrupted("what was known by then is in the table")


def _solved(
    path: Path, method: str, option: list[str] | None, time_limit: float | None, folder: Path
) -> tuple[list[Path], bool]:
    """The result of a method, and its proof where there is one; whether Ctrl-C came."""
    from .. import catalog
    from ..analysis.registry import analysis_of
    from ..analysis.run.proving import prove_file
    from ..analysis.run.solve import solve
    from ..instances.problem import read
    from ..instances.problem.options import parse_options

    instance = read(path)
    entry = catalog.find(instance.problem, method)
    takers = (entry.resolve(), analysis_of(instance.problem).metrics)
    options = parse_options(takers, option or [], f"method {entry.name!r}")
    with progress(f"{entry.name} on {instance.name}", None) as report:
        result = solve(instance, entry.name, time_limit=time_limit, report=report, **options)
    files = [result.write(folder / "result.json")] if result.solution is not None else []
    with waiting(f"proof of {entry.name} on {instance.name}"):
        proved = prove_file(instance, path, result, folder / "proof.json.gz", time_limit)
    if proved.file is None:
        say(f"no proof: {proved.says}")
    files += [] if proved.file is None else [Path(proved.file)]
    return files, result.stop.value == "interrupted"


def show(
    table: Folder = Path("bounds"),
    problem: Problem = None,
    set_name: Set = None,
    only_open: Open = False,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show the rows of a table, and how many of each set are closed."""
    from ..analysis.report.bounds_page import rows_table, sets_table

    rows = _chosen(table, problem, set_name, only_open)
    if as_json:
        print_json(rows)
    else:
        print_tables([rows_table(rows), sets_table(rows)], form)


def check(
    table: Folder = Path("bounds"),
    problem: Problem = None,
    set_name: Set = None,
    only_open: Open = False,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Rows at the same time.")] = 1,
    instances: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where instances are that the table has no copy of."),
    ] = None,
) -> None:
    """Judge again every answer and every proof that the rows of a table rest on."""
    from ..analysis.run import bounds

    rows = _chosen(table, problem, set_name, only_open)
    wrong = 0
    with waiting(f"checking {len(rows)} rows") as tell:
        for done, (row, why) in enumerate(
            bounds.check(table, rows, jobs=jobs, instances=instances), 1
        ):
            wrong += bool(why)
            if why:
                say(f"broken: {row['set']}/{row['name']}, {row['objective']}: {why}")
            tell(f"{done} done, {wrong} broken")
    typer.echo(f"{len(rows) - wrong} of {len(rows)} rows hold")
    if wrong:
        raise typer.Exit(NO_ANSWER)


def page(
    out: Annotated[Path, typer.Option(metavar="PAGE.html", help="Write the page here.")],
    table: Folder = Path("bounds"),
    problem: Problem = None,
    set_name: Set = None,
    only_open: Open = False,
    verifier: Annotated[
        str, typer.Option(metavar="PATH", help="The page that judges proofs, seen from this one.")
    ] = "verify.html",
) -> None:
    """Write a page of the rows: sorted and filtered in the browser, without network."""
    from ..analysis.report.bounds_page import write_bounds_page
    from .reporting import say_written

    rows = _chosen(table, problem, set_name, only_open)
    say_written([write_bounds_page(rows, table, out, verifier)])


def _chosen(table: Path, problem: str | None, set_name: str | None, only_open: bool) -> list[Any]:
    """The rows that are asked for; raises InvalidFile where there are none."""
    from ..analysis.run.bounds import TABLE, is_closed, read_table
    from ..instances.problem import InvalidFile

    rows = read_table(table)
    found = [row for row in rows if problem in (None, row["problem"])
             and set_name in (None, row["set"]) and not (only_open and is_closed(row))]  # fmt: skip
    if not found:
        raise InvalidFile(
            f"{table / TABLE} has no such row, of {len(rows)}; `cotenant bounds add` makes rows"
        )
    return found
