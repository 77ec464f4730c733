"""Flows of processor seconds between organizations: who used what while others waited or lent, as
the causes of debts.

At each moment an organization holds machines, its share; it runs some jobs, and others of its jobs
wait. What it runs above its share it runs on what others do not use of theirs: of such a one, the
part for which jobs wait is `waited`, the rest is `lent`. Each moment's surplus is divided among all
who lack something, in proportion. This is bookkeeping, not a division of the debt: that is the
Shapley value's, which asks what all coalitions would have done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...instances.scheduling import Scheduling
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import Window
from ...solvers.scheduling.fifo import fifo_starts

Floats = npt.NDArray[np.float64]
Kind = Literal["waited", "lent"]


@dataclass(frozen=True)
class Cause:
    """One of the largest flows between two organizations.

    Attributes
    ----------
    kind : "waited": jobs of `loser` waited below its share while `gainer` ran above its own;
        "lent": `loser` had nothing to run on that part of its share.
    loser, gainer : organizations.
    amount : processor seconds.
    waited, ran : the jobs most concerned with their processor seconds: of the loser (none where it
        lent) and of the gainer; places in the log.
    """

    kind: Kind
    loser: int
    gainer: int
    amount: float
    waited: tuple[tuple[int, float], ...]
    ran: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class Flows:
    """Flows of processor seconds between the organizations of a window.

    Attributes
    ----------
    waited, lent : (k, k) processor seconds, of the row's organization to the column's.
    """

    course: Course
    waited: Floats
    lent: Floats

    def largest(self, organization: int, owed: bool, number: int = 3) -> list[Cause]:
        """Largest causes for an organization that is owed (its losses) or owes (its gains)."""
        entries: list[tuple[float, Kind, int, int]] = []
        for kind, table in (("waited", self.waited), ("lent", self.lent)):
            row = table[organization] if owed else table[:, organization]
            for other, amount in enumerate(row.tolist()):
                pair = (organization, other) if owed else (other, organization)
                if amount > 0:
                    entries.append((amount, kind, *pair))  # type: ignore[arg-type]
        entries.sort(key=lambda entry: (-entry[0], entry[1] == "lent", entry[2:]))
        return [
            Cause(kind, loser, gainer, amount, *self._jobs(kind, loser, gainer))
            for amount, kind, loser, gainer in entries[:number]
        ]

    def _jobs(
        self, kind: Kind, loser: int, gainer: int
    ) -> tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]:
        course = self.course
        lacking = course.deficit if kind == "waited" else course.unused
        rate = course.part(lacking[loser], gainer)
        waited: tuple[tuple[int, float], ...] = ()
        if kind == "waited":
            waited = course.most(loser, rate, course.waits[loser], course.release, course.begin)
        return waited, course.most(gainer, rate, course.runs[gainer], course.begin, course.end)


def flows(judged: Window) -> Flows:
    """Compute the processor time that flows from organizations whose jobs waited or whose machines
    were lent to organizations that used more than their own. O(events k^2).
    """
    course = Course.of(judged)
    ratio = np.divide(
        course.length, course.lack, out=np.zeros_like(course.lack), where=course.lack > 0
    )
    waited, lent = (
        (lacking * ratio) @ course.surplus.T for lacking in (course.deficit, course.unused)
    )
    return Flows(course, waited, lent)


@dataclass(frozen=True, eq=False)
class Course:
    """Numbers of processors on which the jobs of each organization run, wait, and exceed or stay
    below its own machines, between events; copies of a job count as one of many processors.
    """

    times: Integers  # (m + 1,)
    length: Floats  # (m,)
    runs: Floats  # (k, m) processors
    waits: Floats
    surplus: Floats
    deficit: Floats
    unused: Floats
    lack: Floats  # (m,) what the surplus is divided by
    owner: Integers  # (n,) by job
    release: Integers
    begin: Integers
    end: Integers
    width: Integers
    job: Integers

    @classmethod
    def of(cls, judged: Window) -> Course:
        """Compute the running and waiting processors of a window's schedule between its events."""
        instance, horizon = judged.instance, judged.instance.horizon
        names = judged.job if len(judged.job) else np.arange(instance.jobs)
        job, first, width = np.unique(names, return_index=True, return_counts=True)
        width = width * instance.width[first]
        owner, release = instance.organization[first], np.minimum(instance.release[first], horizon)
        start = judged.start[first]
        begin = np.where(start >= 0, np.minimum(start, horizon), horizon)
        end = np.minimum(begin + instance.processing[first], horizon)
        times = np.unique(np.concatenate([[0, horizon], release, begin, end]))
        runs = _over_time(times, owner, begin, end, width, instance.organizations)
        waits = _over_time(times, owner, release, begin, width, instance.organizations)
        own = np.asarray(instance.machines, dtype=float)[:, None]
        surplus = np.maximum(runs - own, 0)
        deficit = np.minimum(waits, np.maximum(own - runs, 0))
        unused = np.maximum(own - runs - waits, 0)
        lack = np.maximum((deficit + unused).sum(axis=0), surplus.sum(axis=0))
        return cls(
            times, np.diff(times).astype(float), runs, waits, surplus, deficit, unused, lack,
            owner, release, begin, end, width, job,
        )  # fmt: skip

    def part(self, lacking: Floats, gainer: int) -> Floats:
        """Processors that others lack and one organization's jobs use, in each of m intervals."""
        part: Floats = np.divide(
            lacking * self.surplus[gainer], self.lack, out=np.zeros_like(lacking),
            where=self.lack > 0,
        )  # fmt: skip
        return part

    def most(
        self, organization: int, rate: Floats, among: Floats, since: Integers, until: Integers
    ) -> tuple[tuple[int, float], ...]:
        """Three jobs of an organization that get the most of a flow of processor time. At each
        moment its waiting or running jobs share the flow equally by processor.
        """
        each = np.divide(rate, among, out=np.zeros_like(rate), where=among > 0) * self.length
        total = np.append(0.0, np.cumsum(each))
        mine = np.flatnonzero(self.owner == organization)
        at = np.searchsorted(self.times, np.stack([since[mine], until[mine]]))
        amount = self.width[mine] * (total[at[1]] - total[at[0]])
        largest = np.argsort(-amount, kind="stable")[:3]
        return tuple(
            (int(self.job[mine[n]]), float(amount[n])) for n in largest.tolist() if amount[n] > 0
        )


