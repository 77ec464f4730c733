"""Pairing of an epoch's jobs on machines: the jobs that wait, their predicted penalties, and the
action recommender: which agents should break away, with which partner, for which gain.

Two agents break away if each of them gains more than `alpha`: they are a blocking pair. Gains are
read within the intervals of what was measured: certain ones hold for every matrix within them,
possible ones for some. Agents take part all the same, as in the papers; the recommendation is what
`cotenant run advice` prints.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...analysis.colocation.batches import Policy, pair_oldest
from ...analysis.colocation.recommender import Advice, recommend
from ...instances.colocation.instance import Colocation, Pairing
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
    placed = pair_oldest(instance, policy, jobs.kinds(jobs.waiting[: 2 * free]), free, rng)
    if placed is None:
        return None
    problem, pairing = placed
    groups = jobs.take(problem.agents, groups_of(pairing))
    return groups, ActionRecommender(problem, pairing, alpha)


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
        """Recommendation to every agent: to take part or to break away; see
        `recommender.recommend`.
        """
        read = self._uncertainty(reading)
        return recommend(self.instance, self.pairing, alpha=self.alpha, uncertainty=read)

    def _uncertainty(self, reading: Reading) -> Uncertainty:
        return "none" if self.instance.low is None else reading


class WaitingQueue:
    """Waiting jobs of a queue.

    Parameters
    ----------
    names : of the types.

    Attributes
    ----------
    types : name -> place.
    waiting : rows of the jobs that wait, the oldest first.
    entries, attempts : of every job, by its row; attempts grow as jobs are begun.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.types = {name: index for index, name in enumerate(names)}
        self.waiting: list[int] = []
        self.entries: dict[int, Entry] = {}
        self.attempts: dict[int, int] = {}

    def arrive(self, entries: Iterable[Entry]) -> None:
        """Add entries of the store's queue; those in state `waiting` are still to be placed."""
        for entry in entries:
            self.entries[entry.number] = entry
            self.attempts[entry.number] = entry.attempts
            if entry.state == "waiting":
                self.put_back([entry.number])

    def take(self, number: int, groups: Iterable[Types]) -> list[tuple[int, ...]]:
        """Take the oldest waiting jobs, in groups of the given types; of each type the oldest goes
        first.
        """
        taken: list[deque[int]] = [deque() for _ in self.types]
        for row, kind in zip(self.waiting, self.kinds(self.waiting[:number]), strict=False):
            taken[kind].append(row)
        del self.waiting[:number]
        return [tuple(taken[kind].popleft() for kind in types) for types in groups]

    def kinds(self, numbers: Iterable[int]) -> Types:
        """Types of the waiting jobs with the given row numbers."""
        return tuple(self.types[self.entries[number].kind] for number in numbers)

    def put_back(self, numbers: Iterable[int]) -> None:
        """Return jobs to the queue at their original age."""
        for number in numbers:
            insort(self.waiting, number, key=lambda row: (self.entries[row].age, row))
