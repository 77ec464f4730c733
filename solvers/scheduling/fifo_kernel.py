"""Compiled first in, first out schedules, coalition by coalition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from ..heap_kernels import drop_first, push

Ints = NDArray[Any]

_BITS = 24  # a running job is end * 2**24 + processors in the heap; horizons are below 2**31


@compiled
def _count(
    values: Ints, c: int, slope: Ints, level: Ints, times: Ints, first: int, now: int, length: int,
    width: int,
) -> int:  # fmt: skip
    """Count a job that starts now, and return the index of the first sample time after now.

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
    slope, level = np.zeros(len(times) + 1, np.int64), np.zeros(len(times) + 1, np.int64)
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
        # 3. with backfilling, start the first job that fits; else every job in order
        if passing:
            for u in range(players):
                head[u] = first_of[u] if mask >> u & 1 else len(release)
            while now < horizon:
                while size > 0 and heap[0] >> _BITS <= now:
                    free += heap[0] & ((1 << _BITS) - 1)
                    size -= 1
                    drop_first(heap, 0, size)
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
                    now = min(later, heap[0] >> _BITS) if size > 0 else later
                    continue
                head[owner[job]] = following[job]
                starts[job] = now
                free -= width[job]
                end = min(now + processing[job], horizon)
                push(heap, 0, size, end << _BITS | width[job])
                size += 1
                first = _count(
                    values, c, slope, level, times, first, now, processing[job], width[job]
                )
        else:
            for job in range(len(release)):
                if not mask >> owner[job] & 1 or width[job] > total:
                    continue
                now = max(now, release[job])
                # machines that are free by now, and then those that are free next
                while size > 0 and (heap[0] >> _BITS <= now or free < width[job]):
                    now = max(now, heap[0] >> _BITS)
                    free += heap[0] & ((1 << _BITS) - 1)
                    size -= 1
                    drop_first(heap, 0, size)
                if now >= horizon:
                    break
                starts[job] = now
                free -= width[job]
                end = min(now + processing[job], horizon)
                push(heap, 0, size, end << _BITS | width[job])
                size += 1
                first = _count(
                    values, c, slope, level, times, first, now, processing[job], width[job]
                )
        # 4. values at the times that are left
        _finish(values, c, slope, level, times)
