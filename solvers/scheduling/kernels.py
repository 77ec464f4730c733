"""The one event loop of all rules, compiled: any number of coalitions side by side, each with its own queues and machines.

Utility as a polynomial of time: a job started at s and still running at t has psi = (t - s)(t - s + 1) / 2, so
2 psi = a t^2 + b t + c with (a, b, c) = (1, 1 - 2 s, s^2 - s), and its completion at e takes (1, 1 - 2 e, e^2 - e) away
again: what is left is its finished units, each worth its age. Three additions per start or end keep the utility of an
organization, and the value of a coalition, exact at every time without touching it in between.

Coefficients may pass int64 on the way; they wrap, and every result fits (`Scheduling` sees to that), so it is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..compiled import compiled

Ints = NDArray[Any]
Reals = NDArray[Any]

REF, REF_NEXT, RAND, DIRECTCONTR, ROUNDROBIN, FAIRSHARE, UTFAIRSHARE, CURRFAIRSHARE, FIFO, RANDOM = range(10)
"""Rules; REF reads figure 3 at t, REF_NEXT compares at t + 1 less the starts already made (`reading` definition)."""

TIME, EVENT, SAMPLE, CONTENDED, WORK, STARTS, DONE = range(7)
"""Places in `State.cursor`: where the loop stands, and what it has counted."""

_ORG_BITS = 20  # a running job is end * 2**20 + organization in the heaps

LAST_BIT = 62
"""Organizations from here on share a bit of the masks (only where no Shapley value is taken): all it costs is a look."""


class Jobs(NamedTuple):
    """What is given. Jobs are listed by organization, then in starting order: organization u has first[u]:first[u+1]."""

    first: Ints
    release: Ints
    processing: Ints
    event_time: Ints  # (j,) releases in order of time
    event_org: Ints
    owner: Ints  # (machines,)
    share: Ints  # (k,) machines


class Coalitions(NamedTuple):
    """Who plays: `mask` in order of size, the coalition whose schedule is wanted last."""

    mask: Ints
    rule: Ints
    size: Ints
    members: Ints  # (n, k), the first `size` are organizations in order
    slot: Ints  # (n + 1,) where each coalition's heap begins
    member_weight: Ints  # (k + 1, k + 1)
    common_weight: Ints
    scale: Ints  # (k + 1,)
    sampled: Ints  # (k, n): RAND's coefficients of coalition values
    orderings: int  # RAND's N


class State(NamedTuple):
    """Where everything stands; arrays over coalitions n and organizations k."""

    cursor: Ints
    released: Ints  # (k,)
    head: Ints  # (n, k) next job of each queue
    free: Ints  # (n,)
    next_end: Ints  # (n,)
    heap: Ints
    heap_size: Ints  # (n,)
    total: Ints  # (n, 3) twice the coalition's value: a, b, c
    own: Ints  # (n, k, 3) twice the organization's utility
    lent: Ints  # (k, 3) twice the utility earned on each organization's machines, wanted schedule only
    turn: Ints  # (1,) round robin: the organization whose turn it is
    machine_end: Ints  # (machines,) -1 when free; wanted schedule of DIRECTCONTR only
    worth: Ints  # (2^k,) value of each coalition at this time
    stamp: Ints  # (1,) the time `worth` is for
    subset: Ints  # (2^k,) scratch
    folded: Ints  # (2^k,) scratch
    key: Ints  # (k,) scratch


class Output(NamedTuple):
    """What is wanted."""

    start: Ints  # (j,) in the order of `Jobs`
    machine: Ints  # (j,) DIRECTCONTR only
    sample_times: Ints
    sample_value: Ints  # (n, samples)
    sample_own: Ints  # (k, samples), wanted schedule
    sample_lent: Ints  # (k, samples), wanted schedule


@compiled
def _at(poly: Ints, t: int) -> int:
    """A utility or value at time t from its doubled polynomial."""
    return ((poly[0] * t + poly[1]) * t + poly[2]) >> 1


@compiled
def _push(state: State, slot: int, c: int, entry: int) -> None:
    heap = state.heap
    i = state.heap_size[c]
    state.heap_size[c] = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap[slot + parent] <= entry:
            break
        heap[slot + i] = heap[slot + parent]
        i = parent
    heap[slot + i] = entry


@compiled
def _pop(state: State, slot: int, c: int) -> int:
    heap = state.heap
    top = heap[slot]
    size = state.heap_size[c] - 1
    state.heap_size[c] = size
    last = heap[slot + size]
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
        i = child
    heap[slot + i] = last
    return int(top)


@compiled
def _begin(jobs: Jobs, coalitions: Coalitions, state: State, output: Output, c: int, u: int, t: int, horizon: int) -> None:
    """Start the first waiting job of organization u in coalition c."""
    job = state.head[c, u]
    state.head[c, u] = job + 1
    state.free[c] -= 1
    b, s = 1 - 2 * t, t * t - t
    state.total[c, 0] += 1
    state.total[c, 1] += b
    state.total[c, 2] += s
    state.own[c, u, 0] += 1
    state.own[c, u, 1] += b
    state.own[c, u, 2] += s
    end = t + jobs.processing[job]
    if end < horizon:
        _push(state, coalitions.slot[c], c, (end << _ORG_BITS) | u)
        if end < state.next_end[c]:
            state.next_end[c] = end
    if c == len(coalitions.mask) - 1:
        output.start[job] = t
        state.cursor[STARTS] += 1


@compiled
def _finish(coalitions: Coalitions, state: State, c: int, t: int, horizon: int) -> None:
    """Take the jobs that end at t off their machines."""
    slot = coalitions.slot[c]
    b, s = 1 - 2 * t, t * t - t
    while state.heap_size[c] > 0 and (state.heap[slot] >> _ORG_BITS) == t:
        u = _pop(state, slot, c) & ((1 << _ORG_BITS) - 1)
        state.free[c] += 1
        state.total[c, 0] -= 1
        state.total[c, 1] -= b
        state.total[c, 2] -= s
        state.own[c, u, 0] -= 1
        state.own[c, u, 1] -= b
        state.own[c, u, 2] -= s
    state.next_end[c] = state.heap[slot] >> _ORG_BITS if state.heap_size[c] > 0 else horizon


@compiled
def _hand_back(jobs: Jobs, state: State, t: int) -> None:
    """DIRECTCONTR: machines whose job ends at t are free, and stop earning for their owners."""
    for machine in range(len(jobs.owner)):
        if state.machine_end[machine] == t:
            state.machine_end[machine] = -1
            owner = jobs.owner[machine]
            state.lent[owner, 0] -= 1
            state.lent[owner, 1] -= 1 - 2 * t
            state.lent[owner, 2] -= t * t - t


@compiled
def _take_machine(jobs: Jobs, state: State, output: Output, job: int, t: int, draw: float, free: int) -> None:
    """DIRECTCONTR: a machine drawn uniformly among the free ones runs the job and earns its utility for its owner."""
    left = int(draw * free)
    for machine in range(len(jobs.owner)):
        if state.machine_end[machine] == -1:
            if left == 0:
                state.machine_end[machine] = t + jobs.processing[job]
                output.machine[job] = machine
                owner = jobs.owner[machine]
                state.lent[owner, 0] += 1
                state.lent[owner, 1] += 1 - 2 * t
                state.lent[owner, 2] += t * t - t
                return
            left -= 1


@compiled
def _values_at(coalitions: Coalitions, state: State, t: int) -> None:
    """The value of every coalition at time t, once per time."""
    if state.stamp[0] == t:
        return
    state.stamp[0] = t
    for c in range(len(coalitions.mask)):
        state.worth[coalitions.mask[c]] = _at(state.total[c], t)
    state.cursor[WORK] += len(coalitions.mask)


@compiled
def _shapley_keys(coalitions: Coalitions, state: State, c: int, t: int) -> None:
    """key[u] = (psi - phi) of each member at time t, times the scale of the coalition's size. O(2^|C|).

    phi is equation 1 with its sums drawn apart (`shapley.kernel_weights`); the sum over the subsets that hold a member
    is read off by folding the upper half of the subsets onto the lower, one member at a time.
    """
    size = coalitions.size[c]
    subset, folded, worth = state.subset, state.folded, state.worth
    subset[0] = 0
    for place in range(size):
        half = 1 << place
        bit = 1 << coalitions.members[c, place]
        for i in range(half):
            subset[half + i] = subset[i] | bit
    common = 0
    number = 1 << size
    folded[0] = 0
    for i in range(1, number):
        count = 0
        rest = i
        while rest:
            rest &= rest - 1
            count += 1
        value = worth[subset[i]]
        folded[i] = coalitions.member_weight[size, count] * value
        common += coalitions.common_weight[size, count] * value
    for place in range(size - 1, -1, -1):
        half = 1 << place
        held = 0
        for i in range(half):
            held += folded[half + i]
            folded[i] += folded[half + i]
        u = coalitions.members[c, place]
        state.key[u] = coalitions.scale[size] * _at(state.own[c, u], t) - held + common
    state.cursor[WORK] += 4 * number


@compiled
def _sampled_keys(coalitions: Coalitions, state: State, c: int, t: int) -> None:
    """key[u] = N (psi - estimated phi) at time t: figure 6."""
    n = len(coalitions.mask) - 1
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        state.key[u] = coalitions.orderings * _at(state.own[c, u], t)
    for other in range(n):
        value = _at(state.total[other], t)
        for place in range(coalitions.size[c]):
            u = coalitions.members[c, place]
            state.key[u] -= coalitions.sampled[u, other] * value
    state.cursor[WORK] += n * coalitions.size[c]


@compiled
def _fill_keys(jobs: Jobs, coalitions: Coalitions, state: State, c: int, t: int) -> int:
    """Prepare the keys by which a rule compares organizations at t; returns what a start adds to its own key."""
    rule = coalitions.rule[c]
    if rule == REF:
        _values_at(coalitions, state, t)
        _shapley_keys(coalitions, state, c, t)
        return 0
    if rule == REF_NEXT:
        _values_at(coalitions, state, t + 1)
        _shapley_keys(coalitions, state, c, t + 1)
        return int(coalitions.scale[coalitions.size[c]])
    if rule == RAND:
        _sampled_keys(coalitions, state, c, t + 1)
        return int(coalitions.orderings)
    step = 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if rule == DIRECTCONTR:
            state.key[u] = _at(state.own[c, u], t) - _at(state.lent[u], t)
        elif rule == UTFAIRSHARE:
            state.key[u] = _at(state.own[c, u], t)
        elif rule == FAIRSHARE:  # units done by t: in one step psi gains one for each of them and one for each job running
            state.key[u] = _at(state.own[c, u], t + 1) - _at(state.own[c, u], t) - state.own[c, u, 0]
        elif rule == CURRFAIRSHARE:
            state.key[u] = state.own[c, u, 0]
            step = 1
    return step


@compiled
def _before(jobs: Jobs, state: State, rule: int, c: int, u: int, best: int) -> bool:
    """Whether organization u comes before `best` (a lower index, which wins ties) by the rule's keys."""
    key = state.key
    if rule == FAIRSHARE or rule == UTFAIRSHARE or rule == CURRFAIRSHARE:
        mine, theirs = jobs.share[u], jobs.share[best]
        if mine == 0 or theirs == 0:  # a share of 0 is served only when no other organization waits
            if mine == theirs:
                return bool(key[u] < key[best])
            return bool(theirs == 0)
        return bool(key[u] * theirs < key[best] * mine)
    if rule == FIFO:
        return bool(jobs.release[state.head[c, u]] < jobs.release[state.head[c, best]])
    if rule == ROUNDROBIN:
        k, turn = len(jobs.share), state.turn[0]
        return bool((u - turn) % k < (best - turn) % k)
    return bool(key[u] < key[best])


