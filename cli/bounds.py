"""The commands of `bounds`: a table of instances with their best answers and best proved bounds."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from ..analysis.report.console import print_json, print_tables, say, waiting
from .arguments import As, Form, Json, Options, TimeLimit
from .codes import NO_ANSWER

Folder = Annotated[Path, typer.Option("--table", metavar="FOLDER", help="The table's folder.")]


def add(
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="Instance file, or a bundled instance.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RESULT] [PROOF]", help="Of anybody, in any order."),
    ] = None,
    table: Folder = Path("bounds"),
    method: Annotated[
        str | None,
        typer.Option("-m", "--method", help="Solve by this method, and prove its answer, first."),
    ] = None,
    option: Options = None,
    time_limit: TimeLimit = None,
    set_name: Annotated[
        str, typer.Option("--set", metavar="NAME", help="Its set; its folder's name if not given.")
    ] = "",
    keep_instance: Annotated[
        bool,
        typer.Option("--copy/--no-copy", help="Keep a copy of the instance, to check the row by."),
    ] = True,
) -> None:
    """Add an instance, and an answer and a proof that are better than those in the table.

    Answers are checked and measured again, and proofs judged; what is not better is refused.
    """
    from ..analysis.run import bounds
    from ..instances.problem.emitted import command_line
    from .proofs import prove
    from .solving import solve

    left = None
    with TemporaryDirectory() as folder:
        found, result, proof = [*(files or ())], Path(folder, "result.json"), Path(folder, "p.json")
        if method is not None:
            try:
                solve(
                    file=instance, method=method, option=option, time_limit=time_limit, out=result
                )
            except typer.Exit as leaving:  # Ctrl-C, or no answer: what is known goes into the table
                left = leaving
                if not result.exists():
                    raise
            with suppress(typer.Exit):  # no proof as a file of this one
                prove(instance, method, proof, given=result, time_limit=time_limit)
            found += [proof if proof.exists() else result]
        with waiting("judging"):
            row, before = bounds.add(
                table, instance, found, set_name=set_name, keep_instance=keep_instance,
                command=command_line(["cotenant", *sys.argv[1:]]),
            )  # fmt: skip
    rows = [row] if before is None else [before, row]
    words = [" -> ".join(f"{each[name]}" for each in rows) for name in ("value", "bound")]
    known = "value {}, bound {}".format(*words).replace("None", "unknown")
    typer.echo(f"{row['name']}, {row['objective']}: {known}: {bounds.status(row)}")
    if left is not None:
        raise left


def show(
    table: Folder = Path("bounds"),
    problem: Annotated[str, typer.Option(metavar="NAME", help="Of this problem only.")] = "",
    set_name: Annotated[str, typer.Option("--set", metavar="NAME", help="This set only.")] = "",
    only_open: Annotated[bool, typer.Option("--open", help="Only what is not closed.")] = False,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show the rows of a table, and how many of each set are closed."""
    from ..analysis.report.bounds_page import rows_table, sets_table
    from ..analysis.run.bounds import read_table, status

    rows = [
        row
        for row in read_table(table)
        if problem in ("", row["problem"]) and set_name in ("", row["set"])
        if not only_open or status(row) == "open"
    ]
    if as_json:
        print_json(rows)
    else:
        print_tables([rows_table(rows), sets_table(rows)], form)


def check(
    table: Folder = Path("bounds"),
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Rows at the same time.")] = 1,
) -> None:
    """Judge again every answer and every proof that the rows of a table rest on."""
    from ..analysis.run import bounds

    done = wrong = 0
    with waiting(f"checking {table}") as tell:
        for row, why in bounds.check(table, jobs=jobs):
            done, wrong = done + 1, wrong + bool(why)
            if why:
                say(f"broken: {row['set']}, {row['name']}, {row['objective']}: {why}")
            tell(f"{done} done, {wrong} broken")
    typer.echo(f"{done - wrong} of {done} rows hold")
    if wrong:
        raise typer.Exit(NO_ANSWER)


def page(
    out: Annotated[Path, typer.Option(metavar="PAGE.html", help="Write the page here.")],
    table: Folder = Path("bounds"),
    verifier: Annotated[
        str, typer.Option(metavar="PATH", help="The page that judges proofs, as seen from this.")
    ] = "verify/index.html",
) -> None:
    """Write the rows of a table as a page to sort and filter, without network."""
    from ..analysis.report.bounds_page import write_bounds_page
    from .reporting import say_written

    say_written([write_bounds_page(table, out, verifier)])
