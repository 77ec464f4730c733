"""Trees which prove that no whole numbers of given fillings (VMs of one server) meet a demand.

Its leaves are Farkas multipliers in whole numbers, worked out again exactly from the floats of a
linear program. `hints_of` says it in the words of `verify.Program`, whose own tightening of bounds
closes some of its cases by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.program import Booleans, Floats, Integers, ProgramBuilder
from ...verify.packing_prices import Priced
from ..engines import WarmStartedProgram
from ..outcome import Clock

GRIDS = tuple(10**digits for digits in (1, 2, 3, 4, 6, 8))
COST_MULTIPLIERS = 1, 2, 3, 4, 6, 12
"""Integers to which the dual value of the row of costs is scaled, after the grids."""

MOST_NODES = 2_000
DEEPEST = 150
"""Nodes one above the other: what reads the file recurses."""

TINY = 1e-6
_ROOM = 2.0**62  # sums of 64-bit integers stay below it


@dataclass(frozen=True, eq=False)
class Fillings:
    """Fillings that an answer may use, the demand, and limits on servers and cost.

    Attributes
    ----------
    table, kind : (n, s) copies of each item, and (n,) the class of server each is for.
    request : (s,) copies wanted.
    servers, price : (p,) how many servers there are of each class (inf: no limit), and what one
        costs.
    classes : (p,) the instance's index of each class, of `all_classes`.
    target : what the answer may cost at most; None for any cost.
    """

    table: Integers
    kind: Integers
    request: Integers
    servers: Floats
    price: Integers
    classes: Integers
    all_classes: int
    target: int | None


@dataclass(frozen=True, eq=False)
class Node:
    """Branch of a tree over fillings: the proof's `node`, the fillings whose number it bounds, and
    the side taken (0 at most, 1 more).
    """

    node: dict[str, Any]
    counted: Booleans
    side: int


class _Open(Exception):
    """Raised if a tree of fillings finds an answer, or has no time or space left for a proof."""


def refuted(given: Fillings, clock: Clock) -> Any | None:
    """Tree of nodes (objects) and leaves (lists); None if there is an answer, or no time or space
    for a proof.
    """
    left = MOST_NODES

    def below(path: tuple[Node, ...]) -> Any:
        nonlocal left
        left -= 1
        if clock.expired or left < 0 or len(path) > DEEPEST:
            raise _Open
        answer = _relaxed(given, path).solve(clock.left)
        if answer.row_dual is None or answer.point is None:
            raise _Open
        if (answer.objective or 0.0) > TINY:
            return _contradiction(given, path, answer.row_dual)
        node, counted = _question(given, answer.point[: len(given.table)])
        low, high = (below((*path, Node(node, counted, side))) for side in (0, 1))
        return {**node, "low": low, "high": high}

    try:
        return below(())
    except _Open:
        return None


def sums_of(tree: Any) -> list[list[int]]:
    """Distinct sums of fillings that a tree's nodes branch on, in the form of `verify.Priced`."""
    sums: dict[tuple[int, ...], None] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            sums[_sum(node)] = None
            waiting += [node["high"], node["low"]]
    return [list(entry) for entry in sums]


def _sum(node: dict[str, Any]) -> tuple[int, ...]:
    kind = -1 if node["class"] is None else node["class"]
    return (kind, *(number for pair in node["holds"] for number in pair))


def hints_of(tree: Any, sums: list[list[int]], priced: Priced) -> dict[str, Any]:
    """Convert a tree over fillings to the `tree` and `leaves` of `verify.Program`."""
    program = priced.program()
    program.columns_of_rows()
    index = {tuple(entry): k for k, entry in enumerate(sums)}
    rows = len(priced.owed) + len(priced.cost) + 1  # before those of the sums
    hints, leaves = list[int](), list[list[int]]()
    every = list(range(len(program.rows)))
    stack = [(tree, list(program.low), list(program.high), every, list[int]())]
    while stack:
        node, low, high, changed, path = stack.pop()
        if not program.tighten(low, high, changed):
            continue
        if not isinstance(node, dict):
            hints.append(-1)
            named = [*range(rows), *path]
            leaves.append([n for r, times in zip(named, node, strict=True) if times
                           for n in (r, times)])  # fmt: skip
            continue
        k = index[_sum(node)]
        column, value = len(priced.patterns) + k, node["most"]
        sides = [(node["high"], rows + 2 * k + 1), (node["low"], rows + 2 * k)]
        if low[column] <= value < high[column]:
            hints += [column, value]
            above, below = list(low), list(high)
            above[column], below[column] = value + 1, value
            boxes, again = [(above, high), (low, below)], program.of[column]
        else:  # one of the two is empty
            sides = sides[:1] if low[column] > value else sides[1:]
            boxes, again = [(low, high)], []
        for (child, row), (least, top) in zip(sides, boxes, strict=True):
            stack.append((child, least, top, again, [*path, row]))
    return {"tree": hints, "leaves": leaves}


