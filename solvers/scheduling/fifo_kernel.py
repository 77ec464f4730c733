"""First in, first out, compiled: one coalition after the other, each by itself."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..compiled import compiled

Ints = NDArray[Any]

_BITS = 20  # a running job is end * 2**20 + processors in the heap


@compiled
def _push(heap: Ints, size: int, entry: int) -> None:
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = entry


@compiled
def _drop_first(heap: Ints, size: int) -> None:
    """Remove the smallest entry; `size` counts what is left."""
    last = heap[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = last


@compiled
def serve(
    masks: Ints, machines: Ints, owner: Ints, release: Ints, processing: Ints, width: Ints,
    horizon: int, times: Ints, heap: Ints, values: Ints, starts: Ints,
) -> None:  # fmt: skip
    """Put the value of each coalition at each time into `values`, and the starts of the last one's
    jobs, which come in the order in which they are served, into `starts`.
    """
    for c in range(len(masks)):
        mask = masks[c]
        total = 0
        for u in range(len(machines)):
            if mask >> u & 1:
                total += machines[u]
        free, size, now = total, 0, 0
        for job in range(len(release)):
            starts[job] = -1
            if not mask >> owner[job] & 1 or width[job] > total:
                continue
            now = max(now, release[job])
            # machines that are free by now, and then those that are free next
            while size > 0 and (heap[0] >> _BITS <= now or free < width[job]):
                now = max(now, heap[0] >> _BITS)
                free += heap[0] & ((1 << _BITS) - 1)
                size -= 1
                _drop_first(heap, size)
            if now >= horizon:
                break
            starts[job] = now
            free -= width[job]
            end = min(now + processing[job], horizon)
            _push(heap, size, end << _BITS | width[job])
            size += 1
            for place in range(len(times)):
                t = times[place]
                if t > now:
                    done = min(processing[job], t - now)
                    values[c, place] += width[job] * (done * (2 * (t - now) - done + 1) // 2)
        for later in range(job + 1, len(release)):
            starts[later] = -1
