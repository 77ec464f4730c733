"""Instance (Admission), answer (Assignment), feasibility, and the answer as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.base import Instance, Solution
from ..problem.errors import InfeasibleSolution
from ..problem.fields import Axes, Json, Names, raise_first_broken, set_array, set_fields
from ..problem.frames import axis_labels, from_labels
from ..problem.option_types import Above, AtLeast, Between, Range, validate_options

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

LARGEST_COUNT = 2**31
"""Cores of a VM and type, and threads of a job, stay below this: sums must fit in 64 bits."""

SMALLEST, LARGEST = 1e-9, 1e12
"""Speeds and lengths lie between these: sums and quotients must stay finite."""

IN_UNITS = Between(SMALLEST, LARGEST, "a number of units", cure="Choose another unit")


@dataclass(frozen=True, eq=False, repr=False)
class Admission(Instance["Assignment"]):
    """Jobs that apply to V virtual machines whose cores are of C types.

    Parameters
    ----------
    cores : (V, C) array of whole numbers
        Cores of each type on each VM, 0 allowed; a VM without any core is never filled.
    threads : (J,) array of whole numbers
        The most cores each job can use, at least 1.
    speed : (J, C) array
        Work per unit of time that a job does on one core of each type, above 0. A job's speed is
        the sum over its cores.
    length : (J,) array, optional
        Work of each job, above 0: it runs for length / speed.
    names, machine_names : strings, optional
        Names of the jobs and of the VMs; all of them or none.
    """

    problem: ClassVar[str] = "admission"

    counted: ClassVar[Mapping[str, str]] = {"machines": "VM", "types": "core type", "jobs": "job"}

    cores: Annotated[
        Integers,
        Axes("machines types"),
        AtLeast(0, "a number of cores", cure="Write 0 where a VM has no core of a type"),
        Range(below=LARGEST_COUNT, what="a number"),
    ]
    threads: Annotated[
        Integers,
        Axes("jobs"),
        AtLeast(1, "a number of threads", cure="A job without threads cannot run: leave it out"),
        Range(below=LARGEST_COUNT, what="a number"),
    ]
    speed: Annotated[Floats, Axes("jobs types"), Above(0, "a speed on one core"), IN_UNITS]
    length: Annotated[
        Floats | None, Axes("jobs"), Above(0, "an amount of work"), IN_UNITS, Json(null="absent")
    ] = None
    names: Annotated[tuple[str, ...], Names("jobs")] = ()
    machine_names: Annotated[tuple[str, ...], Names("machines")] = ()

    def __post_init__(self) -> None:
        set_fields(self)

    @classmethod
    @validate_options
    def from_frame(
        cls,
        speed: pandas.DataFrame,
        *,
        cores: pandas.DataFrame,
        threads: Any,
        length: Any = None,
        **fields: Any,
    ) -> Self:
        """Admission instance from DataFrames; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        speed : jobs down, types of cores across.
        cores : VMs down, the same types of cores across.
        threads, length : a Series or a mapping by job, or a number for all.
        **fields : the other fields, as the class takes them.
        """
        labels = axis_labels(cls, {"speed": speed, "cores": cores})
        given = {"speed": speed, "cores": cores, "threads": threads, "length": length}
        return from_labels(cls, labels, given, fields)

    @property
    def machines(self) -> int:
        """V, the number of virtual machines."""
        return len(self.cores)

    @property
    def jobs(self) -> int:
        """J, the number of jobs."""
        return len(self.threads)

    @property
    def types(self) -> int:
        """C, the number of core types."""
        return int(self.cores.shape[1])

    @property
    def size(self) -> int:
        """Estimated steps of a policy: for each job 200, and one for each core type of each VM."""
        return self.jobs * (self.cores.size + 200)

    @property
    def fastest(self) -> float:
        """The largest speed of a thread on a core that some VM has; 0 if no VM has a core."""
        return float(self.speed[:, self.cores.any(axis=0)].max(initial=0.0))

    def only(self, jobs: npt.ArrayLike) -> Admission:
        """Instance restricted to the given jobs, in that order."""
        chosen = np.asarray(jobs, dtype=np.int64)
        length = None if self.length is None else self.length[chosen]
        return self.replace(
            threads=self.threads[chosen],
            speed=self.speed[chosen],
            length=length,
            names=tuple(self.names[job] for job in chosen.tolist()) if self.names else (),
        )

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: size, and the ratio of requested threads to cores."""
        total, wanted = int(self.cores.sum()), int(self.threads.sum())
        facts: dict[str, object] = {
            **super().summary(),
            "jobs": self.jobs,
            "VMs": self.machines,
            "core types": self.types,
            "cores": total,
            "threads": wanted,
            "threads per core": f"{wanted / total:.2f}" if total else "no core at all",
            "speeds": f"{self.speed.min():g} to {self.speed.max():g}",
        }
        if self.length is not None:
            facts["lengths"] = f"{self.length.min():g} to {self.length.max():g}"
        return facts


