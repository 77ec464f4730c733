"""Compiled min-heap of integers in a part of an array; numba is imported with this module, so
import it on first use.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .compiled import compiled

Ints = NDArray[Any]


@compiled
def push(heap: Ints, slot: int, size: int, entry: int) -> None:
    """Add an entry to the heap of `size` entries that begins at `slot`."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[slot + parent] <= entry:
            break
        heap[slot + i] = heap[slot + parent]
        i = parent
    heap[slot + i] = entry


@compiled
def drop_first(heap: Ints, slot: int, size: int) -> None:
    """Remove the smallest entry; `size` is the new length."""
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
