"""Compiled Irving's algorithm on lists of types, without a table of agents by agents.

Agents of one type have one list, from which each leaves itself out, so that who stands at a
position, and where one stands in another's list, are worked out (see `by_types.TypeLists`). Whole
types are passed over: `most[b]` is not below any `last` of type b, and who comes after that in the
type's list is refused by all of it.
"""

from __future__ import annotations

from ..compiled import compiled
from .arrays import UNRANKED, Ints


@compiled
def _who(order: Ints, own: Ints, kind: Ints, i: int, r: int) -> int:
    """Agent at position r of i's list."""
    return int(order[kind[i], r + (r >= own[i])])


@compiled
def _rank(place: Ints, number: Ints, own: Ints, kind: Ints, i: int, j: int) -> int:
    """Position of i in j's list."""
    at = place[kind[j], kind[i]] + number[i]
    return int(at - (at > own[j]))


@compiled
def _next(
    order: Ints, place: Ints, number: Ints, own: Ints, kind: Ints, count: Ints, length: int,
    i: int, r: int, last: Ints, most: Ints, equal: int,
) -> int:  # fmt: skip
    """First position from r on whose agent holds nobody better than i or, with `equal`, holds i;
    the end if none.
    """
    a = kind[i]
    whole = False
    highest = -1
    while r < length:
        j = _who(order, own, kind, i, r)
        b = kind[j]
        begins = number[j] == (1 if a == b and number[i] == 0 else 0)
        if begins:
            if place[b, a] + number[i] - 1 >= most[b] + equal:
                r += count[b] - (a == b)
                whole = False
                continue
            whole = True
            highest = last[i] if a == b else -1
        if _rank(place, number, own, kind, i, j) < last[j] + equal:
            return r
        highest = max(highest, last[j])
        ends = number[j] == count[b] - (2 if a == b and number[i] == count[b] - 1 else 1)
        if whole and ends:
            most[b] = highest
        r += 1
    return r


@compiled
def reduce_types(
    order: Ints, place: Ints, number: Ints, own: Ints, kind: Ints, count: Ints, length: Ints,
    partner: Ints, scratch: Ints, counts: Ints,
) -> None:  # fmt: skip
    """Irving's two phases up to the first odd party; `partner` is -1 for agents whose list has not
    one entry.

    scratch: (8, at least n and T). counts: odd parties, rejected by everyone, proposals, rotations
    eliminated.
    """
    agents = kind.size
    first, last, second, stack, where = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    old_first, old_last, most = scratch[5], scratch[6], scratch[7]
    counts[:] = 0
    last[:] = UNRANKED
    most[:] = UNRANKED
    # phase 1: each in turn proposes, and whoever is refused goes on in its place
    for start in range(agents):
        agent = start
        r = 0
        while True:
            end = length[kind[agent]]
            r = _next(order, place, number, own, kind, count, end, agent, r, last, most, 0)
            first[agent] = r
            if r == end:
                last[agent] = -1
                break
            counts[2] += 1
            receiver = _who(order, own, kind, agent, r)
            refused = last[receiver]
            last[receiver] = _rank(place, number, own, kind, agent, receiver)
            if refused == UNRANKED:
                break
            agent = _who(order, own, kind, receiver, refused)
            r = first[agent] + 1
    # phase 2: rotations, found along a path of proposers that is kept as a stack
    second[:] = 0
    where[:] = -1
    partner[:] = -1
    size = 0
    start = 0
    while True:
        if size == 0:
            while start < agents and first[start] >= last[start]:
                start += 1
            if start == agents:
                break
            stack[0] = start
            where[start] = 0
            size = 1
        # its top: back where one entry is left; else its second entry, and that one's last
        agent = stack[size - 1]
        if first[agent] >= last[agent]:
            where[agent] = -1
            size -= 1
            continue
        r = max(second[agent], first[agent] + 1)
        r = _next(
            order, place, number, own, kind, count, length[kind[agent]], agent, r, last, most, 1
        )
        second[agent] = r
        receiver = _who(order, own, kind, agent, r)
        following = _who(order, own, kind, receiver, last[receiver])
        if where[following] < 0:
            where[following] = size
            stack[size] = following
            size += 1
            continue
        # the path has met itself: from there on it is a rotation; eliminate it
        bottom = where[following]
        for c in range(bottom, size):
            agent = stack[c]
            where[agent] = -1
            old_first[c] = first[agent]
            old_last[c] = last[agent]
        for c in range(bottom, size):
            agent = stack[c]
            first[agent] = second[agent]
            receiver = _who(order, own, kind, agent, second[agent])
            last[receiver] = _rank(place, number, own, kind, agent, receiver)
        emptied = False
        for c in range(bottom, size):
            emptied |= first[stack[c]] > last[stack[c]]
        # it emptied a list: put back, it is an odd party, and there is no stable matching
        if emptied:
            counts[0] += 1
            for c in range(bottom, size):
                agent = stack[c]
                first[agent] = old_first[c]
                last[agent] = old_last[c]
            break
        counts[3] += 1
        size = bottom
    # who has one entry left is paired
    for agent in range(agents):
        if last[agent] < 0:
            counts[1] += 1
        elif first[agent] == last[agent]:
            partner[agent] = _who(order, own, kind, agent, last[agent])
