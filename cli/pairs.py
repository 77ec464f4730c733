"""The command `advise pairs`: which waiting jobs should share a node."""

from __future__ import annotations

from typing import Annotated

import typer

from ..analysis.report.console import print_json, print_tables, waiting
from .arguments import Json, Options
from .functions import given_method
from .measuring import Voids


def pairs(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SLOWDOWNS.csv|LAB.db",
            help="Slowdowns of types beside types, or what `measure` wrote; or an instance.",
        ),
    ],
    jobs: Annotated[
        str | None,
        typer.Option(
            metavar="SQUEUE",
            help="The jobs that wait: squeue -t PENDING -S -p,i -o '%i|%j|%T|%D', or --json.",
        ),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Free nodes, two jobs on each: n[1-4],big1."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "-m", "--method", help="Pairs the jobs, see `cotenant methods colocation`; or your own."
        ),
    ] = "stable",
    option: Options = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds for the method.")
    ] = 10.0,
    voids: Annotated[
        Voids | None, typer.Option(help="What pairs that failed twice when measured mean.")
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(metavar="FORM", help="Print what to run, and run nothing: slurm, csv."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which waiting jobs should share a node.

    Names the jobs by their ids, and says what sharing costs them.
    """
    from ..catalog import find
    from ..cluster.run.pairs import advise_pairs, emit_pairs
    from ..cluster.run.run import agent_options
    from ..instances.colocation.instance import Colocation
    from ..instances.problem.options import parse_options

    chosen = given_method(method)
    function = chosen if callable(chosen) else find(Colocation.problem, chosen).resolve()
    with waiting("pairing the jobs"):
        found = advise_pairs(
            source,
            jobs=jobs,
            nodes=nodes,
            method=chosen,
            options=parse_options((function, agent_options), option or [], f"method {method!r}"),
            time_limit=time_limit,
            voids=None if voids is None else voids.value,
        )
    if emit is not None:
        typer.echo(emit_pairs(found, emit), nl=False)
    elif as_json:
        print_json(found.document())
    else:
        print_tables(found.tables())