@compiled
def _choose(jobs: Jobs, coalitions: Coalitions, state: State, c: int, draw: float) -> int:
    """The waiting organization that the rule serves next."""
    rule = coalitions.rule[c]
    best, waiting = -1, 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if state.head[c, u] < jobs.first[u] + state.released[u]:
            waiting += 1
            if best < 0 or _before(jobs, state, rule, c, u, best):
                best = u
    if rule != RANDOM:
        return int(best)
    left = int(draw * waiting)
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if state.head[c, u] < jobs.first[u] + state.released[u]:
            if left == 0:
                return int(u)
            left -= 1
    return int(best)


@compiled
def _serve(
    jobs: Jobs, coalitions: Coalitions, state: State, output: Output, draws: Reals, c: int, t: int, horizon: int
) -> None:
    """Give the free machines of a coalition to its waiting jobs."""
    rule = coalitions.rule[c]
    waiting, queues = 0, 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        queue = jobs.first[u] + state.released[u] - state.head[c, u]
        waiting += queue
        queues += queue > 0
    scarce = waiting > state.free[c] and queues > 1
    if scarce and c == len(coalitions.mask) - 1:
        state.cursor[CONTENDED] += 1
    if not scarce and (rule == REF or rule == REF_NEXT or rule == RAND or rule == FIFO):  # the order changes nothing
        for place in range(coalitions.size[c]):
            u = coalitions.members[c, place]
            while state.free[c] > 0 and state.head[c, u] < jobs.first[u] + state.released[u]:
                _begin(jobs, coalitions, state, output, c, u, t, horizon)
    else:
        step = _fill_keys(jobs, coalitions, state, c, t)
        while state.free[c] > 0 and waiting > 0:
            draw = draws[2 * state.cursor[STARTS]] if rule == RANDOM else 0.0
            u = _choose(jobs, coalitions, state, c, draw)
            if rule == DIRECTCONTR:
                _take_machine(jobs, state, output, state.head[c, u], t, draws[2 * state.cursor[STARTS] + 1], state.free[c])
            _begin(jobs, coalitions, state, output, c, u, t, horizon)
            state.key[u] += step
            state.turn[0] = u + 1
            waiting -= 1
    if state.stamp[0] > t:  # values already taken for t + 1 must see these starts
        state.worth[coalitions.mask[c]] = _at(state.total[c], state.stamp[0])


