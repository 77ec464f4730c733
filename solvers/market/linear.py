"""Linear systems on servers with one rank-one block per user: applied without being formed, or formed when small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from ...instances.market.instance import Booleans, Floats, Integers, total_by

if TYPE_CHECKING:
    from scipy.sparse import csc_array

DIRECT_UP_TO = 3000
"""Servers up to which a system that the iterative solver does not settle is factorised as a dense matrix."""

STIFF = 0.03
"""A job stands in the sparse preconditioner when its own entry is more than this share of its server's diagonal."""

MOST_STIFF = 60
"""Entries per server beyond which the sparse preconditioner would fill up and is not made."""

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

    def stiff(self) -> csc_array | None:
        """The diagonal of N and the off-diagonal entries between jobs that weigh most, sparse; None when none weighs.

        Where f is 1 or close to it, a user's jobs of equal value for money tie the prices of their servers together, with
        weights that grow without bound; such jobs are few (a forest at the end), and no diagonal stands for them.
        """
        from scipy.sparse import csc_array, csr_array, diags_array

        own = self.own()
        weight = np.abs(self.left * self.right)
        chosen = np.flatnonzero(weight > STIFF * own[self.server])
        if len(chosen) == 0:
            return None
        user, server = self.user[chosen], self.server[chosen]
        pairs = float((np.bincount(user).astype(float) ** 2).sum())
        if pairs > MOST_STIFF * len(own):
            return None
        shape = (self.users, len(own))
        left = csr_array((self.left[chosen], (user, server)), shape=shape)
        right = csr_array((self.right[chosen], (user, server)), shape=shape)
        rest = own - total_by(server, self.left[chosen] * self.right[chosen], len(own))
        return csc_array(left.T @ right + diags_array(np.where(own > 0, rest, 1.0)))


def solve_blocks(blocks: UserBlocks, right_side: Floats, rtol: float) -> Floats:
    """N^-1 right_side to a residual of `rtol`, by the first of three that settles it.

    GMRES preconditioned by the diagonal, which is enough where f stays away from 1; GMRES preconditioned by the sparse LU of
    the stiffest entries; dense LU when the system is small. Rows and columns where N is 0 (servers nobody pays for) get 0.
    When none settles it the last answer comes back: callers judge a step by what it does.
    """
    own = blocks.own()
    live = own > 0
    target = np.where(live, right_side, 0.0)
    if not np.any(target):
        return np.zeros(len(own))
    scale = np.where(live, own, 1.0)
    answer, settled = _krylov(blocks, live, target, lambda vector: vector / scale, rtol, 1)
    if not settled and (matrix := blocks.stiff()) is not None:
        from scipy.sparse.linalg import splu

        try:
            answer, settled = _krylov(blocks, live, target, splu(matrix).solve, rtol, _CYCLES)
        except RuntimeError:  # exactly singular
            pass
    if not settled and len(own) <= DIRECT_UP_TO:
        dense = blocks.dense()
        dense[~live, :] = 0.0
        dense[:, ~live] = 0.0
        dense[~live, ~live] = 1.0
        try:
            answer = np.asarray(np.linalg.solve(dense, target), dtype=float)
        except np.linalg.LinAlgError:
            pass
    return np.where(live, np.nan_to_num(answer), 0.0)


def _krylov(
    blocks: UserBlocks, live: Booleans, target: Floats, invert: Callable[[Floats], Floats], rtol: float, cycles: int
) -> tuple[Floats, bool]:
    """GMRES with the preconditioner `invert`; the answer, and whether it reached the residual."""
    from scipy.sparse.linalg import LinearOperator, gmres

    def preconditioned(vector: Floats) -> Floats:
        return np.where(live, invert(np.where(live, blocks.apply(np.where(live, vector, 0.0)), 0.0)), vector)

    size = len(target)
    operator = LinearOperator((size, size), matvec=preconditioned, dtype=float)
    answer, stalled = gmres(operator, invert(target), rtol=rtol, restart=min(_RESTART, size), maxiter=cycles)
    return answer, stalled == 0
