"""The commands `methods`, `fetch` and `schema`: what there is to choose from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import Form, console, print_json, print_tables, say
from ..instances.problem.lookup import PROBLEM_NAMES
from .arguments import As, Json, Width, require_latex
from .completion import problems, problems_and_methods
from .proofs import proof_words

NARROW = 120
"""Columns of a terminal below which seven columns of text cannot be read."""


def methods(
    name: Annotated[str | None, "PROBLEM", problems_and_methods] = None,
    method: Annotated[str | None, "METHOD"] = None,
    *,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """List the methods; of one method, say what its options mean.

    The list says what each method does, what it optimizes, its options and its source.

    Parameters
    ----------
    name : a problem, or a method. Without it, all problems
    method : a method of the problem
    """
    from dataclasses import asdict

    from .. import catalog
    from ..analysis.report.tables import (
        method_tables,
        methods_in_words,
        methods_page,
        methods_table,
    )
    from ..instances.problem import UnknownName
    from ..instances.problem.documents import to_json_value
    from ..instances.problem.options import described

    # 1. The methods that are named.
    require_latex(width, form)
    if name is None or name in PROBLEM_NAMES or method is not None:
        found = catalog.methods(name) if method is None else [catalog.find(name or "", method)]
    else:
        found = [entry for entry in catalog.METHODS if entry.name == name]
        if not found:
            known = [*PROBLEM_NAMES, *(entry.name for entry in catalog.METHODS)]
            raise UnknownName("problem or method", name, known)
    one = method is not None or name not in (None, *PROBLEM_NAMES)
    # 2. JSON, or tables: of all methods a page, of one its options, else in words where narrow.
    if as_json:
        shown = [{"summary": m.summary, "options": described(m.resolve())} for m in found]
        print_json([to_json_value(asdict(m) | s) for m, s in zip(found, shown, strict=True)])
    elif name is None and form is Form.TABLE:
        print_tables([methods_page(found)], form)
        say("cotenant methods PROBLEM says what each does, --format wide all of it")
        return
    elif one:
        print_tables([table for m in found for table in method_tables(m)], form, width=width)
    else:
        narrow = form is Form.TABLE and console().width < NARROW
        tables = methods_in_words(found) if narrow else [methods_table(found)]
        print_tables(tables, form, width=width)
    # 3. Which of them write proofs; no part of a file of CSV or LaTeX.
    if not as_json and (message := proof_words(found)):
        if form in (Form.TABLE, Form.WIDE):
            console().print(message, highlight=False)
        else:
            say(message)


def fetch(dataset: str | None = None, *, folder: Path | None = None) -> None:
    """Download a public data set and check its sha256.

    Prints where the file is, and the command that converts it.

    Parameters
    ----------
    dataset : a data set. Without it, they are listed
    folder : where to keep it; the user's cache when not given
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


def schema(problem: Annotated[str, problems]) -> None:
    """Print the JSON Schema of a problem's instance files.

    Parameters
    ----------
    problem : a problem
    """
    from ..instances.problem import schema as json_schema

    typer.echo(json.dumps(json_schema(problem), indent=2))
