"""What grouping by penalties gains over first come, first served, by a store's own penalties."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from .action_recommender import Types
from .placement import GroupEstimates
from .queue_store import QueueStore


@dataclass(frozen=True)
class Gain:
    """Mean penalty of a job under first come, first served, less the mean penalty as placed.

    Attributes
    ----------
    gain : by the penalties as estimated.
    low, high : ends of its interval: what it is for some penalties within all their intervals.
    jobs : placements that it is over; a job that was begun twice counts twice.
    left_out : of jobs that first come, first served could not place on the same machines.
    """

    gain: float
    low: float
    high: float
    jobs: int
    left_out: int

    @property
    def words(self) -> str:
        """The gain in words."""
        more = "less" if self.gain < 0 else "more"
        interval = f"{100 * self.low:.1f} to {100 * self.high:.1f}"
        left = f"; {self.left_out} jobs are left out" if self.left_out else ""
        return (
            f"{100 * abs(self.gain):.1f} points {more} ({interval}) over {self.jobs} jobs, by the "
            f"store's penalties{left}"
        )


def first_come_groups(
    waiting: Sequence[int], sizes: Sequence[int], estimates: GroupEstimates
) -> list[Types] | None:
    """Fill machines in order of age: the oldest job left, then the oldest ones that may run beside
    it; None where that leaves a machine with fewer jobs than its size.

    Parameters
    ----------
    waiting : types of the jobs, the oldest job first.
    sizes : jobs on each machine.
    """
    beside = np.isfinite(estimates.pairs.penalty)
    left = list(waiting)
    groups: list[Types] = []
    for size in sizes:
        group = [left.pop(0)]
        while len(group) < size:
            fitting = (
                place
                for place, kind in enumerate(left)
                if all(beside[kind, other] and beside[other, kind] for other in group)
            )
            place = next(fitting, None)
            if place is None:
                return None
            group.append(left.pop(place))
        groups.append(tuple(group))
    return groups


def gain_over_first_come(store: QueueStore, estimates: GroupEstimates) -> Gain | None:
    """What the groups of a queue gained over first come, first served: in each epoch, the same jobs
    on as many machines of the same sizes; None where nothing was placed.

    The interval is of the difference: a penalty that both have cancels.
    """
    place = {name: number for number, name in enumerate(estimates.pairs.names)}
    epochs: dict[int, dict[str, list[tuple[int, int, str]]]] = defaultdict(dict)
    for epoch, group, age, job, kind in store.store.rows(
        "SELECT epoch, placed.id, age, queued.id, type FROM placed JOIN seat ON placed = placed.id "
        "JOIN queued ON queued.id = queued ORDER BY epoch, placed.id, number"
    ):
        epochs[epoch].setdefault(group, []).append((age, job, kind))
    # how much more often each penalty (a type, and those beside it) occurs by age than as placed
    times = Counter[tuple[int, Types]]()
    jobs = left_out = 0
    for groups in epochs.values():
        placed = sorted(map(sorted, groups.values()))
        kinds = [tuple(place[kind] for _, _, kind in group) for group in placed]
        waiting = [place[kind] for _, _, kind in sorted(chain(*placed))]
        by_age = first_come_groups(waiting, list(map(len, kinds)), estimates)
        if by_age is None:
            left_out += len(waiting)
            continue
        jobs += len(waiting)
        times.update(_penalties(by_age))
        times.subtract(_penalties(kinds))
    if not jobs:
        return None
    ends = [0.0, 0.0, 0.0]
    for (kind, others), number in times.items():
        predicted = estimates.losses((kind, *others))
        low, high = predicted.low[0], predicted.high[0]
        for end, value in enumerate(
            (predicted.penalty[0], low if number > 0 else high, high if number > 0 else low)
        ):
            ends[end] += number * value / jobs
    return Gain(ends[0], ends[1], ends[2], jobs, left_out)


def _penalties(groups: Sequence[Types]) -> Counter[tuple[int, Types]]:
    return Counter(
        (kind, tuple(sorted(group[:seat] + group[seat + 1 :])))
        for group in groups
        for seat, kind in enumerate(group)
    )
