"""Schedule as a table: when and where each job starts."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import Schedule, Scheduling
from .utility import durations


def answer_table(instance: Scheduling, schedule: Schedule, most: int | None = None) -> AnswerTable:
    """Start time and machine of each job in order of time; jobs that do not start come last."""
    length = durations(instance, schedule.machine)
    more = np.where(schedule.started, instance.width - 1, 0)
    first = np.concatenate([[0], np.cumsum(more)])
    names = labels("organization", instance.names, instance.organizations)
    order = np.lexsort((schedule.machine, schedule.start, ~schedule.started))
    rows: list[tuple[object, ...]] = []
    for job in order[: instance.jobs if most is None else max(most, MAX_IN_SENTENCE)].tolist():
        start, machine = int(schedule.start[job]), int(schedule.machine[job])
        begun = start >= 0
        rows.append(
            (
                job,
                names[int(instance.organization[job])],
                machine if begun else None,
                int(instance.release[job]),
                start if begun else None,
                start + int(length[job]) if begun else None,
            )
        )
        if instance.processors is not None:
            others = schedule.others[first[job] : first[job + 1]]
            rows[-1] += (" ".join(map(str, [machine, *others])) if begun else None,)
    parts = [
        f"job {job} of {name} "
        f"{'never' if start is None else f'at {start} on machine{_taken(machine, *all_of)}'}"
        for job, name, machine, _, start, _, *all_of in rows[:MAX_IN_SENTENCE]
    ]
    sentence = (
        f"start {join_first(parts, instance.jobs, 'jobs')}: {int(schedule.started.sum())} of "
        f"{instance.jobs} start before {instance.horizon}"
    )
    columns: tuple[str, ...] = ("job", "organization", "machine", "release", "start", "end")
    if instance.processors is not None:
        columns += ("machines",)
    return AnswerTable(sentence, columns, tuple(rows[:most]), instance.jobs)


def _taken(machine: object, all_of: object = "") -> str:
    """Text for the machines of a job, such as " 3" or "s 3 4"."""
    return f"s {all_of}" if " " in str(all_of) else f" {machine}"
