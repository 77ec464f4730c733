"""Types of a queue that a store does not know: refused, or measured first."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ...instances.problem.errors import (
    EngineError,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    suggest,
)
from ..measure.jobs import Job
from ..measure.measure import measure
from ..measure.measurement import Measurement, MeasurementRequest
from ..measure.measurement_run import Summary
from ..measure.profiles import JobProfiles, profile_of
from ..measure.store import opened
from .dispatch import Fleet, machines_of, programs_of
from .queue import QueuedJob
from .queue_store import QueueStore
from .worker_runtime import Wanted


def require_known(jobs: Sequence[QueuedJob], names: Sequence[str]) -> None:
    """Raise InvalidInstance for a job of a type that is not among these."""
    for job in jobs:
        if job.job.name not in names:
            raise InvalidInstance(
                f"job {job.name!r}: type", repr(job.job.name),
                f"a type that the store knows ({', '.join(names[:8])})",
                f"Measure it first (cotenant measure, or --unknown measure); "
                f"{suggest(job.job.name, names)}",
            )  # fmt: skip


def measure_unmeasured(
    jobs: Sequence[QueuedJob],
    store: Path,
    *,
    dask: str | None = None,
    pressure: float | None = None,
    other_machine: bool = False,
    overlap: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Summary | None:
    """Measure the types that the store does not know, beside known ones; None without any.

    Parameters
    ----------
    dask : a scheduler, on a worker of which it is done; on this computer when not given.
    other_machine : whether all types are measured anew where no worker is the measured machine.

    Raises
    ------
    InvalidInstance
        No job of such a type may be run again.
    InvalidOption
        Groups of an earlier command still run there.
    InvalidFile
        The store was measured on a machine that is not among the workers.
    """
    measured: list[Job] = []
    settings: dict[str, Any] = {}
    profile: JobProfiles | None = None
    busy = False
    if os.path.exists(store):
        with opened(store) as rows:
            profile = profile_of(rows)
            measured = [rows.job_of(row) for row in profile.settings["jobs"]]
            settings = profile.settings
            queue_store = QueueStore(rows)
            busy = queue_store.exists() and bool(queue_store.running())
    names = {job.name for job in measured}
    unmeasured = [job for job in jobs if job.job.name not in names]
    new: dict[str, Job] = {}
    for job in unmeasured:
        if job.rerun:
            new.setdefault(job.job.name, job.job)
    for job in unmeasured:
        if job.job.name not in new:
            raise InvalidInstance(
                f"job {job.name!r}: type", f"{job.job.name!r}, which the store does not know",
                'a job of this type with rerun = "yes", to measure it by',
                "Or measure it first by a command of its own: cotenant measure",
            )  # fmt: skip
    if not new:
        return None
    if dask is not None and busy:
        raise InvalidOption(
            "unknown is 'measure', but groups of an earlier command are not finished; first go on "
            "with the queue as it was, without the new types"
        )
    given: dict[str, Any] = {"half_width": 0.05, "time": "cpu", "confidence": 0.95} | {
        name: settings[name] for name in ("half_width", "time", "confidence") if name in settings
    }
    given["pressure"] = pressure if pressure is not None else settings.get("pressure", 0.1)
    if progress is not None:
        tell = progress
        given["progress"] = lambda status: tell(
            f"measuring {status.now}, {status.done} of {status.cells}"
        )
    with ExitStack() as stack:
        if dask is None:
            given["cpus"] = profile and profile.facts["seats"].replace(" | ", ",")
        else:
            # of two seats, and known to the workers by the store's place: it may not be there yet
            token = hashlib.sha256(os.fsencode(os.path.abspath(store))).hexdigest()[:32]
            programs = programs_of([*measured, *new.values()])
            wanted = Wanted(token, programs, overlap=overlap)
            fleet = stack.enter_context(machines_of(wanted, dask=dask, local=None))
            facts = {
                name: dict(registration.facts) for name, registration in sorted(fleet.all().items())
            }
            before = None if profile is None else profile.facts
            same = [name for name in facts if before in (None, facts[name])]
            if not same and not other_machine:
                raise InvalidFile(
                    f"{store} was measured on a machine that is none of the Dask workers; measure "
                    "the new types there, or give --other-machine to measure all of them anew on a "
                    "worker"
                )
            given |= {"machine": RemoteMachine(fleet, (same or list(facts))[0])}
            given["other_machine"] = other_machine
        return measure([*measured, *new.values()], store, control=False, **given)


class RemoteMachine:
    """A machine of a cluster, each visit a task of its worker; see `measurement.Machine`.

    Parameters
    ----------
    fleet : machines of two seats.
    name : of this one.

    Attributes
    ----------
    facts : see `machine.machine_facts`.
    """

    def __init__(self, fleet: Fleet, name: str) -> None:
        self._fleet, self._name = fleet, name
        self.facts = dict(fleet.all()[name].facts)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._fleet.now()

    def visit(self, order: MeasurementRequest) -> Measurement:
        """Run members at the same time; raise EngineError when the worker went away."""
        visit = uuid.uuid4().hex
        try:
            if self._name not in self._fleet.all():
                raise self._lost("")
            self._fleet.start(self._name, visit, order)
            ended = None
            while ended is None:
                ended = next((one for one in self._fleet.ended(1.0) if one.group == visit), None)
        except KeyboardInterrupt:
            self._fleet.end_all()
            raise
        if ended.visit is None:
            raise self._lost(f" ({ended.reason})")
        self._fleet.acknowledge({visit: self._name})
        return ended.visit

    def _lost(self, why: str) -> EngineError:
        return EngineError(
            f"the Dask worker {self._name} was lost while it measured{why}; every run so far is "
            "kept, and the same command goes on"
        )
