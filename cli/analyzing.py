"""Commands of `analyze`: facts about an instance beyond one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis.report.console import (
    Form,
    print_json,
    print_tables,
    progress,
    require_writable,
    say,
    waiting,
)
from ..instances.problem.option_types import AtLeast
from .arguments import As, InstanceFile, Json, MethodName, Options, TimeLimit, Width, require_latex
from .codes import NO_ANSWER, leave_interrupted
from .completion import instances
from .functions import failing_in, given_method


def matchings(
    file: Annotated[str, "FILE", instances],
    *,
    limit: Annotated[int, "N", AtLeast(0)] = 20,
    time_limit: TimeLimit = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Count all stable pairings of lists, and list some.

    They are those of strict preference lists. The time limit is one for the counting.

    Parameters
    ----------
    file : an instance of colocation with preference lists, or a bundled one
    limit : how many to list
    """
    from ..analysis.colocation.stable_pairings import stable_pairings
    from ..instances.colocation import Colocation
    from ..instances.problem import InvalidOption, read

    require_latex(width, form)
    instance = read(file)
    if not isinstance(instance, Colocation):
        raise InvalidOption(
            f"{file} is an instance of {instance.problem}; expected one of colocation. `cotenant "
            "convert LISTS.json --from preferences` makes it of preference lists"
        )
    found = stable_pairings(instance, limit, time_limit=time_limit)
    if as_json:
        print_json(found.document())
    else:
        print_tables([found.table], form, width=width)


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


def misreports(
    file: InstanceFile,
    *,
    method: MethodName,
    agent: Annotated[list[str] | None, "NAME"] = None,
    option: Options = None,
    limit: Annotated[float, "S"] = 60.0,
    seed: Annotated[int, AtLeast(0)] = 0,
    seeds: Annotated[int, AtLeast(1)] = 1,
    out: Annotated[Path | None, "WITNESS.json"] = None,
    width: Width = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Find how much an agent gains by a misreport, and which agents lose.

    Answers are judged by the true instance.

    Parameters
    ----------
    agent : whose misreports; repeat for more. Without it, all
    limit : seconds for all agents
    seed : first seed of a method that draws
    seeds : seeds that utilities are means over
    out : write the instance with the best misreport
    """
    from .. import catalog
    from ..analysis.manipulation import misreports as misreports_of
    from ..analysis.registry import analysis_of
    from ..instances.problem import read, write
    from ..instances.problem.options import parse_options

    require_latex(width, form)
    instance, own = read(file), given_method(method)
    require_writable(out, file)
    function = catalog.find(instance.problem, own).resolve() if isinstance(own, str) else own
    takers = (function, analysis_of(instance.problem).metrics)
    options = parse_options(takers, option or [], f"method {method!r}")
    with progress(f"misreports to {method}", None) as report, failing_in(own, method):
        found = misreports_of(
            instance, own, agent, limit, seed=seed, seeds=seeds, report=report, **options
        )
    if as_json:
        print_json([each.document() for each in found])
    else:
        print_tables([_table(instance.name, found)], form, width=width)
    best = max(found, key=lambda each: each.gain)
    if out is not None and best.witness is not None:
        write(best.witness, out)
        say(f"{out} written: {best.agent} reports {best.report}")
    if found[-1].stop.value == "interrupted":
        leave_interrupted("the best misreports so far are shown")


def _table(instance: str, found: list[Any]) -> Any:
    """Table of the gains by misreports, a row for each agent, with the reports in notes."""
    from ..analysis.report.table import Column, Table
    from ..instances.problem.answer_table import join_first

    numbers = ("by truth", "by misreport", "gain", "at most", "others lose")
    columns = [Column(name, "{:.4g}".format, numeric=True) for name in numbers]
    rows, whose = [], dict[str, list[str]]()
    for each in found:
        most = (each.gain_at_most, "exact" if each.exact else f"{each.gain_at_most:.4g}")
        rows.append((each.agent, each.truthful, each.value, each.gain, most, each.lost))
        whose.setdefault(each.why, []).append(each.agent)
    parts = {why: f", {join_first(who, len(who), '')}" for why, who in whose.items()}
    notes = [f"{each.agent} reports {each.report}" for each in found if each.report]
    notes += [f"at most{who if len(parts) > 1 else ''}: {why}" for why, who in parts.items()]
    notes.append(f"{sum(each.tried for each in found)} reports were tried")
    title = f"{instance}: gains by misreports to {found[0].method} [{found[0].unit}]"
    who = Column("agent", bold=True, wrap=False)
    return Table("manipulation", title, (who, *columns), tuple(rows), notes=tuple(notes))
