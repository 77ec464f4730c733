"""Weights of fair-share schedulers with which schedules come nearer to the fair one. They are found
by simulating fair share, or for Kueue its admission by the share of borrowed quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...instances.scheduling import Scheduling, psi
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import in_machines
from ...instances.scheduling.utility import per_organization, rates
from ...solvers.scheduling.event_loop import simulate
from .audit import Audit
from .fairness import Fairness

_WORK = 1e7
"""Jobs, weighted by `_WIDE` where parallel, that a fit's simulations serve: some 15 s."""

_WIDE = 8


@dataclass(frozen=True, eq=False)
class Fitted:
    """Fitted weights of organizations, and how far their schedule is from the fair schedule.

    Attributes
    ----------
    values : (k,) integer weights, the largest 1000, 0 for those without machines.
    error : delta psi over the work of the windows that were looked at, in seconds by which a unit
        of work was too late or too early.
    later : the same of the windows that the fit did not see; None where there is one window.
    """

    values: Integers
    error: float
    later: float | None

    @property
    def judged(self) -> float:
        """Error of the fitted weights on the windows that were not used for fitting. It is that on
        the fitted window where there is no other.
        """
        return self.error if self.later is None else self.later

    def nearer(self, other: Fitted) -> bool:
        """Whether these weights have a clearly smaller error than other fitted weights. It is
        smaller by at least 1 % and one second (the resolution of accounting clocks), on the fitted
        and later windows.
        """
        return all(
            mine <= theirs - max(1.0, 0.01 * theirs)
            for mine, theirs in ((self.error, other.error), (self.judged, other.judged))
        )


def fit(judged: Fairness) -> tuple[Fitted, Fitted, Fitted]:
    """Weights for fair share that come nearest to the fair schedule of the windows; with several
    windows, of the first half of them.

    Fair share serves the account of least use over weight next. It is a search from what there is,
    one account at a time: no proof that nothing is nearer. Slurm's own fair share forgets use by
    half lives, and sees memory, partitions and age besides.

    Returns
    -------
    The log's own schedule (its values are the present weights); fair share by the present weights;
    and by those that were found.
    """
    audits = list(judged.audits)
    seen = audits[: max(1, len(audits) // 2)]
    later = audits[len(seen) :]
    present = present_weights(judged)
    served = sum(each.instance.jobs * (1 if each.instance.sequential else _WIDE) for each in seen)
    most = max(20, min(400, int(_WORK / served)))

    def fitted(weights: Integers) -> Fitted:
        rest = _distance(judged, later, weights) if later else None
        return Fitted(weights, _distance(judged, seen, weights), rest)

    weights = _nearest(present, lambda weights: _distance(judged, seen, weights), most)
    log = [
        sum(float(np.abs(each.received[:, -1] - each.wanted).sum()) for each in part)
        / max(1, sum(int(each.work.sum()) for each in part))
        for part in (seen, later)
    ]
    own = Fitted(present, log[0], log[1] if later else None)
    return own, fitted(present), fitted(weights)


def _nearest(start: Integers, error: Callable[[Integers], float], most: int) -> Integers:
    """Weights with the least error that a local search finds in at most `most` evaluations."""
    tried = {tuple(start.tolist())}
    best, value = start, error(start)
    better = True
    while better:
        better = False
        for trial in _scaled(best):
            key = tuple(trial.tolist())
            if key in tried or len(tried) >= most:
                continue
            tried.add(key)
            if (distance := error(trial)) < value - 1e-12:
                best, value, better = trial, distance, True
                break
    return best


def _scaled(weights: Integers) -> Iterator[Integers]:
    """Neighbors of weights in the local search: one weight larger or smaller, by smaller and
    smaller factors.
    """
    for factor in (2.0, 1.4, 1.15):
        for u in np.flatnonzero(weights).tolist():
            for times in (factor, 1 / factor):
                trial = weights.astype(float)
                trial[u] = max(1.0, trial[u] * times)
                whole = np.maximum(np.round(1000 * trial / trial.max()), weights > 0)
                yield whole.astype(np.int64)


def present_weights(judged: Fairness) -> Integers:
    """Weights of the organizations at present, as integers: their shares, or the weights of queues.
    Their shape is (k,); the largest is 1000, and positive ones are at least 1.
    """
    queues = {queue.name: float(queue.weight) for queue in judged.found.log.queues}
    weights = np.array([queues.get(name, 0.0) for name in judged.names])
    if not weights.any():
        weights = judged.shares
    whole = np.maximum(np.round(1000 * weights / weights.max()), weights > 0)
    return np.asarray(whole, dtype=np.int64)


def played(judged: Fairness, instance: Scheduling, weights: Integers) -> Integers:
    """Start times (j,) of an instance's jobs under the site's rule: fair share, or for Kueue its
    admission without preemption, by `queue_kernels.admit`, with the limits of its queues.
    """
    queues = {queue.name: queue for queue in judged.found.log.queues}
    if not queues or not set(instance.names) <= set(queues):
        return simulate(instance, "FAIRSHARE", shares=weights).start
    from ...solvers.scheduling.queue_kernels import admit

    unit, total, quota = judged.unit, instance.total_machines, instance.machines
    each = [queues[name] for name in instance.names]
    borrowing, lending = (
        np.array([min(in_machines(unit, limit), total) for limit in limits])
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


def _distance(judged: Fairness, audits: list[Audit], weights: Integers) -> float:
    """Distance delta psi per unit of work from the fair schedules to those of the site's rule."""
    off, work = 0.0, 0
    for each in audits:
        instance = each.instance
        worth = psi(
            played(judged, instance, weights), instance.work, instance.horizon, rates(instance)
        )  # fmt: skip
        off += float(np.abs(per_organization(instance, worth) - each.wanted).sum())
        work += int(each.work.sum())
    return off / max(1, work)
