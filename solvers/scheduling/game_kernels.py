"""Shared state of the compiled event loops: coalitions, their values, and the keys by which the
rules compare organizations.

Utility as a polynomial of time: a job started at s and still running at t has psi = (t - s)(t - s +
1) / 2, so 2 psi = a t^2 + b t + c with (a, b, c) = (1, 1 - 2 s, s^2 - s), and its completion at e
takes (1, 1 - 2 e, e^2 - e) away again: what is left is its finished units, each worth its age.
Three additions per start or end keep the utility of an organization, and the value of a coalition,
exact at every time without touching it in between.

Coefficients may pass int64 on the way; they wrap, and every result fits (`Scheduling` sees to
that), so it is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..compiled import compiled_without_counts

Ints = NDArray[Any]
Reals = NDArray[Any]

(
    REF,
    REF_NEXT,
    RAND,
    RAND_NEXT,
    DIRECTCONTR,
    ROUNDROBIN,
    FAIRSHARE,
    UTFAIRSHARE,
    CURRFAIRSHARE,
    FIFO,
    RANDOM,
) = range(11)
"""Rules; REF and RAND compare at t as figure 3 does, the _NEXT at t + 1, less the starts already
made.
"""

TIME, EVENT, SAMPLE, CONTENDED, WORK, STARTS, TURN, STAMP = range(8)
"""Places in `State.cursor`: where the loop stands, what it has counted, round robin's turn, the
time of `State.worth`.
"""

FREE, WAITING, RUNNING, VALUE = range(4)
"""Columns of `State.board`: free machines, waiting jobs, heap size, and from VALUE on twice the
value's a, b, c.
"""

HEAD, PSI = range(2)
"""Columns of `State.desk`: the next job of a queue, and from PSI on twice the utility's a, b, c."""

LAST_BIT = 62
"""Organizations from here on share a bit of the masks (only where no Shapley value is taken): all
it costs is a look.
"""


class Jobs(NamedTuple):
    """Jobs by organization, then in starting order: organization u has those from first[u] to
    before first[u+1].
    """

    first: Ints
    release: Ints
    processing: Ints
    event_time: Ints  # (j,) releases in order of time
    event_org: Ints
    owner: Ints  # (machines,)
    share: Ints  # (k,) machines


class Coalitions(NamedTuple):
    """Coalitions by size (`mask`), the one whose schedule is wanted last."""

    mask: Ints
    rule: Ints
    size: Ints
    members: Ints  # (n, k), the first `size` are organizations in order
    slot: Ints  # (n + 1,) where each coalition's heap begins
    weight: Ints  # what subset i of a coalition of size s counts for its members, at 2**s + i
    scale: Ints  # (k + 1,)
    sampled: Ints  # (k, n): RAND's coefficients of coalition values
    orderings: int  # RAND's N


class State(NamedTuple):
    """State of the simulation for n coalitions and k organizations."""

    cursor: Ints
    queue_end: Ints  # (k,) jobs from a queue's head to here are released and wait
    new: Ints  # (k,) jobs released at this very time
    board: Ints  # (n, 6)
    desk: Ints  # (n, k, 4)
    next_end: Ints  # (n,) when the first running job ends; the horizon when none does before it
    heap: Ints  # running jobs that end before the horizon
    lent: Ints  # (k, 3) twice the utility earned on each organization's machines (DIRECTCONTR)
    worth: Ints  # (2^k,) value of each coalition at this time
    folded: Ints  # (2^k,) scratch
    key: Ints  # (k,) scratch


class Output(NamedTuple):
    """Values and utilities recorded at the sample times."""

    start: Ints  # (j,) in the order of `Jobs`
    machine: Ints  # (j,) DIRECTCONTR only
    sample_times: Ints
    sample_value: Ints  # (n, samples)
    sample_own: Ints  # (k, samples), wanted schedule
    sample_lent: Ints  # (k, samples), wanted schedule


@compiled_without_counts
def push(heap: Ints, mark: Ints, slot: int, size: int, entry: int, tag: int) -> None:
    """Add an entry with its tag to the min-heap of `size` entries that begins at `slot`; `mark`
    holds the tags.
    """
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[slot + parent] <= entry:
            break
        heap[slot + i] = heap[slot + parent]
        mark[slot + i] = mark[slot + parent]
        i = parent
    heap[slot + i] = entry
    mark[slot + i] = tag


