"""Compiled kernel of stable tables: propagation of shortened lists."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..compiled import compiled

Ints = NDArray[Any]


@compiled
def narrow(
    choice: Ints, back: Ints, first: Ints, last: Ints, changed: Ints, singles: bool, scratch: Ints
) -> bool:
    """Shorten lists until every agent is the last entry of the first one in its list.

    An entry (i, r) is in the table while r <= last[i] and i is not behind the last of whom it
    names. In a matching without blocking pair i gets nobody better than its first entry, so that
    who is named there gets i or somebody better: who comes behind i is struck out. Every entry is
    passed once over all calls on one table.

    Parameters
    ----------
    choice, back : see `ranks.Lists`.
    first, last : (n,) positions where each list begins and ends; changed in place.
    changed : (n,) 0/1, the agents whose list, or first entry, may be another than when `narrow`
        ended last; left at 0.
    singles : whether an empty list is allowed, and left with last -1; else it ends the call.
    scratch : (n + 1,) a stack.

    Returns
    -------
    Whether no list became empty, or `singles`.
    """
    size = 0
    for i in range(first.size):
        if changed[i]:
            scratch[size] = i
            size += 1
    while size > 0:
        size -= 1
        i = scratch[size]
        changed[i] = 0
        while first[i] <= last[i] and back[i, first[i]] > last[choice[i, first[i]]]:
            first[i] += 1
        if first[i] > last[i]:
            last[i] = -1
            if singles:
                continue
            changed[:] = 0
            return False
        j = choice[i, first[i]]
        end = back[i, first[i]]
        for r in range(end + 1, last[j] + 1):
            k = choice[j, r]
            if changed[k] == 0 and first[k] <= last[k] and choice[k, first[k]] == j:
                changed[k] = 1
                scratch[size] = k
                size += 1
        if end < last[j]:
            last[j] = end
            if changed[j] == 0 and first[j] > end:
                changed[j] = 1
                scratch[size] = j
                size += 1
    return True
