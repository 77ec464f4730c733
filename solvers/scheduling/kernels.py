"""The one event loop of all rules, compiled: any number of coalitions side by side, each with its
own queues and machines.

All in one file: numba does not notice an edit of a compiled function that stands in another.

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

from ..compiled import compiled

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

_ORG_BITS = 20  # a running job is end * 2**20 + organization in the heaps

LAST_BIT = 62
"""Organizations from here on share a bit of the masks (only where no Shapley value is taken): all
it costs is a look.
"""


class Jobs(NamedTuple):
    """What is given. Jobs are listed by organization, then in starting order: organization u has
    first[u]:first[u+1].
    """

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
    weight: Ints  # what subset i of a coalition of size s counts for its members, at 2**s + i
    scale: Ints  # (k + 1,)
    sampled: Ints  # (k, n): RAND's coefficients of coalition values
    orderings: int  # RAND's N


class State(NamedTuple):
    """Where everything stands, for n coalitions and k organizations."""

    cursor: Ints
    queue_end: Ints  # (k,) jobs from a queue's head to here are released and wait
    new: Ints  # (k,) jobs released at this very time
    board: Ints  # (n, 6)
    desk: Ints  # (n, k, 4)
    next_end: Ints  # (n,) when the first running job ends; the horizon when none does before it
    heap: Ints  # running jobs that end before the horizon
    lent: Ints  # (k, 3) twice the utility earned on each organization's machines (DIRECTCONTR)
    machine_end: Ints  # (machines,) -1 when free (DIRECTCONTR)
    worth: Ints  # (2^k,) value of each coalition at this time
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
def _value(board: Ints, c: int, t: int) -> int:
    """A coalition's value at time t from its doubled polynomial."""
    return int(((board[c, VALUE] * t + board[c, VALUE + 1]) * t + board[c, VALUE + 2]) >> 1)


@compiled
def _utility(desk: Ints, c: int, u: int, t: int) -> int:
    """An organization's utility at time t in a coalition's schedule."""
    return int(((desk[c, u, PSI] * t + desk[c, u, PSI + 1]) * t + desk[c, u, PSI + 2]) >> 1)


@compiled
def _lent(lent: Ints, u: int, t: int) -> int:
    """The utility at time t earned on an organization's machines."""
    return int(((lent[u, 0] * t + lent[u, 1]) * t + lent[u, 2]) >> 1)


@compiled
def _push(heap: Ints, slot: int, size: int, entry: int) -> None:
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[slot + parent] <= entry:
            break
        heap[slot + i] = heap[slot + parent]
        i = parent
    heap[slot + i] = entry


@compiled
def _drop_first(heap: Ints, slot: int, size: int) -> None:
    """Remove the smallest entry; `size` counts what is left."""
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


@compiled
def _begin(
    board: Ints,
    desk: Ints,
    next_end: Ints,
    heap: Ints,
    processing: Ints,
    slot: int,
    c: int,
    u: int,
    t: int,
    horizon: int,
) -> int:
    """Start the first waiting job of organization u in coalition c; returns the job."""
    job = desk[c, u, HEAD]
    desk[c, u, HEAD] = job + 1
    board[c, FREE] -= 1
    board[c, WAITING] -= 1
    b, s = 1 - 2 * t, t * t - t
    board[c, VALUE] += 1
    board[c, VALUE + 1] += b
    board[c, VALUE + 2] += s
    desk[c, u, PSI] += 1
    desk[c, u, PSI + 1] += b
    desk[c, u, PSI + 2] += s
    end = t + processing[job]
    if end < horizon:
        _push(heap, slot, board[c, RUNNING], (end << _ORG_BITS) | u)
        board[c, RUNNING] += 1
        if end < next_end[c]:
            next_end[c] = end
    return int(job)


@compiled
def _finish(
    board: Ints, desk: Ints, next_end: Ints, heap: Ints, slot: int, c: int, t: int, horizon: int
) -> None:
    """Take the jobs that end at t off their machines."""
    b, s = 1 - 2 * t, t * t - t
    size = board[c, RUNNING]
    while size > 0 and (heap[slot] >> _ORG_BITS) == t:
        u = heap[slot] & ((1 << _ORG_BITS) - 1)
        size -= 1
        _drop_first(heap, slot, size)
        board[c, FREE] += 1
        board[c, VALUE] -= 1
        board[c, VALUE + 1] -= b
        board[c, VALUE + 2] -= s
        desk[c, u, PSI] -= 1
        desk[c, u, PSI + 1] -= b
        desk[c, u, PSI + 2] -= s
    board[c, RUNNING] = size
    next_end[c] = heap[slot] >> _ORG_BITS if size > 0 else horizon