@compiled_without_counts
def drop_first(heap: Ints, mark: Ints, slot: int, size: int) -> None:
    """Remove the smallest entry and its tag; `size` is the new length."""
    last, tag = heap[slot + size], mark[slot + size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[slot + child + 1] < heap[slot + child]:
            child += 1
        if heap[slot + child] >= last:
            break
        heap[slot + i] = heap[slot + child]
        mark[slot + i] = mark[slot + child]
        i = child
    heap[slot + i] = last
    mark[slot + i] = tag


@compiled_without_counts
def value_at(board: Ints, c: int, t: int) -> int:
    """Value of a coalition at time t, from its doubled polynomial."""
    return int(((board[c, VALUE] * t + board[c, VALUE + 1]) * t + board[c, VALUE + 2]) >> 1)


@compiled_without_counts
def utility_at(desk: Ints, c: int, u: int, t: int) -> int:
    """Utility of an organization at time t in a coalition's schedule."""
    return int(((desk[c, u, PSI] * t + desk[c, u, PSI + 1]) * t + desk[c, u, PSI + 2]) >> 1)


@compiled_without_counts
def lent_at(lent: Ints, u: int, t: int) -> int:
    """Utility at time t earned on an organization's machines."""
    return int(((lent[u, 0] * t + lent[u, 1]) * t + lent[u, 2]) >> 1)


@compiled_without_counts
def value_all(cursor: Ints, mask: Ints, board: Ints, worth: Ints, t: int) -> None:
    """Compute the value of every coalition at time t, once per time."""
    if cursor[STAMP] == t:
        return
    cursor[STAMP] = t
    for c in range(len(mask)):
        worth[mask[c]] = value_at(board, c, t)
    cursor[WORK] += len(mask)


@compiled_without_counts
def shapley_keys(
    key: Ints, folded: Ints, worth: Ints, weight: Ints, desk: Ints, members: Ints,
    scale: int, mask: int, size: int, c: int, t: int,
) -> None:  # fmt: skip
    """Compute key[u] = (psi - phi) of each member at t times the scale, plus a common constant.
    O(2^|C|).

    phi is equation 1 with its two sums drawn apart: over the subsets with u, each counting
    `weight`, less a sum over all subsets that is the same for every u and left out. The first is
    read off by folding the upper half of the subsets onto the lower, one member at a time. Keys may
    wrap; their differences are what is compared, and they fit.
    """
    number = 1 << size
    subset = 0
    folded[0] = 0
    for i in range(1, number):
        subset = (subset - mask) & mask
        folded[i] = weight[number + i] * worth[subset]
    for index in range(size - 1, -1, -1):
        half = 1 << index
        above = 0
        for i in range(half):
            above += folded[half + i]
            folded[i] += folded[half + i]
        u = members[c, index]
        key[u] = scale * utility_at(desk, c, u, t) - above


@compiled_without_counts
def _sampled_keys(coalitions: Coalitions, state: State, c: int, t: int) -> None:
    """Compute key[u] = N (psi - estimated phi) at time t (figure 6)."""
    n, size, key = len(coalitions.mask) - 1, coalitions.size[c], state.key
    for index in range(size):
        u = coalitions.members[c, index]
        key[u] = coalitions.orderings * utility_at(state.desk, c, u, t)
    for other in range(n):
        value = value_at(state.board, other, t)
        for index in range(size):
            u = coalitions.members[c, index]
            key[u] -= coalitions.sampled[u, other] * value
    state.cursor[WORK] += n * size


@compiled_without_counts
def fill_keys(coalitions: Coalitions, state: State, c: int, t: int) -> int:
    """Compute the keys by which a rule compares organizations at t; return what a start adds to its
    own key.
    """
    rule, desk, key = coalitions.rule[c], state.desk, state.key
    if rule == RAND or rule == RAND_NEXT:
        _sampled_keys(coalitions, state, c, t + rule - RAND)
        return int(coalitions.orderings * (rule - RAND))
    for index in range(coalitions.size[c]):
        u = coalitions.members[c, index]
        if rule == DIRECTCONTR:
            key[u] = utility_at(desk, c, u, t) - lent_at(state.lent, u, t)
        elif rule == UTFAIRSHARE:
            key[u] = utility_at(desk, c, u, t)
        elif rule == FAIRSHARE:
            # units done by t: a step adds to psi one for each of them and one for each job running
            key[u] = utility_at(desk, c, u, t + 1) - utility_at(desk, c, u, t) - desk[c, u, PSI]
        elif rule == CURRFAIRSHARE:
            key[u] = desk[c, u, PSI]
    return 1 if rule == CURRFAIRSHARE else 0


@compiled_without_counts
def comes_before(jobs: Jobs, state: State, rule: int, c: int, u: int, best: int) -> bool:
    """Return whether organization u precedes `best` (a lower index, which wins ties) by the rule's
    keys.
    """
    key = state.key
    if rule == FAIRSHARE or rule == UTFAIRSHARE or rule == CURRFAIRSHARE:
        mine, theirs = jobs.share[u], jobs.share[best]
        if mine == 0 or theirs == 0:  # a share of 0 is served only when no other organization waits
            if mine == theirs:
                return bool(key[u] < key[best])
            return bool(theirs == 0)
        return bool(key[u] * theirs < key[best] * mine)
    if rule == FIFO:
        return bool(jobs.release[state.desk[c, u, HEAD]] < jobs.release[state.desk[c, best, HEAD]])
    if rule == ROUNDROBIN:
        k, turn = len(jobs.share), state.cursor[TURN]
        return bool((u - turn) % k < (best - turn) % k)
    return bool(key[u] < key[best])


@compiled_without_counts
def sample(coalitions: Coalitions, state: State, output: Output, t: int) -> None:
    """Record values and utilities at every sample time up to t, before the events of t."""
    main = len(coalitions.mask) - 1
    while (
        state.cursor[SAMPLE] < len(output.sample_times)
        and output.sample_times[state.cursor[SAMPLE]] <= t
    ):
        place = state.cursor[SAMPLE]
        when = output.sample_times[place]
        for c in range(main + 1):
            output.sample_value[c, place] = value_at(state.board, c, when)
        for u in range(output.sample_own.shape[0]):
            output.sample_own[u, place] = utility_at(state.desk, main, u, when)
            output.sample_lent[u, place] = lent_at(state.lent, u, when)
        state.cursor[SAMPLE] = place + 1
