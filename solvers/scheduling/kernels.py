"""Compiled event loop of fair scheduling: coalitions side by side, each with its own queues and
machines, their values, and the keys by which the rules compare organizations.

A running job brings `rate` units of work in each unit of time: its processors, or the speed of its
machine; with speeds, what is left at the end takes a unit of time of its own, at a rate of its own.

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
from ..heap_kernels import drop_first, push

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
    """Coalitions of organizations in order of size; the one whose schedule is wanted is last."""

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


class Machines(NamedTuple):
    """Machines of the event loop: needs of jobs, speeds, free machines, and running jobs."""

    need: Ints  # (j,) machines a job takes, in the order of `Jobs`
    org: Ints  # (j,) its organization
    total: Ints  # (n,) machines of each coalition; jobs that need more do not exist for it
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


class Output(NamedTuple):
    """Values and utilities recorded at the sample times."""

    start: Ints  # (j,) in the order of `Jobs`
    machine: Ints  # (j,) DIRECTCONTR only
    sample_times: Ints
    sample_value: Ints  # (n, samples)
    sample_own: Ints  # (k, samples), wanted schedule
    sample_lent: Ints  # (k, samples), wanted schedule


@compiled_without_counts
def value_at(board: Ints, c: int, t: int) -> int:
    """Value of a coalition at time t, from the board's polynomial in t for twice the value."""
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
    """Compute how far each member's utility psi is above its Shapley value phi at t, in O(2^|C|):
    key[u] is (psi - phi) times the scale, plus a common constant.

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
    """Set each member's key to (psi - estimated phi) times the number of sampled orders."""
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
    """Compute the keys by which a scheduling rule compares organizations at time t; return how much
    a job that starts adds to its organization's key.
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


_JOB_BITS = 32  # a running job is end * 2**32 + job here; the horizon is below 2**31


@compiled_without_counts
def _change_rate(board: Ints, desk: Ints, c: int, u: int, t: int, rate: int) -> None:
    """Change the rate of organization u by `rate` units of work per unit of time from t on."""
    b, s = rate * (1 - 2 * t), rate * (t * t - t)
    board[c, VALUE] += rate
    board[c, VALUE + 1] += b
    board[c, VALUE + 2] += s
    desk[c, u, PSI] += rate
    desk[c, u, PSI + 1] += b
    desk[c, u, PSI + 2] += s


@compiled_without_counts
def _change_lent(jobs: Jobs, state: State, machines: Machines, job: int, t: int, rate: int) -> None:
    """Change by `rate`, from t on, what the owners of a job's machines earn on each of them
    (DIRECTCONTR).
    """
    state.cursor[WORK] += len(jobs.owner)
    for machine in range(len(jobs.owner)):
        if machines.runs[machine] == job:
            owner = jobs.owner[machine]
            state.lent[owner, 0] += rate
            state.lent[owner, 1] += rate * (1 - 2 * t)
            state.lent[owner, 2] += rate * (t * t - t)


@compiled_without_counts
def _rate_and_rest(jobs: Jobs, machines: Machines, job: int, kind: int) -> tuple[int, int]:
    """Units of work that a job does per unit of time, and those left for its last unit of time."""
    if machines.related:
        return machines.speed[kind], jobs.processing[job] % machines.speed[kind]
    return machines.need[job], 0


@compiled_without_counts
def _drop_too_wide(state: State, machines: Machines, c: int, u: int) -> None:
    """Remove jobs that need more machines than the coalition has from the head of the queue."""
    job = state.desk[c, u, HEAD]
    while job < state.queue_end[u] and machines.need[job] > machines.total[c]:
        job += 1
    state.desk[c, u, HEAD] = job


@compiled_without_counts
def _arrive(coalitions: Coalitions, state: State, machines: Machines, c: int) -> bool:
    """Add new jobs to the queues; return whether the coalition can run any of them."""
    came = 0
    for index in range(coalitions.size[c]):
        u = coalitions.members[c, index]
        for job in range(state.queue_end[u] - state.new[u], state.queue_end[u]):
            if machines.need[job] <= machines.total[c]:
                came += 1
                machines.wanted[c] += machines.need[job]
        _drop_too_wide(state, machines, c, u)
    state.board[c, WAITING] += came
    return came > 0


@compiled_without_counts
def _begin(
    jobs: Jobs, state: State, machines: Machines, slot: int, c: int, u: int, t: int, horizon: int
) -> tuple[int, int]:
    """Start the first waiting job of organization u in coalition c on the fastest free machines;
    return the job and the index of their speed.
    """
    job = int(state.desk[c, u, HEAD])
    state.desk[c, u, HEAD] = job + 1
    _drop_too_wide(state, machines, c, u)
    state.board[c, FREE] -= machines.need[job]
    state.board[c, WAITING] -= 1
    machines.wanted[c] -= machines.need[job]
    kind = 0
    if machines.related:
        while machines.free[c, kind] == 0:
            kind += 1
    machines.free[c, kind] -= machines.need[job]
    rate, rest = _rate_and_rest(jobs, machines, job, kind)
    full = jobs.processing[job] // rate if machines.related else jobs.processing[job]
    _change_rate(state.board, state.desk, c, u, t, rate if full > 0 else rest)
    end = t + max(full, 1)
    if end < horizon:
        tag = 2 * kind + (full > 0 and rest > 0)
        size = state.board[c, RUNNING]
        push(state.heap, machines.mark, slot, size, (end << _JOB_BITS) | job, tag)
        state.board[c, RUNNING] = size + 1
        state.next_end[c] = min(state.next_end[c], end)
    return job, kind


@compiled_without_counts
def _finish(
    jobs: Jobs,
    coalitions: Coalitions,
    state: State,
    machines: Machines,
    c: int,
    t: int,
    horizon: int,
) -> bool:
    """Remove the jobs that end at t, and continue those with a remainder; return whether a machine
    is free again.
    """
    slot, board, heap = coalitions.slot[c], state.board, state.heap
    direct = coalitions.rule[c] == DIRECTCONTR
    size, ended = board[c, RUNNING], False
    while size > 0 and (heap[slot] >> _JOB_BITS) == t:
        job, tag = heap[slot] & ((1 << _JOB_BITS) - 1), machines.mark[slot]
        kind, u = tag >> 1, machines.org[job]  # odd tag: a slot for the rest follows
        rate, rest = _rate_and_rest(jobs, machines, job, kind)
        size -= 1
        drop_first(heap, machines.mark, slot, size)
        if tag & 1:
            change = rest - rate
            if t + 1 < horizon:
                push(heap, machines.mark, slot, size, ((t + 1) << _JOB_BITS) | job, 2 * kind)
                size += 1
        else:
            change = -rest if rest > 0 else -rate
        _change_rate(board, state.desk, c, u, t, change)
        if direct:
            _change_lent(jobs, state, machines, job, t, change // machines.need[job])
        if not tag & 1:
            ended = True
            board[c, FREE] += machines.need[job]
            machines.free[c, kind] += machines.need[job]
            if direct:
                for machine in range(len(jobs.owner)):
                    if machines.runs[machine] == job:
                        machines.runs[machine] = -1
    board[c, RUNNING] = size
    state.next_end[c] = heap[slot] >> _JOB_BITS if size > 0 else horizon
    return ended


@compiled_without_counts
def _must_choose(coalitions: Coalitions, state: State, machines: Machines, c: int) -> bool:
    """Return whether the rule must choose: several organizations wait, and not all their jobs fit,
    or not on machines of one speed.
    """
    if machines.related:
        kind = 0
        while machines.free[c, kind] == 0:
            kind += 1
        if state.board[c, WAITING] <= machines.free[c, kind]:
            return False
    elif machines.wanted[c] <= state.board[c, FREE]:
        return False
    queues = 0
    for index in range(coalitions.size[c]):
        u = coalitions.members[c, index]
        queues += state.desk[c, u, HEAD] < state.queue_end[u]
    return bool(queues > 1)


@compiled_without_counts
def _may_be_served(state: State, machines: Machines, c: int, u: int) -> bool:
    """Return whether a job of organization u waits and, with backfilling, fits."""
    head = state.desk[c, u, HEAD]
    if head >= state.queue_end[u]:
        return False
    return bool(not machines.passing or machines.need[head] <= state.board[c, FREE])


@compiled_without_counts
def _choose(
    jobs: Jobs, coalitions: Coalitions, state: State, machines: Machines, c: int, draw: float,
    first: bool,
) -> int:  # fmt: skip
    """Member whose waiting job is served next, by the rule or as the `first` one; -1 if none."""
    rule, key = coalitions.rule[c], state.key
    best, waiting = -1, 0
    for index in range(coalitions.size[c]):
        u = coalitions.members[c, index]
        if _may_be_served(state, machines, c, u):
            waiting += 1
            if best < 0:
                best = u
                if first:
                    break
            elif rule <= REF_NEXT:
                best = u if key[u] - key[best] < 0 else best
            elif comes_before(jobs, state, rule, c, u, best):
                best = u
    if rule == RANDOM and waiting > 1:
        left = int(draw * waiting)
        for index in range(coalitions.size[c]):
            u = coalitions.members[c, index]
            if _may_be_served(state, machines, c, u):
                if left == 0:
                    return int(u)
                left -= 1
    return int(best)


@compiled_without_counts
def _take_machines(
    jobs: Jobs, state: State, machines: Machines, output: Output, job: int, kind: int, among: int,
    draw: float,
) -> None:  # fmt: skip
    """Assign the job to a random free machine (of the fastest free speed) and the next free ones in
    a circle (DIRECTCONTR).
    """
    skip, count = int(draw * among), len(jobs.owner)
    left = machines.need[job]
    place = machines.others_at[job]
    state.cursor[WORK] += 2 * count
    for step in range(2 * count):
        machine = step % count
        if machines.runs[machine] == -1 and machines.kind[machine] == kind:
            if skip > 0:
                skip -= 1
                continue
            if left == machines.need[job]:
                output.machine[job] = machine
            else:
                machines.others[place] = machine
                place += 1
            machines.runs[machine] = job
            left -= 1
            if left == 0:
                return


@compiled_without_counts
def _serve(
    jobs: Jobs, coalitions: Coalitions, state: State, machines: Machines, output: Output,
    draws: Reals, c: int, t: int, horizon: int,
) -> None:  # fmt: skip
    """Assign free machines to waiting jobs one job at a time, until none is free, nobody waits, or
    the chosen job does not fit.
    """
    rule, board, slot = coalitions.rule[c], state.board, coalitions.slot[c]
    wanted, size = c == len(coalitions.mask) - 1, coalitions.size[c]
    matters = _must_choose(coalitions, state, machines, c)
    step = 0
    if matters and wanted:
        state.cursor[CONTENDED] += 1
    if matters and rule <= REF_NEXT:
        later = rule - REF
        value_all(state.cursor, coalitions.mask, board, state.worth, t + later)
        shapley_keys(
            state.key, state.folded, state.worth, coalitions.weight, state.desk,
            coalitions.members, coalitions.scale[size], coalitions.mask[c], size, c, t + later,
        )  # fmt: skip
        state.cursor[WORK] += 3 << size
        step = int(later * coalitions.scale[size])
    elif matters or DIRECTCONTR <= rule < FIFO:
        step = fill_keys(coalitions, state, c, t)
    first = not matters and (rule < DIRECTCONTR or rule == FIFO)
    while board[c, FREE] > 0 and board[c, WAITING] > 0:
        draw = draws[2 * state.cursor[STARTS]] if rule == RANDOM else 0.0
        u = _choose(jobs, coalitions, state, machines, c, draw, first)
        if u < 0 or machines.need[state.desk[c, u, HEAD]] > board[c, FREE]:
            return
        before, free = state.desk[c, u, PSI], board[c, FREE]
        job, kind = _begin(jobs, state, machines, slot, c, u, t, horizon)
        rate = state.desk[c, u, PSI] - before
        state.key[u] += step * rate
        if wanted:
            if rule == DIRECTCONTR:
                among = machines.free[c, kind] + 1 if machines.related else free
                _take_machines(
                    jobs, state, machines, output, job, kind, among,
                    draws[2 * state.cursor[STARTS] + 1],
                )  # fmt: skip
                _change_lent(jobs, state, machines, job, t, rate // machines.need[job])
            output.start[job] = t
            machines.taken[job] = kind
            state.cursor[STARTS] += 1
            state.cursor[TURN] = u + 1


@compiled_without_counts
def run(
    jobs: Jobs, coalitions: Coalitions, state: State, machines: Machines, output: Output,
    draws: Reals, horizon: int, least: int, budget: int,
) -> bool:  # fmt: skip
    """Process events until the horizon, or until `budget` units of work are spent; return whether
    it is finished.

    Coalitions below `least` stand still. The state is all there is: a later call goes on where this
    one stopped.
    """
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
        sample(coalitions, state, output, t)
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
        # each coalition with an end or a new job of its own serves its queues
        soonest = horizon
        for c in range(least, number):
            decides = next_end[c] == t and _finish(jobs, coalitions, state, machines, c, t, horizon)
            if (mask[c] & arrived) != 0:
                decides |= _arrive(coalitions, state, machines, c)
            if decides and state.board[c, FREE] > 0 and state.board[c, WAITING] > 0:
                _serve(jobs, coalitions, state, machines, output, draws, c, t, horizon)
            if coalitions.rule[c] == REF_NEXT and cursor[STAMP] > t:
                state.worth[mask[c]] = value_at(state.board, c, t + 1)
            soonest = min(soonest, next_end[c])
        if arrived:
            new[:] = 0
        cursor[WORK] += number - least
    return False
