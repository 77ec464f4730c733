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
    moved = [[move.pod for move in wave if not move.temporary] for wave in waves]
    numbers = sorted(set().union(*moved))
    played, waiting = _Played(state, cordoned, scoring, numbers), list[int]()
    for evicted in moved:
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
    asked : (pods, 2 + r) CPU and memory as scores count them, and what is asked for of every
        resource.
    room, free : (nodes, 2 + r) what nodes have of these, and what is left.
    kind : of each pod that moves, its place among those of equal requests.
    scores : (kinds, nodes) of each node for a pod of a kind; -1 where it has too little left, or
        takes no pods. A pod that comes or goes changes those of one node.
    """

    def __init__(
        self, state: ClusterState, cordoned: Collection[str], scoring: Scoring,
        moved: Sequence[int],
    ) -> None:  # fmt: skip
        self.scheduler, self.scoring = Scheduler(state), scoring
        self.names = [node.name for node in state.nodes]
        self.place = {name: number for number, name in enumerate(self.names)}
        self.open = [name not in cordoned for name in self.names]
        names = sorted({name for pod in state.pods for name in pod.requests})
        self.asked: Integers = np.array(
            [[*_counted(pod), *(pod.requests.get(r, 0) for r in names)] for pod in state.pods]
        ).reshape(len(state.pods), -1)
        self.room: Integers = np.array(
            [
                [node.allocatable.get(each, 0) for each in _UNSAID]
                + [node.allocatable.get(each, _room_unsaid(each)) for each in names]
                for node in state.nodes
            ]
        ).reshape(len(state.nodes), -1)
        self.free = self.room.copy()
        there = self.scheduler.where
        places = np.array([self.place[name] for name in there.values()], dtype=np.int64)
        np.subtract.at(self.free, places, self.asked[list(there)])
        kinds, kind = np.unique(self.asked[list(moved)], axis=0, return_inverse=True)
        self.kind = dict(zip(moved, kind.reshape(-1).tolist(), strict=True))
        self._counts, asked = kinds[:, : len(_UNSAID)], kinds[:, len(_UNSAID) :]
        self._least = np.where(asked > 0, asked, np.iinfo(np.int64).min)
        self.scores = np.full((len(kinds), len(self.names)), -1, dtype=np.int8)
        for place in range(len(self.names)):
            self._score(place)

    def _put(self, number: int, name: str, by: int) -> None:
        place = self.place[name]
        self.free[place] -= by * self.asked[number]
        self._score(place)

    def evict(self, number: int) -> None:
        """A pod is nowhere."""
        self._put(number, self.scheduler.where[number], -1)
        self.scheduler.evict(number)

    def schedule(self, number: int) -> bool:
        """Put a pod on the node that scores best of those that take it; whether one does."""
        scores = self.scores[self.kind[number]].copy()
        while scores[place := int(scores.argmax())] >= 0:  # the first of those that score best
            if self.scheduler.takes(number, self.names[place]):
                self._put(number, self.names[place], 1)
                self.scheduler.come(number, self.names[place])
                self.scheduler.leave(number)
                return True
            scores[place] = -1
        return False

    def _score(self, place: int) -> None:
        """What a node scores for a pod of each kind, now."""
        if not self.open[place]:
            return
        room, free, wide = self.room[place], self.free[place], len(_UNSAID)
        there = np.flatnonzero(room[:wide])
        share = free[there] - self._counts[:, there]
        if self.scoring == "MostAllocated":
            share = np.where(share >= 0, room[there] - share, 0)
        score = (np.maximum(share, 0) * 100 // room[there]).sum(axis=1) // max(len(there), 1)
        self.scores[:, place] = np.where((self._least <= free[wide:]).all(axis=1), score, -1)


def _counted(pod: Pod) -> list[int]:
    """What scores count for a pod: CPU and memory."""
    return [pod.requests.get(name) or unsaid for name, unsaid in _UNSAID.items()]


def _room_unsaid(resource: str) -> int:
    """What a node has of a resource that it does not name: volumes have no limit then."""
    return LARGEST if limitless(resource) else 0
