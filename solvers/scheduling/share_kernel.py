"""Compiled admission by the share of borrowed quota, as in Kueue's fair sharing within one
cohort.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .game_kernels import drop_first, push

Ints = NDArray[Any]


@compiled
def admit(
    first: Ints, release: Ints, processing: Ints, width: Ints, owner: Ints, quota: Ints,
    borrowing: Ints, lending: Ints, weight: Ints, horizon: int, start: Ints,
) -> None:  # fmt: skip
    """Compute the starts of jobs, given queue by queue in order, into `start`.

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
