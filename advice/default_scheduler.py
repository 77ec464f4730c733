"""What the default scheduler does with evicted pods when nobody tells it where: its filters, and
one of its two scores for allocation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

from .state import ClusterState, Node, Pod
from .statecheck import Scheduler, Wave

Scoring = Literal["LeastAllocated", "MostAllocated"]
SCORINGS: tuple[Scoring, ...] = ("LeastAllocated", "MostAllocated")

_UNSAID = {"cpu": 100, "memory": 200 * 1024 * 1024}
"""What scores count for a pod that requests none."""


_MOST_TRIALS = 200_000
"""Evicted pods times nodes up to which the scheduler is played; twice as many take a minute."""


def playable(state: ClusterState, waves: Sequence[Wave]) -> bool:
    """Whether the default scheduler is played for so many moves on so many nodes."""
    return sum(map(len, waves)) * len(state.nodes) <= _MOST_TRIALS


def left_pending(
    state: ClusterState, waves: Sequence[Wave], cordoned: Collection[str], scoring: Scoring
) -> list[int]:
    """The pods (places in the state) that stay pending when each wave is evicted and the default
    scheduler puts every pod on the node that scores best; equal scores go to the first node.

    Its other scores (preferences, images, balance) are left out, and waiting pods are tried again
    after each wave.
    """
    scheduler = Scheduler(state)
    load = {
        name: Counter[str](sum((_counted(state.pods[n]) for n in pods), Counter()))
        for name, pods in scheduler.on.items()
    }
    waiting: list[int] = []
    for wave in waves:
        evicted = [move.pod for move in wave if not move.temporary]
        for number in evicted:
            load[scheduler.where[number]].subtract(_counted(state.pods[number]))
            scheduler.evict(number)
        waiting = [
            number
            for number in (*waiting, *evicted)
            if not _scheduled(scheduler, number, cordoned, scoring, load)
        ]
    return waiting


def _counted(pod: Pod) -> Counter[str]:
    """What scores count for a pod."""
    return Counter({name: pod.requests.get(name) or unsaid for name, unsaid in _UNSAID.items()})


def _scheduled(
    scheduler: Scheduler,
    number: int,
    cordoned: Collection[str],
    scoring: Scoring,
    load: dict[str, Counter[str]],
) -> bool:
    own = _counted(scheduler.state.pods[number])
    open_ones = [node for node in scheduler.state.nodes if node.name not in cordoned]
    score = {node.name: _score(node, load[node.name], own, scoring) for node in open_ones}
    best_first = sorted(score, key=lambda name: -score[name])
    best = next((name for name in best_first if scheduler.takes(number, name)), None)
    if best is None:
        return False
    load[best].update(own)
    scheduler.come(number, best)
    scheduler.leave(number)
    return True


def _score(node: Node, load: Counter[str], own: Counter[str], scoring: Scoring) -> int:
    total, weights = 0, 0
    for resource in _UNSAID:
        room = node.allocatable.get(resource, 0)
        if not room:
            continue
        used = load[resource] + own[resource]
        free = max(room - used, 0)
        share = free if scoring == "LeastAllocated" else used if used <= room else 0
        total += share * 100 // room
        weights += 1
    return total // weights if weights else 0
