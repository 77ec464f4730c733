"""Compiled rules of queues without Shapley values: first in, first out, coalition by coalition, and
admission by the share of borrowed quota.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from ..heap_kernels import drop_first, push

Ints = NDArray[Any]


@compiled
def _count(
    values: Ints, c: int, slope: Ints, level: Ints, times: Ints, first: int, now: int, length: int,
    width: int,
) -> int:  # fmt: skip
    """Add a job that starts now to a coalition's values; return the next sample time's index.

    A job of p units that began at s is worth p (2 t - 2 s - p + 1) / 2 at any t after its end, so
    that finished jobs are a line a t + b, kept doubled and summed up at the end; it may wrap on the
    way, and what comes out fits.
    """
    while first < len(times) and times[first] <= now:
        first += 1
    place = first
    while place < len(times) and times[place] < now + length:
        done = times[place] - now
        values[c, place] += width * (done * (done + 1) // 2)
        place += 1
    slope[place] += 2 * width * length
    level[place] += width * length * (1 - length - 2 * now)
    return first


@compiled
def _finish(values: Ints, c: int, slope: Ints, level: Ints, times: Ints) -> None:
    """Add the finished jobs to a coalition's values."""
    a, b = 0, 0
    for index in range(len(times)):
        a += slope[index]
        b += level[index]
        values[c, index] += (a * times[index] + b) >> 1


@compiled
def serve(
    masks: Ints, machines: Ints, owner: Ints, release: Ints, processing: Ints, width: Ints,
    passing: bool, horizon: int, times: Ints, heap: Ints, values: Ints, starts: Ints,
) -> None:  # fmt: skip
    """Compute the value of each coalition at each of the increasing times, and the starts of the
    last coalition's jobs.

    Jobs of more processors than a coalition has are left out. With `passing`, the first waiting job
    of an organization may pass those of others that do not fit into the free machines.
    """
    # 1. each organization's jobs as a linked list in the order of service
    slope, level = np.zeros((2, len(times) + 1), np.int64)
    taken = np.zeros(len(heap), np.int64)  # processors of the running jobs, whose ends are the heap
    players = len(machines)
    head = np.zeros(players, np.int64)
    following = np.full(len(release), len(release), np.int64)
    first_of = np.full(players, len(release), np.int64)
    for job in range(len(release) - 1, -1, -1):
        following[job] = first_of[owner[job]]
        first_of[owner[job]] = job
    for c in range(len(masks)):
        mask = masks[c]
        # 2. the machines of the coalition
        total = 0
        for u in range(players):
            if mask >> u & 1:
                total += machines[u]
        free, size, now, first = total, 0, 0, 0
        slope[:] = 0
        level[:] = 0
        starts[:] = -1
        for u in range(players):
            head[u] = first_of[u] if mask >> u & 1 else len(release)
        # 3. with backfilling, start the first job that fits; else every job in order
        job = -1
        while now < horizon:
            if passing:
                while size > 0 and heap[0] <= now:
                    free += taken[0]
                    size -= 1
                    drop_first(heap, taken, 0, size)
                # the first in the order of service of those that fit, and the next release
                job, later = len(release), horizon
                for u in range(players):
                    while head[u] < len(release) and width[head[u]] > total:
                        head[u] = following[head[u]]
                    if head[u] < len(release):
                        if release[head[u]] > now:
                            later = min(later, release[head[u]])
                        elif width[head[u]] <= free:
                            job = min(job, head[u])
                if job == len(release):
                    now = min(later, heap[0]) if size > 0 else later
                    continue
                head[owner[job]] = following[job]
            else:
                job += 1
                if job == len(release):
                    break
                if not mask >> owner[job] & 1 or width[job] > total:
                    continue
                now = max(now, release[job])
                # machines that are free by now, and then those that are free next
                while size > 0 and (heap[0] <= now or free < width[job]):
                    now = max(now, heap[0])
                    free += taken[0]
                    size -= 1
                    drop_first(heap, taken, 0, size)
                if now >= horizon:
                    break
            starts[job] = now
            free -= width[job]
            push(heap, taken, 0, size, min(now + processing[job], horizon), width[job])
            size += 1
            first = _count(values, c, slope, level, times, first, now, processing[job], width[job])
        # 4. values at the times that are left
        _finish(values, c, slope, level, times)


@compiled
def admit(
    first: Ints, release: Ints, processing: Ints, width: Ints, owner: Ints, quota: Ints,
    borrowing: Ints, lending: Ints, weight: Ints, horizon: int, start: Ints,
) -> None:  # fmt: skip
    """Compute the starts of jobs, given queue by queue in order, into `start`, by the share of
    borrowed quota, as in Kueue's fair sharing within one cohort.

    Of the queues whose first waiting job fits, the one goes next whose use above its quota, with
    that job, is least over its weight (0: the last of all), then the one that has waited longest. A
    queue holds at most its quota and `borrowing`; of its quota others hold at most `lending`. What
    can never fit is left out.
    """
    queues = len(quota)
    head, used, own = first[:queues].copy(), np.zeros(queues, np.int64), quota - lending
    heap, running = np.zeros((2, len(release) + 1), np.int64)  # ends of running jobs, and the jobs
    size, now, total = 0, 0, quota.sum()
    while now < horizon:
        # 1. jobs that have ended give their quota back
        while size > 0 and heap[0] <= now:
            job = running[0]
            used[owner[job]] -= width[job]
            size -= 1
            drop_first(heap, running, 0, size)
        # 2. the queue whose first job fits and whose use above its quota is least
        bound = 0  # what is in use or its owner's alone
        for u in range(queues):
            bound += max(used[u], own[u])
        best, share, later = -1, 0.0, horizon
        for u in range(queues):
            most = min(quota[u] + borrowing[u], total - (own.sum() - own[u]))
            while head[u] < first[u + 1] and width[head[u]] > most:
                head[u] += 1
            if head[u] == first[u + 1]:
                continue
            job = head[u]
            if release[job] > now:
                later = min(later, release[job])
                continue
            after = used[u] + width[job]
            if after > quota[u] + borrowing[u]:
                continue
            if bound - max(used[u], own[u]) + max(after, own[u]) > total:
                continue
            above = max(after - quota[u], 0)
            mine = 0.0 if above == 0 else above / weight[u] if weight[u] > 0 else np.inf
            if best < 0 or mine < share or (mine == share and release[job] < release[head[best]]):
                best, share = u, mine
        if best < 0:
            now = min(later, heap[0]) if size > 0 else later
            continue
        # 3. its job starts
        job = head[best]
        head[best] += 1
        start[job] = now
        used[best] += width[job]
        push(heap, running, 0, size, min(now + processing[job], horizon), job)
        size += 1
