"""Restricted master program over the patterns found so far, solved by the simplex from its last
basis or, for a middle number of types, by an interior-point method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ...models.packing.columns import pattern_program
from ...models.program import LinearProgram
from ..engines import WarmStartedProgram
from ..outcome import Clock, raise_if_interrupted
from .patterns import Pool
from .presolve import UNLIMITED, Reduced


class MasterAnswer(NamedTuple):
    """Value of the restricted master and its duals (s + p,) of requests and server classes."""

    value: float
    duals: Floats


class RestrictedMaster:
    """Restricted master over a pool of patterns, with a penalty for unserved VMs.

    Attributes
    ----------
    fewest, most : types above and up to which an interior point is the faster.
    active, trimmed : where an interior point has so many patterns for each type, it goes on with
        the best so many.
    central : whether it is solved by an interior point.
    """

    fewest, most = 60, 1_500
    active, trimmed = 6, 3

    def __init__(self, problem: Reduced, pool: Pool, penalty: float, clock: Clock) -> None:
        self.problem, self.pool, self.penalty, self.clock = problem, pool, penalty, clock
        self.central = self.fewest < problem.types <= self.most
        self.entered = len(pool)
        self._active = np.arange(len(pool))
        self._weight, self._reduced = np.zeros(0), np.zeros(0)
        if not self.central:
            self._begin()

    def _begin(self) -> None:
        """Build the linear program of all patterns in the pool, for the simplex."""
        self.central, self.entered, self._first = False, len(self.pool), len(self.pool)
        self._weight = np.zeros(0)  # those of an interior point are of other columns
        self._program = WarmStartedProgram(self._written(*self.pool.arrays()))

    def solve(self, accuracy: float, seconds: float | None) -> MasterAnswer | None:
        """Solve over the whole pool; None at the time limit or if the engine fails."""
        if self.central:
            until = np.inf if seconds is None else self.clock.seconds + seconds
            answer = self._central(
                accuracy, lambda: self.clock.expired or self.clock.seconds >= until
            )
            if answer is not None or self.clock.expired or self.clock.seconds >= until:
                return answer
            self._begin()  # rounding stopped the interior point
        if len(self.pool) > self.entered:
            self._enter(*self.pool.arrays(self.entered))
            self.entered = len(self.pool)
        return self._basic(self._program, seconds)

    def turn_to(self, problem: Reduced) -> RestrictedMaster:
        """Change the requests and numbers of servers of the master to those of another problem;
        return the master, which will start from its last basis.
        """
        if not self.central:
            before, now = (
                np.concatenate([some.request, some.servers]) for some in (self.problem, problem)
            )
            for row in np.flatnonzero(before != now).tolist():
                number = float(now[row])
                if row < problem.types:
                    self._program.bound_row(row, number)
                else:
                    self._program.bound_row(row, -np.inf, number)
        self.problem = problem
        return self

    def weights(self, seconds: float | None) -> Floats:
        """Weights (n,) of the patterns in the last solution, at a vertex."""
        types = self.problem.types
        if not self.central:
            first = self._first
            return np.concatenate(
                [self._weight[:first], self._weight[first + types : self.entered + types]]
            )
        weights = np.zeros(self.entered)
        if len(self._weight):
            # a vertex over the patterns of least reduced cost, where time is left for it
            weights[self._weighed] = self._weight
            most = 2 * types * len(self.problem.price)
            used = self._weighed[np.argsort(self._reduced, kind="stable")[:most]]
            table, kind = self.pool.arrays()
            if self._basic(WarmStartedProgram(self._written(table[used], kind[used])), seconds):
                weights[:] = 0.0
                weights[used] = self._weight[: len(used)]
        return weights

    def _basic(self, program: WarmStartedProgram, seconds: float | None) -> MasterAnswer | None:
        answer = program.solve(self.clock.time_slice(most=seconds))
        raise_if_interrupted(answer.stop)
        if answer.row_dual is None or answer.point is None:
            return None
        self._weight = answer.point
        return MasterAnswer(float(answer.objective or 0.0), answer.row_dual)

    def _written(self, table: Integers, kind: Integers) -> LinearProgram:
        problem = self.problem
        return pattern_program(
            table, kind, problem.request, problem.servers, problem.price,
            integer=False, penalty=self.penalty,
        )  # fmt: skip

    def _enter(self, table: Integers, kind: Integers) -> None:
        """Append patterns to the linear program."""
        from scipy.sparse import csr_array

        of_class = kind[:, None] == np.arange(len(self.problem.price))
        columns = csr_array(np.hstack([table, of_class]))
        self._program.add_columns(
            self.problem.price[kind].astype(float), np.full(len(table), np.inf),
            columns.indptr[:-1], columns.indices, columns.data.astype(float),
        )  # fmt: skip

    def _central(self, accuracy: float, expired: Callable[[], bool]) -> MasterAnswer | None:
        """Solve by an interior-point method, adding inactive patterns that improve the value."""
        new = np.arange(self.entered, len(self.pool))
        self._active, self.entered = np.concatenate([self._active, new]), len(self.pool)
        types, problem = self.problem.types, self.problem
        table, kind = self.pool.arrays()
        while True:
            found = self._interior(table[self._active], kind[self._active], accuracy, expired)
            if found is None:
                return None
            answer, self._weight = found
            reduced = problem.price[kind] - answer.duals[types + kind]
            reduced -= table @ answer.duals[:types]
            self._weighed, self._reduced = self._active, reduced[self._active]
            outside = np.ones(len(table), dtype=bool)
            outside[self._active] = False
            lacking = np.flatnonzero(outside & (reduced < -1e-6))
            if not len(lacking):
                break
            self._active = np.concatenate([self._active, lacking])
        if len(self._active) > self.active * types:
            best = np.argsort(self._reduced, kind="stable")[: self.trimmed * types]
            self._active = self._active[best]
        return answer

    def _interior(
        self, table: Integers, kind: Integers, accuracy: float, expired: Callable[[], bool]
    ) -> tuple[MasterAnswer, Floats] | None:
        """Interior-point solution of the master over some patterns, with their weights."""
        import scipy.sparse

        from ..interior_point import central_point

        problem, types = self.problem, self.problem.types
        # patterns, what is left out, what is served beyond the requests, and free servers
        limited = np.flatnonzero(problem.servers < UNLIMITED)
        one, free = scipy.sparse.eye_array(types), scipy.sparse.eye_array(len(limited))
        of_class = scipy.sparse.csr_array((kind == limited[:, None]).astype(float))
        matrix = scipy.sparse.block_array(
            [
                [scipy.sparse.csr_array(table.T).astype(float), one, -one, None],
                [of_class, None, None, free],
            ]
        ).tocsr()
        cost = np.zeros(matrix.shape[1])
        cost[: len(table)] = problem.price[kind]
        cost[len(table) : len(table) + types] = self.penalty
        right = np.concatenate([problem.request, problem.servers[limited]]).astype(float)
        answer = central_point(matrix, right, cost, accuracy, expired)
        if answer is None:
            return None
        duals = np.zeros(types + len(problem.price))
        duals[:types] = answer.multipliers[:types]
        duals[types + limited] = answer.multipliers[types:]
        return MasterAnswer(answer.value, duals), answer.point[: len(table)]