def _over_time(
    times: Integers, owner: Integers, since: Integers, until: Integers,
    width: npt.NDArray[Any], organizations: int,
) -> Floats:  # fmt: skip
    """Matrix (organizations, intervals) of the processors of the jobs that run or wait. A job does
    so between `since` and `until`.
    """
    change = np.zeros((organizations, len(times)))
    np.add.at(change, (owner, np.searchsorted(times, since)), width)
    np.add.at(change, (owner, np.searchsorted(times, until)), -width)
    processors: Floats = np.cumsum(change, axis=1)[:, :-1]
    return processors


@dataclass(frozen=True)
class Alone:
    """Work and waits of an organization's jobs in the log, and of the same jobs on its own machines
    alone.

    Attributes
    ----------
    work, work_alone : processor seconds done in the window.
    wait, wait_alone : mean seconds from release to start, or to the end of the window, of a
        processor's job.
    """

    work: int
    work_alone: int
    wait: float
    wait_alone: float


def alone(judged: Window) -> list[Alone]:
    """Schedule each organization's jobs that fit on its own machines, first in, first out."""
    instance = judged.instance
    each = []
    for u in range(instance.organizations):
        mine = np.flatnonzero(instance.organization == u)
        starts = fifo_starts(instance, 1 << u)
        (work, wait), (other, longer) = (
            _met(instance, mine, start) for start in (judged.start, starts)
        )
        each.append(Alone(work, other, wait, longer))
    return each


def _met(instance: Scheduling, jobs: Integers, start: Integers) -> tuple[int, float]:
    """Work of the given jobs up to the horizon, and their mean wait weighted by processors."""
    horizon, width = instance.horizon, instance.width[jobs]
    begin = np.where(start[jobs] >= 0, np.minimum(start[jobs], horizon), horizon)
    work = width * np.minimum(instance.processing[jobs], horizon - begin)
    wait = width * (begin - np.minimum(instance.release[jobs], horizon))
    return int(work.sum()), float(wait.sum() / max(1, width.sum()))
