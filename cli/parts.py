"""What commands do with a market in parts: see `instances.market.parts`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from ..analysis.report.console import Form, console, print_json, print_tables, progress
from ..instances.problem.errors import InvalidOption
from ..instances.problem.text import sanitize_for_terminal
from ..solvers.interrupts import deferred


def require_parts(instance: Any, parts: int | None) -> None:
    """Refuse parts of anything but a market."""
    from ..instances.market.instance import Market

    if parts is not None and not isinstance(instance, Market):
        raise InvalidOption(f"parts is {parts}; expected a market: {instance.problem} has none")


def write_market(market: Any, out: Path, parts: int) -> None:
    """Write a market in parts, and say so."""
    from ..instances.market.parts_writing import write_parts

    require_parts(market, parts)
    facts = write_parts(market, out, parts).summary()
    counts = ", ".join(f"{name} {facts[name]}" for name in ("users", "servers", "jobs", "parts"))
    typer.echo(f"{out}: {counts}")


def solve_folder(
    folder: str,
    method: str,
    option: list[str],
    *,
    jobs: int | None,
    dask: str | None,
    time_limit: float | None,
    out: Path | None,
    log: Path | None,
    as_json: bool,
    form: Form,
    width: float | None,
) -> bool:
    """`cotenant solve` of a market in parts; whether it was interrupted."""
    from ..analysis.market.parts import method_named, solve_parts
    from ..analysis.report.tables import facts_table
    from ..instances.problem.option_types import RESERVED_PARAMETERS
    from ..instances.problem.options import parse_options

    reserved = RESERVED_PARAMETERS | {"jobs", "dask", "out"}
    takers = (solve_parts, method_named(method))
    options = parse_options(takers, option, f"method {method!r} over parts", reserved)
    with ExitStack() as whole:
        with progress(f"{method} on {folder}", log) as report:
            result = solve_parts(
                folder,
                method,
                jobs=jobs,
                dask=dask,
                time_limit=time_limit,
                report=report,
                out=out,
                **options,
            )
            put_off = whole.enter_context(deferred())
        content = result.document()
        if as_json:
            print_json(content | {"price": result.price.tolist()})
        else:
            facts: dict[str, object] = {
                "status": f"{result.status.value}: {result.status.sentence}",
                "stopped": f"{result.stop.value}: {result.stop.sentence}",
                "seconds": f"{result.seconds:.3f}, of them {result.reading:.3f} to read the parts",
                "parts": f"{len(result.header.parts)}, in {result.processes} processes",
            }
            facts |= {f"certificate: {name}": value for name, value in result.certificate.items()}
            if result.notes:
                facts["on the way"] = "; ".join(result.notes)
            title = f"{method} on {result.header.name}"
            print_tables([facts_table(facts, title)], form, width=width)
        return result.stop.value == "interrupted" or put_off.interrupted


def check_folder(folder: str, answer: str, as_json: bool) -> bool:
    """`cotenant check` of an answer in parts; whether nothing is broken."""
    from ..analysis.market.parts import check_parts

    found, broken = check_parts(folder, answer)
    sentence = (
        f"feasible; clearing, overspending and regret are at most {found.worst:.3g}, as claimed"
    )
    if as_json:
        print_json({"ok": not broken, "broken": list(broken), **found.document()})
    else:
        for line in [f"broken: {claim}" for claim in broken] or [sentence]:
            console().print(sanitize_for_terminal(line), highlight=False)
    return not broken