@compiled
def _values_at(cursor: Ints, mask: Ints, board: Ints, worth: Ints, t: int) -> None:
    """The value of every coalition at time t, once per time."""
    if cursor[STAMP] == t:
        return
    cursor[STAMP] = t
    for c in range(len(mask)):
        worth[mask[c]] = _value(board, c, t)
    cursor[WORK] += len(mask)


@compiled
def _shapley_keys(
    key: Ints, folded: Ints, worth: Ints, weight: Ints, desk: Ints, members: Ints,
    scale: int, mask: int, size: int, c: int, t: int,
) -> None:  # fmt: skip
    """key[u] = (psi - phi) of each member at t times the scale, plus one number that is the same
    for all. O(2^|C|).

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
    for place in range(size - 1, -1, -1):
        half = 1 << place
        held = 0
        for i in range(half):
            held += folded[half + i]
            folded[i] += folded[half + i]
        u = members[c, place]
        key[u] = scale * _utility(desk, c, u, t) - held


@compiled
def _start_all(
    board: Ints, desk: Ints, next_end: Ints, heap: Ints, processing: Ints, queue_end: Ints,
    start: Ints,
    members: Ints, size: int, slot: int, c: int, t: int, horizon: int,
) -> None:  # fmt: skip
    """Machines are enough, or only one organization waits: in which order its jobs start changes
    nothing.
    """
    wanted = c == len(next_end) - 1
    for place in range(size):
        u = members[c, place]
        for _ in range(min(queue_end[u] - desk[c, u, HEAD], board[c, FREE])):
            job = _begin(board, desk, next_end, heap, processing, slot, c, u, t, horizon)
            if wanted:
                start[job] = t


@compiled
def _scarce(board: Ints, desk: Ints, queue_end: Ints, members: Ints, size: int, c: int) -> bool:
    """Whether more jobs wait than machines are free, and of more than one organization: then the
    rule must choose.
    """
    if board[c, WAITING] <= board[c, FREE]:
        return False
    queues = 0
    for place in range(size):
        u = members[c, place]
        queues += desk[c, u, HEAD] < queue_end[u]
    return bool(queues > 1)


@compiled
def _serve_ref(
    cursor: Ints, mask: Ints, board: Ints, desk: Ints, next_end: Ints, heap: Ints, queue_end: Ints,
    processing: Ints,
    start: Ints, members: Ints, worth: Ints, folded: Ints, weight: Ints, scales: Ints, key: Ints,
    size: int, slot: int, later: int, c: int, t: int, horizon: int,
) -> None:  # fmt: skip
    """REF: the waiting organization of least psi - phi takes the next machine; at t, or `later` at
    t + 1.
    """
    wanted = c == len(mask) - 1
    _values_at(cursor, mask, board, worth, t + later)
    _shapley_keys(
        key, folded, worth, weight, desk, members, scales[size], mask[c], size, c, t + later
    )
    cursor[WORK] += 3 << size
    step = later * scales[size]
    while board[c, FREE] > 0 and board[c, WAITING] > 0:
        best = -1
        for place in range(size):
            u = members[c, place]
            if desk[c, u, HEAD] < queue_end[u] and (best < 0 or key[u] - key[best] < 0):
                best = u
        number = 1 if later else min(queue_end[best] - desk[c, best, HEAD], board[c, FREE])
        for _ in range(number):
            job = _begin(board, desk, next_end, heap, processing, slot, c, best, t, horizon)
            if wanted:
                start[job] = t
        key[best] += step


@compiled
def _sampled_keys(coalitions: Coalitions, state: State, c: int, t: int) -> None:
    """key[u] = N (psi - estimated phi) at time t: figure 6."""
    n, size, key = len(coalitions.mask) - 1, coalitions.size[c], state.key
    for place in range(size):
        u = coalitions.members[c, place]
        key[u] = coalitions.orderings * _utility(state.desk, c, u, t)
    for other in range(n):
        value = _value(state.board, other, t)
        for place in range(size):
            u = coalitions.members[c, place]
            key[u] -= coalitions.sampled[u, other] * value
    state.cursor[WORK] += n * size


@compiled
def _fill_keys(coalitions: Coalitions, state: State, c: int, t: int) -> int:
    """Prepare the keys by which a rule compares organizations at t; returns what a start adds to
    its own key.
    """
    rule, desk, key = coalitions.rule[c], state.desk, state.key
    if rule == RAND or rule == RAND_NEXT:
        _sampled_keys(coalitions, state, c, t + rule - RAND)
        return int(coalitions.orderings * (rule - RAND))
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if rule == DIRECTCONTR:
            key[u] = _utility(desk, c, u, t) - _lent(state.lent, u, t)
        elif rule == UTFAIRSHARE:
            key[u] = _utility(desk, c, u, t)
        elif rule == FAIRSHARE:
            # units done by t: a step adds to psi one for each of them and one for each job running
            key[u] = _utility(desk, c, u, t + 1) - _utility(desk, c, u, t) - desk[c, u, PSI]
        elif rule == CURRFAIRSHARE:
            key[u] = desk[c, u, PSI]
    return 1 if rule == CURRFAIRSHARE else 0


@compiled
def _before(jobs: Jobs, state: State, rule: int, c: int, u: int, best: int) -> bool:
    """Whether organization u comes before `best` (a lower index, which wins ties) by the rule's
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


