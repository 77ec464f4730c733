"""The one event loop of all rules, compiled: any number of coalitions side by side, each with its
own queues and machines. `run` is it for sequential jobs on like machines, the model of the paper;
`run_wide`, at the end, for parallel jobs and machines of different speeds.

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
    level: Ints  # (k,) a higher one is served first by the fair-share rules


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
        above = 0
        for i in range(half):
            above += folded[half + i]
            folded[i] += folded[half + i]
        u = members[c, place]
        key[u] = scale * _utility(desk, c, u, t) - above


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
        if jobs.level[u] != jobs.level[best]:
            return bool(jobs.level[u] > jobs.level[best])
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


# Parallel jobs and machines of different speeds. A running job brings `rate` units of work in each
# unit of time: its processors, or the speed of its machine; with speeds, what is left at the end
# takes a unit of time of its own, at a rate of its own. Everything else is as above.


class Wide(NamedTuple):
    """What is given, and where it stands, beyond sequential jobs on like machines."""

    need: Ints  # (j,) machines a job takes, in the order of `Jobs`
    org: Ints  # (j,) its organization
    machines: Ints  # (n,) of each coalition; jobs that need more do not exist for it
    passing: bool  # with backfilling
    related: bool  # machines have speeds
    speed: Ints  # (s,) the speeds there are, the fastest first
    kind: Ints  # (machines,) index of each machine's speed
    free: Ints  # (n, s) free machines by speed
    wanted: Ints  # (n,) machines that the waiting jobs take in all
    mark: Ints  # beside `State.heap`: 2 * speed index + whether a rest follows
    taken: Ints  # (j,) speed index of the machine, wanted schedule
    runs: Ints  # (machines,) the job on each, -1 when free (DIRECTCONTR)
    others: Ints  # further machines of each job (DIRECTCONTR)
    others_at: Ints  # (j,) where a job's begin there


_JOB_BITS = 32  # a running job is end * 2**32 + job here; the horizon is below 2**31


@compiled
def _push_both(heap: Ints, mark: Ints, slot: int, size: int, entry: int, tag: int) -> None:
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


@compiled
def _drop_first_of_both(heap: Ints, mark: Ints, slot: int, size: int) -> None:
    """Remove the smallest entry; `size` counts what is left."""
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


@compiled
def _change_rate(board: Ints, desk: Ints, c: int, u: int, t: int, rate: int) -> None:
    """From t on organization u gets so many units of work more in each unit of time."""
    b, s = rate * (1 - 2 * t), rate * (t * t - t)
    board[c, VALUE] += rate
    board[c, VALUE + 1] += b
    board[c, VALUE + 2] += s
    desk[c, u, PSI] += rate
    desk[c, u, PSI + 1] += b
    desk[c, u, PSI + 2] += s


@compiled
def _change_lent(jobs: Jobs, state: State, wide: Wide, job: int, t: int, rate: int) -> None:
    """DIRECTCONTR: from t on the owners of a job's machines earn so much more on each of them."""
    state.cursor[WORK] += len(jobs.owner)
    for machine in range(len(jobs.owner)):
        if wide.runs[machine] == job:
            owner = jobs.owner[machine]
            state.lent[owner, 0] += rate
            state.lent[owner, 1] += rate * (1 - 2 * t)
            state.lent[owner, 2] += rate * (t * t - t)


@compiled
def _rate_and_rest(jobs: Jobs, wide: Wide, job: int, kind: int) -> tuple[int, int]:
    """Units of work in each unit of time, and what is left for a last one."""
    if wide.related:
        return wide.speed[kind], jobs.processing[job] % wide.speed[kind]
    return wide.need[job], 0


@compiled
def _drop_too_wide(state: State, wide: Wide, c: int, u: int) -> None:
    """Jobs that need more machines than the coalition has leave the head of the queue."""
    job = state.desk[c, u, HEAD]
    while job < state.queue_end[u] and wide.need[job] > wide.machines[c]:
        job += 1
    state.desk[c, u, HEAD] = job


@compiled
def _arrive(coalitions: Coalitions, state: State, wide: Wide, c: int) -> bool:
    """New jobs wait; whether there are any that the coalition can run."""
    came = 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        for job in range(state.queue_end[u] - state.new[u], state.queue_end[u]):
            if wide.need[job] <= wide.machines[c]:
                came += 1
                wide.wanted[c] += wide.need[job]
        _drop_too_wide(state, wide, c, u)
    state.board[c, WAITING] += came
    return came > 0


