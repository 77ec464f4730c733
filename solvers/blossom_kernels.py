"""Compiled minimum-weight perfect matching: the primal-dual blossom algorithm of Edmonds (1965) in
integers, one alternating tree at a time.

Agents have prices and blossoms, sets of an odd number of nodes that are matched around a cycle,
have weights, so that no pair's slack is negative:

    slack of a pair = its cost - both prices + 2 x the weights of all blossoms that hold both agents

A price here includes the weights of the blossoms around its agent. Matched pairs and the pairs of a
blossom's cycle have slack 0. A search grows a tree from an agent without partner: nodes at an even
distance gain price with time, those at an odd one lose as much. What happens first, in a heap
ordered by time: a pair gets slack 0, which grows the tree, closes a blossom or ends the search; a
blossom at an odd distance runs out of weight and is opened; an agent's price reaches what staying
alone costs. Costs are even, so times are whole numbers.

Numbers stay below `MOST`, which is looked at where they grow: no sum of six of them passes 64 bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import compiled

Ints = NDArray[Any]
Reals = NDArray[Any]
Bools = NDArray[Any]

MOST = 2**60
"""Prices, weights and times above this end a search."""

FORBIDDEN = 2 * MOST
"""The cost of a pair that may not share: its slack is never negative."""

FREE, ALONE = -1, -2
"""Agents without a partner: not yet, or for good."""

NONE, EVEN, ODD = 0, 1, -1
"""Labels of nodes, outside of the tree or how far from its root: what prices gain with time."""

NOW, EVENTS, SPARE, STAMP, WORK, STAY, WHO = range(7)
"""Places in `Forest.cursor`: time of the search; length of the heap; blossoms not in use; stamp of
the last walk to the root; steps so far; when an agent's price reaches its cap first, and whose.
"""

MATCHED, STUCK, OVERFLOW, PAUSED = range(4)
"""How a kernel ends."""


class Forest(NamedTuple):
    """Matching, dual prices and blossoms; nodes 0 to n - 1 are the agents, the others blossoms."""

    cursor: Ints
    mate: Ints  # (n,) partners, FREE or ALONE
    price: Ints  # (n,) when the label of its outermost blossom was set
    outer: Ints  # (n,) the outermost node around each agent
    leaf: Ints  # (n,) the next agent of the same node, from first to last
    first: Ints  # of each node: the agents in it
    last: Ints
    weight: Ints  # of blossoms, at least 0
    parent: Ints  # the blossom that a node is a child of, -1 for none
    base: Ints  # the agent by which a node is matched to what is outside
    head: Ints  # the child that holds the base
    after: Ints  # the next child on the cycle, and the one before
    before: Ints
    near: Ints  # the pair that joins a child to the next one: the agent here, and the one there
    far: Ints
    label: Ints
    since: Ints  # the time when the label was set
    enter_near: Ints  # the pair by which the tree entered an odd node: outside, inside
    enter_far: Ints
    mark: Ints
    spare: Ints  # blossoms not in use
    within: Ints  # scratch: the weights of the blossoms in one that hold an agent


class Edges(NamedTuple):
    """Pairs that the blossom algorithm considers, listed by agent, and the heap of its events.

    Event e < m: the slack of pair e becomes 0; m + b: blossom n + b runs out of weight.
    """

    start: Ints  # (n + 1,) where the arcs of each agent begin
    to: Ints  # (2 m,)
    cost: Ints
    pair: Ints
    one: Ints  # (m,) the agents of each pair
    two: Ints
    heap: Ints  # events, the earliest first
    place: Ints  # of each event in the heap, -1 for none
    time: Ints  # of each event


@compiled
def _sift(edges: Edges, i: int, size: int) -> None:
    """Move the event at index i of the heap to its position."""
    heap, place, time = edges.heap, edges.place, edges.time
    event = heap[i]
    while i > 0 and time[heap[(i - 1) >> 1]] > time[event]:
        heap[i] = heap[(i - 1) >> 1]
        place[heap[i]] = i
        i = (i - 1) >> 1
    while True:
        child = 2 * i + 1
        if child + 1 < size and time[heap[child + 1]] < time[heap[child]]:
            child += 1
        if child >= size or time[heap[child]] >= time[event]:
            break
        heap[i] = heap[child]
        place[heap[i]] = i
        i = child
    heap[i] = event
    place[event] = i


@compiled
def _put(forest: Forest, edges: Edges, event: int, time: int) -> None:
    """Set the time of an event in the heap; insert the event if it is not there yet."""
    edges.time[event] = time
    i = edges.place[event]
    if i < 0:
        i = forest.cursor[EVENTS]
        edges.heap[i] = event
        forest.cursor[EVENTS] += 1
    _sift(edges, i, forest.cursor[EVENTS])


@compiled
def _earliest(forest: Forest, edges: Edges) -> int:
    """Remove the first event from the heap."""
    event = edges.heap[0]
    edges.place[event] = -1
    forest.cursor[EVENTS] -= 1
    size = forest.cursor[EVENTS]
    if size > 0:
        edges.heap[0] = edges.heap[size]
        _sift(edges, 0, size)
    return int(event)


@compiled
def _price(forest: Forest, agent: int) -> int:
    """Compute an agent's current dual price from its node's label and the time passed."""
    node = forest.outer[agent]
    passed = forest.cursor[NOW] - forest.since[node]
    return int(forest.price[agent] + forest.label[node] * passed)


@compiled
def _look(forest: Forest, edges: Edges, node: int, cap: int) -> None:
    """Compute the times at which pairs of a node's agents become tight and at which the price of an
    even agent reaches its cap. Called after the node or its blossom became even or left the tree.
    """
    outer = forest.outer[forest.first[node]]
    even, now, agent = forest.label[outer] == EVEN, forest.cursor[NOW], forest.first[node]
    while True:
        price = _price(forest, agent)
        if even and now + cap - price < forest.cursor[STAY]:
            forest.cursor[STAY], forest.cursor[WHO] = now + cap - price, agent
        for arc in range(edges.start[agent], edges.start[agent + 1]):
            other = edges.to[arc]
            other_node = forest.outer[other]
            label = forest.label[other_node]
            if other_node != outer and label != ODD and (even or label == EVEN):
                slack = edges.cost[arc] - price - _price(forest, other)
                both = even and label == EVEN
                _put(forest, edges, edges.pair[arc], now + (slack >> 1 if both else slack))
        forest.cursor[WORK] += edges.start[agent + 1] - edges.start[agent]
        if agent == forest.last[node]:
            break
        agent = forest.leaf[agent]


@compiled
def _settle(forest: Forest, node: int, outer: int) -> None:
    """End the label of a node: change its agents' prices and its weight by the time since it was
    set. The agents' outermost node is then `outer`.
    """
    passed = forest.label[node] * (forest.cursor[NOW] - forest.since[node])
    forest.label[node] = NONE
    forest.weight[node] += passed
    agent = forest.first[node]
    while True:
        forest.price[agent] += passed
        forest.outer[agent] = outer
        if agent == forest.last[node]:
            break
        agent = forest.leaf[agent]


@compiled
def _make_even(forest: Forest, edges: Edges, node: int, cap: int) -> None:
    """Label a node as even."""
    forest.label[node], forest.since[node] = EVEN, forest.cursor[NOW]
    _look(forest, edges, node, cap)


@compiled
def _make_odd(forest: Forest, edges: Edges, node: int, near: int, far: int) -> None:
    """Label a node as odd, entered by the pair near-far."""
    forest.label[node], forest.since[node] = ODD, forest.cursor[NOW]
    forest.enter_near[node], forest.enter_far[node] = near, far
    agents = len(forest.mate)
    if node >= agents:
        event = len(edges.one) + node - agents
        _put(forest, edges, event, forest.cursor[NOW] + forest.weight[node])


@compiled
def _entry(forest: Forest, node: int, agent: int) -> tuple[int, bool]:
    """Child of a blossom that holds an agent, and whether its even path to the head is forward."""
    child = agent
    while forest.parent[child] != node:
        child = forest.parent[child]
    at, even = child, True
    while at != forest.head[node]:
        at, even = forest.after[at], not even
    return child, even


@compiled
def _two_on(forest: Forest, child: int, on: bool) -> tuple[int, int, int, int]:
    """Next two children on a blossom's cycle, forward (`on`) or back, and the pair joining them."""
    if on:
        one = forest.after[child]
        return one, forest.after[one], forest.near[one], forest.far[one]
    one = forest.before[child]
    two = forest.before[one]
    return one, two, forest.far[two], forest.near[two]


