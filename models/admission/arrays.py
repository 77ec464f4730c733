"""Assignment program as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Booleans, Floats, Integers
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from ..program import LinearProgram, ProgramBuilder

Objective = Literal["speed", "jobs"]

ORDERED_UP_TO = 200_000
"""Entries of the rows that order equal VMs, J^2 / 2 a copy: beyond, they cost too much."""


@dataclass(frozen=True, eq=False)
class AdmissionProgram:
    """Integer program of job admission whose first columns are an assignment.

    Attributes
    ----------
    program : columns are x (one for each pair), y (one for each pair and usable core type), then
        others. Minimizes; speeds are divided by `scale`.
    job, machine : (P,) the pairs of the first P columns.
    pair, kind : (Y,) pair and core type of the next Y columns.
    jobs, types : J and C.
    scale : the largest speed of a job on a core there is.
    core_rows : (V C,) the rows that say "no core twice", VM by VM; their multipliers are prices of
        cores.
    copies : (V,) the earlier VM of equal cores right before each, -1 for none; copies are ordered
        when `ordered`.
    """

    program: LinearProgram
    job: Integers
    machine: Integers
    pair: Integers
    kind: Integers
    jobs: int
    types: int
    scale: float
    core_rows: Integers
    copies: Integers
    ordered: bool

    @property
    def shared(self) -> int:
        """Number of the columns that state the assignment itself."""
        return len(self.job) + len(self.pair)

    def assignment(self, point: Floats) -> Assignment:
        """Assignment from column values, with cores rounded; a pair without a core is dropped."""
        used_cores = np.round(point[len(self.job) : self.shared]).astype(np.int64)
        cores = np.zeros((self.jobs, self.types), dtype=np.int64)
        machine = np.full(self.jobs, -1)
        used = (used_cores > 0) & (point[: len(self.job)][self.pair] > 0.5)
        np.add.at(cores, (self.job[self.pair[used]], self.kind[used]), used_cores[used])
        machine[self.job[self.pair[used]]] = self.machine[self.pair[used]]
        return Assignment(machine, cores)

    def whole(self, point: Floats, tolerance: float = 1e-6) -> bool:
        """Whether the columns that count cores have integer values."""
        used_cores = point[len(self.job) : self.shared]
        return bool(np.abs(used_cores - np.round(used_cores)).max(initial=0.0) <= tolerance)

    def point(self, assignment: Assignment) -> Floats | None:
        """Values of the first columns that state an assignment, with equal VMs renamed; None if a
        pair has no column.
        """
        renamed = self._in_order(assignment)
        index = np.full((self.jobs, len(self.copies)), -1)
        index[self.job, self.machine] = np.arange(len(self.job))
        chosen = np.flatnonzero(renamed.assigned)
        pairs = index[chosen, renamed.machine[chosen]]
        if (pairs < 0).any():
            return None
        x = np.zeros(len(self.job))
        x[pairs] = 1.0
        y = np.where(x[self.pair] > 0, renamed.cores[self.job[self.pair], self.kind], 0)
        return np.concatenate([x, y.astype(float)])

    def _in_order(self, assignment: Assignment) -> Assignment:
        """Assignment with equal VMs renamed so that their lowest jobs ascend."""
        if not self.ordered:
            return assignment
        machines = len(self.copies)
        lowest = np.full(machines, self.jobs)
        np.minimum.at(
            lowest, assignment.machine[assignment.assigned], np.flatnonzero(assignment.assigned)
        )
        name = np.arange(machines + 1)  # the last entry is the name of "no VM": -1
        name[-1] = -1
        for group in _groups(self.copies):
            name[np.array(group)[np.argsort(lowest[group], kind="stable")]] = group
        return Assignment(name[assignment.machine], assignment.cores)


@validate_options
def assignment_program(
    instance: Admission,
    keep: Booleans | None = None,
    *,
    objective: Objective = "speed",
    least_jobs: int | None = None,
    least_speed: float | None = None,
    whole: bool = False,
    ordered: bool = True,
    builder: ProgramBuilder | None = None,
) -> AdmissionProgram:
    """Maximize total speed or the number of assigned jobs, stated as a minimization.

    Parameters
    ----------
    instance : what is given.
    keep : (J, V) the pairs to have columns for; all when not given.
    objective : "speed" or "jobs".
    least_jobs : assign at least so many jobs. When given, x[j, v] = 1 also needs a core, y being
        able to be 0 otherwise.
    least_speed : reach at least this total speed.
    whole : declare the cores whole numbers (for CP-SAT; without it they come out whole where it
        matters).
    ordered : order VMs of equal cores, unless that takes more than `ORDERED_UP_TO` entries.
    builder : where to build, for programs with more columns and rows; a new one when not given.
    """
    rows = ProgramBuilder() if builder is None else builder
    # 1. columns x[j, v], job j on VM v, and y[j, v, c], cores of type c that it gets there
    possible = np.broadcast_to(instance.cores.sum(axis=1) > 0, (instance.jobs, instance.machines))
    if keep is not None:
        possible = possible & shaped("keep", keep, *possible.shape)
    job, machine = np.nonzero(possible)
    pair, kind = np.nonzero(instance.cores[machine])
    usable = instance.speed[job[pair], kind]
    scale = float(usable.max(initial=0.0)) or 1.0
    x = rows.columns(len(job), upper=1.0, cost=-1.0 if objective == "jobs" else 0.0, integer=True)
    most = np.minimum(instance.threads[job[pair]], instance.cores[machine[pair], kind]).astype(
        float
    )
    value = usable / scale
    y = rows.columns(
        len(pair), upper=most, cost=-value if objective == "speed" else 0.0, integer=whole
    )
    # 2. rows: a job is on one VM at most
    rows.sums(instance.jobs, (job, x, 1.0), upper=1.0)
    # its cores are at most its threads, and 0 elsewhere
    every = np.arange(len(job))
    rows.sums(len(job), (pair, y, 1.0), (every, x, -instance.threads[job]), upper=0.0)
    # each y is at most its most, and 0 where x is: implied for whole x, and tighter
    rows.at_most(0.0, (y, 1.0), (x[pair], -most))
    # a VM gives out the cores it has
    place = machine[pair] * instance.types + kind
    core_rows = rows.sums(instance.cores.size, (place, y, 1.0), upper=instance.cores.reshape(-1))
    # 3. VMs of equal cores are ordered
    copies = _copies(instance.cores)
    ordered = ordered and int((copies >= 0).sum()) * instance.jobs**2 <= 2 * ORDERED_UP_TO
    if ordered:
        _order_copies(rows, job, machine, x, copies, instance.jobs)
    # 4. limits: an assigned job has a core
    if least_jobs is not None or objective == "jobs":
        rows.sums(len(job), (pair, y, -1.0), (every, x, 1.0), upper=0.0)
    # least values of the two objectives
    if least_jobs:
        rows.row(x, lower=float(least_jobs))
    if least_speed is not None:
        rows.row(y, value, lower=least_speed / scale)
    return AdmissionProgram(
        rows.build(),
        job,
        machine,
        pair,
        kind,
        instance.jobs,
        instance.types,
        scale,
        core_rows,
        copies,
        ordered,
    )


def _copies(cores: Integers) -> Integers:
    """Index (V,) of the previous VM with the same cores as each VM, -1 for none."""
    _, group = np.unique(cores, axis=0, return_inverse=True)
    before = np.full(len(cores), -1)
    last: dict[int, int] = {}
    for v, g in enumerate(group.reshape(-1).tolist()):
        before[v] = last.get(g, -1)
        last[g] = v
    return before


def _groups(copies: Integers) -> list[list[int]]:
    """Groups of two and more VMs with equal cores, each ascending."""
    groups: dict[int, list[int]] = {}
    for v, before in enumerate(copies.tolist()):
        groups[v] = groups.pop(before, []) if before >= 0 else []
        groups[v].append(v)
    return [group for group in groups.values() if len(group) > 1]


def _order_copies(
    rows: ProgramBuilder, job: Integers, machine: Integers, x: Integers, copies: Integers, jobs: int
) -> None:
    for v in np.flatnonzero(copies >= 0).tolist():
        here, before = machine == v, machine == copies[v]
        for j, column in zip(job[here].tolist(), x[here].tolist(), strict=True):
            earlier = x[before & (job < j)]
            coefficients = np.concatenate([[1.0], -np.ones(len(earlier))])
            rows.row(np.concatenate([[column], earlier]), coefficients, upper=0.0)