@compiled
def _choose(jobs: Jobs, coalitions: Coalitions, state: State, c: int, draw: float) -> int:
    """The waiting organization that the rule serves next."""
    rule = coalitions.rule[c]
    best, waiting = -1, 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if state.desk[c, u, HEAD] < state.queue_end[u]:
            waiting += 1
            if best < 0 or _before(jobs, state, rule, c, u, best):
                best = u
    if rule != RANDOM:
        return int(best)
    left = int(draw * waiting)
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if state.desk[c, u, HEAD] < state.queue_end[u]:
            if left == 0:
                return int(u)
            left -= 1
    return int(best)


@compiled
def _take_machine(jobs: Jobs, state: State, job: int, t: int, draw: float, free: int) -> int:
    """DIRECTCONTR: a machine drawn uniformly among the free ones runs the job and earns its utility
    for its owner.
    """
    left = int(draw * free)
    state.cursor[WORK] += len(jobs.owner)
    for machine in range(len(jobs.owner)):
        if state.machine_end[machine] == -1:
            if left == 0:
                state.machine_end[machine] = t + jobs.processing[job]
                owner = jobs.owner[machine]
                state.lent[owner, 0] += 1
                state.lent[owner, 1] += 1 - 2 * t
                state.lent[owner, 2] += t * t - t
                return int(machine)
            left -= 1
    return -1


@compiled
def _hand_back(jobs: Jobs, state: State, t: int) -> None:
    """DIRECTCONTR: machines whose job ends at t are free, and stop earning for their owners."""
    state.cursor[WORK] += len(jobs.owner)
    for machine in range(len(jobs.owner)):
        if state.machine_end[machine] == t:
            state.machine_end[machine] = -1
            owner = jobs.owner[machine]
            state.lent[owner, 0] -= 1
            state.lent[owner, 1] -= 1 - 2 * t
            state.lent[owner, 2] -= t * t - t


@compiled
def _serve(
    jobs: Jobs,
    coalitions: Coalitions,
    state: State,
    output: Output,
    draws: Reals,
    c: int,
    t: int,
    horizon: int,
) -> None:
    """Every rule but REF: give the free machines to waiting jobs, one at a time."""
    rule, board, slot = coalitions.rule[c], state.board, coalitions.slot[c]
    wanted = c == len(coalitions.mask) - 1
    step = _fill_keys(coalitions, state, c, t)
    while board[c, FREE] > 0 and board[c, WAITING] > 0:
        draw = draws[2 * state.cursor[STARTS]] if rule == RANDOM else 0.0
        u = _choose(jobs, coalitions, state, c, draw)
        free = board[c, FREE]
        job = _begin(
            board, state.desk, state.next_end, state.heap, jobs.processing, slot, c, u, t, horizon
        )
        state.key[u] += step
        if wanted:
            if rule == DIRECTCONTR:
                output.machine[job] = _take_machine(
                    jobs, state, job, t, draws[2 * state.cursor[STARTS] + 1], free
                )
            output.start[job] = t
            state.cursor[STARTS] += 1
            state.cursor[TURN] = u + 1


