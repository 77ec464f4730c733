"""The commands of `bounds`: a table of instances with their best answers and best proved bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import Form, print_json, print_tables, say, waiting
from ..instances.problem.option_types import AtLeast
from .arguments import As, Json
from .codes import NO_ANSWER

Lines = Annotated[Path, "--table FILE.jsonl"]


def add(
    instance: Annotated[str, "INSTANCE"],
    proof: Annotated[Path | None, "[PROOF.json]"] = None,
    *,
    table: Lines = Path("bounds.jsonl"),
    set_name: Annotated[str, "--set NAME"] = "",
) -> None:
    """Add an instance to a table of bounds, or a proof that improves its answer or its bound there.

    Proofs are judged by the verifier; what is not better is refused.

    Parameters
    ----------
    instance : instance file, or a bundled instance
    proof : of `cotenant prove`
    set_name : its set; its folder's name if not given
    """
    from ..analysis.run import bounds

    with waiting("judging"):
        row = bounds.add(table, instance, proof, set_name=set_name)
    known = f"value {row['value']}, bound {row['bound']}".replace("None", "unknown")
    typer.echo(f"{row['name']}, {row['levels'][0]['objective']}: {known}: {row['status']}")


def show(
    *,
    table: Lines = Path("bounds.jsonl"),
    set_name: Annotated[str, "--set NAME"] = "",
    only_open: Annotated[bool, "--open"] = False,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show the best known answer and bound of each instance, which is closed if they are equal.

    Parameters
    ----------
    set_name : this set only
    only_open : only what is not closed
    """
    from ..analysis.metric import Metric
    from ..analysis.registry import analysis_of
    from ..analysis.report.table import Column, Table
    from ..analysis.report.tables import figure, percent
    from ..analysis.run.bounds import known, read_table

    rows = [
        row
        for row in known(read_table(table))
        if set_name in ("", row["set"])
        if not only_open or row["status"] == "open"
    ]
    if as_json:
        print_json(rows)
        return
    columns = (
        Column("set", rank=2), Column("instance", bold=True), Column("objective", rank=1),
        Column("value", numeric=True), Column("bound", numeric=True),
        Column("gap", percent, numeric=True), Column("status"), Column("date", rank=3),
    )  # fmt: skip
    lines = []
    for row in rows:
        value, bound = row["value"], row["bound"]
        gap = None if value is None or not bound else abs(value - bound) / abs(bound)
        objective = row["levels"][0]["objective"]
        metrics = {metric.name: metric for metric in analysis_of(row["problem"]).metric_table}
        metric = metrics.get(objective) or Metric(objective, objective)
        lines.append((
            row["set"], row["name"],
            " ".join([objective, *(f"{name}={given}" for name, given in row["options"].items())]),
            *((number, figure(number, metric)) for number in (value, bound)),
            gap, row["status"], row["date"],
        ))  # fmt: skip
    left = sum(row["status"] == "open" for row in rows)
    caption = f"{len(rows)} rows: {len(rows) - left} closed, {left} open"
    print_tables([Table("bounds", "", columns, tuple(lines), caption)], form)


def check(
    *, table: Lines = Path("bounds.jsonl"), jobs: Annotated[int, "N", AtLeast(1)] = 1
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
