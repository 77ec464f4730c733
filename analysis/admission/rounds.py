"""Simulation of rounds of assignment until every job has run (section III.A). Also the minimum of
computation times in one round, by complete enumeration of small cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

import numpy as np

from ...catalog import find
from ...instances.admission import Admission, Assignment, check, job_speeds
from ...instances.admission.instance import Floats, Integers
from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import accepted
from ...solvers.outcome import Outcome, Stop

Method = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Rounds:
    """Record of which jobs ran in which round.

    Attributes
    ----------
    assignments : one per round, over all jobs of the instance; machine -1: does not run.
    round : (J,) the round in which each job runs, from 0.
    start, duration : (R,) when each round begins and how long it lasts, the time of its slowest
        job; None without lengths.
    computation : (J,) length / speed of each job; None without lengths.
    """

    assignments: tuple[Assignment, ...]
    round: Integers
    start: Floats | None = None
    duration: Floats | None = None
    computation: Floats | None = None

    def facts(self) -> dict[str, float]:
        """Dictionary of the number of rounds in which jobs were assigned, and of the jobs' times.

        - `rounds`;
        - `computation_time` = sum of length / speed, waiting left out (section III.B.4);
        - `completion_time` = sum over jobs of start of its round + length / speed;
        - `completion_time_together` = the same when a round's jobs all complete at its end ("chosen
          jobs are completed simultaneously", section III.A);
        - `makespan` = when the last round ends.

        All but the first only when jobs have lengths.
        """
        facts = {"rounds": float(len(self.assignments))}
        if self.start is not None and self.duration is not None and self.computation is not None:
            ends = self.start + self.duration
            facts["computation_time"] = float(self.computation.sum())
            facts["completion_time"] = float((self.start[self.round] + self.computation).sum())
            facts["completion_time_together"] = float(ends[self.round].sum())
            facts["makespan"] = float(ends[-1])
        return facts


@validate_options
def run_rounds(
    instance: Admission, method: str | Method, *, rng: np.random.Generator | None = None
) -> Rounds:
    """Assign jobs, run the assigned ones until the slowest is done, and submit the others again,
    until all have run.

    Parameters
    ----------
    instance : with `length` for times.
    method : a name of the catalogue, or a function of an instance that returns an Assignment or an
        Outcome.
    rng : given to a method that draws, in every round.

    Raises
    ------
    NoSolution
        There is no core at all, or the method assigns nobody in some round.
    UnknownName, InvalidOption
        Before any work starts.
    KeyboardInterrupt
        The method was interrupted in some round.

    Examples
    --------
    >>> import cotenant
    >>> run_rounds(cotenant.read("admission/tiny"), "proposed").facts()["rounds"]
    2.0
    """
    function = method if callable(method) else find("admission", method).resolve()
    if not instance.cores.any():
        raise NoSolution("there is no core on any VM: no job can ever run")
    given = accepted(function, {"rng": rng})
    waiting = np.arange(instance.jobs)
    when = np.full(instance.jobs, -1)
    assignments: list[Assignment] = []
    while len(waiting):
        answer = function(instance.only(waiting), **given)
        if isinstance(answer, Outcome) and answer.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        found = answer.solution if isinstance(answer, Outcome) else answer
        if not isinstance(found, Assignment) or not found.assigned.any():
            raise NoSolution(
                f"{method} assigns nobody in round {len(assignments)} with {len(waiting)} "
                "jobs waiting"
            )
        machine = np.full(instance.jobs, -1)
        cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
        machine[waiting], cores[waiting] = found.machine, found.cores
        whole = Assignment(machine, cores)
        check(instance, whole)
        when[waiting[found.assigned]] = len(assignments)
        assignments.append(whole)
        waiting = waiting[~found.assigned]
    return _timed(instance, tuple(assignments), when)


def _timed(instance: Admission, assignments: tuple[Assignment, ...], when: Integers) -> Rounds:
    """Rounds with their times, if jobs have lengths."""
    if instance.length is None:
        return Rounds(assignments, when)
    speeds = np.array([job_speeds(instance, one) for one in assignments])[
        when, np.arange(instance.jobs)
    ]
    computation = instance.length / speeds
    duration = np.array([computation[when == r].max() for r in range(len(assignments))])
    return Rounds(assignments, when, np.cumsum(duration) - duration, duration, computation)


MOST_JOBS = 7


@validate_options
def least_computation(instance: Admission) -> float:
    """Minimum sum of computation times (length / speed) with which all jobs run in one round (claim
    of section III.B.4); infinite if they do not fit.

    All ways to share the cores of all VMs are gone through: for worked examples.

    Raises
    ------
    InvalidOption
        The jobs have no lengths, or there are more than `MOST_JOBS`.
    """
    length = instance.length
    if length is None:
        raise InvalidOption("the jobs have no lengths; give the instance a length for each job")
    if instance.jobs > MOST_JOBS:
        raise InvalidOption(
            f"there are {instance.jobs} jobs; complete enumeration takes at most {MOST_JOBS}"
        )

    def least(j: int, free: Integers) -> float:
        """Minimum sum of the computation times of jobs j, j + 1, ... on the free cores."""
        best = 0.0 if j == instance.jobs else inf
        for v in range(instance.machines) if j < instance.jobs else ():
            for used in product(*(range(n + 1) for n in free[v].tolist())):
                if 1 <= sum(used) <= instance.threads[j]:
                    left = free.copy()
                    left[v] -= np.array(used)
                    own = float(length[j] / (instance.speed[j] @ used))
                    best = min(best, own + least(j + 1, left))
        return best

    return least(0, instance.cores)