@dataclass(frozen=True, eq=False, repr=False)
class Assignment(Solution):
    """Assignment of each job to a VM and to a number of its cores of each type.

    Parameters
    ----------
    machine : (J,) the VM of each job, -1 for a job that is not assigned.
    cores : (J, C) cores of each type it holds there; all 0 for a job that is not assigned.
    """

    machine: Integers
    cores: Integers

    def __post_init__(self) -> None:
        set_array(self, "machine", np.int64)
        set_array(self, "cores", np.int64, 2)

    @classmethod
    def nobody(cls, instance: Admission) -> Assignment:
        """Empty assignment, feasible for every instance."""
        return cls(
            np.full(instance.jobs, -1), np.zeros((instance.jobs, instance.types), dtype=np.int64)
        )

    @property
    def assigned(self) -> Booleans:
        """Whether each job is assigned, shape (J,)."""
        chosen: Booleans = self.machine >= 0
        return chosen

    def used_cores(self, machines: int) -> Integers:
        """Number of cores (V, C) of each type in use on each VM."""
        used = np.zeros((machines, self.cores.shape[1]), dtype=np.int64)
        np.add.at(used, self.machine[self.assigned], self.cores[self.assigned])
        return used


@validate_options
def check(instance: Admission, assignment: Assignment) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless each job has one
    VM, at most its threads, and no core is used twice.

    A job that holds no core is not assigned: its machine is -1.
    """
    machine, cores = assignment.machine, assignment.cores
    if machine.shape != (instance.jobs,) or cores.shape != (instance.jobs, instance.types):
        raise InfeasibleSolution(
            f"machine is of shape {machine.shape} and cores of {cores.shape}; "
            f"expected {(instance.jobs,)} and {(instance.jobs, instance.types)}"
        )
    raise_first_broken((machine < -1) | (machine >= instance.machines), lambda j: (
        f"job {j} is on VM {machine[j]}; VMs are 0 to {instance.machines - 1}"
    ))  # fmt: skip
    raise_first_broken(
        cores < 0, lambda j, c: f"job {j} holds {cores[j, c]} cores of type {c}; expected 0 or more"
    )
    # before anything is added up: sums of such numbers wrap round
    raise_first_broken(cores >= LARGEST_COUNT, lambda j, c: (
        f"job {j} holds {cores[j, c]} cores of type {c}; no VM has {LARGEST_COUNT} or more"
    ))  # fmt: skip
    number = cores.sum(axis=1)
    raise_first_broken((machine < 0) & (number > 0), lambda j: (
        f"job {j} is not assigned but holds {number[j]} cores"
    ))  # fmt: skip
    raise_first_broken((machine >= 0) & (number == 0), lambda j: (
        f"job {j} is on VM {machine[j]} without a core; the machine of such a job is -1"
    ))  # fmt: skip
    raise_first_broken(number > instance.threads, lambda j: (
        f"job {j} holds {number[j]} cores; it has {instance.threads[j]} threads"
    ))  # fmt: skip
    used = assignment.used_cores(instance.machines)
    raise_first_broken(used > instance.cores, lambda v, c: (
        f"VM {v}: {used[v, c]} cores of type {c} are in use; there are {instance.cores[v, c]}"
    ))  # fmt: skip


def answer_table(
    instance: Admission, assignment: Assignment, most: int | None = None
) -> AnswerTable:
    """Table of an assignment: the VM of each job and the cores it holds there, jobs in order."""
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
