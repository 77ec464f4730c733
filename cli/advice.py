"""The commands `advise nodes` and `advise drain`: a cluster's own state in, advice out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import console, print_json, require_writable, waiting
from .arguments import Json
from .codes import NO_ANSWER

if TYPE_CHECKING:
    from ..advice.plan import Advice
    from ..advice.state import ClusterState

States = Annotated[
    list[str],
    typer.Argument(
        metavar="STATE...",
        help="What `kubectl get nodes,pods,pdb -A -o json` prints, or Proxmox's, OpenStack's or "
        "plain tables; - is standard input; several files are one state.",
    ),
]
Release = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND",
        help="Pods pinned for this may move, you vouch for it: volumes, budget, scheduler, "
        "'resource claims'; repeat for more.",
    ),
]
CpuRatio = Annotated[
    float | None, typer.Option(metavar="R", help="Virtual CPUs to a core, for VMs; 4 else.")
]
Seconds = Annotated[
    float, typer.Option("--time-limit", metavar="S", help="Seconds for all proofs together.")
]
Plan = Annotated[
    Path | None,
    typer.Option(metavar="PLAN.json", help="Write the plan and its certificate here."),
]
Emit = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        help="Print what to run, and run nothing: kubectl, patches, descheduler, proxmox, "
        "openstack, csv.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    advising = typer.Typer(
        help="Advise on a cluster from files of its state; nothing connects to it.",
        no_args_is_help=True,
    )
    advising.command()(nodes)
    advising.command()(drain)
    app.add_typer(advising, name="advise")


def nodes(
    states: States,
    release: Release = None,
    cpu_ratio: CpuRatio = None,
    time_limit: Seconds = 60.0,
    frontier: Annotated[
        int,
        typer.Option(
            metavar="POINTS",
            help="Show so many numbers of nodes from now to the fewest, and the pods that move.",
        ),
    ] = 0,
    plan: Plan = None,
    instance: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the packing instance here, for solve, compare."),
    ] = None,
    emit: Emit = None,
    fail_above: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Exit 1 when more of the nodes can go, such as 10%."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how many nodes are enough, which can go, and with which moves, each with what is proved
    of it.
    """
    from ..advice.plan import advise
    from ..advice.words import advice_lines
    from ..instances.problem import write

    most = None if fail_above is None else _share(fail_above)
    state = _read(states, cpu_ratio, plan, instance)
    with waiting("finding the fewest nodes and moves"):
        advice = advise(state, time_limit=time_limit, released=release or (), frontier=frontier)
    if instance is not None:
        write(advice.translation.instance, instance)
    _said(advice, plan, emit, as_json, advice.document, lambda: advice_lines(advice))
    if most is not None and advice.waste > most:
        raise typer.Exit(NO_ANSWER)


def drain(
    states: States,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node to be emptied.")],
    release: Release = None,
    cpu_ratio: CpuRatio = None,
    time_limit: Seconds = 60.0,
    plan: Plan = None,
    emit: Emit = None,
    as_json: Json = False,
) -> None:
    """Say what blocks the emptying of a node, pod by pod, and the fewest moves that do it; exit 1
    when it is blocked.
    """
    from ..advice.plan import drain as draining
    from ..advice.words import drain_document, drain_lines
    from ..instances.problem.errors import NoSolution

    state = _read(states, cpu_ratio, plan)
    with waiting(f"looking for places for the pods of {node}"):
        found = draining(state, node, time_limit=time_limit, released=release or ())
    if (emit or plan) and not found.empties:
        raise NoSolution(
            f"{node} cannot be emptied; without --emit and --plan the reasons are shown"
        )
    _said(
        found.advice, plan, emit, as_json, lambda: drain_document(state, found),
        lambda: drain_lines(state, found),
    )  # fmt: skip
    if not found.empties:
        raise typer.Exit(NO_ANSWER)


def _read(states: list[str], cpu_ratio: float | None, *outputs: Path | None) -> ClusterState:
    from ..advice.reading import CPU_RATIO, read_state

    for path in outputs:
        require_writable(path, *states)
    return read_state(states, cpu_ratio=CPU_RATIO if cpu_ratio is None else cpu_ratio)


def _said(
    advice: Advice | None, plan: Path | None, emit: str | None, as_json: bool, document: Any,
    lines: Any,
) -> None:  # fmt: skip
    """Print what was found in the form that is asked for, after the plan is written."""
    from ..advice.emit import emit as emitted
    from ..instances.problem.files import write_text

    text = "" if emit is None or advice is None else emitted(advice, emit)
    if plan is not None and advice is not None:
        write_text(plan, json.dumps(advice.document(), allow_nan=False, indent=2) + "\n")
    if emit is not None:
        typer.echo(text, nl=False)
    elif as_json:
        print_json(document())
    else:
        screen = console()
        for line in lines():
            screen.print(line, highlight=False, soft_wrap=True)


def _share(text: str) -> float:
    """A share such as 10% or 0.1."""
    from ..instances.problem.errors import InvalidOption

    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InvalidOption(f"fail-above is {text!r}; expected a share such as 10% or 0.1")
    return value
