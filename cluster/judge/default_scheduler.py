"""Simulation of the default scheduler placing evicted pods: its filters, and one of its two scores
for allocation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from ...instances.packing.instance import Integers
from ...instances.problem.tables import LARGEST
from ...solvers.outcome import Clock
from ..state.state import ClusterState, Pod, limitless
from .scheduler_filters import Scheduler, Wave

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
    """Indices of the pods that stay pending when waves of pods are evicted in turn and the default
    scheduler places every pod on the node of highest score (ties: the first node); None if the time
    limit is reached.

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
    """The default scheduler, simulated on a cluster state.

    Attributes
    ----------
    asked : (2 + r,) of each pod that moves, CPU and memory as scores count them, and what it asks
        for of every resource.
    room, free : (nodes, 2 + r) what nodes have of these, and what is left.
    suits : (nodes,) by pods that suit the same nodes, whether each may take one: not the cordoned
        ones, and none of which the filters said that it never does.
    """

    def __init__(
        self, state: ClusterState, cordoned: Collection[str], scoring: Scoring,
        moved: Sequence[int],
    ) -> None:  # fmt: skip
        self.scheduler, self.packs = Scheduler(state), scoring == "MostAllocated"
        self.names = [node.name for node in state.nodes]
        self.node_index = {name: number for number, name in enumerate(self.names)}
        names = sorted({name for pod in state.pods for name in pod.requests})
        self.asked = {n: np.array(_amounts(state.pods[n], names), dtype=np.int64) for n in moved}
        self.room: Integers = np.array(
            [
                [node.allocatable.get(each, 0) for each in _UNSAID]
                # of volumes that a node does not list it has no limit
                + [node.allocatable.get(each, LARGEST * limitless(each)) for each in names]
                for node in state.nodes
            ]
        ).reshape(len(state.nodes), -1)
        self.free = self.room - np.array(
            [[used[each] for each in (*_UNSAID, *names)] for used in self.scheduler.used.values()]
        ).reshape(self.room.shape)
        for number, name in self.scheduler.where.items():
            for column, (each, unsaid) in enumerate(_UNSAID.items()):
                if not state.pods[number].requests.get(each):
                    self.free[self.node_index[name], column] -= unsaid
        opened = np.array([name not in cordoned for name in self.names], dtype=bool)
        self.suits = {self.scheduler.alike[n]: opened.copy() for n in moved}

    def evict(self, number: int) -> None:
        """Take a pod off its node."""
        self.free[self.node_index[self.scheduler.where[number]]] += self.asked[number]
        self.scheduler.evict(number)

    def schedule(self, number: int) -> bool:
        """Place a pod on the feasible node of highest score; return whether there is one."""
        suits, scores = self.suits[self.scheduler.alike[number]], self._scores(number)
        while scores[index := int(scores.argmax())] >= 0:  # the first of those that score best
            name = self.names[index]
            if self.scheduler.takes(number, name, has_room=True):
                self.free[index] -= self.asked[number]
                self.scheduler.arrive(number, name)
                return True
            scores[index] = -1
            suits[index] &= not self.scheduler.unsuited(number, name)
        return False

    def _scores(self, number: int) -> Integers:
        """Score of each node for a pod, shape (nodes,), 0 to 100; -1 where a filter refuses the
        pod.
        """
        scored, asked = len(_UNSAID), self.asked[number]
        room, left = self.room[:, :scored], self.free[:, :scored] - asked[:scored]
        shares = np.maximum(room - left if self.packs else left, 0) * 100 // np.maximum(room, 1)
        shares[(room <= 0) | (left < 0)] = 0
        found: Integers = shares.sum(axis=1) // np.maximum((room > 0).sum(axis=1), 1)
        enough = (asked[scored:] <= np.maximum(self.free[:, scored:], 0)).all(axis=1)
        found[~(enough & self.suits[self.scheduler.alike[number]])] = -1
        return found


def _amounts(pod: Pod, resources: Sequence[str]) -> list[int]:
    """CPU and memory of a pod as the score counts them, and its requests of each resource."""
    scored = [pod.requests.get(name) or unsaid for name, unsaid in _UNSAID.items()]
    return scored + [pod.requests.get(name, 0) for name in resources]
