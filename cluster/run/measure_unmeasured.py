"""Types of a queue that a store does not know: refused, or measured first."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidInstance, suggest
from ..measure.jobs import Job
from ..measure.measure import measure
from ..measure.measurement_run import Summary
from ..measure.profiles import JobProfiles, profile_of
from ..measure.store import opened
from .queue import QueuedJob


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
    pressure: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Summary | None:
    """Measure the types that the store does not know, beside known ones; None without any.

    Parameters
    ----------
    pressure : a machine that waits more than this for a processor is busy; the store's when not
        given.

    Raises
    ------
    InvalidInstance
        No job of such a type may be run again.
    """
    measured: list[Job] = []
    settings: dict[str, Any] = {}
    profile: JobProfiles | None = None
    if os.path.exists(store):
        with opened(store) as rows:
            profile = profile_of(rows)
            measured = [rows.job_of(row) for row in profile.settings["jobs"]]
            settings = profile.settings
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
    given: dict[str, Any] = {"half_width": 0.05, "time": "cpu", "confidence": 0.95} | {
        name: settings[name] for name in ("half_width", "time", "confidence") if name in settings
    }
    given["pressure"] = pressure if pressure is not None else settings.get("pressure", 0.1)
    if progress is not None:
        tell = progress
        given["progress"] = lambda status: tell(
            f"measuring {status.now}, {status.done} of {status.cells}"
        )
    given["cpus"] = profile and profile.facts["seats"].replace(" | ", ",")
    return measure([*measured, *new.values()], store, control=False, **given)
