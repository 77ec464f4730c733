"""Linear systems on servers with one rank-one block per user: applied without being formed, or formed when small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ...instances.market.instance import Floats, Integers, total_by

DIRECT_UP_TO = 3000
"""Servers up to which a system that the iterative solver does not settle is factorised as a dense matrix."""

_RESTART, _CYCLES = 40, 4


@dataclass(frozen=True, eq=False)
class UserBlocks:
    """N = diag(diagonal) + sum over users of left right', both vectors standing on the servers of the user's jobs.

    Attributes
    ----------
    diagonal : (m,).
    left, right : (j,) the job's entries.
    user, server : (j,).
    users : n.
    """

    diagonal: Floats
    left: Floats
    right: Floats
    user: Integers
    server: Integers
    users: int

    def apply(self, vector: Floats) -> Floats:
        """N @ vector, O(jobs)."""
        inner = total_by(self.user, self.right * vector[self.server], self.users)
        outer = total_by(self.server, self.left * inner[self.user], len(self.diagonal))
        return self.diagonal * vector + outer

    def own(self) -> Floats:
        """(m,) the diagonal of N (a user's several jobs on one server counted one by one): the preconditioner."""
        return self.diagonal + total_by(self.server, self.left * self.right, len(self.diagonal))

    def dense(self) -> Floats:
        """N as a matrix."""
        from scipy.sparse import csr_array

        shape = (self.users, len(self.diagonal))
        left = csr_array((self.left, (self.user, self.server)), shape=shape)
        right = csr_array((self.right, (self.user, self.server)), shape=shape)
        return cast(Floats, (left.T @ right).toarray() + np.diag(self.diagonal))


def solve_blocks(blocks: UserBlocks, right_side: Floats, rtol: float) -> Floats:
    """N^-1 right_side by GMRES with a diagonal preconditioner, to a residual of `rtol`; dense LU when that stalls.

    Rows and columns where N is 0 (servers nobody pays for) get 0. When neither solver settles the system the better of
    what there is comes back: callers judge a step by what it does.
    """
    from scipy.sparse.linalg import LinearOperator, gmres

    own = blocks.own()
    live = own > 0
    scale = np.where(live, own, 1.0)
    size = len(own)

    def preconditioned(vector: Floats) -> Floats:
        return np.where(live, blocks.apply(np.where(live, vector, 0.0)) / scale, vector)

    target = np.where(live, right_side, 0.0) / scale
    if not np.any(target):
        return np.zeros(size)
    operator = LinearOperator((size, size), matvec=preconditioned, dtype=float)
    answer, stalled = gmres(operator, target, rtol=rtol, restart=min(_RESTART, size), maxiter=_CYCLES)
    if stalled and size <= DIRECT_UP_TO:
        matrix = blocks.dense()
        matrix[~live, :] = 0.0
        matrix[:, ~live] = 0.0
        matrix[~live, ~live] = 1.0
        try:
            answer = np.linalg.solve(matrix, np.where(live, right_side, 0.0))
        except np.linalg.LinAlgError:
            pass
    return np.where(live, np.nan_to_num(answer), 0.0)
