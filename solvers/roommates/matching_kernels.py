"""Compiled step of Edmonds' matching algorithm: an augmenting path from an unmatched agent."""

from __future__ import annotations

from ..compiled import compiled
from .arrays import UNRANKED, Ints


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
    """Mark one side of a blossom and reverse its parents."""
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
    # Edmonds: a forest of alternating paths from the root; an agent is even or odd along them
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
            # the other is even too: a blossom, shrunk to the base that both paths share
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
            # the other is new: odd; free, it ends an augmenting path, else its partner becomes even
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
