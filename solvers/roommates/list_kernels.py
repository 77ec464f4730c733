"""Compiled walks along preference lists: Irving's algorithm on lists of types, ties that unsettle a
stable partition, the first phase with ties, stable tables, and augmenting paths of a matching.

Agents of one type have one list, from which each leaves itself out, so that who stands at a
position, and where one stands in another's list, are worked out (`irving_by_types`). Whole types
are passed over: `most[b]` is not below any `last` of type b, and who comes after that in the type's
list is refused by all of it.
"""

from __future__ import annotations

from ..compiled import compiled
from .arrays import UNRANKED, Ints


@compiled
def _who(order: Ints, own: Ints, kind: Ints, i: int, r: int) -> int:
    """Agent at position r of agent i's preference list."""
    return int(order[kind[i], r + (r >= own[i])])


@compiled
def _rank(place: Ints, number: Ints, own: Ints, kind: Ints, i: int, j: int) -> int:
    """Position of agent i in agent j's preference list."""
    at = place[kind[j], kind[i]] + number[i]
    return int(at - (at > own[j]))


@compiled
def _next(
    order: Ints, place: Ints, number: Ints, own: Ints, kind: Ints, count: Ints, length: int,
    i: int, r: int, last: Ints, most: Ints, equal: int,
) -> int:  # fmt: skip
    """Position, from r on, of the first agent in agent i's list that prefers i to whom it holds.
    With `equal`, an agent that holds i itself will do; the list's end if there is none.
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
    """Irving's two phases up to the first odd party; `partner` is -1 for agents whose list is not
    reduced to one entry.

    scratch: (8, at least n and T). counts: odd parties, rejected by everyone, proposals, rotations
    eliminated.
    """
    agents = kind.size
    first, last, second, stack, where = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    old_first, old_last, most = scratch[5], scratch[6], scratch[7]
    counts[:] = 0
    last[:] = UNRANKED
    most[:] = UNRANKED
    # 1. phase 1: each in turn proposes, and whoever is refused goes on in its place
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
    # 2. phase 2: rotations, found along a path of proposers that is kept as a stack
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
        # 3. the path has met itself: from there on it is a rotation; eliminate it
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
        # 4. it emptied a list: put back, it is an odd party, and there is no stable matching
        if emptied:
            counts[0] += 1
            for c in range(bottom, size):
                agent = stack[c]
                first[agent] = old_first[c]
                last[agent] = old_last[c]
            break
        counts[3] += 1
        size = bottom
    # 5. agents with one entry left are paired
    for agent in range(agents):
        if last[agent] < 0:
            counts[1] += 1
        elif first[agent] == last[agent]:
            partner[agent] = _who(order, own, kind, agent, last[agent])


@compiled
def open_ties(
    order: Ints, place: Ints, better: Ints, rank: Ints, back: Ints, predecessor: Ints, out: Ints
) -> int:
    """List the ties in agents' lists whose other order might make a stable partition unstable. Each
    is a row (i, a, b).

    Were a before b in the list of i, the partition would, or might, not be stable; in the lists as
    they stand b is before a, and i is not known to like either better. Either b is the predecessor
    of i and a is somebody who could then block with i, or i belongs to an odd party, b is its
    successor and a its predecessor. Returns how many rows there are; with more than fit into `out`
    nothing is said of the others.

    order, place, better : of `WeakLists` (`order[i, r]` at position r). rank, back : of the lists
        as they stand, some
    pairs deleted. predecessor : of their stable partition.
    """
    found = 0
    for i in range(predecessor.size):
        p = predecessor[i]
        if p == i:
            continue
        # whom i likes as much as its predecessor, or does not know to like less
        own = place[i, p]
        for at in range(better[i, p], order.shape[1]):
            j = order[i, at]
            if j < 0 or better[i, j] > own:
                break  # it and all behind it are worse than p for certain
            if j == p or back[i, rank[i, j]] >= UNRANKED:
                continue
            # j before p: a tie that counts where j is i's successor in an odd party
            if rank[i, j] < rank[i, p]:
                if predecessor[j] != i or predecessor[i] == j:
                    continue
                a, b = p, j
            else:
                # p before j: one that counts unless j likes whom it holds better than i for certain
                before = predecessor[j]
                if before == i or (before != j and place[j, before] < better[j, i]):
                    continue
                a, b = j, p
            if found < out.shape[0]:
                out[found, 0] = i
                out[found, 1] = a
                out[found, 2] = b
            found += 1
    return found


@compiled
def refuse(order: Ints, place: Ints, better: Ints, length: Ints, last: Ints, stack: Ints) -> None:
    """First phase of Irving's algorithm on lists with ties: agent i keeps the entries before
    position last[i].

    Whoever likes one of those left to it better than all others of them for certain proposes to it;
    the receiver refuses all whom it likes less for certain. stack: (2, n), the agents that may
    propose, and whether they wait there.
    """
    agents = length.size
    size = agents
    waiting = stack[1]
    # everybody may propose
    for i in range(agents):
        last[i] = length[i]
        stack[0, i] = i
        waiting[i] = 1
    while size:
        size -= 1
        i = stack[0, size]
        waiting[i] = 0
        # i's first among those left, if better than the next of them for certain
        first = -1
        alone = True
        for at in range(last[i]):
            j = order[i, at]
            if place[j, i] >= last[j]:
                continue
            if first < 0:
                first = at
            else:
                alone = better[i, j] > first
                break
        if first < 0 or not alone:
            continue
        # the receiver refuses all behind i for certain; who lost an entry may propose again
        receiver = order[i, first]
        end = last[receiver]
        while end > 0 and better[receiver, order[receiver, end - 1]] > place[receiver, i]:
            end -= 1
        for at in range(end, last[receiver]):
            j = order[receiver, at]
            if place[j, receiver] < last[j] and waiting[j] == 0:
                waiting[j] = 1
                stack[0, size] = j
                size += 1
        last[receiver] = end


@compiled
def narrow(
    choice: Ints, back: Ints, first: Ints, last: Ints, changed: Ints, singles: bool, scratch: Ints
) -> bool:
    """Shorten preference lists until each agent is the last entry of its first entry's list.

    An entry (i, r) is in the table while r <= last[i] and i is not behind the last of whom it
    names. In a matching without blocking pair i gets nobody better than its first entry, so that
    who is named there gets i or somebody better: who comes behind i is struck out. Every entry is
    passed once over all calls on one table.

    Parameters
    ----------
    choice, back : see `ranks.Lists`.
    first, last : (n,) positions where each list begins and ends; changed in place.
    changed : (n,) 0/1, the agents whose list, or first entry, may be another than when `narrow`
        ended last; left at 0.
    singles : whether an empty list is allowed, and left with last -1; else it ends the call.
    scratch : (n + 1,) a stack.

    Returns
    -------
    Whether no list became empty, or `singles`.
    """
    size = 0
    for i in range(first.size):
        if changed[i]:
            scratch[size] = i
            size += 1
    while size > 0:
        size -= 1
        i = scratch[size]
        changed[i] = 0
        while first[i] <= last[i] and back[i, first[i]] > last[choice[i, first[i]]]:
            first[i] += 1
        if first[i] > last[i]:
            last[i] = -1
            if singles:
                continue
            changed[:] = 0
            return False
        j = choice[i, first[i]]
        end = back[i, first[i]]
        for r in range(end + 1, last[j] + 1):
            k = choice[j, r]
            if changed[k] == 0 and first[k] <= last[k] and choice[k, first[k]] == j:
                changed[k] = 1
                scratch[size] = k
                size += 1
        if end < last[j]:
            last[j] = end
            if changed[j] == 0 and first[j] > end:
                changed[j] = 1
                scratch[size] = j
                size += 1
    return True


@compiled
def _common_base(partner: Ints, parent: Ints, base: Ints, seen: Ints, one: int, other: int) -> int:
    """Base of the blossom closed by an edge between two even agents."""
    seen[:] = 0
    while True:
        one = base[one]
        seen[one] = 1
        if partner[one] < 0:
            break
        one = parent[partner[one]]
    while True:
        other = base[other]
        if seen[other]:
            return other
        other = parent[partner[other]]


@compiled
def _mark(
    partner: Ints, parent: Ints, base: Ints, inside: Ints, agent: int, root: int, child: int
) -> None:
    """Mark one side of a new blossom as inside, and reverse its parent pointers up to the base."""
    while base[agent] != root:
        inside[base[agent]] = 1
        inside[base[partner[agent]]] = 1
        parent[agent] = child
        child = partner[agent]
        agent = parent[partner[agent]]


@compiled
def augment(
    choice: Ints, back: Ints, length: Ints, partner: Ints, root: int, scratch: Ints
) -> bool:
    """Augment the matching by a path from `root`; return False if there is none, so that no perfect
    matching exists. scratch: (5, n).
    """
    # 1. Edmonds: a forest of alternating paths from the root; an agent is even or odd along them
    parent, base, queue, even, inside = scratch
    agents = length.size
    parent[:] = -1
    even[:] = 0
    for agent in range(agents):
        base[agent] = agent
    even[root] = 1
    queue[0] = root
    head, tail = 0, 1
    while head < tail:
        agent = queue[head]
        head += 1
        for r in range(length[agent]):
            if back[agent, r] >= UNRANKED:
                continue
            other = choice[agent, r]
            if base[agent] == base[other] or partner[agent] == other:
                continue
            # 2. the other is even too: a blossom, shrunk to the base that both paths share
            if other == root or (partner[other] >= 0 and parent[partner[other]] >= 0):
                common = _common_base(partner, parent, base, inside, agent, other)
                inside[:] = 0
                _mark(partner, parent, base, inside, agent, common, other)
                _mark(partner, parent, base, inside, other, common, agent)
                for member in range(agents):
                    if inside[base[member]]:
                        base[member] = common
                        if not even[member]:
                            even[member] = 1
                            queue[tail] = member
                            tail += 1
            # 3. the other is new: odd; free, it ends an augmenting path, else its partner becomes
            # even
            elif parent[other] < 0:
                parent[other] = agent
                if partner[other] < 0:
                    while other >= 0:
                        before = parent[other]
                        further = partner[before]
                        partner[other] = before
                        partner[before] = other
                        other = further
                    return True
                even[partner[other]] = 1
                queue[tail] = partner[other]
                tail += 1
    return False
