"""Compiled kernels: reading lists, Irving's and Tan's reduction, insertion of agents, and the
depth-first search.

All of them walk along `choice` and `back` (see `ranks.Lists`). A stable partition is kept as two
arrays: `predecessor[i]` (i itself when single, -1 while i is taken out) and `predecessor_rank[i]`,
the position of the predecessor in i's list (UNRANKED when single, -1 while out). Agent p may
propose to x = choice[p, r] iff back[p, r] < held[x], one comparison whatever x's state.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..compiled import compiled

Ints = NDArray[Any]

UNRANKED = 2**30


@compiled
def longest_list(rank: Ints, theirs: Ints) -> int:
    """The length of the longest list of mutual pairs, or -1 - (i n + j) for an entry that is no
    position.
    """
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
    """Fill the lists of mutual pairs; returns i n + j of an entry that repeats a position, else
    -1.
    """
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
    """How many pairs both prefer each other to what they have; threshold[i] is the rank of what i
    has.
    """
    found = 0
    for i in range(threshold.size):
        for r in range(min(threshold[i], choice.shape[1])):
            j = choice[i, r]
            if i < j and back[i, r] < threshold[j]:
                found += 1
    return found


@compiled
def propose_all(choice: Ints, back: Ints, length: Ints, first: Ints, last: Ints) -> int:
    """Irving's first phase: first[i], the position i proposes to, and last[i], the one it holds; -1
    and the end when none.
    """
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
    choice: Ints,
    back: Ints,
    length: Ints,
    stop_at_odd: bool,
    predecessor: Ints,
    predecessor_rank: Ints,
    scratch: Ints,
    counts: Ints,
) -> None:
    """Irving's two phases on a table kept as first and last positions; an odd party is set aside,
    or ends it.

    Eliminating a rotation that would empty a list happens only when its proposers and receivers are
    the same agents, each with a list of two: they are an odd party, successor first and predecessor
    last (Tan 1991). Without `stop_at_odd` the rest goes on and `predecessor`, `predecessor_rank`
    are a stable partition; with it, agents whose list is not one entry get -1. scratch: at least
    (7, n). counts: odd parties, singles, proposals, rotations eliminated.
    """
    agents = length.size
    first, last, second, stack, where = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    old_first, old_last = scratch[5], scratch[6]
    # phase 1: proposals, after which each list runs from first to last
    counts[0] = counts[1] = counts[3] = 0
    counts[2] = propose_all(choice, back, length, first, last)
    second[:] = 0
    where[:] = -1
    predecessor[:] = -1
    predecessor_rank[:] = -1
    # phase 2: rotations, found along a path of proposers that is kept as a stack
    size = 0
    start = 0
    while True:
        # a new path begins at an agent whose list has two entries or more
        if size == 0:
            while start < agents and (first[start] >= last[start] or predecessor[start] >= 0):
                start += 1
            if start == agents:
                break
            stack[0] = start
            where[start] = 0
            size = 1
        agent = stack[size - 1]
        # an elimination has left the top of the path one entry: back
        if first[agent] >= last[agent]:
            where[agent] = -1
            size -= 1
            continue
        # its second entry, past those who have refused it since; then the last of that one's list
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
        # the path has met itself: from there on it is a rotation; eliminate it
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
        # it emptied a list: put back, it is an odd party
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
                predecessor_rank[agent] = last[agent]
        else:
            counts[3] += 1
        size = bottom
    # the partition: who has nobody left is single, who has one is paired
    for agent in range(agents):
        if last[agent] < 0:
            counts[1] += 1
            predecessor[agent] = agent
            predecessor_rank[agent] = UNRANKED
        elif first[agent] == last[agent]:
            predecessor[agent] = choice[agent, last[agent]]
            predecessor_rank[agent] = last[agent]


@compiled
def _pair(
    choice: Ints, back: Ints, predecessor: Ints, predecessor_rank: Ints, agent: int, r: int
) -> None:
    """Make a pair of `agent` and whom it has at position r."""
    other = choice[agent, r]
    predecessor[agent] = other
    predecessor_rank[agent] = r
    predecessor[other] = agent
    predecessor_rank[other] = back[agent, r]


@compiled
def _take_from_odd(
    choice: Ints, back: Ints, predecessor: Ints, predecessor_rank: Ints, agent: int
) -> None:
    """Take an agent out of its odd party; the others pair up along the party, each with somebody no
    worse than before.
    """
    following = predecessor[agent]
    while following != agent:
        other = predecessor[following]
        further = predecessor[other]
        _pair(choice, back, predecessor, predecessor_rank, following, predecessor_rank[following])
        following = further


@compiled
def _close_party(
    choice: Ints,
    predecessor: Ints,
    predecessor_rank: Ints,
    turn: Ints,
    size: int,
    proposed: Ints,
    mark: int,
) -> bool:
    """Make the proposers of one turn an odd party, each with whom it proposed to as predecessor;
    False if they are none.
    """
    for c in range(size):
        if proposed[turn[0, c]] == mark:
            return False
        proposed[turn[0, c]] = mark
    for c in range(size):
        agent, r = turn[0, c], turn[1, c]
        receiver = choice[agent, r]
        if proposed[receiver] != mark:
            return False
        proposed[receiver] = mark - 1
        predecessor[agent] = receiver
        predecessor_rank[agent] = r
    return size % 2 == 1


@compiled
def insert(
    choice: Ints,
    back: Ints,
    length: Ints,
    predecessor: Ints,
    predecessor_rank: Ints,
    agent: int,
    r: int,
    memory: Ints,
    turn: Ints,
    counts: Ints,
) -> bool:
    """Put an agent that is out back into a stable partition of the others, proposing from position
    r of its list on.

    Tan and Hsueh (1995). Who is displaced from a pair proposes next, from behind its partner. The
    chain ends with a single agent or an odd party taking the proposal (one odd party fewer), with
    nobody taking it (one more), or runs round: the same proposal twice. One turn is then recorded;
    its proposers are the new odd party. False after too many steps, when the arrays are of no use
    any more. memory: (n + 1,) int64, the last proposal of each agent and a counter. counts: odd
    parties, singles, work done.
    """
    agents = length.size
    memory[agents] += 1
    stamp = memory[agents] * UNRANKED
    recorded = -1
    for _ in range(20 * agents + 100):
        # propose: the first from r on who likes the proposer better than whom it holds
        begin = r
        while r < length[agent] and back[agent, r] >= predecessor_rank[choice[agent, r]]:
            r += 1
        counts[2] += r - begin + 4
        # nobody does: one more single
        if r >= length[agent]:
            predecessor[agent] = agent
            predecessor_rank[agent] = UNRANKED
            counts[1] += 1
            return True
        receiver = choice[agent, r]
        # the receiver was single: a pair
        displaced = predecessor[receiver]
        if displaced == receiver:
            counts[1] -= 1
            _pair(choice, back, predecessor, predecessor_rank, agent, r)
            return True
        # it was in an odd party: a pair, and the others of the party pair up
        if predecessor[displaced] != receiver:
            counts[0] -= 1
            _take_from_odd(choice, back, predecessor, predecessor_rank, receiver)
            _pair(choice, back, predecessor, predecessor_rank, agent, r)
            return True
        # the same proposal a second time begins the record of a turn, a third time closes it
        if recorded < 0:
            if memory[agent] == stamp + r:
                recorded = 0
            memory[agent] = stamp + r
        elif agent == turn[0, 0] and r == turn[1, 0]:
            counts[0] += 1
            return _close_party(
                choice, predecessor, predecessor_rank, turn, recorded, memory, -stamp
            )
        if recorded >= 0:
            if recorded == agents:
                return False
            turn[0, recorded] = agent
            turn[1, recorded] = r
            recorded += 1
        # it was in a pair: the new pair stands, and whom it displaced proposes next
        following = predecessor_rank[displaced] + 1
        _pair(choice, back, predecessor, predecessor_rank, agent, r)
        predecessor[displaced] = -1
        predecessor_rank[displaced] = -1
        agent = displaced
        r = following
    return False


@compiled
def forgive(
    choice: Ints,
    back: Ints,
    length: Ints,
    predecessor: Ints,
    predecessor_rank: Ints,
    agent: int,
    memory: Ints,
    turn: Ints,
    scratch: Ints,
    counts: Ints,
    table_counts: Ints,
) -> None:
    """Make `agent` and its predecessor unacceptable to each other, and the partition stable again,
    with its counts.

    A pair is taken out and put back one after the other, the second from the top of its list, since
    the first may have worsened agents above. Of an odd party one agent is enough: without it the
    pair does not matter.
    """
    r = predecessor_rank[agent]
    other = predecessor[agent]
    r_other = back[agent, r]
    back[agent, r] = UNRANKED
    back[other, r_other] = UNRANKED
    if predecessor[other] == agent:
        predecessor[agent] = predecessor[other] = -1
        predecessor_rank[agent] = predecessor_rank[other] = -1
        fine = insert(
            choice, back, length, predecessor, predecessor_rank, agent, r + 1, memory, turn, counts
        )
        fine = fine and insert(
            choice, back, length, predecessor, predecessor_rank, other, 0, memory, turn, counts
        )
    else:
        _take_from_odd(choice, back, predecessor, predecessor_rank, agent)
        predecessor[agent] = predecessor_rank[agent] = -1
        counts[0] -= 1
        fine = insert(
            choice, back, length, predecessor, predecessor_rank, agent, 0, memory, turn, counts
        )
    if not fine:
        reduce_table(
            choice, back, length, False, predecessor, predecessor_rank, scratch, table_counts
        )
        counts[0] = table_counts[0]
        counts[1] = table_counts[1]
        counts[2] += 10 * length.size
        counts[3] += 1


FOUND, EXHAUSTED, PAUSED = 1, 2, 3
ENTER, NEXT = 0, 1


@compiled
def _restore(choice: Ints, back: Ints, deleted: Ints) -> None:
    """Make a deleted pair acceptable again: agent, its position, and the position in the other's
    list.
    """
    agent, r, r_other = deleted[0], deleted[1], deleted[2]
    back[agent, r] = r_other
    back[choice[agent, r], r_other] = r


@compiled
def _keep(choice: Ints, back: Ints, kept: Ints, agent: int, r: int, flag: int) -> None:
    """Note (flag 1) or forget (0) that a pair may not be deleted in this subtree."""
    kept[agent, r] = flag
    kept[choice[agent, r], back[agent, r]] = flag


@compiled
def _forget(
    choice: Ints, back: Ints, kept: Ints, predecessor_rank: Ints, candidates: Ints, total: int
) -> None:
    for c in range(total):
        agent = candidates[c]
        _keep(choice, back, kept, agent, predecessor_rank[agent], 0)


@compiled
def _candidates(
    choice: Ints,
    back: Ints,
    length: Ints,
    kept: Ints,
    order: Ints,
    predecessors: Ints,
    predecessor_ranks: Ints,
    parties: Ints,
    depth: int,
    limit: int,
    target: int,
    weight: int,
    eager: bool,
    candidates: Ints,
    memory: Ints,
    turn: Ints,
    scratch: Ints,
    counts: Ints,
    table_counts: Ints,
) -> tuple[int, int]:
    """The pairs of the partition at this depth that may be deleted: how many, and how many in all.

    An eager search wants those first that lower the count. To exhaust all, they had better come
    last, when the pairs whose own subtrees are small are already kept.

    A pair whose deletion leaves too many odd parties for the deletions left is kept in the whole
    subtree: it is noted, and stands behind the others. `candidates` gets one agent per pair; the
    pair is this agent with its predecessor.
    """
    # every pair of the partition, once, unless it is kept in this subtree
    agents = length.size
    predecessor, predecessor_rank = predecessors[depth], predecessor_ranks[depth]
    trial, trial_rank = predecessors[-1], predecessor_ranks[-1]
    gains = scratch[7]
    value = parties[depth, 0] + weight * parties[depth, 1]
    total = 0
    smallest = 0
    for at in range(agents):
        agent = order[at]
        other = predecessor[agent]
        r = predecessor_rank[agent]
        if other == agent or (predecessor[other] == agent and other < agent) or kept[agent, r] == 1:
            continue
        # delete it on a copy: what the count becomes; then put it back
        r_other = back[agent, r]
        for i in range(agents):
            trial[i], trial_rank[i] = predecessor[i], predecessor_rank[i]
        counts[0] = parties[depth, 0]
        counts[1] = parties[depth, 1]
        forgive(
            choice,
            back,
            length,
            trial,
            trial_rank,
            agent,
            memory,
            turn,
            scratch,
            counts,
            table_counts,
        )
        counts[2] += 10 + agents // 16
        back[agent, r] = r_other
        back[other, r_other] = r
        after = counts[0] + weight * counts[1]
        if depth + 1 == limit and after <= target:
            # the last deletion, and it is enough: nothing else need be looked at
            _forget(choice, back, kept, predecessor_rank, candidates, total)
            candidates[0] = agent
            return 1, 1
        # one deletion lowers the count by two at most: where too much is left, it is kept
        if depth + 1 + (max(after - target, 0) + 1) // 2 > limit:
            gains[total] = 99
            _keep(choice, back, kept, agent, r, 1)
        else:
            gains[total] = after - value
            smallest = min(smallest, after - value)
        candidates[total] = agent
        total += 1
    # order the others by their gain, up or down, the kept ones behind them
    viable = 0
    for step in range(smallest, 4):
        gain = step if eager else 3 + smallest - step
        for c in range(total):
            if gains[c] == gain:
                scratch[8, viable] = candidates[c]
                viable += 1
    rest = viable
    for c in range(total):
        if gains[c] == 99:
            scratch[8, rest] = candidates[c]
            rest += 1
    for c in range(total):
        candidates[c] = scratch[8, c]
    return viable, total


@compiled
def search(
    choice: Ints,
    back: Ints,
    length: Ints,
    kept: Ints,
    order: Ints,
    predecessors: Ints,
    predecessor_ranks: Ints,
    parties: Ints,
    candidates: Ints,
    cursor: Ints,
    deleted: Ints,
    state: Ints,
    limit: int,
    target: int,
    weight: int,
    budget: int,
    memory: Ints,
    turn: Ints,
    scratch: Ints,
    counts: Ints,
    table_counts: Ints,
) -> int:
    """Depth-first search for state[3] to `limit` deletions that leave at most `target` odd parties
    (singles times weight).

    Every such set of deletions contains a pair of any stable partition, as deleting others leaves
    the partition stable: so only its pairs are branched on; and one deletion lowers the count by
    two at most. Returns FOUND, EXHAUSTED (a proof that there is no such set), or PAUSED after about
    `budget` units of work, to be called again with the same arrays. cursor: per depth, viable
    candidates, all candidates, next one. state: depth, phase, nodes, least depth, eager.
    """
    counts[2] = 0
    depth = state[0]
    while True:
        # a new node: found, paused, or its pairs to branch on
        if state[1] == ENTER:
            if depth >= state[3] and parties[depth, 0] + weight * parties[depth, 1] <= target:
                return FOUND
            if counts[2] > budget:
                return PAUSED
            state[2] += 1
            viable, total = _candidates(
                choice,
                back,
                length,
                kept,
                order,
                predecessors,
                predecessor_ranks,
                parties,
                depth,
                limit,
                target,
                weight,
                state[4] == 1,
                candidates[depth],
                memory,
                turn,
                scratch,
                counts,
                table_counts,
            )
            cursor[depth, 0] = viable
            cursor[depth, 1] = total
            cursor[depth, 2] = 0
            state[1] = NEXT
        # the next of them is deleted: down, with a copy of the partition made stable again
        elif cursor[depth, 2] < cursor[depth, 0]:
            agent = candidates[depth, cursor[depth, 2]]
            cursor[depth, 2] += 1
            for i in range(predecessors.shape[1]):
                predecessors[depth + 1, i] = predecessors[depth, i]
                predecessor_ranks[depth + 1, i] = predecessor_ranks[depth, i]
            deleted[depth, 0] = agent
            deleted[depth, 1] = predecessor_ranks[depth, agent]
            deleted[depth, 2] = back[agent, predecessor_ranks[depth, agent]]
            counts[0] = parties[depth, 0]
            counts[1] = parties[depth, 1]
            forgive(
                choice,
                back,
                length,
                predecessors[depth + 1],
                predecessor_ranks[depth + 1],
                agent,
                memory,
                turn,
                scratch,
                counts,
                table_counts,
            )
            depth += 1
            parties[depth, 0] = counts[0]
            parties[depth, 1] = counts[1]
            cursor[depth, 1] = 0
            state[0] = depth
            state[1] = ENTER
        else:
            # none left: up, and the pair deleted there is kept from now on, its subtree exhausted
            _forget(
                choice, back, kept, predecessor_ranks[depth], candidates[depth], cursor[depth, 1]
            )
            cursor[depth, 1] = 0
            if depth == 0:
                return EXHAUSTED
            depth -= 1
            state[0] = depth
            _restore(choice, back, deleted[depth])
            _keep(choice, back, kept, deleted[depth, 0], deleted[depth, 1], 1)


@compiled
def unwind(
    choice: Ints,
    back: Ints,
    kept: Ints,
    predecessor_ranks: Ints,
    candidates: Ints,
    cursor: Ints,
    deleted: Ints,
    state: Ints,
) -> None:
    """Undo whatever a search that was found, paused or abandoned has changed in the lists."""
    for depth in range(state[0], -1, -1):
        if depth < state[0]:
            _restore(choice, back, deleted[depth])
        _forget(choice, back, kept, predecessor_ranks[depth], candidates[depth], cursor[depth, 1])
        cursor[depth, 1] = 0
    state[0] = 0
    state[1] = ENTER
