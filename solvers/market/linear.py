"""Linear systems on servers with one rank-one block per user: matrix-free, or formed when small."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import numpy as np

from ...instances.market.instance import Booleans, Floats, Integers, ratio, total_by

DIRECT_UP_TO = 3000
"""Servers up to which a system that the iterative solver does not settle is factorised as a dense
matrix.
"""

FILLED = 1000
"""Servers up to which the sparse preconditioner may fill up; beyond, it keeps few jobs enough to be
almost a forest.
"""

TREES = 0.9
"""Jobs that it then keeps, per user and server: a forest has less than one, and a few more make a
factor fill up.
"""

ENOUGH = 1e-9
"""A residual, relative to the right side, that is as good as none to a step of Newton's method."""

_RESTART, _CYCLES = 60, 4


@dataclass(frozen=True, eq=False)
class UserBlocks:
    """Matrix N = diag(diagonal) + sum over users of left right', where both vectors have an entry
    for each of the user's jobs, in the row of its server.

    Attributes
    ----------
    diagonal : (m,).
    left, right : (j,) the job's entries.
    user, server : (j,).
    users : n.
    starts : (n + 1,) as of a `ScaledMarket`.
    """

    diagonal: Floats
    left: Floats
    right: Floats
    user: Integers
    server: Integers
    users: int
    starts: Integers | None = None

    def apply(self, vector: Floats) -> Floats:
        """Multiply the matrix of the users' blocks by a vector (m,), in O(jobs)."""
        if self.starts is not None:
            from .user_kernels import outer

            return self.diagonal * vector + outer(
                self.starts, self.server, self.left, self.right, vector
            )
        inner = total_by(self.user, self.right * vector[self.server], self.users)
        outer_sums = total_by(self.server, self.left * inner[self.user], len(self.diagonal))
        return self.diagonal * vector + outer_sums

    def own(self) -> Floats:
        """Diagonal (m,) of the matrix of the users' blocks, used as the preconditioner. A user's
        several jobs on one server are counted one by one.
        """
        return self.diagonal + total_by(self.server, self.left * self.right, len(self.diagonal))

    def dense(self) -> Floats:
        """Matrix N, which the class stores in parts, as a dense array (m, m)."""
        from scipy.sparse import csr_array

        shape = (self.users, len(self.diagonal))
        left = csr_array((self.left, (self.user, self.server)), shape=shape)
        right = csr_array((self.right, (self.user, self.server)), shape=shape)
        return cast("Floats", (left.T @ right).toarray() + np.diag(self.diagonal))

    def stiff(self) -> Callable[[Floats], Floats]:
        """Solver of linear systems with a sparse part of the matrix of the users' blocks. The part
        is the diagonal, and the off-diagonal entries between the jobs with the largest weights.

        Where f is 1 or close to it, a user's jobs of equal value for money tie the prices of their
        servers together, with weights that grow without bound; such jobs are few (a forest at the
        end), and no diagonal stands for them. A job weighs much when it pulls its server's price
        harder than all money does that no price ratio binds, the row sum of N. Users stay unknowns
        beside the servers: a forest of jobs is then factorised without a single new entry.

        Raises
        ------
        RuntimeError
            The kept part is exactly singular.
        """
        from scipy.sparse import block_array, csc_array, csr_array, diags_array
        from scipy.sparse.linalg import splu

        own, servers = self.own(), len(self.diagonal)
        pull = np.abs(self.left) * total_by(self.user, np.abs(self.right), self.users)[self.user]
        loose = np.abs(self.apply(np.ones(servers)))[self.server]
        chosen = np.flatnonzero(pull > loose)
        most = int(TREES * (servers + self.users))
        if servers > FILLED and len(chosen) > most:
            strength = ratio(pull[chosen], loose[chosen], np.inf)
            chosen = chosen[np.argpartition(-strength, most)[:most]]
        user, server = self.user[chosen], self.server[chosen]
        left = csr_array((self.left[chosen], (server, user)), shape=(servers, self.users))
        right = csr_array((-self.right[chosen], (user, server)), shape=(self.users, servers))
        rest = own - total_by(server, self.left[chosen] * self.right[chosen], servers)
        ends = diags_array(np.where(own > 0, rest, 1.0)), diags_array(np.ones(self.users))
        factors = splu(csc_array(block_array([[ends[0], left], [right, ends[1]]])))
        none = np.zeros(self.users)
        return lambda vector: factors.solve(np.concatenate([vector, none]))[:servers]


