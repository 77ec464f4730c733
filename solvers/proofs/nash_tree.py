"""Trees over boxes of integer cores, and the tree that proves the maximum Nash welfare.

What a leaf of it proves stands above `market_nash_welfare` in the verifier.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

from ...verify.logarithms import GRID
from ...verify.market import Boxes, Conditions, Market
from ...verify.reading import Refused
from ..outcome import Clock
from . import Task, patience

MOST_NODES = 5_000
ENOUGH = 1e-9
"""By how much the logarithm of the welfare may be above the answer's where a box is closed."""


def box_tree(
    boxes: Boxes,
    goals: Conditions,
    clock: Clock,
    most_nodes: int,
    look: Callable[[list[int], list[int]], dict[str, Any] | tuple[int, int] | None],
) -> list[Any] | None:
    """Nodes of a proof tree over boxes of cores; None if a box stays open or time or nodes run out.

    `look` gives of a box, which is the least and the most of each job, its leaf, or the job and the
    cores at which it is split, or None where it stays open.
    """
    stack, nodes = [boxes.root()], list[Any]()
    while stack:
        if clock.expired or len(nodes) > most_nodes:
            return None
        least, most = stack.pop()
        if not boxes.squeeze(least, most, goals):
            nodes.append([])
            continue
        node = look(least, most)
        if node is None:
            return None
        if isinstance(node, dict):
            nodes.append(node)
            continue
        job, at = node
        above, below = list(least), list(most)
        above[job], below[job] = at + 1, at
        nodes.append([job, at])
        stack += [(above, most), (least, below)]
    return nodes


def nash_tree(task: Task, market: Market) -> list[Any] | None:
    """Nodes of a tree proving that no integer cores have a larger Nash welfare; None if not."""
    if not all(market.by_user(market.values())[i] for i in market.active):
        return None  # a welfare of 0 has no logarithm to bound
    try:
        with patience():
            boxes = Boxes(market)
            return box_tree(boxes, [], task.clock, MOST_NODES, _Leaves(boxes).look)
    except (Refused, KeyboardInterrupt):
        return None


class _Leaves:
    """Leaves of a Nash-welfare tree: utilities and prices near the optimum of a box."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes, market = boxes, boxes.market
        self.users = [market.user[k] for k in range(len(market.work))]
        total = sum(market.budget[i] for i in market.active)
        self.share = {i: market.budget[i] / total for i in market.active}
        self.unit = total * GRID
        self.goal = self._welfare(market.by_user(market.values())) + ENOUGH

    def look(self, least: list[int], most: list[int]) -> dict[str, Any] | tuple[int, int] | None:
        """Leaf that closes a box, else the job and the cores at which to split it, else None."""
        leaf, above, cut = self._leaf(least, most)
        return leaf if above <= self.goal else cut

    def _welfare(self, worth: list[int]) -> float:
        unit = self.boxes.market.unit
        return sum(b * math.log(worth[i] / unit) for i, b in self.share.items())

    def _leaf(
        self, least: list[int], most: list[int]
    ) -> tuple[dict[str, Any], float, tuple[int, int] | None]:
        """Leaf for a box (utilities near its optimum, and prices of cores), the bound that it
        proves, and the job and cores at which to split the box.
        """
        market, low, user = self.boxes.market, self.boxes.low, self.users
        cores, worth = self._filled(least, most)
        weight = {i: self.share[i] / worth[i] for i in self.share}
        prices = [0.0] * len(self.boxes.room)
        left = self.boxes.room[:]
        for k in low:
            left[market.server[k]] -= cores[k]
        for k, table in low.items():
            if cores[k] < most[k]:
                gain = weight[user[k]] * (table[cores[k] + 1] - table[cores[k]])
                prices[market.server[k]] = max(prices[market.server[k]], gain)
        above = self._welfare(worth) - 1.0
        above += sum(p * n for p, n in zip(prices, self.boxes.room, strict=True))
        cut, widest = None, 0.0
        for k, table in low.items():
            price, own = prices[market.server[k]], weight[user[k]]
            best = max(range(least[k], most[k] + 1), key=lambda c: own * table[c] - price * c)
            above += own * table[best] - price * best
            spread = own * (table[most[k]] - table[least[k]])
            if least[k] < most[k] and spread >= widest:
                widest, cut = spread, (k, min(max(cores[k], least[k]), most[k] - 1))
        leaf = {"worth": worth, "prices": [max(0, round(p * self.unit)) for p in prices]}
        return leaf, above, cut

    def _filled(self, least: list[int], most: list[int]) -> tuple[list[int], list[int]]:
        """Cores of each job in a box by greedy gain of welfare, and the users' utilities."""
        market, low, user = self.boxes.market, self.boxes.low, self.users
        cores, left = least[:], self.boxes.room[:]
        worth = [0] * len(market.budget)
        for k, table in low.items():
            worth[user[k]] += table[cores[k]]
            left[market.server[k]] -= cores[k]

        def gain(k: int) -> float:
            more = low[k][cores[k] + 1] - low[k][cores[k]]
            had = worth[user[k]]
            return math.inf if not had else self.share[user[k]] * math.log1p(more / had)

        heap = [(-gain(k), k) for k in low if cores[k] < most[k]]
        heapq.heapify(heap)
        while heap:
            old, k = heapq.heappop(heap)
            if left[market.server[k]] <= 0 or cores[k] >= most[k]:
                continue
            now = -gain(k)
            if now > old + 1e-15:
                heapq.heappush(heap, (now, k))
                continue
            worth[user[k]] += low[k][cores[k] + 1] - low[k][cores[k]]
            cores[k] += 1
            left[market.server[k]] -= 1
            if cores[k] < most[k]:
                heapq.heappush(heap, (-gain(k), k))
        if not all(worth[i] for i in self.share):
            worth = [max(1, number) for number in worth]
        return cores, worth
