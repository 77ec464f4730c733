"""The advice to the agent of one job of a queue: what to do, with whom, for what gain."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from ...analysis.colocation.recommender import Action
from ...instances.problem.errors import InvalidFile
from ..measure.predictor import Predictor
from ..measure.profiles import profile_of
from ..measure.store import opened
from .action_recommender import ActionRecommender, Reading, Types, entry_of
from .placement import GroupEstimates, group_estimates
from .queue_store import Entry, QueueStore


@dataclass(frozen=True)
class Partner:
    """Another type that a job would rather be beside, and that would rather be beside it; on
    machines of more than two seats types that would all rather be together with it.

    Attributes
    ----------
    kind : its name, or theirs.
    willing : how many of them there are in the epoch; of several how many sets of jobs.
    gain, least, most : the fall of the job's penalty, as measured, and the ends of its interval.
    jobs : how many others it would be beside.
    """

    kind: str
    willing: int
    gain: float
    least: float
    most: float
    jobs: int = 1


@dataclass(frozen=True)
class JobAdvice:
    """The advice to a job, and what it rests on.

    Attributes
    ----------
    job : as it stands.
    epoch : in which it was placed last; 0 when it never was.
    beside : the types that it is beside; "" alone.
    penalty, low, high : predicted of it there; None where it was not placed.
    measured : seen of it; None while nothing is.
    action : None when it was never placed.
    certain, possible : whom it and they would gain by for every, and for some matrix within the
        intervals, the best first.
    alpha : the least gain that counts.
    certainty : what the intervals claim.
    """

    job: Entry
    epoch: int
    beside: str
    penalty: float | None
    low: float | None
    high: float | None
    measured: float | None
    action: Action | None
    certain: tuple[Partner, ...]
    possible: tuple[Partner, ...]
    alpha: float
    certainty: str

    def document(self) -> dict[str, Any]:
        """Everything as plain JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """It in words."""
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
                f" points for sure, {best.willing} "
                f"{'of them' if best.jobs == 1 else 'such sets of jobs'} willing"
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
    """The advice to the agent of a job, by what is predicted now of its last epoch.

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
        queue_store = QueueStore(rows)
        queue_store.require()
        entry = queue_store.named(job)
        settings = queue_store.run_settings()
        least = float(settings.get("alpha", 0.0)) if alpha is None else alpha
        groups = queue_store.groups_beside(entry.number)
        predictor = Predictor(profile_of(rows), settings.get("voids"))
        whole = predictor.instance()
        nothing = JobAdvice(
            entry, 0, "", None, None, None, None, None, (), (), least, whole.certainty
        )
        if not groups:
            return nothing
        places = {name: place for place, name in enumerate(whole.names)}
        entries = queue_store.entries_of(number for group in groups for number in group.jobs)
        for one in entries:
            if one.kind not in places:
                raise InvalidFile(
                    f"{rows.path}: queued.type is {one.kind!r}; expected one of "
                    f"{', '.join(whole.names)}, which the store measured"
                )
        kinds = {one.number: places[one.kind] for one in entries}
        mine = next(group for group in groups if entry.number in group.jobs)
        seen = rows.rows(
            "SELECT measured FROM seat WHERE placed = ? AND queued = ?", (mine.id, entry.number)
        )[0][0]
    placed = [tuple(kinds[number] for number in group.jobs) for group in groups]
    types = tuple(kinds[number] for number in mine.jobs)
    seat = mine.jobs.index(entry.number)
    seats = max(int(settings.get("seats", 2)), *map(len, placed))
    estimates = group_estimates(predictor, seats)
    certain, possible = _partners(estimates, placed, types, seat, least)
    expected = estimates.losses(types)
    certainty = whole.certainty + (f"; {estimates.words}" if seats > 2 else "")
    alone = len(types) == 1
    return JobAdvice(
        entry, mine.epoch, " and ".join(whole.names[t] for s, t in enumerate(types) if s != seat),
        None if alone else expected.penalty[seat], None if alone else expected.low[seat],
        None if alone else expected.high[seat], seen,
        "break away" if certain else "participate", certain,
        tuple(one for one in possible if one.kind not in {sure.kind for sure in certain}),
        least, certainty,
    )  # fmt: skip


def _partners(
    estimates: GroupEstimates, placed: list[Types], types: Types, seat: int, alpha: float
) -> tuple[tuple[Partner, ...], tuple[Partner, ...]]:
    """With whom a job of a group would break away, certainly and possibly."""
    agents = ActionRecommender(estimates.ends, estimates.measured, estimates.seats, placed, alpha)
    names = estimates.pairs.names

    def partners(reading: Reading) -> tuple[Partner, ...]:
        return tuple(
            Partner(
                " and ".join(names[kind] for kind in one.others), one.sets, one.gain, one.least,
                one.most, len(one.others),
            )
            for one in agents.offers(entry_of(types, seat), reading)
        )  # fmt: skip

    return partners("certain"), partners("possible")


def _points(value: float, low: float | None, high: float | None) -> str:
    half = 0.0 if low is None or high is None else (high - low) / 2
    return f"{100 * value:+.1f} +-{100 * half:.1f}"
