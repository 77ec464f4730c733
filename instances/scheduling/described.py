"""A schedule in words: when and where each job starts."""

from __future__ import annotations

import numpy as np

from ..problem.described import TOLD, Described, labels, told
from .instance import Schedule, Scheduling


def described(instance: Scheduling, schedule: Schedule, most: int | None = None) -> Described:
    """When and where each job starts, in the order of time; those that do not start come last."""
    names = labels("organization", instance.names, instance.organizations)
    order = np.lexsort((schedule.machine, schedule.start, ~schedule.started))
    rows: list[tuple[object, ...]] = []
    for job in order[: instance.jobs if most is None else max(most, TOLD)].tolist():
        start, machine = int(schedule.start[job]), int(schedule.machine[job])
        begun = start >= 0
        rows.append(
            (
                job,
                names[int(instance.organization[job])],
                machine if begun else None,
                int(instance.release[job]),
                start if begun else None,
                start + int(instance.processing[job]) if begun else None,
            )
        )
    parts = [
        f"job {job} of {name} {'never' if start is None else f'at {start} on machine {machine}'}"
        for job, name, machine, _, start, _ in rows[:TOLD]
    ]
    sentence = (
        f"start {told(parts, instance.jobs, 'jobs')}: {int(schedule.started.sum())} of "
        f"{instance.jobs} start before {instance.horizon}"
    )
    columns = ("job", "organization", "machine", "release", "start", "end")
    return Described(sentence, columns, tuple(rows[:most]), instance.jobs)
