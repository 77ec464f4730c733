"""The commands of `bounds`: a table of instances with their best answers and best proved bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import Form, print_json, print_tables, say, waiting
from ..instances.problem.option_types import AtLeast
from .arguments import As, Json
from .codes import NO_ANSWER

Folder = Annotated[Path, "--table FOLDER"]


def add(
    instance: Annotated[str, "INSTANCE"],
    proofs: Annotated[list[Path] | None, "[PROOF.json]"] = None,
    *,
    table: Folder = Path("bounds"),
    set_name: Annotated[str, "--set NAME"] = "",
    keep_instance: Annotated[bool, "--copy/--no-copy"] = True,
) -> None:
    """Add an instance, and proofs that show a better answer or a better bound than the table has.

    Proofs are judged by the verifier; what is not better is refused.

    Parameters
    ----------
    instance : instance file, or a bundled instance
    proofs : of `cotenant prove`
    set_name : its set; its folder's name if not given
    keep_instance : keep a copy of the instance, to check the row by
    """
    from ..analysis.run import bounds

    with waiting("judging"):
        row = bounds.add(
            table, instance, proofs or (), set_name=set_name, keep_instance=keep_instance
        )
    known = f"value {row['value']}, bound {row['bound']}".replace("None", "unknown")
    typer.echo(f"{row['name']}, {row['levels'][0]['objective']}: {known}: {row['status']}")


def show(
    *,
    table: Folder = Path("bounds"),
    problem: Annotated[str, "NAME"] = "",
    set_name: Annotated[str, "--set NAME"] = "",
    only_open: Annotated[bool, "--open"] = False,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show what is known of each instance, and how many of each set are closed.

    Parameters
    ----------
    problem : of this problem only
    set_name : this set only
    only_open : only what is not closed
    """
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
    *,
    table: Folder = Path("bounds"),
    jobs: Annotated[int, "N", AtLeast(1)] = 1,
) -> None:
    """Judge again the proof of every row of a table.

    Parameters
    ----------
    jobs : rows at the same time
    """
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
    *,
    out: Annotated[Path, "PAGE.html"],
    table: Folder = Path("bounds"),
    verifier: Annotated[str, "PATH"] = "verify/index.html",
) -> None:
    """Write the rows of a table as a page to sort and filter, without network.

    Parameters
    ----------
    out : write the page here
    verifier : the page that judges proofs, as seen from this
    """
    from ..analysis.report.bounds_page import write_bounds_page
    from .reporting import say_written

    say_written([write_bounds_page(table, out, verifier)])
