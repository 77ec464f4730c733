"""The command `advise fairness`: how much each account of a cluster is owed, and by whom."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis.report.console import console, print_json, print_tables, say, waiting
from ..analysis.scheduling.audit import Judging
from ..instances.problem.option_types import Between, validate_options
from ..instances.problem.text import sanitize_for_terminal
from ..instances.scheduling.accounts import Source
from .arguments import Json, SettingsFile, read_settings
from .codes import NO_ANSWER


@validate_options
@dataclass(frozen=True)
class ExitSettings:
    """Setting of `advise fairness` that decides its exit code.

    Attributes
    ----------
    fail_above : exit 1 when more than this share of the work is owed.
    """

    fail_above: Annotated[float | None, Between(0, 1, "a share")] = None


def fairness(
    context: typer.Context,
    log: Annotated[str, "LOG"],
    schedule: Annotated[str | None, "[RESULT]"] = None,
    *,
    files: Annotated[dict[str, Any], Source],
    window: Annotated[str, "W"] = "all",
    partition: Annotated[list[str] | None, "NAME"] = None,
    emit: Annotated[str | None, "FORM"] = None,
    report: Annotated[Path | None, "PAGE.html"] = None,
    settings: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Say who is owed what by whom, from Slurm or Kueue.

    Says why, too.

    Parameters
    ----------
    log : what `sacct -a -X -D -P` prints (the docs have the line to copy), what kubectl lists of a
        Kueue, or a Standard Workload Format log; - is standard input. Or an instance
    schedule : of an instance: the answer to be judged, as `solve --out` writes it
    window : all, day, week, 12h, 7d, or BEGIN/END as dates
    partition : only this partition; repeat for one answer each
    emit : slurm: print fair-share weights that would have been nearer; kueue: weights of queues
    report : write everything as a page of its own here
    """
    from ..analysis.scheduling.fairness import fairness as judge
    from ..cluster.fairness.emit import emit as emitted
    from ..cluster.fairness.emit import require_form
    from ..cluster.fairness.words import debts_table, fairness_head, fairness_lines, windows_table

    # 1. What is asked for, refused before any work where it is wrong.
    source, judging, asked = read_settings(settings, Source, Judging, ExitSettings)
    origin = {name: context.get_parameter_source(name) for name in files}
    given = {
        name: files[name] for name, where in origin.items() if where and where.name != "DEFAULT"
    }
    source = replace(source, **given)
    require_form(emit)
    if report is not None:
        from ..analysis.report.page import require_report

        shares = None if "=" in (source.shares or "") else source.shares
        require_report(report, log, *filter(None, (source.nodes, shares, schedule)))
    printed, documents, worst, parts = [], [], 0.0, []  # of all partitions
    # 2. Each partition judged.
    for name in partition or [source.partition]:
        head: list[str] = []
        texts: list[str] = []
        with waiting("playing the coalitions' schedules"):
            judged = judge(
                log, replace(source, partition=name), schedule=schedule, windows=window,
                judging=judging,
            )  # fmt: skip
        tables = []
        worst = max(worst, judged.share_owed)
        parts.append((name, judged))
        if emit is not None:
            texts = emitted(judged, emit).splitlines()
        elif as_json:
            documents.append({"partition": name, **judged.document()})
        else:
            head += [f"partition {name}:"] if name is not None else []
            head += fairness_head(judged)
            tables += [debts_table(judged)] if judged.work.any() else []
            tables += [windows_table(judged)] if len(judged.audits) > 1 else []
            texts += fairness_lines(judged)
        printed.append((head, tables, texts))
    # 3. The page, then JSON or text.
    if report is not None:
        from ..cluster.fairness.words import write_fairness_report

        say(f"{write_fairness_report(parts, report, ['cotenant', *sys.argv[1:]])} written")
    if as_json and emit is None:
        print_json(documents if len(documents) > 1 else documents[0])
    screen = console()
    for head, tables, texts in printed:
        for lines, after in ((head, tables), (texts, ())):
            for line in lines:
                screen.print(sanitize_for_terminal(line), highlight=False, soft_wrap=True)
            print_tables(after)
    if asked.fail_above is not None and worst > asked.fail_above:
        raise typer.Exit(NO_ANSWER)
