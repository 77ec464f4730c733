"""Assignment program with an exact count of blocking pairs.

Job j and VM v block unless j is at v or nothing v can offer j is faster than what j has. What v
offers is held[c] fewer cores of type c than there are, held by the jobs v ranks above j; the
fastest j could run on it is a small linear program in the cores taken, and by its dual that is

    min over w of  w threads[j] + sum over c of max(0, speed[j, c] - w) (cores[v, c] - held[c]),

where w need only be 0 or one of j's speeds. So the pair does not block iff for one of these C + 1
values of w this is at most j's speed: linear in y once a 0/1 column says which.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Floats, Integers
from ...instances.admission.rules import blocking_pairs, job_ranking
from ..program import ProgramBuilder
from .arrays import AdmissionProgram, assignment_program


@dataclass(frozen=True, eq=False)
class BlockingProgram:
    """Integer program of job admission with variables for blocking pairs.

    Attributes
    ----------
    base : its first columns are an assignment.
    levels : for each pair of `base`, the values of w.
    """

    base: AdmissionProgram
    levels: tuple[Floats, ...] = field(repr=False)

    def point(self, instance: Admission, assignment: Assignment) -> Floats:
        """Point (columns,) of the program at an assignment, with the pairs that block in it.

        For each other pair one of its `levels` is chosen, which proves that it does not block.
        """
        first = self.base.point(assignment)
        assert first is not None  # every pair that can hold a core has a column
        found = blocking_pairs(instance, assignment)
        blocks = set(zip(found.job.tolist(), found.machine.tolist(), strict=True))
        above = _offered(instance, assignment)
        flags, chosen = [], []
        for j, v, levels in zip(
            self.base.job.tolist(), self.base.machine.tolist(), self.levels, strict=True
        ):
            flags.append(float((j, v) in blocks))
            price = [_fastest(instance, j, w, above[j, v]) for w in levels.tolist()]
            best = np.zeros(len(levels))
            best[int(np.argmin(price))] = float((j, v) not in blocks and assignment.machine[j] != v)
            chosen.append(best)
        return np.concatenate([first, np.array(flags), *chosen])


def blocking_program(instance: Admission, most_pairs: int) -> BlockingProgram:
    """Maximize total speed with at most `most_pairs` blocking pairs; J V (C + 2) more columns."""
    builder = ProgramBuilder()
    base = assignment_program(instance, least_jobs=0, whole=True, ordered=False, builder=builder)
    rank = np.empty(instance.jobs, dtype=np.int64)
    rank[job_ranking(instance.threads)] = np.arange(instance.jobs)
    held_by, held_on = base.job[base.pair], base.machine[base.pair]
    cores = len(base.job) + np.arange(len(base.pair))  # the columns y
    blocks = builder.columns(len(base.job), upper=1.0, integer=True)
    all_levels = []
    for p, (j, v) in enumerate(zip(base.job.tolist(), base.machine.tolist(), strict=True)):
        levels = np.unique(np.concatenate([[0.0], instance.speed[j]]))
        chosen = builder.columns(len(levels), upper=1.0, integer=True)
        # column p is x[j, v]
        builder.row(np.concatenate([chosen, blocks[p : p + 1], [p]]), lower=1.0)
        above = np.flatnonzero((held_on == v) & (rank[held_by] < rank[j]))
        mine = np.flatnonzero(held_by == j)
        for w, flag in zip(levels.tolist(), chosen.tolist(), strict=True):
            over = np.maximum(0.0, instance.speed[j] - w)
            most = _fastest(instance, j, w, instance.cores[v])
            where = np.concatenate([cores[above], cores[mine], [flag]])
            values = np.concatenate(
                [-over[base.kind[above]], -instance.speed[j][base.kind[mine]], [most]]
            )
            builder.row(where, values / base.scale, upper=0.0)
        all_levels.append(levels)
    builder.row(blocks, upper=float(most_pairs))
    return BlockingProgram(replace(base, program=builder.build()), tuple(all_levels))


def _fastest(instance: Admission, j: int, w: float, offered: Integers) -> float:
    """Upper bound on the speed of job j on the cores (C,) offered to it, from a price w of a
    thread.
    """
    return float(w * instance.threads[j] + np.maximum(0.0, instance.speed[j] - w) @ offered)


def _offered(instance: Admission, assignment: Assignment) -> Integers:
    """Cores (J, V, C) that each VM offers each job: all that jobs ranked above it do not hold."""
    free = np.array(instance.cores)
    offered = np.empty((instance.jobs, *free.shape), dtype=np.int64)
    for j in job_ranking(instance.threads).tolist():
        offered[j] = free
        if assignment.machine[j] >= 0:
            free[assignment.machine[j]] -= assignment.cores[j]
    return offered
