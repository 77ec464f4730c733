"""The commands `advise nodes`, `drain`, `fairness` and `pairs`: a cluster's own state in, advice
out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import (
    console,
    print_json,
    print_tables,
    require_folder,
    require_writable,
    say,
    waiting,
)
from ..instances.problem.text import sanitize_for_terminal
from .arguments import Json, Options, Schedule
from .codes import NO_ANSWER
from .functions import given_method
from .measuring import Voids

if TYPE_CHECKING:
    from ..advice.plan import Advice
    from ..advice.state import ClusterState
    from ..analysis.report.picture import Chart

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


def add_to(app: typer.Typer) -> None:
    """Give the command line these commands."""
    advising = typer.Typer(
        help="Advise on a whole cluster from files of its state. Nothing connects to the cluster. "
        "For one job of a queue, see `advice`.",
        no_args_is_help=True,
    )
    advising.command()(nodes)
    advising.command()(drain)
    advising.command()(fairness)
    advising.command()(pairs)
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

    most = None if fail_above is None else _share(fail_above)
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


def fairness(
    log: Annotated[
        str,
        typer.Argument(
            metavar="SACCT",
            help="What `sacct -a -X -D -P` prints (see the docs for the line to copy), or a "
            "Standard Workload Format log; - is standard input. Or an instance, with --schedule.",
        ),
    ],
    schedule: Schedule = None,
    nodes: Annotated[
        str | None,
        typer.Option(metavar="SCONTROL", help="What `scontrol show node -o` prints: the CPUs."),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(
            metavar="SSHARE", help="What `sshare -a -l -P` prints; equal shares without it."
        ),
    ] = None,
    window: Annotated[
        str,
        typer.Option(metavar="W", help="all, day, week, 12h, 7d, or BEGIN/END as dates."),
    ] = "all",
    release: Annotated[
        str, typer.Option(metavar="WHEN", help="Jobs wait from: eligible, or submit.")
    ] = "eligible",
    judge_waiting: Annotated[
        str,
        typer.Option(
            "--waiting",
            metavar="HOW",
            help="Jobs that wait at the end: shown, or judged as running to their time limit.",
        ),
    ] = "shown",
    partition: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this partition; repeat for one answer each."),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="WHO",
            help="Who is judged: account, each-user; or user, group, job: these are dealt to "
            "organizations at random.",
        ),
    ] = "account",
    top: Annotated[
        int | None,
        typer.Option(metavar="N", help="Keep the N accounts of most work apart; merge the others."),
    ] = None,
    machines: Annotated[
        int | None, typer.Option(metavar="CPUS", help="How many CPUs, when --nodes is not given.")
    ] = None,
    reference: Annotated[
        str,
        typer.Option(
            metavar="R", help="How coalitions schedule: REF, FIFO, RAND (sampled), or auto."
        ),
    ] = "auto",
    orderings: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Orders of joining that RAND draws; as many as a minute allows if not given.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file with a line that cannot be read.")
    ] = False,
    fail_above: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Exit 1 when more of the work is owed, such as 5%."),
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="slurm: print fair-share weights or a QOS that would have been nearer.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Draw the debts over time here, as PDF and PNG."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", help="Write everything as a page of its own here."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say who is owed what by whom, from Slurm's own accounting.

    Says why, too.
    """
    from ..advice.fairness import emit_slurm, fairness_lines
    from ..analysis.scheduling.fairness import fairness as judge
    from ..instances.problem.errors import InvalidOption
    from ..instances.scheduling.accounts import Source

    most = None if fail_above is None else _share(fail_above)
    if emit not in (None, "slurm"):
        raise InvalidOption(f"emit is {emit!r}; expected slurm")
    if picture is not None:
        require_folder(picture)
    if report is not None:
        from ..analysis.report.page import require_report

        require_report(report, log, *filter(None, (nodes, shares, schedule)))
    texts, documents, worst, parts = [], [], 0.0, []
    for name in partition or [None]:  # type: ignore[list-item]
        source = Source(
            nodes=nodes, shares=shares, release=release, waiting=judge_waiting,  # type: ignore[arg-type]
            partition=name, strict=strict, top=top, machines=machines, by=by,  # type: ignore[arg-type]
        )  # fmt: skip
        with waiting("playing the coalitions' schedules"):
            judged = judge(
                log, source, schedule=schedule, windows=window, reference=reference,  # type: ignore[arg-type]
                orderings=orderings,
            )  # fmt: skip
        worst = max(worst, judged.share_owed)
        parts.append((name, judged))
        if picture is not None:
            _drawn(judged.picture(), picture, name)
        if emit is not None:
            texts += emit_slurm(judged).splitlines()
        elif as_json:
            documents.append({"partition": name, **judged.document()})
        else:
            texts += [f"partition {name}:"] if name is not None else []
            texts += fairness_lines(judged)
    if report is not None:
        from ..advice.fairness_report import write_fairness_report

        say(f"{write_fairness_report(parts, report, ['cotenant', *sys.argv[1:]])} written")
    if as_json and emit is None:
        print_json(documents if len(documents) > 1 else documents[0])
    screen = console()
    for line in texts:
        screen.print(sanitize_for_terminal(line), highlight=False, soft_wrap=True)
    if most is not None and worst > most:
        raise typer.Exit(NO_ANSWER)


def _drawn(chart: Chart, folder: Path, partition: str | None) -> None:
    """Write a picture, named after its partition where there are several."""
    from dataclasses import replace

    from ..analysis.report.drawing import save
    from ..analysis.report.picture_data import file_name

    name = chart.name if partition is None else f"{chart.name}-{file_name(partition)}"
    save([replace(chart, name=name)], folder)


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
    from ..instances.problem.options import parse_options
    from ..running.batch.pairs import advise_pairs, emit_pairs
    from ..running.batch.run import agent_options

    chosen = given_method(method)
    function = chosen if callable(chosen) else find("colocation", chosen).resolve()
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
