"""The schedule as a 0/1 program: a column for each job and each time at which it may start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...instances.scheduling import Scheduling, psi
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import per_organization, units_done
from ..program import LinearProgram, ProgramBuilder
from .intervals import Nearness, Objective


@dataclass(frozen=True, eq=False)
class TimeIndexed:
    """The program (it minimizes minus the objective), and what its columns mean.

    Attributes
    ----------
    program : one column for starting `job` at `time`; then, beside given utilities, one for each
        organization's distance.
    job, time : (columns,)
    near : the given utilities.
    """

    program: LinearProgram
    job: Integers
    time: Integers
    near: Nearness | None = None

    def starts(self, point: npt.ArrayLike, instance: Scheduling) -> Integers:
        """(j,) start times from a 0/1 point, -1 for jobs that are not started."""
        found = np.full(instance.jobs, -1, dtype=np.int64)
        chosen = np.asarray(point)[: len(self.job)] > 0.5
        found[self.job[chosen]] = self.time[chosen]
        return found

    def point(self, start: Integers, instance: Scheduling) -> npt.NDArray[np.float64]:
        """A schedule's starts as a point."""
        chosen = np.where(start[self.job] == self.time, 1.0, 0.0)
        if self.near is None:
            return chosen
        own = per_organization(instance, psi(start, instance.processing, instance.horizon))
        return np.append(chosen, np.abs(own - self.near.psi).astype(float))


def columns_needed(instance: Scheduling) -> int:
    """How many columns the program has."""
    return int(np.maximum(instance.horizon - instance.release, 0).sum())


def entries_needed(instance: Scheduling) -> int:
    """At most how many entries the program's matrix has."""
    spans = np.maximum(instance.horizon - instance.release, 0)
    runs = sum((spans * (1 + np.minimum(instance.processing, instance.horizon))).tolist())
    order = instance.order
    follows = instance.organization[order[1:]] == instance.organization[order[:-1]]
    earlier, later = spans[order[:-1]][follows].tolist(), spans[order[1:]][follows].tolist()
    return int(
        runs + sum(after * (before + after) for before, after in zip(earlier, later, strict=True))
    )


def time_indexed(
    instance: Scheduling,
    objective: Objective,
    *,
    near: Nearness | None = None,
    least: int | None = None,
) -> TimeIndexed:
    """Each job starts at most once; at any time at most M run; of two consecutive jobs the later
    starts no earlier.

    Columns and rows grow with jobs times horizon: for small instances, where it is the second way
    to the optimum.

    Parameters
    ----------
    near, least : as for `interval_model`.
    """
    horizon = instance.horizon
    spans = np.maximum(horizon - instance.release, 0)
    job = np.repeat(np.arange(instance.jobs), spans)
    first = np.concatenate([[0], np.cumsum(spans)])
    time = np.arange(len(job)) - first[job] + instance.release[job]
    length = instance.processing[job]
    worth = (
        psi(time, length, horizon) if objective == "utility" else units_done(time, length, horizon)
    )
    build = ProgramBuilder()
    cost = 0.0 if near is not None and least is not None else -worth.astype(float)
    columns = build.columns(len(job), upper=1.0, cost=cost, integer=True)
    build.block(job, columns, 1.0, np.full(instance.jobs, -np.inf), np.ones(instance.jobs))
    runs = np.minimum(length, horizon - time)
    within = np.arange(runs.sum()) - np.repeat(np.cumsum(runs) - runs, runs)
    build.block(
        np.repeat(time, runs) + within, np.repeat(columns, runs), 1.0,
        np.full(horizon, -np.inf), np.full(horizon, float(instance.total_machines)),
    )  # fmt: skip
    order = instance.order
    for earlier, later in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if instance.organization[earlier] == instance.organization[later]:
            _in_order(build, first, instance, earlier, later)
    if near is not None:
        _apart(
            build,
            instance,
            near,
            columns,
            psi(time, length, horizon),
            instance.organization[job],
            least is not None,
        )
    if least is not None:
        build.row(columns, worth.astype(float), lower=float(least))
    return TimeIndexed(build.build(), job, time, near)


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
    build: ProgramBuilder, first: Integers, instance: Scheduling, earlier: int, later: int
) -> None:
    """By every time, the later job has started only if the earlier one has."""
    for until in range(int(instance.release[later]), instance.horizon):
        before = np.arange(first[earlier], first[earlier] + until - instance.release[earlier] + 1)
        after = np.arange(first[later], first[later] + until - instance.release[later] + 1)
        build.row(
            np.concatenate([before, after]),
            np.repeat([1.0, -1.0], [len(before), len(after)]),
            lower=0.0,
        )