@compiled
def _sample(coalitions: Coalitions, state: State, output: Output, t: int) -> None:
    """Record values and utilities at every sample time up to t; they hold until the events of t
    change them.
    """
    main = len(coalitions.mask) - 1
    while (
        state.cursor[SAMPLE] < len(output.sample_times)
        and output.sample_times[state.cursor[SAMPLE]] <= t
    ):
        place = state.cursor[SAMPLE]
        when = output.sample_times[place]
        for c in range(main + 1):
            output.sample_value[c, place] = _value(state.board, c, when)
        for u in range(output.sample_own.shape[0]):
            output.sample_own[u, place] = _utility(state.desk, main, u, when)
            output.sample_lent[u, place] = _lent(state.lent, u, when)
        state.cursor[SAMPLE] = place + 1


@compiled
def run(
    jobs: Jobs,
    coalitions: Coalitions,
    state: State,
    output: Output,
    draws: Reals,
    horizon: int,
    least: int,
    budget: int,
) -> bool:
    """Play the events until the horizon, or until `budget` units of work are spent; returns whether
    it is over.

    Coalitions below `least` stand still. The state is all there is: a later call goes on where this
    one stopped.
    """
    # Unpacked once, and handed over one by one: each array taken out of a tuple costs two atomic
    # counts.
    cursor, new, next_end, board, desk, heap = (
        state.cursor,
        state.new,
        state.next_end,
        state.board,
        state.desk,
        state.heap,
    )
    queue_end, worth, event_time, event_org = (
        state.queue_end,
        state.worth,
        jobs.event_time,
        jobs.event_org,
    )
    mask, rules, sizes, members, slots = (
        coalitions.mask,
        coalitions.rule,
        coalitions.size,
        coalitions.members,
        coalitions.slot,
    )
    processing, start, samples = jobs.processing, output.start, output.sample_times
    folded, weight, scales, key = state.folded, coalitions.weight, coalitions.scale, state.key
    number, events = len(mask), len(event_time)
    # the next end of a job in any coalition
    spent = cursor[WORK] + budget
    soonest = horizon
    for c in range(least, number):
        soonest = min(soonest, next_end[c])
    while cursor[WORK] < spent:
        # the next moment: an end or a release; values are sampled up to it
        event = cursor[EVENT]
        t = soonest if event >= events else min(soonest, event_time[event])
        t = min(t, horizon)
        if cursor[SAMPLE] < len(samples) and samples[cursor[SAMPLE]] <= t:
            _sample(coalitions, state, output, t)
        cursor[TIME] = t
        if t >= horizon:
            return True
        # the releases of this moment lengthen their organizations' queues
        arrived = 0
        while event < events and event_time[event] == t:
            u = event_org[event]
            queue_end[u] += 1
            new[u] += 1
            arrived |= 1 << min(u, LAST_BIT)
            event += 1
        cursor[EVENT] = event
        # each coalition with an end or a release of this moment plays it
        soonest = horizon
        for c in range(least, number):
            ends = next_end[c] == t
            if ends or (mask[c] & arrived) != 0:
                size, slot, rule = sizes[c], slots[c], rules[c]
                # machines whose jobs end are free again
                if ends:
                    _finish(board, desk, next_end, heap, slot, c, t, horizon)
                    if rule == DIRECTCONTR:
                        _hand_back(jobs, state, t)
                # new jobs wait
                if mask[c] & arrived:
                    for place in range(size):
                        board[c, WAITING] += new[members[c, place]]
                # free machines are given out: by the rule where it decides, else to all who wait
                if board[c, FREE] > 0 and board[c, WAITING] > 0:
                    scarce = _scarce(board, desk, queue_end, members, size, c)
                    if scarce and c == number - 1:
                        cursor[CONTENDED] += 1
                    if scarce and (rule == REF or rule == REF_NEXT):
                        _serve_ref(
                            cursor, mask, board, desk, next_end, heap, queue_end, processing, start,
                            members,
                            worth, folded, weight, scales, key, size, slot, rule - REF, c, t,
                            horizon,
                        )  # fmt: skip
                    elif (
                        scarce or DIRECTCONTR <= rule < FIFO or rule == RANDOM
                    ):  # these keep a turn, machines or draws
                        _serve(jobs, coalitions, state, output, draws, c, t, horizon)
                    else:
                        _start_all(
                            board,
                            desk,
                            next_end,
                            heap,
                            processing,
                            queue_end,
                            start,
                            members,
                            size,
                            slot,
                            c,
                            t,
                            horizon,
                        )
                if (
                    rule == REF_NEXT and cursor[STAMP] > t
                ):  # values already taken for t + 1 must see what happened at t
                    worth[mask[c]] = _value(board, c, t + 1)
            soonest = min(soonest, next_end[c])
        if arrived:
            new[:] = 0
        cursor[WORK] += number - least
    return False
