"""What would have brought fair share nearer to the fair schedule: other weights, or a quality of
service (QOS) for some accounts. Fitted by playing fair share again; of a Kueue, its admission by
the share of borrowed quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from ...instances.scheduling import Scheduling, psi
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import per_organization, rates
from ...instances.scheduling.widths import in_machines
from ...solvers.scheduling.event_loop import simulate
from .audit import Audit
from .fairness import Fairness

LEVELS = 3
"""Priorities that accounts can be given, the lowest being none."""

_WORK = 1e7
"""Jobs, weighted by `_WIDE` where parallel, that a fit's simulations serve: some 15 s."""

_WIDE = 8


@dataclass(frozen=True, eq=False)
class Fitted:
    """One way to share, and how far its schedule is from the fair one.

    Attributes
    ----------
    values : (k,) whole numbers: weights, the largest 1000, 0 for those without machines; or levels,
        from 0 on, those of a higher one being served first.
    error : delta psi over the work of the windows that were looked at, in seconds by which a unit
        of work was too late or too early.
    later : the same of the windows that the fit did not see; None where there is one window.
    """

    values: Integers
    error: float
    later: float | None

    @property
    def judged(self) -> float:
        """What counts: the error where nothing was fitted, if there is such a window."""
        return self.error if self.later is None else self.later

    def nearer(self, other: Fitted) -> bool:
        """Whether it is nearer to the fair schedule by a hundredth, and by a second, which is what
        clocks of accounting tell apart; where it was fitted and later too.
        """
        return all(
            mine <= theirs - max(1.0, 0.01 * theirs)
            for mine, theirs in ((self.error, other.error), (self.judged, other.judged))
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """What there was, and what would have been nearer.

    Attributes
    ----------
    log : the log's own schedule; its values are the present weights.
    now : fair share by the present weights.
    weights, levels : fair share by the weights, or with the levels, that were found.
    """

    log: Fitted
    now: Fitted
    weights: Fitted
    levels: Fitted

    @property
    def best(self) -> Fitted | None:
        """The weights or the levels, whichever is nearer; None when neither is nearer than now."""
        nearer = [each for each in (self.weights, self.levels) if each.nearer(self.now)]
        return min(nearer, key=lambda each: each.judged, default=None)


def fit(judged: Fairness) -> Fit:
    """Weights, and levels, for fair share that come nearest to the fair schedule of the windows;
    with several windows, of the first half of them.

    Fair share serves the account of least use over weight next; with levels, of the highest level
    at which a job waits, as a QOS does whose priority counts for more than fair share. Of levels
    all combinations are tried where that takes seconds. Otherwise, and for weights, it is a search
    from what there is, one account at a time: no proof that nothing is nearer. Slurm's own fair
    share forgets use by half lives, and sees memory, partitions and age besides.
    """
    audits = list(judged.audits)
    seen = audits[: max(1, len(audits) // 2)]
    later = audits[len(seen) :]
    present = present_weights(judged)
    none = np.zeros_like(present)
    served = sum(each.instance.jobs * (1 if each.instance.sequential else _WIDE) for each in seen)
    most = max(20, min(400, int(_WORK / served)))

    def distance(part: list[Audit], weights: Integers, levels: Integers) -> float:
        return _distance(judged, part, weights, levels)

    def fitted(values: Integers, weights: Integers, levels: Integers) -> Fitted:
        rest = distance(later, weights, levels) if later else None
        return Fitted(values, distance(seen, weights, levels), rest)

    weights = _nearest(present, _scaled, lambda weights: distance(seen, weights, none), most)
    if judged.found.log.queues:  # its queues have no levels
        levels = none
    elif LEVELS ** len(none) <= most:
        all_levels = (np.array(each) for each in product(range(LEVELS), repeat=len(none)))
        levels = min(
            (each for each in all_levels if _settled(each)),
            key=lambda each: (distance(seen, present, each), each.sum()),
        )
    else:
        levels = _nearest(none, _shifted, lambda each: distance(seen, present, each), most)
    log = [
        sum(float(np.abs(each.received[:, -1] - each.wanted).sum()) for each in part)
        / max(1, sum(int(each.work.sum()) for each in part))
        for part in (seen, later)
    ]
    return Fit(
        Fitted(present, log[0], log[1] if later else None),
        fitted(present, present, none),
        fitted(weights, weights, none),
        fitted(levels, present, levels),
    )


def _nearest(
    start: Integers,
    neighbors: Callable[[Integers], Iterator[Integers]],
    error: Callable[[Integers], float],
    most: int,
) -> Integers:
    """The best that steps from one to a better neighbor lead to, with at most so many looked at."""
    tried = {tuple(start.tolist())}
    best, value = start, error(start)
    better = True
    while better:
        better = False
        for trial in neighbors(best):
            key = tuple(trial.tolist())
            if key in tried or len(tried) >= most:
                continue
            tried.add(key)
            if (distance := error(trial)) < value - 1e-12:
                best, value, better = trial, distance, True
                break
    return best


def _scaled(weights: Integers) -> Iterator[Integers]:
    """One weight larger or smaller, by smaller and smaller factors."""
    for factor in (2.0, 1.4, 1.15):
        for u in np.flatnonzero(weights).tolist():
            for times in (factor, 1 / factor):
                trial = weights.astype(float)
                trial[u] = max(1.0, trial[u] * times)
                whole = np.maximum(np.round(1000 * trial / trial.max()), weights > 0)
                yield whole.astype(np.int64)


def _shifted(levels: Integers) -> Iterator[Integers]:
    """One account at another level, or two that change theirs."""
    for u in range(len(levels)):
        for level in range(LEVELS):
            trial = levels.copy()
            trial[u] = level
            if _settled(trial):
                yield trial
    for u, v in combinations(range(len(levels)), 2):
        if levels[u] != levels[v]:
            trial = levels.copy()
            trial[[u, v]] = levels[[v, u]]
            yield trial


def _settled(levels: Integers) -> bool:
    """Whether no level below the highest is left out: the same order would come again."""
    return bool(levels.max() + 1 == len(np.unique(levels)))


def present_weights(judged: Fairness) -> Integers:
    """(k,) what organizations have now: their shares, or the weights of queues; the largest is
    1000, and what is above 0 at least 1.
    """
    queues = {queue.name: float(queue.weight) for queue in judged.found.log.queues}
    weights = np.array([queues.get(name, 0.0) for name in judged.names])
    if not weights.any():
        weights = judged.shares
    whole = np.maximum(np.round(1000 * weights / weights.max()), weights > 0)
    return np.asarray(whole, dtype=np.int64)


def played(
    judged: Fairness, instance: Scheduling, weights: Integers, levels: Integers, parts: int = 1
) -> Integers:
    """(j,) starts when the site's rule serves the jobs of an instance: fair share, or of a Kueue
    its admission without preemption, by `share_kernel.admit`, with the limits of its queues. A
    machine of the judged is so many `parts` of the instance's.
    """
    queues = {queue.name: queue for queue in judged.found.log.queues}
    if not queues or not set(instance.names) <= set(queues):
        return simulate(instance, "FAIRSHARE", shares=weights, levels=levels).start
    from ...solvers.scheduling.share_kernel import admit

    unit, total, quota = judged.unit, instance.total_machines, instance.machines
    each = [queues[name] for name in instance.names]
    borrowing, lending = (
        np.array([min(parts * in_machines(unit, limit), total) for limit in limits])
        for limits in ([one.borrowing for one in each], [one.lending for one in each])
    )
    order = instance.order
    count = np.bincount(instance.organization, minlength=len(each))
    in_order, start = np.full((2, instance.jobs), -1, dtype=np.int64)
    admit(
        np.append(0, np.cumsum(count)), instance.release[order], instance.processing[order],
        instance.width[order], instance.organization[order], quota, borrowing,
        np.minimum(lending, quota), weights, instance.horizon, in_order,
    )  # fmt: skip
    start[order] = in_order
    return start


def _distance(judged: Fairness, audits: list[Audit], weights: Integers, levels: Integers) -> float:
    """Delta psi over the work of the schedules of the site's rule."""
    off, work = 0.0, 0
    for each in audits:
        instance = each.instance
        worth = psi(
            played(judged, instance, weights, levels), instance.work, instance.horizon,
            rates(instance),
        )  # fmt: skip
        off += float(np.abs(per_organization(instance, worth) - each.wanted).sum())
        work += int(each.work.sum())
    return off / max(1, work)
