"""What pairing by penalties gains over first come, first served, by a store's own penalties."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ...instances.colocation.instance import Colocation
from .action_recommender import Types
from .placement import losses
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
    waiting: Sequence[int], sizes: Sequence[int], instance: Colocation
) -> list[Types] | None:
    """Fill machines in order of age: the oldest job left, and where two are placed the oldest one
    that may run beside it; None where there is none.

    Parameters
    ----------
    waiting : types of the jobs, the oldest job first.
    sizes : jobs on each machine.
    """
    left = list(waiting)
    groups: list[Types] = []
    for size in sizes:
        group: Types = (left.pop(0),)
        if size == 2:
            fitting = (at for at, kind in enumerate(left) if instance.allowed[group[0], kind])
            index = next(fitting, None)
            if index is None:
                return None
            group += (left.pop(index),)
        groups.append(group)
    return groups


def gain_over_first_come(store: QueueStore, instance: Colocation) -> Gain | None:
    """What the groups of a queue gained over first come, first served: in each epoch, the same jobs
    on as many machines of the same sizes; None where nothing was placed.

    The interval is of the difference: a penalty that both have cancels.
    """
    place = {name: number for number, name in enumerate(instance.names)}
    epochs: dict[int, dict[str, list[tuple[int, int, str]]]] = defaultdict(dict)
    for epoch, group, age, job, kind in store.store.rows(
        "SELECT epoch, placed.id, age, queued.id, type FROM placed JOIN seat ON placed = placed.id "
        "JOIN queued ON queued.id = queued ORDER BY epoch, placed.id, number"
    ):
        epochs[epoch].setdefault(group, []).append((age, job, kind))
    # how much more often each penalty (a type, and the one beside it) occurs by age than as placed
    times = Counter[Types]()
    jobs = left_out = 0
    for groups in epochs.values():
        placed = sorted(map(sorted, groups.values()))
        kinds = [tuple(place[kind] for _, _, kind in group) for group in placed]
        waiting = [place[kind] for _, _, kind in sorted(chain(*placed))]
        by_age = first_come_groups(waiting, list(map(len, kinds)), instance)
        if by_age is None:
            left_out += len(waiting)
            continue
        jobs += len(waiting)
        times.update(side for types in by_age for side in (types, types[::-1]))
        times.subtract(side for types in kinds for side in (types, types[::-1]))
    if not jobs:
        return None
    ends = [0.0, 0.0, 0.0]
    for types, number in times.items():
        middle, low, high = losses(instance, types)[0]
        for end, value in enumerate((middle, *((low, high) if number > 0 else (high, low)))):
            ends[end] += number * value / jobs
    return Gain(ends[0], ends[1], ends[2], jobs, left_out)
