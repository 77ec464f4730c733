"""Compiled bound propagation with the same steps as `verify.Program.tighten`; numba is imported
with this module, so import it on first use only.

A program's rows are given twice, compressed: row r holds `column[start[r]:start[r + 1]]`
each with its `factor`, and sums to at most `most[r]`; column j is in the rows
`row[first[j]:first[j + 1]]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

Array = np.ndarray[Any, Any]
Rows = tuple[Array, Array, Array, Array, Array, Array]
"""`start`, `column`, `factor`, `most`, `first` and `row`."""


@compiled
def tighten(
    rows: Rows,
    low: Array,
    high: Array,
    todo: Array,
    waiting: Array,
) -> tuple[bool, int]:
    """Propagate bounds from the rows marked in `waiting`; return whether the case is still
    feasible, and the number of terms visited.

    Parameters
    ----------
    todo : (rows,) room for the rows to look at.
    """
    start, column, factor, most, first, row = rows
    count, work = 0, 0
    for r in range(len(most)):
        if waiting[r]:
            todo[count] = r
            count += 1
    while count > 0:
        count -= 1
        r = todo[count]
        waiting[r] = False
        work += start[r + 1] - start[r] + 1
        room = most[r]
        for k in range(start[r], start[r + 1]):
            room -= factor[k] * (low[column[k]] if factor[k] > 0 else high[column[k]])
        if room < 0:
            for index in range(count):
                waiting[todo[index]] = False
            return False, work
        for k in range(start[r], start[r + 1]):
            a, j = factor[k], column[k]
            if abs(a) * (high[j] - low[j]) > room:
                if a > 0:
                    high[j] = low[j] + room // a
                else:
                    low[j] = high[j] - room // -a
                for index in range(first[j], first[j + 1]):
                    if not waiting[row[index]]:
                        waiting[row[index]] = True
                        todo[count] = row[index]
                        count += 1
    return True, work


@compiled
def _fixed(low: Array, high: Array, before_low: Array, before_high: Array) -> int:
    """Number of columns that are fixed now and were not before."""
    splits = 0
    for j in range(len(low)):
        if low[j] == high[j] and before_low[j] < before_high[j]:
            splits += 1
    return splits


@compiled
def probe(
    rows: Rows,
    low: Array,
    high: Array,
    todo: Array,
    waiting: Array,
    tried: Array,
    score: Array,
    hints: Array,
    patience: int,
) -> tuple[bool, int, int, int]:
    """Probe each of the columns `tried` at both ends of its bounds; if one side is infeasible,
    continue with the other.

    Parameters
    ----------
    score : (tried,) receives how much a split fixes on both sides; -1 for a column that is fixed.
    hints : (2, 2 * tried) receives the columns and values at which one side had nothing left.
    patience : terms after which no further column is tried.

    Returns
    -------
    Whether something is left; how many hints there are; terms that the verifier will look at for
    them; and how many columns were tried.
    """
    first, row = rows[4:]
    under, upper = low.copy(), high.copy()
    above, top = low.copy(), high.copy()
    splits, work, all_work = 0, 0, 0
    for c in range(len(tried)):
        j = tried[c]
        score[c] = -1.0
        if all_work > patience:
            return True, splits, work, c
        for end in range(2):
            if low[j] >= high[j]:
                score[c] = -1.0
                break
            if end == 1 and high[j] - low[j] == 1:
                break
            # 1. tighten both sides of the split at the least, then at the most value
            value = low[j] if end == 0 else high[j] - 1
            for k in range(len(low)):
                under[k], upper[k], above[k], top[k] = low[k], high[k], low[k], high[k]
            upper[j], above[j] = value, value + 1
            waiting[row[first[j] : first[j + 1]]] = True
            left, one = tighten(rows, under, upper, todo, waiting)
            waiting[row[first[j] : first[j + 1]]] = True
            right, two = tighten(rows, above, top, todo, waiting)
            all_work += one + two + 8 * len(low)
            # 2. something is left on both: the score of the first split
            if left and right:
                if end == 0:
                    less = float(_fixed(under, upper, low, high))
                    more = float(_fixed(above, top, low, high))
                    score[c] = less * more + min(less, more)
                continue
            # 3. nothing is left on one side: the other one holds, noted as a hint
            hints[0, splits], hints[1, splits] = j, value
            splits += 1
            work += one + two + 4 * len(low)
            if not left and not right:
                return False, splits, work, c + 1
            if left:
                for k in range(len(low)):
                    low[k], high[k] = under[k], upper[k]
            else:
                for k in range(len(low)):
                    low[k], high[k] = above[k], top[k]
    return True, splits, work, len(tried)
