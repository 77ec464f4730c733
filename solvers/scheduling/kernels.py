"""Compiled event loop of all rules: many coalitions side by side, each with its own queues and
machines, for sequential jobs on identical machines.

`parallel_kernels` is it for parallel jobs and machines of different speeds.
"""

from __future__ import annotations

from ..compiled import compiled
from ..heap_kernels import drop_first, push
from .game_kernels import (
    CONTENDED,
    DIRECTCONTR,
    EVENT,
    FIFO,
    FREE,
    HEAD,
    LAST_BIT,
    PSI,
    RANDOM,
    REF,
    REF_NEXT,
    RUNNING,
    SAMPLE,
    STAMP,
    STARTS,
    TIME,
    TURN,
    VALUE,
    WAITING,
    WORK,
    Coalitions,
    Ints,
    Jobs,
    Output,
    Reals,
    State,
    comes_before,
    fill_keys,
    sample,
    shapley_keys,
    value_all,
    value_at,
)

_ORG_BITS = 20  # a running job is end * 2**20 + organization in the heaps


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
    """Start the first waiting job of organization u in coalition c; return the job."""
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
        push(heap, slot, board[c, RUNNING], (end << _ORG_BITS) | u)
        board[c, RUNNING] += 1
        if end < next_end[c]:
            next_end[c] = end
    return int(job)


@compiled
def _finish(
    board: Ints, desk: Ints, next_end: Ints, heap: Ints, slot: int, c: int, t: int, horizon: int
) -> None:
    """Remove the jobs that end at t from their machines."""
    b, s = 1 - 2 * t, t * t - t
    size = board[c, RUNNING]
    while size > 0 and (heap[slot] >> _ORG_BITS) == t:
        u = heap[slot] & ((1 << _ORG_BITS) - 1)
        size -= 1
        drop_first(heap, slot, size)
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
def _start_all(
    board: Ints, desk: Ints, next_end: Ints, heap: Ints, processing: Ints, queue_end: Ints,
    start: Ints,
    members: Ints, size: int, slot: int, c: int, t: int, horizon: int,
) -> None:  # fmt: skip
    """Start all waiting jobs, where machines suffice or only one organization waits, so that the
    order does not matter.
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
    """Return whether the rule must choose: more jobs of several organizations wait than machines
    are free.
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
    value_all(cursor, mask, board, worth, t + later)
    shapley_keys(
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
def _choose(jobs: Jobs, coalitions: Coalitions, state: State, c: int, draw: float) -> int:
    """Waiting organization that the rule serves next."""
    rule = coalitions.rule[c]
    best, waiting = -1, 0
    for place in range(coalitions.size[c]):
        u = coalitions.members[c, place]
        if state.desk[c, u, HEAD] < state.queue_end[u]:
            waiting += 1
            if best < 0 or comes_before(jobs, state, rule, c, u, best):
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
    """DIRECTCONTR: assign the job to a random free machine, which earns its utility for its
    owner.
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
    """DIRECTCONTR: free the machines whose job ends at t, which stop earning for their owners."""
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
    """All rules but REF: assign free machines to waiting jobs one by one."""
    rule, board, slot = coalitions.rule[c], state.board, coalitions.slot[c]
    wanted = c == len(coalitions.mask) - 1
    step = fill_keys(coalitions, state, c, t)
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
    """Process events until the horizon, or until `budget` units of work are spent; return whether
    it is finished.

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
            sample(coalitions, state, output, t)
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
                    worth[mask[c]] = value_at(board, c, t + 1)
            soonest = min(soonest, next_end[c])
        if arrived:
            new[:] = 0
        cursor[WORK] += number - least
    return False
