"""Compiled event loop of all rules: many coalitions side by side, each with its own queues and
machines.

A running job brings `rate` units of work in each unit of time: its processors, or the speed of its
machine; with speeds, what is left at the end takes a unit of time of its own, at a rate of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from ..compiled import compiled_without_counts
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
    drop_first,
    fill_keys,
    push,
    sample,
    shapley_keys,
    value_all,
    value_at,
)


class Machines(NamedTuple):
    """Needs of jobs and speeds of machines, and the state that they add."""

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
    """Units of work per unit of time, and the remainder for the last one."""
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
        kind, u = tag >> 1, machines.org[job]
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
    """Organization that the rule serves next, or waits for, or the `first`; -1 for none."""
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
