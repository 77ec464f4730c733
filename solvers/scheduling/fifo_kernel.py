"""Compiled first in, first out schedules, coalition by coalition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .game_kernels import drop_first, push

Ints = NDArray[Any]


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
