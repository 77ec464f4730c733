"""The command `manipulate`: what an agent gains by a misreport."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..analysis.report.console import (
    Form,
    print_json,
    print_tables,
    progress,
    require_writable,
    say,
)
from ..solvers.interrupts import deferred
from .arguments import As, Json, Options, Width, require_latex
from .codes import leave_interrupted
from .completion import instances
from .completion import methods as method_names
from .functions import failing_in, given_method

if TYPE_CHECKING:
    from ..analysis.manipulation import Manipulation
    from ..analysis.report.table import Table


def manipulate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE",
            help="Instance file, or a bundled instance such as colocation/tiny.",
            autocompletion=instances,
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "-m", "--method", help="A method; or your own, module:function.",
            autocompletion=method_names,
        ),
    ],
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Whose misreports; repeat for more. Without it, all."),
    ] = None,
    option: Options = None,
    limit: Annotated[float, typer.Option(metavar="S", help="Seconds for all agents.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="First seed of a method that draws.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds that utilities are means over.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="WITNESS.json", help="Write the instance with the best misreport."),
    ] = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:  # fmt: skip
    """Find what an agent gains by a misreport, and who pays.

    Answers are judged by the true instance.
    """
    from .. import catalog
    from ..analysis.manipulation import misreports
    from ..analysis.registry import analysis_of
    from ..instances.problem import read, write
    from ..instances.problem.options import parse_options

    require_latex(width, form)
    instance = read(file)
    require_writable(out, file)
    chosen = given_method(method)
    if isinstance(chosen, str):
        function = catalog.find(instance.problem, chosen).resolve()
    else:
        function = chosen
    takers = (function, analysis_of(instance.problem).metrics)
    options = parse_options(takers, option or [], f"method {method!r}")
    with ExitStack() as whole:
        with progress(f"misreports to {method}", None) as report, failing_in(chosen, method):
            found = misreports(
                instance, chosen, agent, limit, seed=seed, seeds=seeds, report=report, **options
            )
            put_off = whole.enter_context(deferred())
        best = max(found, key=lambda each: each.gain)
        if as_json:
            print_json([each.document() for each in found])
        else:
            print_tables([_table(instance.name, found)], form, width=width)
        if out is not None and best.witness is not None:
            write(best.witness, out)
            say(f"{out} written: {best.agent} reports {best.report}")
        interrupted = found[-1].stop.value == "interrupted" or put_off.interrupted
    if interrupted:
        leave_interrupted("the best misreports so far are shown")


def _table(instance: str, found: list[Manipulation]) -> Table:
    """A row for each agent."""
    from ..analysis.report.table import Column, Table
    from ..instances.problem.answer_table import join_first

    numbers = ("by truth", "by misreport", "gain", "at most", "others lose")
    columns = (
        Column("agent", bold=True, wrap=False),
        *(Column(name, "{:.4g}".format, numeric=True) for name in numbers),
    )
    rows = tuple(
        (
            each.agent, each.truthful, each.value, each.gain,
            (each.gain_at_most, "exact" if each.status == "exact" else f"{each.gain_at_most:.4g}"),
            each.lost,
        )
        for each in found
    )  # fmt: skip
    whose: dict[str, list[str]] = {}
    for each in found:
        whose.setdefault(each.why, []).append(each.agent)
    parts = {why: f", {join_first(who, len(who), '')}" for why, who in whose.items()}
    notes = (
        *(f"{each.agent} reports {each.report}" for each in found if each.report),
        *(f"at most{who if len(parts) > 1 else ''}: {why}" for why, who in parts.items()),
        f"{sum(each.tried for each in found)} reports were tried",
    )
    title = f"{instance}: gains by misreports to {found[0].method} [{found[0].unit}]"
    return Table("manipulation", title, columns, rows, notes=notes)