@compiled
def _sample(coalitions: Coalitions, state: State, output: Output, t: int) -> None:
    """Record values and utilities at every sample time up to t; they hold until the events of t change them."""
    main = len(coalitions.mask) - 1
    while state.cursor[SAMPLE] < len(output.sample_times) and output.sample_times[state.cursor[SAMPLE]] <= t:
        place = state.cursor[SAMPLE]
        when = output.sample_times[place]
        for c in range(main + 1):
            output.sample_value[c, place] = _at(state.total[c], when)
        for u in range(output.sample_own.shape[0]):
            output.sample_own[u, place] = _at(state.own[main, u], when)
            output.sample_lent[u, place] = _at(state.lent[u], when)
        state.cursor[SAMPLE] = place + 1


@compiled
def run(
    jobs: Jobs, coalitions: Coalitions, state: State, output: Output, draws: Reals, horizon: int, least: int, budget: int
) -> bool:
    """Play the events until the horizon, or until `budget` units of work are spent; returns whether it is over.

    Coalitions below `least` stand still. The state is all there is: a later call goes on where this one stopped.
    """
    number = len(coalitions.mask)
    spent = state.cursor[WORK] + budget
    while state.cursor[WORK] < spent:
        t = horizon
        event = state.cursor[EVENT]
        if event < len(jobs.event_time) and jobs.event_time[event] < t:
            t = jobs.event_time[event]
        for c in range(least, number):
            if state.next_end[c] < t:
                t = state.next_end[c]
        _sample(coalitions, state, output, t)
        state.cursor[TIME] = t
        if t >= horizon:
            state.cursor[DONE] = 1
            return True
        new = 0
        while event < len(jobs.event_time) and jobs.event_time[event] == t:
            u = jobs.event_org[event]
            state.released[u] += 1
            new |= 1 << min(u, LAST_BIT)
            event += 1
        state.cursor[EVENT] = event
        for c in range(least, number):
            ends = state.next_end[c] == t
            if not ends and (coalitions.mask[c] & new) == 0:
                continue
            if ends:
                _finish(coalitions, state, c, t, horizon)
                if coalitions.rule[c] == DIRECTCONTR:
                    _hand_back(jobs, state, t)
            if state.free[c] > 0:
                _serve(jobs, coalitions, state, output, draws, c, t, horizon)
        state.cursor[WORK] += number - least
    return False
