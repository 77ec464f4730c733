"""Order the moves of a plan into waves whose moves fit at the same time, with temporary moves where
no direct order exists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...solvers.outcome import Clock
from ..state.state import ClusterState
from .scheduler_filters import Move, Scheduler, Wave

_NEAR = "near"


@dataclass(frozen=True)
class Ordered:
    """Waves of moves in the order in which they are made, and the moves for which no wave was
    found.

    Attributes
    ----------
    waves : one after the other; the moves of a wave in any order, or all at once.
    stuck : indices of pods whose move never fits, with the reasons.
    cut : why the search ended before there was an order; "" where it did not.
    """

    waves: tuple[Wave, ...]
    stuck: Mapping[int, tuple[str, ...]]
    cut: str = ""


def ordered(
    state: ClusterState,
    targets: Mapping[int, str],
    released: Collection[str] = (),
    clock: Clock | None = None,
) -> Ordered:
    """Order moves into waves that bring each pod to its target node.

    A pod that moves takes room on both nodes until its wave is over. Of one budget no more pods are
    in a wave than it allows; of one owner without a budget one. Where no move fits, pods that are
    in the way move aside for a time, each at most once.

    Parameters
    ----------
    targets : node by index of the pod.
    clock : when its time is over, or with Ctrl-C, the waves so far are returned.
    """
    order = _Ordering(state, targets, released, clock or Clock())
    try:
        while order.left and (order.direct() or order.aside()):
            pass
    except KeyboardInterrupt:
        cut = "interrupted"
    else:
        cut = "the time was up" if order.left and order.clock.expired else ""
    there = {move.pod: move.node for wave in order.waves for move in wave}
    left = {n: node for n, node in targets.items() if there.get(n) != node}
    stuck = {n: (cut,) if cut else tuple(order.scheduler.refusals(n, left[n])) for n in left}
    return Ordered(tuple(order.waves), stuck, cut if left else "")


class _Ordering:
    """State of the ordering: pods still to move, the waves so far, and the wave under
    construction.
    """

    def __init__(
        self,
        state: ClusterState,
        targets: Mapping[int, str],
        released: Collection[str],
        clock: Clock,
    ) -> None:
        self.state, self.released, self.clock = state, released, clock
        self.scheduler = Scheduler(state)
        # large pods first: they find room while there is some
        size = {n: max(state.pods[n].requests.values(), default=0) for n in targets}
        self.left = {n: targets[n] for n in sorted(targets, key=lambda n: (-size[n], n))}
        self.budgets = {
            n: [(b.namespace, b.name, b.allowed) for b in self.scheduler.budgets(n)]
            for n in targets
        }
        self.waves: list[Wave] = []
        self.parked: set[int] = set()
        self.wave: list[Move] = []
        self.taken: Counter[tuple[str, ...]] = Counter()
        self.watching: dict[object, list[Move]] = {}  # moves of the wave by what they watch

    def direct(self) -> bool:
        """Build a wave of moves that fit now, each to its target; return whether there are any."""
        for number, node in self.left.items():
            if self.clock.expired:
                break
            self._join(Move(number, node))
        return self._end()

    def aside(self) -> bool:
        """Build a wave of temporary moves of blocking pods: one unblocked pod for each node, or all
        blocking pods of one node; return whether there are any.
        """
        helped: set[str] = set()
        for number, node in self.left.items():
            if node in helped:
                continue
            if self.clock.expired:
                break
            before = len(self.wave)
            for other in self._in_the_way(number, node):
                self._goes_aside(other)
                if len(self.wave) > before and self._would(number, node):
                    helped.add(node)
                    break
            else:
                while len(self.wave) > before:
                    self._undo()
        if not self.wave and not self.clock.expired:
            for number, node in self.left.items():
                for other in self._in_the_way(number, node):
                    self._goes_aside(other)
                if self.wave:
                    break
        return self._end()

    def _in_the_way(self, number: int, node: str) -> list[int]:
        """Indices of the pods that block a pod's move to a node, the largest first. Each still
        waits for its move, was not moved aside before, and is on that node or counted by a spread
        of the pod.
        """
        scheduler = self.scheduler
        counted = scheduler.counted_with(number)
        return [
            other
            for other in self.left
            if other != number
            and other not in self.parked
            and other not in scheduler.coming
            and (scheduler.where[other] == node or other in counted)
        ]

    def _goes_aside(self, number: int) -> None:
        """Add a temporary move of a pod to the wave, to a node that is to be freed if possible."""
        wanted = set(self.left.values())
        there = self.scheduler.where[number]
        for node in sorted(self.state.nodes, key=lambda node: node.name in wanted):
            if node.name != there and self._join(Move(number, node.name, temporary=True)):
                return

    def _would(self, number: int, node: str) -> bool:
        """Return whether a pod could be placed on a node once the moves of the current wave are
        done.
        """
        old = {move.pod: self.scheduler.where[move.pod] for move in self.wave}
        for move in self.wave:
            self.scheduler.leave(move.pod)
        found = self.scheduler.takes(number, node)
        for move in self.wave:
            self.scheduler.come(move.pod, old[move.pod])
            self.scheduler.leave(move.pod)
            self.scheduler.come(move.pod, move.node)
        return found

    def _join(self, move: Move) -> bool:
        """Add a move to the wave if it and all moves of the wave still fit together; return whether
        it was added.
        """
        scheduler, number = self.scheduler, move.pod
        most = min(
            (max(allowed, int("budget" in self.released)) for *_, allowed in self.budgets[number]),
            default=1,
        )
        groups = self._groups(number)
        if any(self.taken[group] >= most for group in groups):
            return False
        if not scheduler.takes(number, move.node):
            return False
        scheduler.come(number, move.node)
        if not all(scheduler.takes(other.pod, other.node) for other in self._minding(move)):
            scheduler.go_back(number)
            return False
        self.wave.append(move)
        self.taken.update(groups)
        for each in self._watches(number):
            self.watching.setdefault(each, []).append(move)
        return True

    def _undo(self) -> None:
        """Remove the last move from the wave under construction."""
        move = self.wave.pop()
        self.scheduler.go_back(move.pod)
        self.taken.subtract(self._groups(move.pod))
        for each in self._watches(move.pod):
            self.watching[each].pop()

    def _watches(self, number: int) -> list[object]:
        """Constraints of a pod beyond the capacity and the residents of its node: its spreads, and
        pods that it requires nearby.
        """
        pod = self.state.pods[number]
        return [
            *((pod.namespace, spread) for spread in pod.spread),
            *(_NEAR,) * bool(pod.pod_affinity),
        ]

    def _minding(self, move: Move) -> list[Move]:
        """Moves of the wave under construction whose constraints a further move may break. That
        move is one of them where its own constraints count its own pod.
        """
        counting: list[object] = [*self.scheduler.counting(move.pod), _NEAR]
        found = [other for each in counting for other in self.watching.get(each, ())]
        if any(each in counting for each in self._watches(move.pod)):
            found.append(move)
        return found

    def _end(self) -> bool:
        """Close the wave under construction; return whether it has moves."""
        if self.wave:  # first, so that an interrupt leaves whole waves
            self.waves.append(tuple(self.wave))
        for move in self.wave:
            self.scheduler.leave(move.pod)
            if move.temporary:
                self.parked.add(move.pod)
            else:
                del self.left[move.pod]
        found = bool(self.wave)
        self.wave, self.taken, self.watching = [], Counter(), {}
        return found

    def _groups(self, number: int) -> list[tuple[str, ...]]:
        """Eviction groups of a pod, of which a wave evicts a limited number: its disruption
        budgets, or its owner if it has no budget.
        """
        if budgets := self.budgets[number]:
            return [(namespace, name) for namespace, name, _ in budgets]
        pod = self.state.pods[number]
        return [(pod.namespace, *pod.owner)] if pod.owner[1] else []