@compiled
def _begin_wide(
    jobs: Jobs, state: State, wide: Wide, slot: int, c: int, u: int, t: int, horizon: int
) -> tuple[int, int]:
    """Start the first waiting job of organization u in coalition c on the fastest free machines;
    returns the job and the index of their speed.
    """
    job = int(state.desk[c, u, HEAD])
    state.desk[c, u, HEAD] = job + 1
    _drop_too_wide(state, wide, c, u)
    state.board[c, FREE] -= wide.need[job]
    state.board[c, WAITING] -= 1
    wide.wanted[c] -= wide.need[job]
    kind = 0
    if wide.related:
        while wide.free[c, kind] == 0:
            kind += 1
    wide.free[c, kind] -= wide.need[job]
    rate, rest = _rate_and_rest(jobs, wide, job, kind)
    full = jobs.processing[job] // rate if wide.related else jobs.processing[job]
    _change_rate(state.board, state.desk, c, u, t, rate if full > 0 else rest)
    end = t + max(full, 1)
    if end < horizon:
        tag = 2 * kind + (full > 0 and rest > 0)
        size = state.board[c, RUNNING]
        _push_both(state.heap, wide.mark, slot, size, (end << _JOB_BITS) | job, tag)
        state.board[c, RUNNING] = size + 1
        state.next_end[c] = min(state.next_end[c], end)
    return job, kind