@compiled
def _rebase(forest: Forest, node: int, agent: int) -> None:
    """Rematch the inside of a node such that the given agent is matched outside."""
    if node >= len(forest.mate):
        child, on = _entry(forest, node, agent)
        _rebase(forest, child, agent)
        at = child
        while at != forest.head[node]:
            one, at, near, far = _two_on(forest, at, on)
            _rebase(forest, one, near)
            _rebase(forest, at, far)
            forest.mate[near], forest.mate[far] = far, near
        forest.head[node] = child
    forest.base[node] = agent


@compiled
def _release(forest: Forest, agent: int) -> None:
    """Unmatch an even node's agent instead of the root, by exchanging pairs along their path."""
    node = forest.outer[agent]
    further = forest.mate[forest.base[node]]
    _rebase(forest, node, agent)
    while further >= 0:
        odd = forest.outer[further]
        near, far = forest.enter_near[odd], forest.enter_far[odd]
        node = forest.outer[near]
        further = forest.mate[forest.base[node]]
        _rebase(forest, odd, far)
        _rebase(forest, node, near)
        forest.mate[near], forest.mate[far] = far, near


@compiled
def _up(forest: Forest, node: int) -> int:
    """Next even node on the path to the tree's root, -1 at the root."""
    mate = forest.mate[forest.base[node]]
    return -1 if mate < 0 else forest.outer[forest.enter_near[forest.outer[mate]]]


