"""The command `reproduce`: the papers' tables and figures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import (
    Form,
    print_json,
    print_tables,
    require_writable,
    say,
    waiting,
)
from ..instances.problem.errors import CotenantError, InvalidOption
from ..instances.problem.option_types import AtLeast
from .arguments import As, Json, Options
from .codes import NO_ANSWER, leave_interrupted
from .comparing import say_reused
from .completion import beginning


def _known(incomplete: str) -> list[str]:
    """Complete the name of an experiment or of a paper."""
    from ..papers.registry import EXPERIMENTS, TITLES

    return beginning([*TITLES, *(each.name for each in EXPERIMENTS), "all"], incomplete)


def reproduce(
    experiments: Annotated[list[str] | None, _known] = None,
    *,
    listed: Annotated[bool, "--list"] = False,
    option: Options = None,
    seed: Annotated[int, AtLeast(0)] = 0,
    data: Annotated[Path | None, "FOLDER"] = None,
    out: Annotated[Path | None, "ROWS.jsonl"] = None,
    figures: Annotated[Path | None, "FOLDER"] = None,
    tables: Annotated[Path | None, "FOLDER"] = None,
    page: Annotated[Path | None, "PAGE.md"] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Compute the papers' tables and figures again.

    Prints the papers' numbers beside ours.

    Parameters
    ----------
    experiments : experiments or papers by name (such as cooper), or all. Without a name, they are
        listed
    listed : list the experiments, and what the papers do not determine; with names, the options of
        these
    seed : seed of all random draws
    data : your copies of measured files, in the folders that CONTRIBUTING.md names
    out : append rows here; runs that it holds already are not done again
    figures : write each figure redrawn here, as PDF and PNG
    tables : write findings and figures' numbers here, as CSV and LaTeX
    page : write pages of all rows of --out
    """
    from ..analysis.report.drawing import require_matplotlib
    from ..instances.problem.files import require_folder
    from ..instances.problem.options import parse_options
    from ..papers import page as pages
    from ..papers import run as work
    from ..papers.registry import experiments_named

    # 1. What is asked for: a list, or experiments with their options, refused before any run.
    if (
        not listed
        and not experiments
        and (option or any(path is not None for path in (data, out, figures, tables, page)))
    ):
        raise InvalidOption(
            "no experiment is named; name some, or all (`cotenant reproduce --list` lists them)"
        )
    chosen = experiments_named(experiments or [])
    if listed and chosen:
        print_tables(pages.option_tables(chosen), form)
        return
    if not chosen:
        if as_json:
            print_json(pages.listing())
        else:
            print_tables(pages.list_tables(), form)
        return
    # An experiment runs many cells: its time limit is for each of them, and an option like others.
    takers = tuple(one.function for one in chosen)
    names = ", ".join(experiments or [])
    options = parse_options(takers, option or [], names, reserved={"seed"})
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

    # 2. The runs, with the findings of each as it ends.
    seconds = sum(one.seconds for one in chosen)
    if seconds >= 10:
        many = f"{len(chosen)} experiments" if len(chosen) > 1 else chosen[0].name
        say(f"{many}: about {pages.about(seconds)} in all with the usual options")
    rows, failures, reused = list[pages.ExperimentRow](), list[Exception](), 0
    alone = len(todo) == 1
    with waiting(todo[0].experiment.name) as show, suppress(KeyboardInterrupt):
        fetch = alone and data is None
        for row, error, kept in work.run_tasks(
            todo, out=out, figures=figures, tables=tables, fetch=fetch
        ):
            rows.append(row)
            failures += [error] if error else []
            reused += kept
            # alone, its error is all there is to say
            if not as_json and not (alone and error):
                print_tables([pages.findings_table(row)], form)
            if not alone:
                say(f"{len(rows)} of {len(todo)}: {row['experiment']} {row['status']}")
            if len(rows) < len(todo):
                show(f"{len(rows)} of {len(todo)} done, now {todo[len(rows)].experiment.name}")
    # 3. The pages, the summary, and the exit code.
    say_reused(reused, "experiment", out)
    if page is not None and out is not None and out.exists():
        pages.write_page(page, out)
    if as_json:
        print_json(rows[0] if alone and rows else rows)
    elif not alone and rows:
        print_tables([pages.summary_table(rows)], form)
    if len(rows) < len(todo):
        leave_interrupted(f"{len(rows)} of {len(todo)} experiments are done")
    if alone and failures:
        if isinstance(failures[0], CotenantError):
            raise failures[0]
        say(f"error: {rows[0]['error']}")
    if failures:
        raise typer.Exit(NO_ANSWER)
