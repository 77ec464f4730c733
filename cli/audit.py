"""The command `audit`: a log's own schedule, judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import Form, print_json, print_tables, require_writable
from .arguments import As, Json, Options, Schedule


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

    Options: nodes, shares, release, partition, top, begin, length, machines, by, reference, points
    and those of a window of a log.
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