@compiled
def _meeting(forest: Forest, one: int, two: int) -> int:
    """First common node of the paths of two even nodes to the root."""
    forest.cursor[STAMP] += 1
    stamp = forest.cursor[STAMP]
    while one >= 0 or two >= 0:
        if one >= 0:
            if forest.mark[one] == stamp:
                return one
            forest.mark[one] = stamp
            one = _up(forest, one)
        one, two = two, one
    return -1


@compiled
def _join(forest: Forest, child: int, next_child: int, near: int, far: int) -> None:
    """Link a child of a blossom to the next child on its cycle."""
    forest.after[child], forest.before[next_child] = next_child, child
    forest.near[child], forest.far[child] = near, far


@compiled
def _close(forest: Forest, edges: Edges, one: int, two: int, top: int, cap: int) -> None:
    """Contract the cycle that the pair one-two closes into a blossom; `top` is where their paths
    meet.
    """
    forest.cursor[SPARE] -= 1
    node = forest.spare[forest.cursor[SPARE]]
    child, other = forest.outer[one], forest.outer[two]
    _join(forest, child, other, one, two)
    while child != top or other != top:  # from each even node to the odd and the even one above
        lower = child if child != top else other
        base, mate = forest.base[lower], forest.mate[forest.base[lower]]
        odd = forest.outer[mate]
        near, far = forest.enter_near[odd], forest.enter_far[odd]
        upper = forest.outer[near]
        if child != top:
            _join(forest, odd, child, mate, base)
            _join(forest, upper, odd, near, far)
            child = upper
        else:
            _join(forest, other, odd, base, mate)
            _join(forest, odd, upper, far, near)
            other = upper
    forest.head[node], forest.base[node] = top, forest.base[top]
    forest.weight[node], forest.parent[node] = 0, -1
    forest.first[node], forest.last[node] = forest.first[top], forest.last[top]
    while True:  # each child's agents behind those of the one before
        label = forest.label[child]
        _settle(forest, child, node)
        forest.label[child], forest.parent[child] = label, node
        if child != top:
            forest.leaf[forest.last[node]] = forest.first[child]
            forest.last[node] = forest.last[child]
        child = forest.after[child]
        if child == top:
            break
    forest.label[node], forest.since[node] = EVEN, forest.cursor[NOW]
    while True:  # those at an odd distance now are at an even one too
        if forest.label[child] == ODD:
            _look(forest, edges, child, cap)
        forest.label[child] = NONE
        child = forest.after[child]
        if child == top:
            break


@compiled
def _dismiss(forest: Forest, node: int) -> None:
    """Make the children of an outermost blossom outermost nodes."""
    child = forest.head[node]
    while True:
        forest.parent[child] = -1
        _settle(forest, child, child)
        child = forest.after[child]
        if child == forest.head[node]:
            break
    forest.spare[forest.cursor[SPARE]] = node
    forest.cursor[SPARE] += 1


@compiled
def _open(forest: Forest, edges: Edges, node: int, cap: int) -> None:
    """Expand an odd blossom of weight 0, keeping the even path from its entry to its head."""
    near, far = forest.enter_near[node], forest.enter_far[node]
    child, on = _entry(forest, node, far)
    _settle(forest, node, node)
    _dismiss(forest, node)
    _make_odd(forest, edges, child, near, far)
    while child != forest.head[node]:
        one, child, near, far = _two_on(forest, child, on)
        _make_even(forest, edges, one, cap)
        _make_odd(forest, edges, child, near, far)
    while True:
        child = forest.after[child]
        if forest.label[child] == NONE:
            _look(forest, edges, child, cap)
        if child == forest.head[node]:
            break


