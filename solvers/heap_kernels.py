"""Compiled heaps: entries with tags in two arrays, the least entry first, then the least tag."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .compiled import compiled_without_counts

Array = NDArray[Any]


@compiled_without_counts
def push(heap: Array, mark: Array, slot: int, size: int, entry: float, tag: int) -> None:
    """Add an entry with its tag to the heap of `size` entries that begins at `slot`; `mark` holds
    the tags.
    """
    i = size
    while i > 0:
        parent = slot + ((i - 1) >> 1)
        if heap[parent] < entry or (heap[parent] == entry and mark[parent] < tag):
            break
        heap[slot + i], mark[slot + i] = heap[parent], mark[parent]
        i = parent - slot
    heap[slot + i], mark[slot + i] = entry, tag


@compiled_without_counts
def replace_first(heap: Array, mark: Array, slot: int, size: int, entry: float, tag: int) -> None:
    """Replace the first entry of a heap of `size` entries and its tag."""
    i = 0
    while True:
        child = slot + 2 * i + 1
        last = slot + size - 1
        if child > last:
            break
        if child < last and (
            heap[child + 1] < heap[child]
            or (heap[child + 1] == heap[child] and mark[child + 1] < mark[child])
        ):
            child += 1
        if entry < heap[child] or (entry == heap[child] and tag < mark[child]):
            break
        heap[slot + i], mark[slot + i] = heap[child], mark[child]
        i = child - slot
    heap[slot + i], mark[slot + i] = entry, tag


@compiled_without_counts
def drop_first(heap: Array, mark: Array, slot: int, size: int) -> None:
    """Remove the first entry and its tag; `size` is the new length."""
    replace_first(heap, mark, slot, size, heap[slot + size], mark[slot + size])
