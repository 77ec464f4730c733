"""The command `advise fairness`: who is owed what by whom."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import (
    console,
    print_json,
    print_tables,
    require_folder,
    say,
    waiting,
)
from ..instances.problem.errors import InvalidOption
from ..instances.problem.text import sanitize_for_terminal
from ..instances.scheduling.accounts import Source
from .arguments import Json, Schedule, share_of
from .codes import NO_ANSWER
from .derived import options_of

if TYPE_CHECKING:
    from ..analysis.report.picture import Chart


@dataclass(frozen=True)
class Beside:
    """What is asked for beside debts."""

    rules: Annotated[
        bool,
        typer.Option("--rules", help="Beside it, debts by DRS, fair tree and dominant share."),
    ] = False
    half_life: Annotated[
        str, typer.Option(metavar="SPAN", help="In which fair tree forgets half: 12h, 7d, 2w.")
    ] = "7d"
    without: Annotated[
        str | None, typer.Option(metavar="ACCOUNT", help="What if it were not there: debts again.")
    ] = None
    add_nodes: Annotated[
        int, typer.Option(metavar="N", min=0, help="What if there were N nodes more: debts again.")
    ] = 0


@options_of(
    Source,
    schedule=None,
    form={"flag": "--from", "metavar": "FORM"},
    nodes="SCONTROL",
    shares="SSHARE",
    unit="UNIT",
    prices="TYPES",
    window=None,
    release="WHEN",
    waiting="HOW",
    partition=None,
    by="WHO",
    inside="ACCOUNT",
    top="N",
    machines="CPUS",
    reference=None,
    orderings=None,
    strict="--strict",
)
@options_of(Beside)
def fairness(
    log: Annotated[
        str,
        typer.Argument(
            metavar="SACCT",
            help="What `sacct -a -X -D -P` prints (the docs have the line to copy), what kubectl "
            "lists of a Kueue, or a Standard Workload Format log; - is standard input. Or an "
            "instance, with --schedule.",
        ),
    ],
    asked: Beside,
    schedule: Schedule = None,
    window: Annotated[
        str,
        typer.Option(metavar="W", help="all, day, week, 12h, 7d, or BEGIN/END as dates."),
    ] = "all",
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this partition; repeat for one answer each."),
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            metavar="R", help="How coalitions schedule: REF, FIFO, RAND (sampled), or auto."
        ),
    ] = "auto",
    orderings: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Orders of joining that RAND draws; as many as a minute allows if not given.",
        ),
    ] = None,
    fail_above: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Exit 1 when more of the work is owed, such as 5%."),
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="slurm: print fair-share weights or a QOS that would have been nearer; kueue: "
            "weights of queues.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Draw the debts over time here, as PDF and PNG."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", help="Write everything as a page of its own here."),
    ] = None,
    as_json: Json = False,
    **files: Any,
) -> None:
    """Say who is owed what by whom, from Slurm or Kueue.

    Says why, too.
    """
    from ..analysis.scheduling.fairness import fairness as judge
    from ..analysis.scheduling.fairness import span_seconds
    from ..cluster.fairness.fairness import emit as emitted
    from ..cluster.fairness.fairness import fairness_head, fairness_lines
    from ..cluster.fairness.fairness_tables import beside, debts_table

    most = None if fail_above is None else share_of(fail_above)
    if emit not in (None, "slurm", "kueue"):
        raise InvalidOption(f"emit is {emit!r}; expected slurm or kueue")
    forgets, given = span_seconds(asked.half_life, "half-life"), "=" in (files["shares"] or "")
    if picture is not None:
        require_folder(picture)
    if report is not None:
        from ..analysis.report.page import require_report

        shares = files["shares"] if files["shares"] and "=" not in files["shares"] else None
        require_report(report, log, *filter(None, (files["nodes"], shares, schedule)))
    printed, documents, worst, parts = [], [], 0.0, []
    for name in partition or [None]:  # type: ignore[list-item]
        head: list[str] = []
        texts: list[str] = []
        source = Source(partition=name, **files)
        with waiting("playing the coalitions' schedules"):
            judged = judge(
                log, source, schedule=schedule, windows=window, reference=reference,  # type: ignore[arg-type]
                orderings=orderings,
            )  # fmt: skip
            further = beside(
                judged, rules=asked.rules, half_life=forgets, shares_given=given,
                without=asked.without, add_nodes=asked.add_nodes, all_rules=report is not None,
            )  # fmt: skip
        tables = further.tables
        worst = max(worst, judged.share_owed)
        parts.append((name, judged, further))
        if picture is not None:
            _drawn(judged.picture(), picture, name)
            if asked.rules and further.views is not None:
                _drawn(further.views.picture(), picture, name)
        if emit is not None:
            tables, texts = (), emitted(judged, emit).splitlines()
        elif as_json:
            documents.append({"partition": name, **judged.document(), **further.document(judged)})
        else:
            head += [f"partition {name}:"] if name is not None else []
            head += fairness_head(judged)
            tables = (*([debts_table(judged)] if judged.work.any() else []), *tables)
            texts += fairness_lines(judged)
        printed.append((head, () if as_json else tables, texts))
    if report is not None:
        from ..cluster.fairness.fairness_report import write_fairness_report

        say(f"{write_fairness_report(parts, report, ['cotenant', *sys.argv[1:]])} written")
    if as_json and emit is None:
        print_json(documents if len(documents) > 1 else documents[0])
    screen = console()
    for head, tables, texts in printed:
        for lines, after in ((head, tables), (texts, ())):
            for line in lines:
                screen.print(sanitize_for_terminal(line), highlight=False, soft_wrap=True)
            print_tables(after)
    if most is not None and worst > most:
        raise typer.Exit(NO_ANSWER)


def _drawn(chart: Chart, folder: Path, partition: str | None) -> None:
    """Write a picture, named after its partition where there are several."""
    from dataclasses import replace

    from ..analysis.report.drawing import save
    from ..analysis.report.picture_data import file_name

    name = chart.name if partition is None else f"{chart.name}-{file_name(partition)}"
    save([replace(chart, name=name)], folder)
