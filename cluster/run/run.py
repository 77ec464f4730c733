"""Run of a queue of jobs on machines, and the Slurm script that runs it on nodes: `cotenant run
queue`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ...analysis.colocation.batches import Policy
from ...analysis.run.lock import locked
from ...analysis.run.question import outcome_of
from ...catalog import find
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.stability import Alpha
from ...instances.problem.emitted import command_line, comment, quoted
from ...instances.problem.errors import (
    EngineError,
    InfeasibleSolution,
    InvalidFile,
    InvalidInstance,
    suggest,
)
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...instances.problem.options import accepts, check_options
from ...instances.problem.text import sanitize_for_terminal
from ...solvers.outcome import Status
from ..measure.command import kill_leftovers, require_linux
from ..measure.profiles import Predictor, profile_of
from ..measure.store import kind_of, opened
from ..measure.topology import choose_seats, divided_cpus, read_topology, require_pinning
from .coordinator import Coordinator, QueueStatus, Summary
from .dispatcher import Dispatcher
from .placement import WaitingQueue, losses, place
from .queue_store import Entry, QueuedJob, QueueStore, read_queue
from .settings import Settings

FALLBACK = "GR"
"""Decides where the chosen method has no answer when its time is up."""

DEFAULT_SETTINGS = Settings()


def agent_options(*, alpha: Alpha = 0.0) -> float:
    """Read the option `alpha` of a queue from the options of its method.

    Parameters
    ----------
    alpha : the least gain for which an agent is advised to leave; the method's too if it has one.
    """
    return alpha


def policy_of(
    method: str | Callable[..., Any], options: Mapping[str, Any], time_limit: float
) -> Policy:
    """Method that pairs the jobs of an epoch, by name or as a function; `FALLBACK` replaces it when
    it fails or has no answer in time.
    """
    problem = Colocation.problem
    function = method if callable(method) else find(problem, method).resolve()
    check_options((function, agent_options), options, f"method {method!r}")
    given = {name: value for name, value in options.items() if accepts(function, name)}
    if accepts(function, "time_limit"):
        given["time_limit"] = time_limit
    fallback = find(problem, FALLBACK).resolve()
    name = method if isinstance(method, str) else getattr(method, "__name__", "own")

    def policy(batch: Colocation, *, rng: np.random.Generator) -> Any:
        try:
            draws = {"rng": rng} if accepts(function, "rng") else {}
            answer = function(batch, **draws, **given)
            outcome = outcome_of(answer, (Pairing,), name)
        except (EngineError, InfeasibleSolution):  # a queue does not wait for a solver
            return fallback(batch, rng=rng)
        if outcome.solution is None and outcome.status is not Status.INFEASIBLE:
            return fallback(batch, rng=rng)
        return answer

    return policy


def require_known(jobs: Sequence[QueuedJob], names: Sequence[str]) -> None:
    """Raise InvalidInstance for a job whose type was not measured."""
    for job in jobs:
        if job.job.name not in names:
            raise InvalidInstance(
                f"job {job.name!r}: type", repr(job.job.name),
                f"a type that the store knows ({', '.join(names[:8])})",
                f"Measure it first (cotenant measure); {suggest(job.job.name, names)}",
            )  # fmt: skip


@validate_options
def run(
    queue: Path,
    store: Path,
    *,
    local: Annotated[int, AtLeast(1, "a number of machines")] = 1,
    method: str | Callable[..., Any] = "stable",
    options: Mapping[str, Any] | None = None,
    time_limit: Annotated[float, Above(0, "seconds")] = 2.0,
    settings: Settings = DEFAULT_SETTINGS,
    other_machine: bool = False,
    progress: Callable[[QueueStatus], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Summary:
    """Run the jobs of a queue, two on a machine, paired in epochs by the estimates in a store.

    Parameters
    ----------
    queue : TOML file of `[[job]]` tables; see `queue.read_queue`.
    store : what `measure` wrote. Every run is added; the same command goes on after a kill.
    local : how many machines this computer is divided into.
    method, options : of the problem colocation, which pairs each epoch's jobs; with
        `agent_options`.
    time_limit : seconds that a decision may take.
    settings : what is set rarely.
    other_machine : whether what was measured on machines of another kind is used.
    progress : called when something changed.
    tell : called with a line that a person should read.

    Raises
    ------
    InvalidFile, InvalidInstance, InvalidOption
        The queue, the store or an option is wrong, before any work.
    """
    chosen = dict(options or {})
    policy, alpha = policy_of(method, chosen, time_limit), float(chosen.get("alpha", 0.0))
    jobs = read_queue(queue)
    require_measured(store)
    with ExitStack() as stack:
        # 1. The store, and what it says of the jobs.
        stack.enter_context(locked(store, "--store", required=True))
        rows = stack.enter_context(opened(store, new=True))
        profile = profile_of(rows)
        require_known(jobs, profile.names)
        predictor = Predictor(profile, settings.voids)
        predictor.instance()
        queue_store = QueueStore(rows)
        queue_store.prepare()
        names = json.dumps([job.name for job in jobs])

        def entered() -> list[Entry]:
            queue_store.enqueue(jobs)
            return queue_store.entries("name IN (SELECT value FROM json_each(?))", (names,))

        # 2. Nothing to do where all jobs ended before.
        left = queue_store.running()
        over = {entry.name for entry in queue_store.entries("state IN ('done', 'failed', 'lost')")}
        if not left and all(job.name in over for job in jobs):
            return Summary.of("finished", entered(), QueueStatus(), 0.0)

        # 3. The machines, if they are of the kind of the one that was measured.
        require_linux()
        topology = read_topology()
        parts = divided_cpus(topology, local, overlap=settings.overlap)
        seats = [choose_seats(topology, cpus) for cpus in parts]
        for each in seats:
            require_pinning(each)
        kill_leftovers(rows.token)
        machines = stack.enter_context(Dispatcher(seats, rows.token))
        known, here = kind_of(profile.facts), kind_of(machines.all()["machine 1"])
        differs = sorted(n for n in {**known, **here} if known.get(n) != here.get(n))
        if differs and not other_machine:
            why = "; ".join(f"{n} {known.get(n)}, here {here.get(n)}" for n in differs)
            raise InvalidFile(
                f"{store} was measured on a machine of another kind ({why}). Measure on this one, "
                "or give --other-machine to use it all the same"
            )

        # 4. Epochs, until every job ended.
        if settings.pressure is None:
            settings = replace(settings, pressure=profile.settings["pressure"])
        name = method if isinstance(method, str) else getattr(method, "__name__", "a function")
        session = rows.begin_session(
            rows.last_session()[0],
            machines.now(),
            profile.settings
            | {
                "run": asdict(settings)
                | {"alpha": alpha, "method": name, "options": chosen, "queue": str(queue)}
            },
        )
        coordinator = Coordinator(
            rows, entered(), left, predictor, machines, policy, settings, session,
            alpha=alpha, progress=progress, tell=tell,
        )  # fmt: skip
        return coordinator.run()


def require_measured(store: Path) -> None:
    """Raise InvalidFile if the store does not exist."""
    if not os.path.exists(store):
        raise InvalidFile(
            f"{store} does not exist; measure the types first (cotenant measure JOBS.toml --store "
            f"{quoted(os.fspath(store))})"
        )


_STEP = "srun --exact --nodes=1 --ntasks=1 --cpus-per-task=$((SLURM_CPUS_ON_NODE / 2)) --mem=0 --"


def sbatch_script(
    queue: Path,
    store: Path,
    *,
    method: str | Callable[..., Any] = "stable",
    options: Mapping[str, Any] | None = None,
    time_limit: float = 2.0,
    settings: Settings = DEFAULT_SETTINGS,
) -> str:
    """Slurm script that submits every job of a queue, at most two on a node, paired by the
    estimates in a store; see `run`.

    Raises
    ------
    InvalidFile, InvalidInstance, InvalidOption
        The queue, the store or an option is wrong; or a word of a command, a directory or a file
        holds what is not printable, such as the end of a line.
    """
    chosen = dict(options or {})
    policy, alpha = policy_of(method, chosen, time_limit), float(chosen.get("alpha", 0.0))
    jobs = read_queue(queue, here=False)
    require_measured(store)
    with opened(store) as rows:
        profile = profile_of(rows)
    require_known(jobs, profile.names)
    whole = Predictor(profile, settings.voids).instance()
    waiting = WaitingQueue(profile.names)
    waiting.arrive(
        Entry(number, job.name, job.job.name, job.rerun, number, 0, "waiting", "")
        for number, job in enumerate(jobs)
    )
    lines = ["#!/bin/sh", "set -e"]
    epoch = 0
    while free := -(-len(waiting.waiting) // 2):
        epoch += 1
        draws = np.random.default_rng([settings.seed, epoch])
        found = place(whole, policy, waiting, free, draws, alpha)
        assert found is not None  # a job waits and a node is free
        for numbers in found[0]:
            lost = [one[0] for one in losses(whole, waiting.kinds(numbers))]
            lines += _submission([jobs[number] for number in numbers], lost)
    return "\n".join(lines) + "\n"


def _submission(jobs: Sequence[QueuedJob], lost: Sequence[float]) -> list[str]:
    """Lines that submit the jobs of one node."""
    names = " beside ".join(
        f"{job.name} ({job.job.name}, {100 * penalty:.1f} points lost)"
        for job, penalty in zip(jobs, lost, strict=True)
    )
    words = [
        "sbatch", "--exclusive", "--nodes=1", "--mem=0", "--output=/dev/null",
        f"--job-name={'+'.join(job.name for job in jobs)}",
        "--requeue" if all(job.rerun for job in jobs) else "--no-requeue",
    ]  # fmt: skip
    here = "<<'END_OF_JOB'"
    body = ["#!/bin/sh", "failed=0"]
    for job in jobs:
        body += [f"{_step(job)} &", 'steps="$steps $!"']
    body += ["for step in $steps; do wait $step || failed=$?; done", "exit $failed"]
    return [comment(names), f"{command_line(words)} {here}", *body, "END_OF_JOB"]


def _step(queued: QueuedJob) -> str:
    """Shell command that runs a job on its half of a node; raises InvalidInstance for unprintable
    words.
    """
    job = queued.job
    limit = [] if job.timeout is None else ["timeout", f"{job.timeout:g}"]
    variables = [f"{name}={value}" for name, value in sorted(job.environment.items())]
    words = [*limit, *(["env", "--", *variables] if variables else []), *job.command]
    for word in [queued.name, *words, str(job.directory), queued.output]:
        if sanitize_for_terminal(word) != word:
            raise InvalidInstance(
                f"job {queued.name!r}: name, command, directory or output", repr(word)[:100],
                "printable letters in one line for --emit sbatch",
                "Put the text into a script, and name that",
            )  # fmt: skip
    file = quoted(queued.output or "/dev/null")
    return f"(cd {quoted(str(job.directory))} && {_STEP} {command_line(words)} >> {file} 2>&1)"
