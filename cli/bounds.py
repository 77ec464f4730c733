"""The commands of `bounds`: a table of instances with their best answers and best proved bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import print_json, print_tables, say, waiting
from .arguments import As, Form, Json
from .codes import NO_ANSWER

Folder = Annotated[Path, typer.Option("--table", metavar="FOLDER", help="The table's folder.")]


def add(
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="Instance file, or a bundled instance.")
    ],
    proofs: Annotated[
        list[Path] | None, typer.Argument(metavar="[PROOF.json]", help="Of `cotenant prove`.")
    ] = None,
    table: Folder = Path("bounds"),
    set_name: Annotated[
        str, typer.Option("--set", metavar="NAME", help="Its set; its folder's name if not given.")
    ] = "",
    keep_instance: Annotated[
        bool,
        typer.Option("--copy/--no-copy", help="Keep a copy of the instance, to check the row by."),
    ] = True,
) -> None:
    """Add an instance, and proofs that show a better answer or a better bound than the table has.

    Proofs are judged by the verifier; what is not better is refused.
    """
    from ..analysis.run import bounds

    with waiting("judging"):
        row = bounds.add(
            table, instance, proofs or (), set_name=set_name, keep_instance=keep_instance
        )
    known = f"value {row['value']}, bound {row['bound']}".replace("None", "unknown")
    typer.echo(f"{row['name']}, {row['levels'][0]['objective']}: {known}: {row['status']}")


def show(
    table: Folder = Path("bounds"),
    problem: Annotated[str, typer.Option(metavar="NAME", help="Of this problem only.")] = "",
    set_name: Annotated[str, typer.Option("--set", metavar="NAME", help="This set only.")] = "",
    only_open: Annotated[bool, typer.Option("--open", help="Only what is not closed.")] = False,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show what is known of each instance, and how many of each set are closed."""
    from ..analysis.report.bounds_page import rows_table, sets_table
    from ..analysis.run.bounds import known, read_table

    rows = [
        row
        for row in known(read_table(table))
        if problem in ("", row["problem"]) and set_name in ("", row["set"])
        if not only_open or row["status"] == "open"
    ]
    if as_json:
        print_json(rows)
    else:
        print_tables([rows_table(rows), sets_table(rows)], form)


def check(
    table: Folder = Path("bounds"),
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Rows at the same time.")] = 1,
) -> None:
    """Judge again the proof of every row of a table."""
    from ..analysis.run import bounds

    done = wrong = 0
    with waiting(f"checking {table}") as tell:
        for row, why in bounds.check(table, jobs=jobs):
            done, wrong = done + 1, wrong + bool(why)
            if why:
                say(f"broken: {row['set']}, {row['name']}, {row['question']}: {why}")
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
