"""Compiled kernels for lists with ties: ties that make a stable partition unstable, and pairs that
no matching needs.
"""

from __future__ import annotations

from ..compiled import compiled
from .arrays import UNRANKED, Ints


@compiled
def open_ties(
    order: Ints, place: Ints, better: Ints, rank: Ints, back: Ints, predecessor: Ints, out: Ints
) -> int:
    """List the ties (i, a, b) under which a stable partition may become unstable.

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
