"""Compiled kernels of the stable roommates problem: lists, Irving's and Tan's reduction, insertion
of agents, depth-first search.

All of them walk along `ranks.Lists`. Agent p may propose to x = choice[p, r] iff back[p, r] <
held[x], one comparison whatever x's state.
"""

from __future__ import annotations

from ..compiled import compiled
from .arrays import (
    EXHAUSTED,
    FOUND,
    PAUSED,
    UNRANKED,
    Ints,
    Lists,
    Partition,
    Stack,
    Work,
)


@compiled
def longest_list(rank: Ints, theirs: Ints) -> int:
    """Length of the longest list of mutual pairs, or -1 - (i n + j) for an invalid entry."""
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
    """Fill the lists of mutual pairs; return i n + j for an entry (i, j) with a repeated position,
    else -1.
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
def propose_all(lists: Lists, first: Ints, last: Ints) -> int:
    """Irving's first phase: first[i] is the position to which i proposes, last[i] the one it holds;
    -1 and the end if none.
    """
    choice, back, length = lists
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
    lists: Lists, stop_at_odd: bool, found: Partition, scratch: Ints, counts: Ints
) -> None:
    """Irving's two phases on a table of first and last positions; an odd party is set aside, or
    ends the reduction.

    Eliminating a rotation that would empty a list happens only when its proposers and receivers are
    the same agents, each with a list of two: they are an odd party, successor first and predecessor
    last (Tan 1991). Without `stop_at_odd` the rest goes on and `found` is a
    stable partition; with it, agents whose list is not one entry get -1. scratch: at least
    (7, n). counts: odd parties, singles, proposals, rotations eliminated.
    """
    choice, back, length = lists
    predecessor, predecessor_rank = found
    agents = length.size
    first, last, second, stack, where = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    old_first, old_last = scratch[5], scratch[6]
    # 1. phase 1: proposals, after which each list runs from first to last
    counts[0] = counts[1] = counts[3] = 0
    counts[2] = propose_all(lists, first, last)
    second[:] = 0
    where[:] = -1
    predecessor[:] = -1
    predecessor_rank[:] = -1
    # 2. phase 2: rotations, found along a path of proposers that is kept as a stack
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
        # 3. the path has met itself: from there on it is a rotation; eliminate it
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
        # 4. it emptied a list: put back, it is an odd party
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
    # 5. the partition: an agent with an empty list is single, one with one entry is paired
    for agent in range(agents):
        if last[agent] < 0:
            counts[1] += 1
            predecessor[agent] = agent
            predecessor_rank[agent] = UNRANKED
        elif first[agent] == last[agent]:
            predecessor[agent] = choice[agent, last[agent]]
            predecessor_rank[agent] = last[agent]


@compiled
def _pair(lists: Lists, found: Partition, agent: int, r: int) -> None:
    """Match an agent with the agent at position r of its list."""
    other = lists.choice[agent, r]
    found.predecessor[agent] = other
    found.rank[agent] = r
    found.predecessor[other] = agent
    found.rank[other] = lists.back[agent, r]


@compiled
def _take_from_odd(lists: Lists, found: Partition, agent: int) -> None:
    """Remove an agent from its odd party of a stable partition; match the other members along the
    party, none worse off than before.
    """
    following = found.predecessor[agent]
    while following != agent:
        other = found.predecessor[following]
        further = found.predecessor[other]
        _pair(lists, found, following, found.rank[following])
        following = further


@compiled
def _close_party(
    lists: Lists, found: Partition, turn: Ints, size: int, proposed: Ints, mark: int
) -> bool:
    """Make the proposers of one cycle a party in which the predecessor of each is whom it proposes
    to. Returns whether they form a party of an odd number.
    """
    for c in range(size):
        if proposed[turn[0, c]] == mark:
            return False
        proposed[turn[0, c]] = mark
    for c in range(size):
        agent, r = turn[0, c], turn[1, c]
        receiver = lists.choice[agent, r]
        if proposed[receiver] != mark:
            return False
        proposed[receiver] = mark - 1
        found.predecessor[agent] = receiver
        found.rank[agent] = r
    return size % 2 == 1


@compiled
def insert(lists: Lists, found: Partition, agent: int, r: int, work: Work) -> bool:
    """Insert a removed agent into a stable partition of the others, proposing from position r of
    its list on.

    Tan and Hsueh (1995). Who is displaced from a pair proposes next, from behind its partner. The
    chain ends with a single agent or an odd party taking the proposal (one odd party fewer), with
    nobody taking it (one more), or runs round: the same proposal twice. One turn is then recorded;
    its proposers are the new odd party. False after too many steps, when the arrays are of no use
    any more.
    """
    choice, back, length = lists
    predecessor, predecessor_rank = found
    memory, turn, _, counts, _ = work
    agents = length.size
    memory[agents] += 1
    stamp = memory[agents] * UNRANKED
    recorded = -1
    for _ in range(20 * agents + 100):
        # 1. propose: the first from r on who likes the proposer better than whom it holds
        begin = r
        while r < length[agent] and back[agent, r] >= predecessor_rank[choice[agent, r]]:
            r += 1
        counts[2] += r - begin + 4
        # 2. nobody does: one more single
        if r >= length[agent]:
            predecessor[agent] = agent
            predecessor_rank[agent] = UNRANKED
            counts[1] += 1
            return True
        receiver = choice[agent, r]
        # 3. the receiver was single: a pair
        displaced = predecessor[receiver]
        if displaced == receiver:
            counts[1] -= 1
            _pair(lists, found, agent, r)
            return True
        # 4. it was in an odd party: a pair, and the others of the party pair up
        if predecessor[displaced] != receiver:
            counts[0] -= 1
            _take_from_odd(lists, found, receiver)
            _pair(lists, found, agent, r)
            return True
        # 5. the same proposal a second time begins the record of a turn, a third time closes it
        if recorded < 0:
            if memory[agent] == stamp + r:
                recorded = 0
            memory[agent] = stamp + r
        elif agent == turn[0, 0] and r == turn[1, 0]:
            counts[0] += 1
            return _close_party(lists, found, turn, recorded, memory, -stamp)
        if recorded >= 0:
            if recorded == agents:
                return False
            turn[0, recorded] = agent
            turn[1, recorded] = r
            recorded += 1
        # 6. it was in a pair: the new pair stands, and whom it displaced proposes next
        following = predecessor_rank[displaced] + 1
        _pair(lists, found, agent, r)
        predecessor[displaced] = -1
        predecessor_rank[displaced] = -1
        agent = displaced
        r = following
    return False


@compiled
def forgive(lists: Lists, found: Partition, agent: int, work: Work) -> None:
    """Delete the pair of an agent and its predecessor, and restore the partition's stability and
    counts.

    A pair is taken out and put back one after the other, the second from the top of its list, since
    the first may have worsened agents above. Of an odd party one agent is enough: without it the
    pair does not matter.
    """
    predecessor, predecessor_rank = found
    counts = work.counts
    r = predecessor_rank[agent]
    other = predecessor[agent]
    r_other = lists.back[agent, r]
    lists.back[agent, r] = UNRANKED
    lists.back[other, r_other] = UNRANKED
    if predecessor[other] == agent:
        predecessor[agent] = predecessor[other] = -1
        predecessor_rank[agent] = predecessor_rank[other] = -1
        fine = insert(lists, found, agent, r + 1, work)
        fine = fine and insert(lists, found, other, 0, work)
    else:
        _take_from_odd(lists, found, agent)
        predecessor[agent] = predecessor_rank[agent] = -1
        counts[0] -= 1
        fine = insert(lists, found, agent, 0, work)
    if not fine:
        reduce_table(lists, False, found, work.scratch, work.table_counts)
        counts[0] = work.table_counts[0]
        counts[1] = work.table_counts[1]
        counts[2] += 10 * lists.length.size
        counts[3] += 1


ENTER, NEXT = 0, 1


@compiled
def _restore(lists: Lists, deleted: Ints) -> None:
    """Make a deleted pair acceptable again."""
    agent, r, r_other = deleted[0], deleted[1], deleted[2]
    lists.back[agent, r] = r_other
    lists.back[lists.choice[agent, r], r_other] = r


@compiled
def _keep(lists: Lists, kept: Ints, agent: int, r: int, flag: int) -> None:
    """Mark (flag 1) or unmark (0) a pair that may not be deleted in this subtree."""
    kept[agent, r] = flag
    kept[lists.choice[agent, r], lists.back[agent, r]] = flag


@compiled
def _forget(lists: Lists, stack: Stack, depth: int, total: int) -> None:
    for c in range(total):
        agent = stack.candidates[depth, c]
        _keep(lists, stack.kept, agent, stack.ranks[depth, agent], 0)


@compiled
def _candidates(
    lists: Lists, stack: Stack, depth: int, limit: int, target: int, weight: int, work: Work
) -> tuple[int, int]:
    """List the pairs of a node's stable partition in the order in which to delete them. Returns how
    many are to be tried, and how many there are with those kept in this subtree.

    An eager search wants those first that lower the count. To exhaust all, they had better come
    last, when the pairs whose own subtrees are small are already kept.

    A pair whose deletion leaves too many odd parties for the deletions left is kept in the whole
    subtree: it is noted, and stands behind the others.
    """
    # 1. every pair of the partition, once, unless it is kept in this subtree
    agents = lists.length.size
    predecessor, predecessor_rank = stack.predecessors[depth], stack.ranks[depth]
    trial = Partition(stack.predecessors[-1], stack.ranks[-1])
    kept, parties, candidates = stack.kept, stack.parties[depth], stack.candidates[depth]
    counts, scratch = work.counts, work.scratch
    gains = scratch[7]
    value = parties[0] + weight * parties[1]
    total = 0
    smallest = 0
    for index in range(agents):
        agent = stack.order[index]
        other = predecessor[agent]
        r = predecessor_rank[agent]
        if other == agent or (predecessor[other] == agent and other < agent) or kept[agent, r] == 1:
            continue
        # 2. delete it on a copy: what the count becomes; then put it back
        r_other = lists.back[agent, r]
        trial.predecessor[:], trial.rank[:] = predecessor, predecessor_rank
        counts[0] = parties[0]
        counts[1] = parties[1]
        forgive(lists, trial, agent, work)
        counts[2] += 10 + agents // 16
        lists.back[agent, r] = r_other
        lists.back[other, r_other] = r
        after = counts[0] + weight * counts[1]
        if depth + 1 == limit and after <= target:
            # the last deletion, and it is enough: nothing else need be looked at
            _forget(lists, stack, depth, total)
            candidates[0] = agent
            return 1, 1
        # one deletion lowers the count by two at most: where too much is left, it is kept
        if depth + 1 + (max(after - target, 0) + 1) // 2 > limit:
            gains[total] = 99
            _keep(lists, kept, agent, r, 1)
        else:
            gains[total] = after - value
            smallest = min(smallest, after - value)
        candidates[total] = agent
        total += 1
    # 3. order the others by their gain, up or down, the kept ones behind them
    viable = 0
    for step in range(smallest, 4):
        gain = step if stack.state[3] == 1 else 3 + smallest - step
        for c in range(total):
            if gains[c] == gain:
                scratch[8, viable] = candidates[c]
                viable += 1
    end = viable
    for c in range(total):
        if gains[c] == 99:
            scratch[8, end] = candidates[c]
            end += 1
    for c in range(total):
        candidates[c] = scratch[8, c]
    return viable, total


@compiled
def search(
    lists: Lists, stack: Stack, limit: int, target: int, weight: int, budget: int, work: Work
) -> int:
    """Depth-first search for pairs whose deletion leaves no more than `target` odd parties. The
    pairs are at least state[2] and at most `limit`; singles count `weight` times.

    Every such set of deletions contains a pair of any stable partition, as deleting others leaves
    the partition stable: so only its pairs are branched on; and one deletion lowers the count by
    two at most. Returns FOUND, EXHAUSTED (a proof that there is no such set), or PAUSED after about
    `budget` units of work, to be called again with the same arrays.
    """
    parties, cursor, deleted, state = stack.parties, stack.cursor, stack.deleted, stack.state
    counts = work.counts
    counts[2] = 0
    depth = state[0]
    while True:
        # 1. a new node: found, paused, or its pairs to branch on
        if state[1] == ENTER:
            if depth >= state[2] and parties[depth, 0] + weight * parties[depth, 1] <= target:
                return FOUND
            if counts[2] > budget:
                return PAUSED
            viable, total = _candidates(lists, stack, depth, limit, target, weight, work)
            cursor[depth, 0] = viable
            cursor[depth, 1] = total
            cursor[depth, 2] = 0
            state[1] = NEXT
        # 2. the next of them is deleted: down, with a copy of the partition made stable again
        elif cursor[depth, 2] < cursor[depth, 0]:
            agent = stack.candidates[depth, cursor[depth, 2]]
            cursor[depth, 2] += 1
            stack.predecessors[depth + 1] = stack.predecessors[depth]
            stack.ranks[depth + 1] = stack.ranks[depth]
            deleted[depth, 0] = agent
            deleted[depth, 1] = stack.ranks[depth, agent]
            deleted[depth, 2] = lists.back[agent, stack.ranks[depth, agent]]
            counts[0] = parties[depth, 0]
            counts[1] = parties[depth, 1]
            depth += 1
            below = Partition(stack.predecessors[depth], stack.ranks[depth])
            forgive(lists, below, agent, work)
            parties[depth, 0] = counts[0]
            parties[depth, 1] = counts[1]
            cursor[depth, 1] = 0
            state[0] = depth
            state[1] = ENTER
        else:
            # 3. none left: up, and the pair deleted there is kept from now on, its subtree
            # exhausted
            _forget(lists, stack, depth, cursor[depth, 1])
            cursor[depth, 1] = 0
            if depth == 0:
                return EXHAUSTED
            depth -= 1
            state[0] = depth
            _restore(lists, deleted[depth])
            _keep(lists, stack.kept, deleted[depth, 0], deleted[depth, 1], 1)


@compiled
def unwind(lists: Lists, stack: Stack) -> None:
    """Undo all changes of a search that was found, paused or abandoned."""
    for depth in range(stack.state[0], -1, -1):
        if depth < stack.state[0]:
            _restore(lists, stack.deleted[depth])
        _forget(lists, stack, depth, stack.cursor[depth, 1])
        stack.cursor[depth, 1] = 0
    stack.state[0] = 0
    stack.state[1] = ENTER
