"""What the default scheduler does with evicted pods when nobody tells it where: its filters, and
one of its two scores for allocation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from ..instances.packing.instance import Integers
from ..instances.problem.tables import LARGEST
from ..solvers.outcome import Clock
from .scheduler_filters import Scheduler, Wave
from .state import ClusterState, Pod, limitless

Scoring = Literal["LeastAllocated", "MostAllocated"]
SCORINGS: tuple[Scoring, ...] = ("LeastAllocated", "MostAllocated")

_UNSAID = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""What scores count for a pod that requests none."""


def left_pending(
    state: ClusterState,
    waves: Sequence[Wave],
    cordoned: Collection[str],
    scoring: Scoring,
    clock: Clock | None = None,
) -> list[int] | None:
    """The pods (places in the state) that stay pending when each wave is evicted and the default
    scheduler puts every pod on the node that scores best; equal scores go to the first node. None
    when the time is over before.

    Its other scores (preferences, images, balance) are left out, and waiting pods are tried again
    after each wave.
    """
    played, waiting = _Played(state, cordoned, scoring), list[int]()
    for wave in waves:
        evicted = [move.pod for move in wave if not move.temporary]
        for number in evicted:
            played.evict(number)
        left = []
        for number in (*waiting, *evicted):
            if clock is not None and clock.expired:
                return None
            if not played.schedule(number):
                left.append(number)
        waiting = left
    return waiting


class _Played:
    """The default scheduler on a state.

    Attributes
    ----------
    load, room : (nodes, 2) CPU and memory as scores count them, and what nodes have.
    free, asked : (nodes, r) and (pods, r) what is left of every resource, and what is asked for.
    """

    def __init__(self, state: ClusterState, cordoned: Collection[str], scoring: Scoring) -> None:
        self.scheduler, self.scoring = Scheduler(state), scoring
        self.names = [node.name for node in state.nodes]
        self.place = {name: number for number, name in enumerate(self.names)}
        self.open = np.array([name not in cordoned for name in self.names])
        self.room: Integers = np.array(
            [[node.allocatable.get(each, 0) for each in _UNSAID] for node in state.nodes]
        )
        self.load: Integers = np.zeros_like(self.room)
        self.counted = [_counted(pod) for pod in state.pods]
        resources = sorted({name for pod in state.pods for name in pod.requests})
        self.asked = np.array([[pod.requests.get(r, 0) for r in resources] for pod in state.pods])
        self.free = np.array(
            [[node.allocatable.get(r, _room_unsaid(r)) for r in resources] for node in state.nodes]
        )
        for number, name in self.scheduler.where.items():
            self._put(number, name, 1)

    def _put(self, number: int, name: str, by: int) -> None:
        self.load[self.place[name]] += by * self.counted[number]
        self.free[self.place[name]] -= by * self.asked[number]

    def evict(self, number: int) -> None:
        """A pod is nowhere."""
        self._put(number, self.scheduler.where[number], -1)
        self.scheduler.evict(number)

    def schedule(self, number: int) -> bool:
        """Put a pod on the node that scores best of those that take it; whether one does."""
        wanted = np.flatnonzero(self.asked[number])
        fits = (self.free[:, wanted] >= self.asked[number, wanted]).all(axis=1)
        best_first = np.argsort(-self._scores(number), kind="stable")
        for place in best_first[(self.open & fits)[best_first]].tolist():
            if self.scheduler.takes(number, self.names[place]):
                self._put(number, self.names[place], 1)
                self.scheduler.come(number, self.names[place])
                self.scheduler.leave(number)
                return True
        return False

    def _scores(self, number: int) -> Integers:
        """(nodes,) the score of each node for a pod."""
        used = self.load + self.counted[number]
        share = np.maximum(self.room - used, 0)
        if self.scoring == "MostAllocated":
            share = np.where(used <= self.room, used, 0)
        there = self.room > 0
        total = np.where(there, share * 100 // np.maximum(self.room, 1), 0).sum(axis=1)
        scores: Integers = total // np.maximum(there.sum(axis=1), 1)
        return scores


def _counted(pod: Pod) -> Integers:
    """(2,) what scores count for a pod."""
    return np.array([pod.requests.get(name) or unsaid for name, unsaid in _UNSAID.items()])


def _room_unsaid(resource: str) -> int:
    """What a node has of a resource that it does not name: volumes have no limit then."""
    return LARGEST if limitless(resource) else 0
