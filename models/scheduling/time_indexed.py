"""Time-indexed 0/1 program of a schedule: a column for each job, each speed of a machine, and each
start time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, psi, schedule_of, utilities
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import units_done
from ..program import LinearProgram, ProgramBuilder
from .intervals import Nearness, Objective


@dataclass(frozen=True, eq=False)
class TimeIndexed:
    """Time-indexed program (it minimizes minus the objective) with the meaning of its columns.

    Attributes
    ----------
    program : one column for starting `job` at `time` on a machine of a `speed`; then, beside given
        utilities, one for each organization's distance.
    job, time, speed : (columns,)
    near : the given utilities.
    """

    program: LinearProgram
    job: Integers
    time: Integers
    speed: Integers
    near: Nearness | None = None

    def schedule(self, point: npt.ArrayLike, instance: Scheduling) -> Schedule:
        """Schedule of a 0/1 point, on the lowest-numbered free machines."""
        start, speed = np.full((2, instance.jobs), -1, dtype=np.int64)
        chosen = np.asarray(point)[: len(self.job)] > 0.5
        start[self.job[chosen]] = self.time[chosen]
        speed[self.job[chosen]] = self.speed[chosen]
        return schedule_of(instance, start, speed=None if instance.speed is None else speed)

    def point(self, schedule: Schedule, instance: Scheduling) -> npt.NDArray[np.float64]:
        """Point of a schedule."""
        speed = instance.pace[schedule.machine]
        chosen = (schedule.start[self.job] == self.time) & (speed[self.job] == self.speed)
        if self.near is None:
            return np.where(chosen, 1.0, 0.0)
        own = utilities(instance, schedule)
        return np.append(np.where(chosen, 1.0, 0.0), np.abs(own - self.near.psi).astype(float))


@validate_options
def columns_needed(instance: Scheduling) -> int:
    """Number of columns of the program."""
    spans = int(np.maximum(instance.horizon - instance.release, 0).sum())
    return spans * len(np.unique(instance.pace))


@validate_options
def entries_needed(instance: Scheduling) -> int:
    """Upper bound on the entries of the program's matrix."""
    spans = np.maximum(instance.horizon - instance.release, 0)
    runs = sum((spans * (1 + np.minimum(instance.processing, instance.horizon))).tolist())
    order = instance.order
    follows = instance.organization[order[1:]] == instance.organization[order[:-1]]
    earlier, later = spans[order[:-1]][follows].tolist(), spans[order[1:]][follows].tolist()
    speeds = len(np.unique(instance.pace))
    return speeds * int(
        runs + sum(after * (before + after) for before, after in zip(earlier, later, strict=True))
    )


@validate_options
def time_indexed(
    instance: Scheduling,
    objective: Objective,
    *,
    near: Nearness | None = None,
    least: int | None = None,
) -> TimeIndexed:
    """Program with rows: each job starts at most once; at any time at most M machines are busy, of
    each speed as many as there are; of two consecutive jobs the later starts no earlier.

    Columns and rows grow with jobs times horizon: for small instances, where it is the second way
    to the optimum.

    Parameters
    ----------
    near, least : as for `interval_model`.
    """
    horizon = instance.horizon
    speeds, count = np.unique(instance.pace, return_counts=True)
    spans = np.maximum(horizon - instance.release, 0)
    each = np.repeat(spans, len(speeds))  # columns of each job on each speed
    first = np.concatenate([[0], np.cumsum(each)])
    place = np.repeat(np.arange(len(each)), each)
    job, kind = np.divmod(place, len(speeds))
    time = np.arange(len(job)) - first[place] + instance.release[job]
    rate = instance.width[job] * speeds[kind]
    measure = psi if objective == "utility" else units_done
    worth = measure(time, instance.work[job], horizon, rate)
    build = ProgramBuilder()
    cost = 0.0 if near is not None and least is not None else -worth.astype(float)
    columns = build.columns(len(job), upper=1.0, cost=cost, integer=True)
    build.block(job, columns, 1.0, np.full(instance.jobs, -np.inf), np.ones(instance.jobs))
    runs = np.minimum(-(-instance.processing[job] // speeds[kind]), horizon - time)
    within = np.arange(runs.sum()) - np.repeat(np.cumsum(runs) - runs, runs)
    build.block(
        np.repeat(kind * horizon + time, runs) + within, np.repeat(columns, runs),
        np.repeat(instance.width[job].astype(float), runs),
        np.full(horizon * len(speeds), -np.inf), np.repeat(count.astype(float), horizon),
    )  # fmt: skip
    order = instance.order
    for earlier, later in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if instance.organization[earlier] == instance.organization[later]:
            _in_order(build, first, len(speeds), instance, earlier, later)
    if near is not None:
        _apart(
            build,
            instance,
            near,
            columns,
            psi(time, instance.work[job], horizon, rate),
            instance.organization[job],
            least is not None,
        )
    if least is not None:
        build.row(columns, worth.astype(float), lower=float(least))
    return TimeIndexed(build.build(), job, time, speeds[kind], near)


def _apart(
    build: ProgramBuilder,
    instance: Scheduling,
    near: Nearness,
    columns: Integers,
    worth: Integers,
    owner: Integers,
    sought: bool,
) -> None:
    """The distance from the given utilities, limited, and minimized if it is `sought`."""
    most = float(near.most)
    distances = build.columns(
        instance.organizations, upper=most, cost=1.0 if sought else 0.0, integer=True
    )
    for u, given in enumerate(near.psi.tolist()):
        own = owner == u
        where, value = np.append(columns[own], distances[u]), worth[own].astype(float)
        build.row(where, np.append(value, -1.0), upper=float(given))
        build.row(where, np.append(value, 1.0), lower=float(given))
    build.row(distances, np.ones(len(distances)), upper=most)


def _in_order(
    build: ProgramBuilder,
    first: Integers,
    speeds: int,
    instance: Scheduling,
    earlier: int,
    later: int,
) -> None:
    """Add rows: by every time, the later job has started only if the earlier one has."""
    for until in range(int(instance.release[later]), instance.horizon):
        before, after = (
            np.concatenate(
                [
                    np.arange(start, start + until - instance.release[job] + 1)
                    for start in first[job * speeds : (job + 1) * speeds]
                ]
            )
            for job in (earlier, later)
        )
        build.row(
            np.concatenate([before, after]),
            np.repeat([1.0, -1.0], [len(before), len(after)]),
            lower=0.0,
        )