@compiled
def _finish_wide(
    jobs: Jobs, coalitions: Coalitions, state: State, wide: Wide, c: int, t: int, horizon: int
) -> bool:
    """Take the jobs that end at t off their machines, and turn to their rests those that have one;
    whether a machine is free again.
    """
    slot, board, heap = coalitions.slot[c], state.board, state.heap
    direct = coalitions.rule[c] == DIRECTCONTR
    size, ended = board[c, RUNNING], False
    while size > 0 and (heap[slot] >> _JOB_BITS) == t:
        job, tag = heap[slot] & ((1 << _JOB_BITS) - 1), wide.mark[slot]
        kind, u = tag >> 1, wide.org[job]
        rate, rest = _rate_and_rest(jobs, wide, job, kind)
        size -= 1
        _drop_first_of_both(heap, wide.mark, slot, size)
        if tag & 1:
            change = rest - rate
            if t + 1 < horizon:
                _push_both(heap, wide.mark, slot, size, ((t + 1) << _JOB_BITS) | job, 2 * kind)
                size += 1
        else:
            change = -rest if rest > 0 else -rate
        _change_rate(board, state.desk, c, u, t, change)
        if direct:
            _change_lent(jobs, state, wide, job, t, change // wide.need[job])
        if not tag & 1:
            ended = True
            board[c, FREE] += wide.need[job]
            wide.free[c, kind] += wide.need[job]
            if direct:
                for machine in range(len(jobs.owner)):
                    if wide.runs[machine] == job:
                        wide.runs[machine] = -1
    board[c, RUNNING] = size
    state.next_end[c] = heap[slot] >> _JOB_BITS if size > 0 else horizon
    return ended


@compiled
def _must_choose(coalitions: Coalitions, state: State, wide: Wide, c: int) -> bool:
    """Whether it matters whom the rule serves: several organizations wait, and not all of their
    jobs fit, or not all into machines of one speed.
    """
    if wide.related:
        kind = 0
        while wide.free[c, kind] == 0:
            kind += 1
        if state.board[c, WAITING] <= wide.free[c, kind]:
            return False
    elif wide.wanted[c] <= state.board[c, FREE]:
        return False
    queues = 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        queues += state.desk[c, u, HEAD] < state.queue_end[u]
    return bool(queues > 1)


@compiled
def _may_be_served(state: State, wide: Wide, c: int, u: int) -> bool:
    """Whether a job of organization u waits, and with backfilling fits."""
    head = state.desk[c, u, HEAD]
    if head >= state.queue_end[u]:
        return False
    return bool(not wide.passing or wide.need[head] <= state.board[c, FREE])


@compiled
def _choose_wide(
    jobs: Jobs, coalitions: Coalitions, state: State, wide: Wide, c: int, draw: float
) -> int:
    """The organization that the rule serves next, or waits for; -1 for none."""
    rule, key = coalitions.rule[c], state.key
    best, waiting = -1, 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if _may_be_served(state, wide, c, u):
            waiting += 1
            if best < 0:
                best = u
            elif rule <= REF_NEXT:
                best = u if key[u] - key[best] < 0 else best
            elif _before(jobs, state, rule, c, u, best):
                best = u
    if rule == RANDOM and waiting > 1:
        left = int(draw * waiting)
        for place in range(coalitions.size[c]):
            u = coalitions.members[c, place]
            if _may_be_served(state, wide, c, u):
                if left == 0:
                    return int(u)
                left -= 1
    return int(best)


@compiled
def _take_machines(
    jobs: Jobs, state: State, wide: Wide, output: Output, job: int, kind: int, among: int,
    draw: float,
) -> None:  # fmt: skip
    """DIRECTCONTR: a machine drawn uniformly among the free ones (of the fastest free speed) runs
    the job, with as many of the next free ones, in a circle, as it takes besides.
    """
    skip, count = int(draw * among), len(jobs.owner)
    left = wide.need[job]
    place = wide.others_at[job]
    state.cursor[WORK] += 2 * count
    for step in range(2 * count):
        machine = step % count
        if wide.runs[machine] == -1 and wide.kind[machine] == kind:
            if skip > 0:
                skip -= 1
                continue
            if left == wide.need[job]:
                output.machine[job] = machine
            else:
                wide.others[place] = machine
                place += 1
            wide.runs[machine] = job
            left -= 1
            if left == 0:
                return


@compiled
def _serve_wide(
    jobs: Jobs, coalitions: Coalitions, state: State, wide: Wide, output: Output, draws: Reals,
    c: int, t: int, horizon: int,
) -> None:  # fmt: skip
    """Give the free machines to waiting jobs, one job at a time, until none is left, or nobody
    waits, or the job that the rule chooses does not fit.
    """
    rule, board, slot = coalitions.rule[c], state.board, coalitions.slot[c]
    wanted, size = c == len(coalitions.mask) - 1, coalitions.size[c]
    matters = _must_choose(coalitions, state, wide, c)
    step = 0
    if matters and wanted:
        state.cursor[CONTENDED] += 1
    if matters and rule <= REF_NEXT:
        later = rule - REF
        _values_at(state.cursor, coalitions.mask, board, state.worth, t + later)
        _shapley_keys(
            state.key, state.folded, state.worth, coalitions.weight, state.desk,
            coalitions.members, coalitions.scale[size], coalitions.mask[c], size, c, t + later,
        )  # fmt: skip
        state.cursor[WORK] += 3 << size
        step = int(later * coalitions.scale[size])
    elif matters or DIRECTCONTR <= rule < FIFO:
        step = _fill_keys(coalitions, state, c, t)
    while board[c, FREE] > 0 and board[c, WAITING] > 0:
        draw = draws[2 * state.cursor[STARTS]] if rule == RANDOM else 0.0
        u = _choose_wide(jobs, coalitions, state, wide, c, draw)
        if u < 0 or wide.need[state.desk[c, u, HEAD]] > board[c, FREE]:
            return
        before, free = state.desk[c, u, PSI], board[c, FREE]
        job, kind = _begin_wide(jobs, state, wide, slot, c, u, t, horizon)
        rate = state.desk[c, u, PSI] - before
        state.key[u] += step * rate
        if wanted:
            if rule == DIRECTCONTR:
                among = wide.free[c, kind] + 1 if wide.related else free
                _take_machines(
                    jobs, state, wide, output, job, kind, among,
                    draws[2 * state.cursor[STARTS] + 1],
                )  # fmt: skip
                _change_lent(jobs, state, wide, job, t, rate // wide.need[job])
            output.start[job] = t
            wide.taken[job] = kind
            state.cursor[STARTS] += 1
            state.cursor[TURN] = u + 1


@compiled
def run_wide(
    jobs: Jobs, coalitions: Coalitions, state: State, wide: Wide, output: Output, draws: Reals,
    horizon: int, least: int, budget: int,
) -> bool:  # fmt: skip
    """`run` for parallel jobs, or machines of different speeds."""
    cursor, new, next_end, mask = state.cursor, state.new, state.next_end, coalitions.mask
    number, events = len(mask), len(jobs.event_time)
    spent = cursor[WORK] + budget
    soonest = horizon
    for c in range(least, number):
        soonest = min(soonest, next_end[c])
    while cursor[WORK] < spent:
        # the next moment: an end, a change of rate or a release; values are sampled up to it
        event = cursor[EVENT]
        t = soonest if event >= events else min(soonest, jobs.event_time[event])
        t = min(t, horizon)
        _sample(coalitions, state, output, t)
        cursor[TIME] = t
        if t >= horizon:
            return True
        # the releases of this moment lengthen their organizations' queues
        arrived = 0
        while event < events and jobs.event_time[event] == t:
            u = jobs.event_org[event]
            state.queue_end[u] += 1
            new[u] += 1
            arrived |= 1 << min(u, LAST_BIT)
            event += 1
        cursor[EVENT] = event
        # each coalition with an end or a new job of its own decides
        soonest = horizon
        for c in range(least, number):
            decides = next_end[c] == t and _finish_wide(
                jobs, coalitions, state, wide, c, t, horizon
            )
            if (mask[c] & arrived) != 0:
                decides |= _arrive(coalitions, state, wide, c)
            if decides and state.board[c, FREE] > 0 and state.board[c, WAITING] > 0:
                _serve_wide(jobs, coalitions, state, wide, output, draws, c, t, horizon)
            if coalitions.rule[c] == REF_NEXT and cursor[STAMP] > t:
                state.worth[mask[c]] = _value(state.board, c, t + 1)
            soonest = min(soonest, next_end[c])
        if arrived:
            new[:] = 0
        cursor[WORK] += number - least
    return False
