"""Function that finds the distinct rows of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def distinct_rows(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Index of the first occurrence of each distinct row, in lexicographic order of the rows, and
    the position (n,) of each of the n rows among the distinct ones.

    Unlike `np.unique(rows, axis=0)` it compares column by column, which is quicker and makes no
    TypeError of a Ctrl-C that arrives while rows are compared.
    """
    order = np.lexsort(rows.T[::-1])
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    member = np.empty_like(order)
    member[order] = np.cumsum(new) - 1
    return order[new], member