def solve_blocks(blocks: UserBlocks, right_side: Floats, rtol: float) -> Floats:
    """Solution of N x = right_side to a residual of `rtol`, by the first of three methods that
    reaches it.

    GMRES preconditioned by the diagonal, which is enough where f stays away from 1; GMRES
    preconditioned by the sparse LU of the stiffest entries; dense LU when the system is small. Rows
    and columns where N is 0 (servers nobody pays for) get 0. When none settles it the last answer
    comes back: callers judge a step by what it does.
    """
    own = blocks.own()
    live = own > 0
    target = np.where(live, right_side, 0.0)
    if not np.any(target):
        return np.zeros(len(own))
    scale = np.where(live, own, 1.0)
    answer, settled = _krylov(blocks, live, target, lambda vector: vector / scale, rtol, 1)
    if not settled:
        with suppress(RuntimeError):  # exactly singular
            answer, settled = _krylov(blocks, live, target, blocks.stiff(), rtol, _CYCLES)
    if not settled and len(own) <= DIRECT_UP_TO:
        dense = blocks.dense()
        dense[~live, :] = 0.0
        dense[:, ~live] = 0.0
        dense[~live, ~live] = 1.0
        with suppress(np.linalg.LinAlgError):
            answer = np.asarray(np.linalg.solve(dense, target), dtype=float)
    return np.where(live, np.nan_to_num(answer), 0.0)


def _krylov(
    blocks: UserBlocks,
    live: Booleans,
    target: Floats,
    invert: Callable[[Floats], Floats],
    rtol: float,
    cycles: int,
) -> tuple[Floats, bool]:
    """Solution by GMRES with the preconditioner `invert`, and whether it converged.

    It ends when the residual is `rtol`, and after a cycle that no longer halves it: rounding is all
    that is left where weights are far apart, and settled is what came to `ENOUGH`.
    """

    def preconditioned(vector: Floats) -> Floats:
        return np.where(
            live, invert(np.where(live, blocks.apply(np.where(live, vector, 0.0)), 0.0)), vector
        )

    right = invert(target)
    whole = length(right)
    answer, left, rest = np.zeros(len(target)), 1.0, right
    for _ in range(cycles):
        trial = answer + least_residual(preconditioned, rest, rtol * whole)
        missing = right - preconditioned(trial)
        now = length(missing) / whole if whole > 0 else 0.0
        before, left = left, min(now, left)
        if now <= before:
            answer, rest = trial, missing
        if left <= rtol or not left <= 0.5 * before:
            break
    return answer, left <= max(rtol, ENOUGH)


def least_residual(
    apply: Callable[[Floats], Floats], right: Floats, enough: float, most: int = _RESTART
) -> Floats:
    """A vector of small residual |right - apply(vector)|, at most `enough` unless it takes more
    than `most` products: GMRES (Saad and Schultz 1986, algorithm 3).

    scipy's has its dot products from BLAS, whose threads wait for each other longer than a product
    of large vectors takes.
    """
    # The residual is as long as |left|; `rotated` is the triangle that the rotations have
    # made of the coefficients of apply(basis) in the basis.
    left = length(right)
    basis, rotated = [right / left if left > 0 else right], np.zeros((most, most))
    rotations: list[tuple[float, float]] = []  # (cosine, sine) of each
    weights: list[float] = []
    while len(weights) < min(most, len(right)) and abs(left) > enough:
        k = len(weights)
        vector = apply(basis[k])
        column = np.zeros(k + 2)
        for row, known in enumerate(basis):
            column[row] = np.einsum("i,i->", known, vector)
            vector -= column[row] * known
        column[k + 1] = beyond = length(vector)
        for row, (cosine, sine) in enumerate(rotations):
            upper, lower = column[row : row + 2]
            column[row : row + 2] = cosine * upper + sine * lower, cosine * lower - sine * upper
        radius = float(np.hypot(*column[k:]))
        if radius == 0:  # singular
            break
        cosine, sine = column[k] / radius, column[k + 1] / radius
        rotations.append((cosine, sine))
        rotated[: k + 1, k] = *column[:k], radius
        weights.append(cosine * left)
        left *= -sine
        if beyond == 0:
            break
        basis.append(vector / beyond)
    size = len(weights)
    answer = np.zeros(len(right))
    for weight, known in zip(np.linalg.solve(rotated[:size, :size], weights), basis, strict=False):
        answer += weight * known
    return answer


def length(vector: Floats) -> float:
    """Euclidean norm, computed on one thread."""
    return math.sqrt(np.einsum("i,i->", vector, vector))
