"""An assignment in words: the VM of each job, and the cores it holds there."""

from __future__ import annotations

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import Admission, Assignment


def answer_table(
    instance: Admission, assignment: Assignment, most: int | None = None
) -> AnswerTable:
    """The VM of each job and the cores it holds there, jobs in order."""
    jobs = labels("job", instance.names, instance.jobs)
    machines = labels("VM", instance.machine_names, instance.machines)
    rows = []
    for job in range(instance.jobs if most is None else min(most, instance.jobs)):
        place, cores = int(assignment.machine[job]), assignment.cores[job]
        where = None if place < 0 else machines[place]
        rows.append((jobs[job], where, float(cores @ instance.speed[job]), *cores.tolist()))
    placed = [
        f"{jobs[job]} {f'on {machines[place]}' if place >= 0 else 'nowhere'}"
        for job, place in enumerate(assignment.machine[:MAX_IN_SENTENCE].tolist())
    ]
    sentence = (
        f"run {join_first(placed, instance.jobs, 'jobs')}: {int(assignment.assigned.sum())} of "
        f"{instance.jobs} run"
    )
    columns = ("job", "VM", "speed", *(f"cores of type {kind}" for kind in range(instance.types)))
    return AnswerTable(sentence, columns, tuple(rows), instance.jobs)