def _relaxed(given: Fillings, path: tuple[Node, ...]) -> WarmStartedProgram:
    """Linear program of fractional numbers of fillings that minimizes unmet demand plus violated
    branches. Rows: one per item, one per server class, the cost limit, and the path's nodes.
    """
    number, types = given.table.shape
    rows = ProgramBuilder()
    times, missing = rows.columns(number), rows.columns(types, cost=1.0)
    place, item = np.nonzero(given.table)
    served = (item, times[place], given.table[place, item])
    rows.sums(types, served, (np.arange(types), missing, 1.0), lower=given.request)
    rows.sums(len(given.servers), (given.kind, times, 1.0), upper=given.servers)
    rows.row(
        times,
        given.price[given.kind].astype(float),
        upper=np.inf if given.target is None else float(given.target),
    )
    for entry in path:
        columns, most = times[entry.counted], float(entry.node["most"])
        if entry.side:
            lacking = rows.columns(1, cost=1.0)
            rows.row(np.append(columns, lacking), np.ones(len(columns) + 1), lower=most + 1)
        else:
            rows.row(columns, np.ones(len(columns)), upper=most)
    return WarmStartedProgram(rows.build())


def _contradiction(given: Fillings, path: tuple[Node, ...], dual: Floats) -> list[int]:
    """Integer multipliers near the given ones that add the rows to a contradiction, in the form of
    a leaf.
    """
    types, classes = len(given.request), len(given.servers)
    limited = np.isfinite(given.servers)
    number = np.where(limited, given.servers, 0).astype(np.int64)
    copies = int(given.table.sum(axis=1).max(initial=0)) + 1 + len(path)
    largest = (float(np.abs(dual).max(initial=0.0)) + 1) * copies
    # a grid rounds the small dual value of large costs; scaled to an integer it is exact
    cost_dual = -float(dual[types + classes])
    exact = [times / cost_dual for times in COST_MULTIPLIERS] if cost_dual > TINY * TINY else []
    for over in (*GRIDS, *exact):
        if over * largest > _ROOM:
            continue
        items = np.maximum(np.floor(dual[:types] * over + TINY), 0).astype(np.int64)
        class_prices = np.maximum(np.ceil(-dual[types : types + classes] * over - TINY), 0).astype(
            np.int64
        )
        class_prices[~limited] = 0
        worth = given.table @ items - class_prices[given.kind]
        total = sum(int(y) * int(n) for y, n in zip(items, given.request, strict=True))
        total -= sum(int(r) * int(n) for r, n in zip(class_prices, number, strict=True))
        multipliers = []
        for value, entry in zip(dual[types + classes + 1 :], path, strict=True):
            multiplier = (
                int(np.floor(value * over + TINY))
                if entry.side
                else int(np.ceil(-value * over - TINY))
            )
            multiplier = max(multiplier, 0)  # of "at least most + 1" on side 1, else "at most most"
            worth = worth + (multiplier if entry.side else -multiplier) * entry.counted
            most = entry.node["most"]
            total += multiplier * (most + 1) if entry.side else -multiplier * most
            multipliers.append(multiplier)
        # least multiplier of the row of costs at which no filling is worth more than its cost
        needed = int(np.max(-(-worth // given.price[given.kind]), initial=0))
        if given.target is None and needed > 0:
            continue
        if total > needed * (given.target or 0):
            by_class = np.zeros(given.all_classes, dtype=np.int64)
            by_class[given.classes] = class_prices
            return [*items.tolist(), *by_class.tolist(), needed, *multipliers]
    raise _Open


def _question(given: Fillings, times: Floats) -> tuple[dict[str, Any], Booleans]:
    """Sum of numbers of fillings to branch on, which is fractional: those of a class, those that
    hold two items, or those that contain one filling.
    """
    by_class = np.bincount(given.kind, weights=times, minlength=len(given.servers))
    off = np.abs(by_class - np.round(by_class))
    if off.max() > TINY:
        c = int(np.argmax(off))
        return _asked(times, given.kind == c, int(given.classes[c]), [])
    broken = np.flatnonzero(np.abs(times - np.round(times)) > TINY)
    if not len(broken):
        raise _Open
    pairs = sorted(
        {(int(i), int(given.table[p, i])) for p in broken for i in np.flatnonzero(given.table[p])}
    )
    holds = np.array([given.table[:, i] >= copies for i, copies in pairs])
    together = (holds * times) @ holds.T
    off = np.abs(together - np.round(together))
    one, two = np.unravel_index(int(np.argmax(off)), off.shape)
    if off[one, two] > TINY:
        held_pairs = [list(pairs[k]) for k in sorted({int(one), int(two)})]
        return _asked(times, holds[one] & holds[two], None, held_pairs)
    p = int(broken[0])
    same = (given.table >= given.table[p]).all(axis=1) & (given.kind == given.kind[p])
    held_pairs = [[int(i), int(given.table[p, i])] for i in np.flatnonzero(given.table[p])]
    return _asked(times, same, int(given.classes[given.kind[p]]), held_pairs)


def _asked(
    times: Floats, counted: Booleans, kind: int | None, held_pairs: list[list[int]]
) -> tuple[dict[str, Any], Booleans]:
    most = int(np.floor(times[counted].sum() + TINY))
    return {"class": kind, "holds": held_pairs, "most": most}, counted
