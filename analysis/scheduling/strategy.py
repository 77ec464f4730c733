"""Search for misreports of an organization: jobs split, merged, delayed or padded, and parallel
jobs as narrower ones.

psi_sp itself is indifferent to splitting and merging and falls with delay (section 4), once a
schedule is given. A rule is another matter: it may serve the pieces earlier. The search tries every
single change to every job on small instances and measures gains in true utility: units that were
only padding count nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...instances.scheduling import Schedule, Scheduling, psi
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import per_organization, rates
from ..manipulation import Floats, Misreport, Reports

Kind = Literal["split", "merge", "delay", "pad", "narrow"]
KINDS: tuple[Kind, ...] = get_args(Kind)[:-1]
"""Those of sequential jobs; "narrow" is of parallel ones, on request."""


class Change(NamedTuple):
    """Change by which an organization presents the same work as other jobs.

    Attributes
    ----------
    kind, job : what was done to which job (the first of two that are merged).
    amount : where it was cut, by how much it was delayed or padded, or the processors of the first
        of two narrower jobs; 0 for a merge.
    useful : (j,) units of each job that are worth something to its owner, the first ones.
    """

    kind: Kind
    job: int
    amount: int
    useful: Integers


def changes(instance: Scheduling, organization: int, kinds: Sequence[str]) -> Iterator[Misreport]:
    """All single changes to an organization's jobs: all cuts, all merges of neighbors with equal
    processors, delays and paddings of 1, 2 and 4, all ways to split a parallel job. The parts of a
    misreport are its `Change`.
    """
    jobs = [job for job in instance.order.tolist() if instance.organization[job] == organization]
    for index, job in enumerate(jobs):
        length = int(instance.processing[job])
        if "split" in kinds:
            for cut in range(1, length):
                yield _halves(instance, "split", job, cut)
        alike = index + 1 < len(jobs) and instance.width[job] == instance.width[jobs[index + 1]]
        if "merge" in kinds and alike:
            yield _merge(instance, job, jobs[index + 1])
        if "narrow" in kinds:
            for first in range(1, int(instance.width[job])):
                yield _halves(instance, "narrow", job, first)
        later: tuple[tuple[Kind, str], ...] = (("delay", "release"), ("pad", "processing"))
        for amount, (kind, name) in product((1, 2, 4), later):
            if kind in kinds:
                moved = getattr(instance, name).copy()
                moved[job] += amount
                change = Change(kind, job, amount, instance.processing)
                yield Misreport(instance.replace(**{name: moved}), change)


class _Reports(Reports):
    """Misreports of an organization: its jobs under one of the kinds of `changes`."""

    unit, changes = "psi", get_args(Kind)

    def utilities(self, truth: Scheduling, shown: Misreport, solution: Schedule) -> Floats:
        useful = truth.processing if shown.parts is None else shown.parts.useful
        given = shown.instance
        work = useful * given.width
        worth = psi(solution.start, work, given.horizon, rates(given, solution.machine))
        return per_organization(given, worth).astype(float)

    def most(self, truth: Scheduling, agent: int, honest: float, method: str) -> tuple[float, str]:
        left = np.maximum(truth.horizon - truth.release, 0)
        return float(per_organization(truth, left * truth.work)[agent]), "all work at its release"

    def near(
        self, truth: Scheduling, here: Misreport, agent: int, *, kinds: Sequence[str] | None = None
    ) -> Iterator[Misreport]:
        some = KINDS if truth.processors is None else get_args(Kind)
        if here.parts is None:  # what is useful is known of one change
            yield from changes(truth, agent, some if kinds is None else kinds)

    def orders(self, truth: Scheduling, agent: int) -> Iterator[Misreport]:
        return iter(())

    def words(self, truth: Scheduling, shown: Misreport, agent: int) -> str:
        change = shown.parts
        by = f" by {change.amount}" if change.amount else ""
        return f"{change.kind} job {change.job}{by}"


REPORTS = _Reports()


def _halves(instance: Scheduling, kind: Kind, job: int, first: int) -> Misreport:
    """Cut a job into two that are released together: "split" after `first` time units of its
    length, "narrow" after `first` of its processors, so that both run side by side.
    """
    twice = {
        name: np.insert(getattr(instance, name), job, getattr(instance, name)[job])
        for name in ("organization", "release", "processing", "processors")
        if getattr(instance, name) is not None
    }
    amount = twice["processing" if kind == "split" else "processors"]
    amount[job : job + 2] = first, amount[job] - first
    shown = instance.replace(**twice)
    return Misreport(shown, Change(kind, job, first, shown.processing))


def _merge(instance: Scheduling, job: int, following: int) -> Misreport:
    """Replace two neighboring jobs by one, released with the later one."""
    processing = instance.processing.copy()
    processing[following] += processing[job]
    left = {"processing": np.delete(processing, job)} | {
        name: np.delete(getattr(instance, name), job)
        for name in ("organization", "release", "processors")
        if getattr(instance, name) is not None
    }
    shown = instance.replace(**left)
    return Misreport(shown, Change("merge", job, 0, shown.processing))