@compiled
def _meet(forest: Forest, edges: Edges, event: int, cap: int) -> bool:
    """Grow the tree by a pair of slack 0, contract a cycle, or match the root and return True."""
    one, two = edges.one[event], edges.two[event]
    if forest.label[forest.outer[one]] != EVEN:
        one, two = two, one
    here, there = forest.outer[one], forest.outer[two]
    if here == there or forest.label[here] != EVEN or forest.label[there] == ODD:
        return False
    if forest.label[there] == EVEN:
        _close(forest, edges, one, two, _meeting(forest, here, there), cap)
        return False
    mate = forest.mate[forest.base[there]]
    if mate >= 0:
        _make_odd(forest, edges, there, one, two)
        _make_even(forest, edges, forest.outer[mate], cap)
        return False
    _rebase(forest, there, two)
    _release(forest, one)
    forest.mate[one], forest.mate[two] = two, one
    return True


@compiled
def _search(forest: Forest, edges: Edges, root: int, cap: int) -> int:
    """Grow a tree from an unmatched agent until it is matched or single for good; return how."""
    agents, cursor = len(forest.mate), forest.cursor
    cursor[NOW], cursor[EVENTS], cursor[STAY] = 0, 0, MOST + 1
    forest.since[:] = 0
    _make_even(forest, edges, forest.outer[root], cap)
    ended = STUCK
    while ended == STUCK:
        first = MOST + 1
        if cursor[EVENTS] > 0:
            first = edges.time[edges.heap[0]]
        cursor[NOW] = min(first, cursor[STAY])
        if cursor[NOW] > MOST:
            if cursor[EVENTS] > 0:
                ended = OVERFLOW
            break
        if cursor[STAY] <= first:
            _release(forest, cursor[WHO])
            forest.mate[cursor[WHO]] = ALONE
            ended = MATCHED
            break
        event = _earliest(forest, edges)
        if event < len(edges.one):
            if _meet(forest, edges, event, cap):
                ended = MATCHED
        else:
            node = agents + event - len(edges.one)
            if forest.label[node] == ODD:
                _open(forest, edges, node, cap)
    if ended != MATCHED:
        return ended
    for i in range(cursor[EVENTS]):
        edges.place[edges.heap[i]] = -1
    for agent in range(agents):
        if forest.label[forest.outer[agent]] != NONE:
            _settle(forest, forest.outer[agent], forest.outer[agent])
        if abs(forest.price[agent]) > MOST:
            ended = OVERFLOW
    return ended


@compiled
def match_all(forest: Forest, edges: Edges, cap: int, steps: int) -> int:
    """Match all agents, or leave one single at price `cap`; PAUSED after about `steps` steps."""
    forest.cursor[WORK] = 0
    for agent in range(len(forest.mate)):
        if forest.mate[agent] == FREE:
            if forest.cursor[WORK] > steps:
                return PAUSED
            ended = _search(forest, edges, agent, cap)
            if ended != MATCHED:
                return ended
    return MATCHED


@compiled
def match_tight(forest: Forest, edges: Edges, cap: int) -> None:
    """Match unmatched agents by pairs of slack 0, with those at price `cap` single; no blossoms."""
    for agent in range(len(forest.mate)):
        if forest.mate[agent] == FREE and forest.price[agent] == cap:
            forest.mate[agent] = ALONE
        for arc in range(edges.start[agent], edges.start[agent + 1]):
            other = edges.to[arc]
            slack = edges.cost[arc] - forest.price[agent] - forest.price[other]
            if forest.mate[agent] == FREE and forest.mate[other] == FREE and slack == 0:
                forest.mate[agent], forest.mate[other] = other, agent


@compiled
def _keep(near: Ints, slack: Ints, many: int, other: int, value: int) -> int:
    """Insert an agent by its value into a sorted list of limited length; return the length."""
    i = many
    if many == len(near):
        i -= 1
        if slack[i] <= value:
            return many
    else:
        many += 1
    while i > 0 and slack[i - 1] > value:
        near[i], slack[i] = near[i - 1], slack[i - 1]
        i -= 1
    near[i], slack[i] = other, value
    return many


@compiled
def nearest(cost: Ints, price: Ints, near: Ints, slack: Ints) -> None:
    """Set `near` (-1: none) to each agent's k partners of least cost - price, `slack` to these."""
    near[:] = -1
    for agent in range(len(cost)):
        row, many, last = cost[agent], 0, FORBIDDEN
        for other in range(len(cost)):
            value = row[other] - price[other]
            if value < last and other != agent and row[other] < FORBIDDEN:
                many = _keep(near[agent], slack[agent], many, other, value)
                if many == near.shape[1]:
                    last = slack[agent, many - 1]


