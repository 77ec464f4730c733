"""Measurement of jobs alone and together, in random rounds, until all intervals are as narrow as
requested.

One round visits every open cell once, in an order of its own: each job alone, pairs beside each
other, and each job beside the control, which only spins. A pair is compared with the runs alone of
its own round, so that a slow drift of the machine cancels out. See `statistics` for what a round
says, `plan` for which cells are open, `supervisor` for how a visit runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ...analysis.run.lock import locked
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import require_settings
from .command import Computer, fingerprint, kill_leftovers, machine_facts, require_linux
from .jobs import Job
from .measurement import Machine
from .profiler import MeasurementStatus, Profiler, Summary
from .settings import Settings
from .store import opened
from .topology import choose_seats, read_topology, require_pinning


@validate_options
def measure(
    jobs: Sequence[Job],
    store: Path,
    *,
    cpus: str | None = None,
    other_machine: bool = False,
    machine: Machine | None = None,
    progress: Callable[[MeasurementStatus], None] | None = None,
    **settings: Any,
) -> Summary:
    """Measure the penalties of jobs beside each other and add every run to a store.

    Parameters
    ----------
    jobs : of different names; see `jobs.read_jobs`.
    store : file of the rows; an existing one is gone on with.
    cpus : that the two seats are made of; see `topology.choose_seats`.
    other_machine : whether a store of another machine may get a second matrix.
    machine : runs the visits, and has `facts`; this computer when not given.
    progress : called before each visit.
    settings : half_width, budget, pairs, time, pressure, confidence, control and seed; see
        `Settings`.

    Returns
    -------
    Where it stands, and why it stopped. Ctrl-C is a stop too: the run in progress is lost.

    Raises
    ------
    InvalidOption
        An option or a job that cannot be measured so: CPUs, permissions, a command that ends at
        once, fails or does not end in its first run.
    InvalidFile
        The store is somebody else's, of another machine or version, in use, or cannot be written.
    """
    if not jobs:
        raise InvalidOption("jobs is empty; expected one at least")
    require_settings(measure, Settings, settings)
    wanted = Settings(**settings)
    with ExitStack() as stack:
        if machine is None:
            require_linux()
            seats = choose_seats(read_topology(), cpus)
            require_pinning(seats)
            facts = machine_facts(seats)
        else:
            facts = dict(getattr(machine, "facts", {"machine": type(machine).__name__}))
        stack.enter_context(locked(store, "--store", required=True))
        rows = stack.enter_context(opened(store, new=True))
        place = rows.machine(fingerprint(facts), facts, other=other_machine)
        if machine is None:
            kill_leftovers(rows.token)
            machine = stack.enter_context(Computer(seats, rows.token))
        return Profiler(jobs, rows, place, machine, wanted, progress).run()
