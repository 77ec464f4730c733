"""The commands `audit` and `core`: a log judged, and what coalitions earn divided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import Form, print_json, print_tables, require_writable, waiting
from .arguments import As, Json, Options, Schedule
from .codes import NO_ANSWER
from .completion import instances


def audit(
    log: Annotated[
        str,
        typer.Argument(
            help="What sacct prints, a Standard Workload Format log (.swf, .swf.gz), an "
            "accounting CSV (-o form=accounting-csv), or an instance with --schedule."
        ),
    ],
    schedule: Schedule = None,
    option: Options = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="S",
            help="Seconds for REF; when they are over, RAND takes its place.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="AUDIT.json", help="Write the whole audit here.")
    ] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Judge a log's own schedule by the Shapley value.

    Prints who contributed, who received and who is owed, over time; each account is an
    organization. `advise fairness` says it in words, with causes. For an instance, give the answer
    to judge with --schedule.

    Options: nodes, shares, release, partition, top, begin, length, machines, by, reference, points,
    division (shapley, nucleolus or prenucleolus) and those of a window of a log.
    """
    from ..analysis.scheduling.audit import audit_file, audit_tables
    from ..instances.problem.files import write_text
    from ..instances.problem.option_types import RESERVED_PARAMETERS
    from ..instances.problem.options import parse_options

    options = parse_options(
        audit_file, option or [], "the audit", RESERVED_PARAMETERS | {"schedule"}
    )
    require_writable(out)
    found = audit_file(log, schedule=schedule, time_limit=time_limit, **options)
    if out is not None:
        write_text(out, json.dumps(found.document(), allow_nan=False, indent=2) + "\n")
    if as_json:
        print_json(found.document())
    else:
        print_tables(audit_tables(found), form)


def core(
    file: Annotated[
        str,
        typer.Argument(
            help="An instance of scheduling, or a game: the values or costs of all coalitions, as "
            "a table (coalition,value) or JSON.",
            autocompletion=instances,
        ),
    ],
    option: Options = None,
    proof: Annotated[
        Path | None, typer.Option(metavar="PROOF.json", help="Prove the nucleolus in this file.")
    ] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Divide what organizations earn: core, nucleolus, Shapley.

    Coalitions of organizations earn the utility of REF's play of them. Options: reading, division
    (nucleolus or prenucleolus).
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
