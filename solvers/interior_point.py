"""Interior-point method for linear programs, whose central dual values save rounds of column
generation (Gondzio, Gonzalez-Brevis and Munari 2013).

numba is imported with this module, so import it on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse

from ..instances.packing.instance import Floats
from .compiled import compiled

FEASIBLE = 1e-8
"""Part of the right-hand sides by which rows may be missed."""

ITERATIONS = 100

PANEL = 8
"""Rows that are subtracted from the rest at once; the statement in the kernel has as many terms."""


@dataclass(frozen=True, eq=False)
class CentralPoint:
    """Point of a linear program near its central path, in floats and without proof.

    Attributes
    ----------
    point, multipliers : (n,) and (m,).
    value : cost of the point.
    """

    point: Floats
    multipliers: Floats
    value: float


def central_point(
    matrix: scipy.sparse.csr_array,
    right: Floats,
    cost: Floats,
    accuracy: float,
    expired: Callable[[], bool],
) -> CentralPoint | None:
    """Minimize cost x where matrix x = right and x >= 0, to a relative gap (Mehrotra 1992).

    Parameters
    ----------
    matrix, right, cost : (m, n) of full row rank with few rows, (m,), (n,).
    expired : looked at before every iteration.

    Returns
    -------
    None where time is over, or rounding stops the iterations before the gap is reached.
    """
    rows, columns = matrix.shape
    transposed = matrix.T.tocsr()
    diagonal = np.arange(rows)

    def factored(weight: Floats) -> tuple[Floats, bool]:
        """Cholesky factor of matrix x weights x its transpose, for `cho_solve`."""
        weighted = matrix.copy()
        weighted.data = matrix.data * weight[matrix.indices]
        normal = (weighted @ transposed).toarray()
        normal[diagonal, diagonal] += 1e-13 * normal.diagonal().max()
        if not cholesky(normal):
            raise scipy.linalg.LinAlgError
        return normal, False

    def longest(values: Floats, change: Floats) -> float:
        falls = change < 0
        return min(1.0, float((-values[falls] / change[falls]).min(initial=np.inf)))

    def direction(target: Floats) -> tuple[Floats, Floats, Floats]:
        aim = missing + matrix @ (ratio * slack_missing - target / slack)
        turn = scipy.linalg.cho_solve(factor, aim, check_finite=False)
        opened = slack_missing - transposed @ turn
        return target / slack - ratio * opened, turn, opened

    # the start: least squares, moved inside
    try:
        factor = factored(np.ones(columns))
        point = transposed @ scipy.linalg.cho_solve(factor, right, check_finite=False)
        multipliers = scipy.linalg.cho_solve(factor, matrix @ cost, check_finite=False)
        slack = cost - transposed @ multipliers
        point += max(-1.5 * point.min(), 0.0)
        slack += max(-1.5 * slack.min(), 0.0)
        product = 0.5 * float(point @ slack)
        up, by = product / max(slack.sum(), 1e-9), product / max(point.sum(), 1e-9)
        point, slack = np.maximum(point + up, 1e-3), np.maximum(slack + by, 1e-3)
        for _ in range(ITERATIONS):
            # 1. how far the point is from the rows, the multipliers from the costs, both apart
            missing, slack_missing = right - matrix @ point, cost - transposed @ multipliers - slack
            value, mean = float(cost @ point), float(point @ slack) / columns
            if (
                np.linalg.norm(missing) <= FEASIBLE * (1 + np.linalg.norm(right))
                and np.linalg.norm(slack_missing) <= FEASIBLE * (1 + np.linalg.norm(cost))
                and abs(value - float(right @ multipliers)) <= accuracy * (1 + abs(value))
            ):
                return CentralPoint(point, multipliers, value)
            if expired():
                return None
            # 2. the direction to the optimum, then one towards the center that it leaves
            ratio = point / slack
            factor = factored(ratio)
            move, turn, opened = direction(-point * slack)
            slack_after = slack + longest(slack, opened) * opened
            after = (point + longest(point, move) * move) @ slack_after
            centering = (float(after) / columns / mean) ** 3
            move, turn, opened = direction(centering * mean - point * slack - move * opened)
            # 3. nearly as far as both stay positive
            point = point + 0.99 * longest(point, move) * move
            shorter = 0.99 * longest(slack, opened)
            multipliers, slack = multipliers + shorter * turn, slack + shorter * opened
    except (scipy.linalg.LinAlgError, FloatingPointError, ValueError):
        return None
    return None


@compiled
def cholesky(a: Floats) -> bool:
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