@compiled
def raise_prices(cost: Ints, price: Ints, cap: int, part: int) -> None:
    """Raise each agent's price by 1 / `part` of its least slack over partners, up to the cap."""
    for agent in range(len(cost)):
        row, least = cost[agent], FORBIDDEN
        for other in range(len(cost)):
            if other != agent:
                least = min(least, row[other] - price[other])
        price[agent] += (min(least, cap) - price[agent]) // part


@compiled
def _lower(forest: Forest, agent: int, by: int) -> None:
    """Remove an agent from its blossoms, lower its price, and unmatch pairs that become
    infeasible.
    """
    while True:
        node = forest.outer[agent]
        base = forest.base[node]
        if forest.mate[base] >= 0:
            forest.mate[forest.mate[base]] = FREE
        forest.mate[base] = FREE
        if node == agent:
            forest.price[agent] -= by
            return
        one = forest.first[node]
        while True:
            forest.price[one] -= forest.weight[node]
            if one == forest.last[node]:
                break
            one = forest.leaf[one]
        _dismiss(forest, node)


@compiled
def lower_prices(cost: Ints, forest: Forest, near: Ints, slack: Ints) -> int:
    """Find the pairs of negative slack, up to k for each agent, and lower agents' prices until no
    slack is negative; return how many were found.
    """
    agents, price, parent = len(cost), forest.price, forest.parent
    near[:] = -1
    total = 0
    for agent in range(agents - 1):
        # 1. without blossoms, whose weights only add to slacks: most agents have no such pair
        row, least = cost[agent], FORBIDDEN
        for other in range(agent + 1, agents):
            least = min(least, row[other] - price[other])
        if least >= price[agent]:
            continue
        # 2. mark the blossoms that hold the agent, each with the weights of those inside it
        forest.cursor[STAMP] += 1
        stamp, node = forest.cursor[STAMP], parent[agent]
        weights = 0
        while node >= 0:
            forest.mark[node], forest.within[node] = stamp, weights
            weights += forest.weight[node]
            node = parent[node]
        # 3. the slacks: blossoms hold both agents from the first one on that holds the other too
        found = 0
        for other in range(agent + 1, agents):
            value = row[other] - price[other] - price[agent]
            if value < 0 and forest.outer[other] == forest.outer[agent]:
                node = parent[other]
                while node >= 0 and forest.mark[node] != stamp:
                    node = parent[node]
                value += 2 * (weights - forest.within[node])
            if value < 0:
                found = _keep(near[agent], slack[agent], found, other, value)
        # 4. lower the agent's price by the worst of them
        if found > 0:
            _lower(forest, agent, -slack[agent, 0])
            total += found
    return total


@compiled
def count_agents(forest: Forest, size: Ints) -> None:
    """Set `size` to the number of agents in each blossom of positive weight, 0 for other nodes."""
    for node in range(len(forest.mate), len(size)):
        if forest.weight[node] > 0:
            size[node] = 1
    for i in range(forest.cursor[SPARE]):
        size[forest.spare[i]] = 0
    for node in range(len(forest.mate), len(size)):
        agent = forest.first[node]
        while size[node] > 0 and agent != forest.last[node]:
            size[node] += 1
            agent = forest.leaf[agent]


@compiled
def decimals(penalty: Reals, allowed: Bools, most: int) -> int:
    """Least number of decimals that represents all penalties; `most` + 1 if none up to it does."""
    digits, power = 0, 1.0
    for a in range(len(penalty)):
        for b in range(len(penalty)):
            while allowed[a, b] and round(penalty[a, b] * power) / power != penalty[a, b]:
                digits += 1
                power *= 10.0
                if digits > most:
                    return digits
    return digits


@compiled
def _in_units(penalty: float, unit: float) -> int:
    """Penalty in integer units: n where n / `unit` is exactly the penalty, else rounded down."""
    near = round(penalty * unit)
    if near / unit == penalty:
        return int(near)
    return int(np.floor(penalty * unit))


@compiled
def costs(penalty: Reals, allowed: Bools, unit: float, parts: int, cost: Ints) -> None:
    """Cost of each pair in parts of a unit, shape (n, n)."""
    for a in range(len(penalty)):
        cost[a, a] = FORBIDDEN
        for b in range(a):
            cost[a, b] = FORBIDDEN
            if allowed[a, b]:
                both = _in_units(penalty[a, b], unit) + _in_units(penalty[b, a], unit)
                cost[a, b] = parts * both
            cost[b, a] = cost[a, b]
