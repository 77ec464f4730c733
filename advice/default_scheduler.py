"""What the default scheduler does with evicted pods when nobody tells it where: its filters, and
one of its two scores for allocation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from .state import ClusterState, Pod
from .statecheck import Scheduler, Wave

Scoring = Literal["LeastAllocated", "MostAllocated"]
SCORINGS: tuple[Scoring, ...] = ("LeastAllocated", "MostAllocated")

_UNSAID = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""What scores count for a pod that requests none."""


def left_pending(
    state: ClusterState, waves: Sequence[Wave], cordoned: Collection[str], scoring: Scoring
) -> list[int]:
    """The pods (places in the state) that stay pending when each wave is evicted and the default
    scheduler puts every pod on the node that scores best; equal scores go to the first node.

    Its other scores (preferences, images, balance) are left out, and waiting pods are tried again
    after each wave.
    """
    scheduler = Scheduler(state)
    waiting: list[int] = []
    for wave in waves:
        evicted = [move.pod for move in wave if not move.temporary]
        for number in evicted:
            scheduler.evict(number)
        waiting = [
            number
            for number in (*waiting, *evicted)
            if not _scheduled(scheduler, number, cordoned, scoring)
        ]
    return waiting


def _scheduled(
    scheduler: Scheduler, number: int, cordoned: Collection[str], scoring: Scoring
) -> bool:
    best: tuple[int, str] | None = None
    for node in scheduler.state.nodes:
        if node.name in cordoned or not scheduler.takes(number, node.name):
            continue
        value = _score(scheduler, scheduler.state.pods[number], node.name, scoring)
        if best is None or value > best[0]:
            best = (value, node.name)
    if best is None:
        return False
    scheduler.come(number, best[1])
    scheduler.leave(number)
    return True


def _score(scheduler: Scheduler, pod: Pod, name: str, scoring: Scoring) -> int:
    total, weights = 0, 0
    for resource, unsaid in _UNSAID.items():
        room = scheduler.nodes[name].allocatable.get(resource, 0)
        if not room:
            continue
        pods = [scheduler.state.pods[n] for n in scheduler.on[name]]
        used = sum(each.requests.get(resource) or unsaid for each in (*pods, pod))
        free = max(room - used, 0)
        share = free if scoring == "LeastAllocated" else used if used <= room else 0
        total += share * 100 // room
        weights += 1
    return total // weights if weights else 0
