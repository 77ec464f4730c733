"""Advice for one job of a queue: participate or break away, with which partner, for which gain."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from ...analysis.colocation.recommender import Action
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.problem.errors import InvalidFile
from ..measure.profiles import Predictor, profile_of
from ..measure.store import opened
from .placement import ActionRecommender, Reading, losses
from .queue_store import Entry, QueueStore


@dataclass(frozen=True)
class Partner:
    """Type of job with which a job would form a blocking pair.

    Attributes
    ----------
    kind : its name.
    willing : how many of them there are in the epoch.
    gain, least, most : the fall of the job's penalty, as measured, and the ends of its interval.
    """

    kind: str
    willing: int
    gain: float
    least: float
    most: float


@dataclass(frozen=True)
class JobAdvice:
    """Advice for a job, with the estimates behind it.

    Attributes
    ----------
    job : as it stands.
    alpha : the least gain that counts.
    certainty : what the intervals claim.
    epoch : in which it was placed last; 0 when it never was.
    beside : the types that it is beside; "" alone.
    penalty, low, high : predicted of it there; None where it was not placed.
    measured : seen of it; None while nothing is.
    action : None when it was never placed.
    certain, possible : whom it and they would gain by for every, and for some matrix within the
        intervals, the best first.
    """

    job: Entry
    alpha: float
    certainty: str
    epoch: int = 0
    beside: str = ""
    penalty: float | None = None
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    action: Action | None = None
    certain: tuple[Partner, ...] = ()
    possible: tuple[Partner, ...] = ()

    def lines(self) -> list[str]:
        """Format the advice for a job as lines of text."""
        job = self.job
        head = f"job {job.number} ({job.name}, type {job.kind}): {job.state}"
        head += f" ({job.reason})" if job.reason else ""
        if self.action is None:
            return [f"{head}, was in no epoch yet; nothing to advise"]
        place = f"beside {self.beside}" if self.beside else "alone on its machine"
        head += f", {place} in epoch {self.epoch}"
        lines = [head]
        if self.beside and self.penalty is not None:
            seen = "" if self.measured is None else f", measured {100 * self.measured:.1f}"
            lines.append(
                f"penalty {_points(self.penalty, self.low, self.high)} points, believed now{seen}"
            )
        if self.certain:
            best = self.certain[0]
            lines.append(
                f"break away: with {best.kind}, gaining {_points(best.gain, best.least, best.most)}"
                f" points for sure, {best.willing} of them willing"
            )
        else:
            might = "; no other is possible either"
            if self.possible:
                best = self.possible[0]
                might = f"; {best.kind} might give {_points(best.gain, best.least, best.most)}"
            if not self.beside:
                might = ": it has its machine to itself"
            lines.append(f"participate: no better partner for sure{might}")
        others = [*self.certain, *self.possible][1:4]
        if others:
            partners = (f"{o.kind} {_points(o.gain, o.least, o.most)}" for o in others)
            lines.append(f"next: {', '.join(partners)}")
        certainty = self.certainty or "penalties without intervals"
        lines.append(f"gains above {100 * self.alpha:g} points count; {certainty}")
        return lines


def job_advice(store: str | os.PathLike[str], job: str, *, alpha: float | None = None) -> JobAdvice:
    """Advice for the agent of a job, from the current estimates and its last epoch.

    Parameters
    ----------
    job : its number or name.
    alpha : the least gain that counts; the queue's when not given.

    Raises
    ------
    InvalidFile
        The store is none, or no queue was run on it.
    InvalidOption
        There is no such job.
    """
    with opened(store) as rows:
        # 1. The job, and the groups of its last epoch.
        queue_store = QueueStore(rows)
        queue_store.require()
        entry = queue_store.named(job)
        settings = queue_store.run_settings()
        least = settings.alpha if alpha is None else alpha
        groups = queue_store.groups_beside(entry.number)
        whole = Predictor(profile_of(rows), settings.voids).instance()
        advice = JobAdvice(entry, least, whole.certainty)
        if not groups:
            return advice
        entries = queue_store.entries_of(number for group in groups for number in group.jobs)
        for one in entries:
            if one.kind not in whole.names:
                raise InvalidFile(
                    f"{rows.path}: queued.type is {one.kind!r}; expected one of "
                    f"{', '.join(whole.names)}, which the store measured"
                )
        kinds = {one.number: whole.names.index(one.kind) for one in entries}
        mine = next(group for group in groups if entry.number in group.jobs)
        seen = rows.rows(
            "SELECT measured FROM seat WHERE placed = ? AND queued = ?", (mine.id, entry.number)
        )[0][0]
    advice = replace(advice, epoch=mine.epoch, measured=seen, action="participate")
    if len(mine.jobs) == 1:
        return advice
    # 2. They as a pairing, and what its agents are advised.
    agents = _agents(whole, [[kinds[number] for number in group.jobs] for group in groups], least)
    seat = mine.jobs.index(entry.number)
    types = (kinds[mine.jobs[seat]], kinds[mine.jobs[1 - seat]])
    certain, possible = (_partners(agents, types, of) for of in ("certain", "possible"))
    penalty, low, high = losses(whole, types)[0]
    known = {one.kind for one in certain}
    return replace(
        advice, beside=whole.names[types[1]], penalty=penalty, low=low, high=high, certain=certain,
        action="break away" if certain else "participate",
        possible=tuple(one for one in possible if one.kind not in known),
    )  # fmt: skip


def _agents(whole: Colocation, placed: list[list[int]], alpha: float) -> ActionRecommender:
    """Pairing of the groups of an epoch, as an action recommender for its agents."""
    count = np.bincount([kind for types in placed for kind in types], minlength=whole.types)
    pairs = np.array([types for types in placed if len(types) == 2], dtype=int).reshape(-1, 2)
    alone = [types[0] for types in placed if len(types) == 1]
    single = np.bincount(np.array(alone, dtype=int), minlength=whole.types)
    pairing = Pairing(pairs[:, 0], pairs[:, 1], np.ones(len(pairs), dtype=int), single)
    instance = whole.replace(count=count, machines=float(count.sum()))
    return ActionRecommender(instance, pairing, alpha)


def _partners(
    agents: ActionRecommender, types: tuple[int, int], reading: Reading
) -> tuple[Partner, ...]:
    """Types with which a job would break away, the largest gain first."""
    kind, beside = types
    here, *ends = losses(agents.instance, types)[0]
    mine = next(one for one in agents.advice(reading) if (one.kind, one.beside) == (kind, beside))
    partners = []
    for other in mine.alternatives:
        there, low, high = losses(agents.instance, (kind, other.kind))[0]
        gains = (here - there, ends[0] - high, ends[1] - low)
        name = agents.instance.names[other.kind]
        partners.append(Partner(name, other.willing, *(round(gain, 12) for gain in gains)))
    return tuple(sorted(partners, key=lambda one: -one.gain))


def _points(value: float, low: float | None, high: float | None) -> str:
    half = 0.0 if low is None or high is None else (high - low) / 2
    return f"{100 * value:+.1f} +-{100 * half:.1f}"
