"""Slurm script of a queue: one node for each pair of jobs. Nothing is run here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...instances.problem.emitted import command_line, comment, quoted
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.text import sanitize_for_terminal
from ..measure.profiles import Predictor, profile_of
from ..measure.store import opened
from .placement import WaitingQueue, losses, place
from .queue import QueuedJob, read_queue
from .queue_store import Entry
from .run import DEFAULT_SETTINGS, policy_of, require_known, require_measured, settings_of
from .settings import Settings

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
    estimates in a store; see `run.run`.

    Raises
    ------
    InvalidFile, InvalidInstance, InvalidOption
        The queue, the store or an option is wrong; or a word of a command, a directory or a file
        holds what is not printable, such as the end of a line.
    """
    wanted, chosen = settings_of(options, settings)
    policy = policy_of(method, chosen, time_limit)
    jobs = read_queue(queue, here=False)
    require_measured(store)
    with opened(store) as rows:
        profile = profile_of(rows)
    require_known(jobs, profile.names)
    whole = Predictor(profile, wanted.voids).instance()
    waiting = WaitingQueue(profile.names)
    waiting.arrive(
        Entry(number, job.name, job.job.name, job.rerun, number, 0, "waiting", "")
        for number, job in enumerate(jobs)
    )
    lines = ["#!/bin/sh", "set -e"]
    epoch = 0
    while free := -(-waiting.queue.waiting // 2):
        epoch += 1
        draws = np.random.default_rng([wanted.seed, epoch])
        found = place(whole, policy, waiting, free, draws, wanted.alpha)
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
