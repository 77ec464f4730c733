"""The command `core`: what coalitions earn divided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import Form, print_json, print_tables, require_writable, waiting
from .arguments import As, Json, Options
from .codes import NO_ANSWER
from .completion import instances


def core(
    file: Annotated[str, instances],
    *,
    option: Options = None,
    proof: Annotated[Path | None, "PROOF.json"] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Divide what organizations earn: core, nucleolus, Shapley.

    Coalitions of organizations earn the utility of REF's play of them. Options: reading, division
    (nucleolus or prenucleolus).

    Parameters
    ----------
    file : an instance of scheduling, or a game: the values or costs of all coalitions, as a table
        (coalition,value) or JSON
    proof : prove the nucleolus in this file
    """
    from ..analysis.scheduling.core import core as divide
    from ..instances.problem.options import parse_options
    from ..solvers.proofs import Claimed

    options = parse_options(divide, option or [], "the game", {"path"})
    require_writable(proof, Path(file))
    with waiting(f"divisions of {file}"):
        found = divide(file, **options)
    if as_json:
        print_json(found.document)
    else:
        print_tables([found.table], form)
    if proof is not None:
        try:
            typer.echo(f"{found.prove(proof)}\nproof: {proof}", err=as_json)
        except Claimed as why:
            typer.echo(f"proof: claimed; {why}", err=as_json)
            raise typer.Exit(NO_ANSWER) from None
