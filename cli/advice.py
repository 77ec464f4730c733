"""The commands `advise nodes` and `drain`: a cluster's own state in, advice out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import console, print_json, require_writable, say, waiting
from .arguments import Json, share_of
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
        help="Let pods move that are held in place for this reason (check that they can): volumes, "
        "budget, scheduler, 'resource claims'; repeat for more.",
    ),
]
CpuRatio = Annotated[
    float | None,
    typer.Option(metavar="R", help="Virtual CPUs per core, for VMs; 4 when not given."),
]
Seconds = Annotated[
    float, typer.Option("--time-limit", metavar="S", help="Seconds for all after reading.")
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


def nodes(
    states: States,
    release: Release = None,
    cpu_ratio: CpuRatio = None,
    time_limit: Seconds = 60.0,
    frontier: Annotated[
        int,
        typer.Option(
            metavar="POINTS",
            help="Also show this many steps from the nodes of now to the fewest, with the moves.",
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
    """Say how many nodes are enough, and which can go.

    Prints the moves too, and what is proved of each answer.
    """
    from ..advice.plan import advise
    from ..advice.text_report import advice_lines
    from ..instances.problem import write

    most = None if fail_above is None else share_of(fail_above)
    state = _read(states, cpu_ratio, release, emit, time_limit, plan, instance)
    with waiting("finding the fewest nodes and moves") as say:
        advice = advise(
            state, time_limit=time_limit, released=release or (), frontier=frontier, say=say
        )
    if instance is not None:
        write(advice.translation.instance, instance)
    _said(advice, plan, emit, as_json, advice.document, lambda: advice_lines(advice))
    _leave_if_interrupted(advice)
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
    """Say what blocks the emptying of a node, pod by pod.

    Where nothing does, the fewest moves that empty it. Exit 1 when it is blocked.
    """
    from ..advice.plan import drain as draining
    from ..advice.text_report import drain_document, drain_lines
    from ..instances.problem.errors import NoSolution

    _require_states(states, node)
    state = _read(states, cpu_ratio, release, emit, time_limit, plan)
    with waiting(f"looking for places for the pods of {node}") as say:
        found = draining(state, node, time_limit=time_limit, released=release or (), say=say)
    if (emit or plan) and not found.empties:
        raise NoSolution(
            f"{node} cannot be emptied; leave out --emit and --plan to see the reasons"
        )
    _said(
        found.advice, plan, emit, as_json, lambda: drain_document(state, found),
        lambda: drain_lines(state, found),
    )  # fmt: skip
    _leave_if_interrupted(found.advice)
    if not found.empties:
        raise typer.Exit(NO_ANSWER)


def _require_states(states: list[str], node: str) -> None:
    """Refuse nodes in the place of files, and say the order."""
    from ..instances.problem.errors import InvalidFile
    from ..instances.problem.reading import is_standard_input

    def is_state(name: str) -> bool:
        return name.startswith("state/") or is_standard_input(name) or Path(name).exists()

    for name in states:
        if not is_state(name):
            right = [each for each in (*states, node) if is_state(each)] or ["STATE"]
            raise InvalidFile(
                f"{name} does not exist; expected files of a state and then one node, as in "
                f"cotenant advise drain {' '.join(right)} {name}"
            )


def _read(
    states: list[str],
    cpu_ratio: float | None,
    release: list[str] | None,
    emit: str | None,
    time_limit: float,
    *outputs: Path | None,
) -> ClusterState:
    """The state, once what else is asked for is known to be right."""
    from ..advice.emit import require_form
    from ..advice.plan import require_kinds
    from ..advice.reading import CPU_RATIO, effort, read_state
    from ..solvers.outcome import validate_time_limit

    require_form(emit)
    require_kinds(release or ())
    validate_time_limit(time_limit)
    for path in outputs:
        require_writable(path, *states)
    if words := effort(states):
        say(words)
    with waiting("reading"):
        found = read_state(states, cpu_ratio=CPU_RATIO if cpu_ratio is None else cpu_ratio)
    require_form(emit, found.platform)
    return found


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


def _leave_if_interrupted(advice: Advice | None) -> None:
    """Say what an interrupt left, once that is shown, and leave."""
    from ..solvers.interrupts import exit_code

    if advice is not None and advice.interrupted:
        say("interrupted: the best plan so far is kept, checked")
        raise typer.Exit(exit_code())
