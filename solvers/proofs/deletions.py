"""Proofs of the fewest blocking pairs by trees of stable partitions (theorems in
`verify.Deletions`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outcome import Clock
from ..roommates.arrays import Ranks
from ..roommates.deletions import DeletionSearch
from ..roommates.partition import Goal
from ..roommates.ranks import lists_of

Node = list[Any]
"""[changes, children]: the agents whose successor is another than in the parent's partition, each
followed by it; and [agent, changes, children] for every pair of an agent and its successor, in the
order in which they are tried.
"""


class _TimeUp(Exception):
    """Raised at the time limit."""


def deletions_step(rank: Ranks, goal: Goal, least: int, clock: Clock) -> dict[str, Any] | None:
    """Proof step that at least `least` blocking pairs are needed or, at the time limit, as many as
    the first stable partition shows.

    None when that is none, or when so many are not needed: a set of fewer deletions is found to be
    enough.

    Parameters
    ----------
    rank : (n, n) strict lists.
    goal : whether everyone is paired, or any may stay without partner.
    least : what to prove.
    """
    search = DeletionSearch(lists_of(rank), rank.copy(), goal)
    after = _successors(search.predecessor)
    changes = [number for pair in enumerate(after) for number in pair]
    at_once = (search.value + 1) // 2
    try:
        children = None if least <= at_once else _children(search, least, 0, set(), clock)
    except _TimeUp:
        children, least = [], at_once
    if least < 1 or (children is None and least > at_once):
        return None
    return {"kind": "deletions", "least": least, "tree": [changes, children or []]}


def _children(
    search: DeletionSearch, least: int, depth: int, outside: set[tuple[int, int]], clock: Clock
) -> Node | None:
    """Children of a node of a deletion tree whose bound leaves it open; None if fewer than `least`
    deletions suffice.
    """
    if search.value == 0:
        return None
    partition = search.partition
    before = partition[0].tolist()
    after = _successors(partition[0])
    nodes: list[Node] = []
    deeper = []
    outside = set(outside)
    for agent, previous in enumerate(before):
        pair = (min(agent, previous), max(agent, previous))
        if agent == previous or pair in outside or (before[previous] == agent and agent < previous):
            continue
        if clock.expired:
            raise _TimeUp
        value, trial = search.without(agent)
        changes = _changes(after, _successors(trial))
        if 2 * (depth + 1) + value > 2 * (least - 1):
            nodes.append([previous, changes, []])
            outside.add(pair)
        else:
            deeper.append((value, agent, pair))
    for _, agent, pair in sorted(deeper):
        search.without(agent)
        following = search.trial
        search.delete([pair])
        search.partition = following
        children = _children(search, least, depth + 1, outside, clock)
        search.restore([pair])
        search.partition = partition
        if children is None:
            return None
        nodes.append([before[agent], _changes(after, _successors(following[0])), children])
        outside.add(pair)
    return nodes


def _successors(predecessor: Ranks) -> list[int]:
    after = np.empty_like(predecessor)
    after[predecessor] = np.arange(len(predecessor), dtype=predecessor.dtype)
    return [int(agent) for agent in after]


def _changes(old: list[int], new: list[int]) -> list[int]:
    return [
        number
        for i, (was, now) in enumerate(zip(old, new, strict=True))
        if was != now
        for number in (i, now)
    ]
