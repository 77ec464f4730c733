"""Compiled kernel of the interior-point method; numba is imported with this module, so import it on
first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled

Array = np.ndarray[Any, Any]

PANEL = 8
"""Rows that are subtracted from the rest at once; the statement in the kernel has as many terms."""


@compiled
def cholesky(a: Array) -> bool:
    """Factor a symmetric matrix (n, n) into transpose(u) @ u, in the upper triangle in place;
    return whether it is positive definite.

    On one core: threads of a library of linear algebra that wait for cores that other work has take
    many times as long.
    """
    n = len(a)
    for start in range(0, n, PANEL):
        end = min(start + PANEL, n)
        for k in range(start, end):
            if not a[k, k] > 0:
                return False
            inverse = 1.0 / np.sqrt(a[k, k])
            for j in range(k, n):
                a[k, j] *= inverse
            for i in range(k + 1, end):
                for j in range(i, n):
                    a[i, j] -= a[k, i] * a[k, j]
        b = a[start:end]
        for i in range(end, n):
            m0, m1, m2, m3 = b[0, i], b[1, i], b[2, i], b[3, i]
            m4, m5, m6, m7 = b[4, i], b[5, i], b[6, i], b[7, i]
            for j in range(i, n):
                a[i, j] -= (
                    m0 * b[0, j] + m1 * b[1, j] + m2 * b[2, j] + m3 * b[3, j]
                    + m4 * b[4, j] + m5 * b[5, j] + m6 * b[6, j] + m7 * b[7, j]
                )  # fmt: skip
    return True
