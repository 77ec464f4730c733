"""Pairing of an epoch's jobs on machines: the jobs that wait, their predicted penalties, and the
action recommender: which agents should break away, with which partner, for which gain.

Two agents break away if each of them gains more than `alpha`: they are a blocking pair. Gains are
read within the intervals of what was measured: certain ones hold for every matrix within them,
possible ones for some. Agents take part all the same, as in the papers; the recommendation is what
`cotenant run advice` prints.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...analysis.colocation.batches import Batch, Policy, Waiting, pair_oldest
from ...analysis.colocation.recommender import Advice, recommend
from ...instances.colocation.instance import Colocation, Integers, Pairing
from ...instances.colocation.stability import Uncertainty, blocking_pairs
from .queue_store import Entry


def place(
    instance: Colocation,
    policy: Policy,
    jobs: WaitingQueue,
    free: int,
    rng: np.random.Generator,
    alpha: float,
) -> tuple[list[tuple[int, ...]], ActionRecommender] | None:
    """Take the oldest jobs off the queue, and have the policy pair them on the free machines: the
    jobs on each machine, and the advice to their agents; None when nothing waits.

    Parameters
    ----------
    alpha : the least gain for which an agent moves.
    """
    placed = pair_oldest(instance, policy, jobs.queue, free, rng)
    if placed is None:
        return None
    problem, pairing, batch = placed
    return jobs.take(batch, groups_of(pairing)), ActionRecommender(problem, pairing, alpha)


def losses(instance: Colocation, types: Types) -> list[tuple[float, float, float]]:
    """Predicted penalty of each job of a group with the ends of its interval (equal to the penalty
    if there is none); 0 for a job alone.
    """
    if len(types) == 1:
        return [(0.0, 0.0, 0.0)]
    ends = (instance.penalty, instance.low, instance.high)
    middle, low, high = (instance.penalty if end is None else end for end in ends)
    return [
        (min(1.0, float(middle[pair])), min(1.0, float(low[pair])), min(1.0, float(high[pair])))
        for pair in (types, types[::-1])
    ]


def groups_of(pairing: Pairing) -> list[Types]:
    """Types of jobs on each machine of a pairing, pairs first."""
    pairs = zip(pairing.first.tolist(), pairing.second.tolist(), strict=True)
    groups = [
        types
        for types, times in zip(pairs, pairing.pairs.tolist(), strict=True)
        for _ in range(times)
    ]
    single = enumerate(pairing.single.tolist())
    return [*groups, *((kind,) for kind, times in single for _ in range(times))]


Types = tuple[int, ...]
"""The types on one machine, by seat: one, or two."""

Reading = Literal["certain", "possible"]


@dataclass(frozen=True)
class ActionRecommender:
    """Recommendations to the agents of a pairing: take part or break away.

    Parameters
    ----------
    instance, pairing : the jobs that are placed. Where penalties have no intervals, gains are
        certain and possible as they were measured.
    alpha : the least gain for which an agent moves.
    """

    instance: Colocation
    pairing: Pairing
    alpha: float

    def advised(self, reading: Reading) -> int:
        """Number of agents in pairs who are advised to break away."""
        read = self._uncertainty(reading)
        return blocking_pairs(self.instance, self.pairing, self.alpha, uncertainty=read).agents

    def advice(self, reading: Reading) -> tuple[Advice, ...]:
        """Recommendation for every agent; see `recommender.recommend`."""
        read = self._uncertainty(reading)
        return recommend(self.instance, self.pairing, alpha=self.alpha, uncertainty=read)

    def _uncertainty(self, reading: Reading) -> Uncertainty:
        return "none" if self.instance.low is None else reading


class WaitingQueue:
    """Waiting jobs of a queue, by type and age.

    Parameters
    ----------
    names : of the types.

    Attributes
    ----------
    types : name -> place.
    queue : how many jobs of each type wait, by age.
    entries, attempts : of every job, by its row; attempts grow as jobs are begun.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.types = {name: index for index, name in enumerate(names)}
        self.queue = Waiting(len(names))
        self.entries: dict[int, Entry] = {}
        self.attempts: dict[int, int] = {}
        self._ids: dict[tuple[int, int], deque[int]] = defaultdict(deque)

    def arrive(self, entries: Iterable[Entry]) -> None:
        """Add the queue entries in state `waiting` to the waiting jobs, the oldest first."""
        added: dict[int, Integers] = {}
        for entry in entries:
            self.entries[entry.number] = entry
            self.attempts[entry.number] = entry.attempts
            if entry.state == "waiting":
                kind = self.types[entry.kind]
                self._ids[entry.age, kind].append(entry.number)
                counts = added.setdefault(entry.age, np.zeros(len(self.types), dtype=np.int64))
                counts[kind] += 1
        for age, counts in added.items():
            self.queue.add(age, counts)

    def take(self, batch: Batch, groups: Iterable[Types]) -> list[tuple[int, ...]]:
        """Take the oldest waiting jobs of the given types, for each group of types in a batch."""
        taken: list[deque[int]] = [deque() for _ in self.types]
        for age, counts in batch:
            for kind in np.flatnonzero(counts).tolist():
                waits = self._ids[age, kind]
                taken[kind].extend(waits.popleft() for _ in range(counts[kind]))
                if not waits:
                    del self._ids[age, kind]
        return [tuple(taken[kind].popleft() for kind in types) for types in groups]

    def kinds(self, numbers: Iterable[int]) -> Types:
        """Types of the waiting jobs with the given row numbers."""
        return tuple(self.types[self.entries[number].kind] for number in numbers)

    def put_back(self, numbers: Iterable[int]) -> None:
        """Return jobs to the queue at their original age."""
        batch = []
        for number in numbers:
            entry = self.entries[number]
            kind = self.types[entry.kind]
            counts = np.zeros(len(self.types), dtype=np.int64)
            counts[kind] = 1
            self._ids[entry.age, kind].append(number)
            batch.append((entry.age, counts))
        self.queue.put_back(batch)
