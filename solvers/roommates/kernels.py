"""Compiled kernels: reading lists, Irving's and Tan's reduction, insertion of agents, and the depth-first search.

All of them walk along `choice` and `back` (see `ranks.Lists`). A stable partition is kept as two arrays: `predecessor[i]`
(i itself when single, -1 while i is taken out) and `held[i]`, the position of the predecessor in i's list (UNRANKED when
single, -1 while out). Agent p may propose to x = choice[p, r] iff back[p, r] < held[x], one comparison whatever x's state.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..compiled import compiled

Ints = NDArray[Any]

UNRANKED = 2**30


@compiled
def longest_list(rank: Ints, theirs: Ints) -> int:
    """The length of the longest list of mutual pairs, or -1 - (i n + j) for an entry that is no position."""
    agents = rank.shape[0]
    longest = 0
    for i in range(agents):
        for j in range(agents):
            position = rank[i, j]
            if i == j or position >= UNRANKED:
                continue
            if position < 0 or position >= agents:
                return int(-1 - (i * agents + j))
            if theirs[i, j] < UNRANKED and position >= longest:
                longest = position + 1
    return int(longest)


@compiled
def fill_lists(rank: Ints, theirs: Ints, choice: Ints, back: Ints, length: Ints) -> int:
    """Fill the lists of mutual pairs; returns i n + j of an entry that repeats a position, else -1."""
    agents = rank.shape[0]
    for i in range(agents):
        longest = 0
        for j in range(agents):
            position = rank[i, j]
            if i == j or position >= UNRANKED or theirs[i, j] >= UNRANKED:
                continue
            if back[i, position] != UNRANKED:
                return int(i * agents + j)
            choice[i, position] = j
            back[i, position] = theirs[i, j]
            longest = max(longest, position + 1)
        length[i] = longest
    return -1


@compiled
def count_blocking(choice: Ints, back: Ints, threshold: Ints) -> int:
    """How many pairs both prefer each other to what they have; threshold[i] is the rank of what i has."""
    found = 0
    for i in range(threshold.size):
        for r in range(min(threshold[i], choice.shape[1])):
            j = choice[i, r]
            if i < j and back[i, r] < threshold[j]:
                found += 1
    return found


@compiled
def _propose_all(choice: Ints, back: Ints, length: Ints, first: Ints, last: Ints) -> int:
    """Irving's first phase: first[i], the position i proposes to, and last[i], the one it holds; -1 and the end when none."""
    proposals = 0
    last[:] = UNRANKED
    for start in range(length.size):
        agent = start
        r = 0
        while True:
            while r < length[agent] and back[agent, r] >= last[choice[agent, r]]:
                r += 1
            first[agent] = r
            if r == length[agent]:
                last[agent] = -1  # everyone it accepts has somebody better: its list is empty
                break
            proposals += 1
            receiver = choice[agent, r]
            refused = last[receiver]
            last[receiver] = back[agent, r]
            if refused == UNRANKED:
                break
            agent = choice[receiver, refused]
            r = first[agent] + 1
    return proposals


@compiled
def reduce_table(
    choice: Ints, back: Ints, length: Ints, stop_at_odd: bool, predecessor: Ints, held: Ints, scratch: Ints, counts: Ints
) -> None:
    """Irving's two phases on a table kept as first and last positions; an odd party is set aside, or ends it.

    Eliminating a rotation that would empty a list happens only when its proposers and receivers are the same agents, each
    with a list of two: they are an odd party, successor first and predecessor last (Tan 1991). Without `stop_at_odd` the
    rest goes on and `predecessor`, `held` are a stable partition; with it, agents whose list is not one entry get -1.
    scratch: (7, n). counts: odd parties, singles, proposals, rotations eliminated.
    """
    agents = length.size
    first, last, second, stack, where, old_first, old_last = scratch
    counts[0] = counts[1] = counts[3] = 0
    counts[2] = _propose_all(choice, back, length, first, last)
    second[:] = 0
    where[:] = -1
    predecessor[:] = -1
    held[:] = -1
    size = 0
    start = 0
    while True:
        if size == 0:
            while start < agents and (first[start] >= last[start] or predecessor[start] >= 0):
                start += 1
            if start == agents:
                break
            stack[0] = start
            where[start] = 0
            size = 1
        agent = stack[size - 1]
        if first[agent] >= last[agent]:
            where[agent] = -1
            size -= 1
            continue
        r = max(second[agent], first[agent] + 1)
        while back[agent, r] > last[choice[agent, r]]:
            r += 1
        second[agent] = r
        receiver = choice[agent, r]
        following = choice[receiver, last[receiver]]
        if where[following] < 0:
            where[following] = size
            stack[size] = following
            size += 1
            continue
        bottom = where[following]
        for c in range(bottom, size):
            agent = stack[c]
            where[agent] = -1
            old_first[c] = first[agent]
            old_last[c] = last[agent]
        for c in range(bottom, size):
            agent = stack[c]
            r = second[agent]
            first[agent] = r
            last[choice[agent, r]] = back[agent, r]
        emptied = False
        for c in range(bottom, size):
            emptied |= first[stack[c]] > last[stack[c]]
        if emptied:
            counts[0] += 1
            for c in range(bottom, size):
                agent = stack[c]
                first[agent] = old_first[c]
                last[agent] = old_last[c]
            if stop_at_odd:
                break
            for c in range(bottom, size):
                agent = stack[c]
                predecessor[agent] = choice[agent, last[agent]]
                held[agent] = last[agent]
        else:
            counts[3] += 1
        size = bottom
    for agent in range(agents):
        if last[agent] < 0:
            counts[1] += 1
            predecessor[agent] = agent
            held[agent] = UNRANKED
        elif first[agent] == last[agent]:
            predecessor[agent] = choice[agent, last[agent]]
            held[agent] = last[agent]
