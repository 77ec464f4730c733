"""Most total utility when every user is guaranteed a share of its endowment's utility, with a bound
proved by multipliers.

For any weights lambda >= 0 the most of sum (1 + lambda_i) u_i over all allocations is a closed form
W(lambda), server by server (`utilitarian`), and whoever guarantees u_i >= sigma b_i has a total
utility of at most W(lambda) - sigma sum lambda_i b_i: each lambda is a line that bounds the whole
frontier over sigma. The best lambda is found by a quasi-Newton method, since the gradient of that
bound, u_i - sigma b_i, comes with the closed form. Where all f < 1 the optimal weights' allocation
is the optimum itself; where jobs with f = 1 make it jump, cores and weights come from the convex
program of `models.market.guaranteed`. Either way every value is recomputed from cores, and every
bound from weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Allocation, Floats, Market, check, ratio, total_by
from ...instances.market.sharing import static_utilities
from ...instances.market.utility import user_utilities
from ...models.market.guaranteed import guaranteed
from ..engines import solve_convex
from ..outcome import Clock, raise_if_interrupted
from .scaled_market import EPSILON_BUDGET
from .utilitarian import weighted_optimum

PROVED = 1e-6
"""Total utility and bound that differ relatively by no more than this are equal."""

_STEPS = 400  # of the quasi-Newton method, each a pass over the jobs
_CLIMBS = (
    8  # searches for the largest index from below, where its bound's own allocation is no good
)
_NEAR = 1e-3  # relative: how far below the largest index a search for it stops
_ROUNDING = 1e-13  # of a bound's two large terms, whose difference it is
_WIDEST = 80.0  # logarithms of weights stay within this of each other


@dataclass(frozen=True, eq=False)
class Divided:
    """Allocation of cores with the utilities of the users.

    Attributes
    ----------
    cores : (k,) feasible.
    total : sum of users' utilities.
    index : least u_i / b_i over users with a useful job: the sharing index against the endowment.
    """

    cores: Floats
    total: float
    index: float


class _Enough(Exception):
    """Raised to end a search early: time is up, or it is proved that nothing can be found."""


class Guarantees:
    """Frontier of total utility against the sharing index of a market, computed point by point.

    Parameters
    ----------
    market : with at least one useful job.
    clock : when its time is up, searches end with what they have.
    most_jobs : jobs beyond which the convex program is not tried.

    Attributes
    ----------
    best : the utilitarian optimum, `fairest` the allocation of largest index known.
    highest : proved: no allocation has a larger index.
    """

    def __init__(self, market: Market, clock: Clock, most_jobs: int = 5_000) -> None:
        self.market, self.clock, self.most_jobs = market, clock, most_jobs
        self.static = static_utilities(market)
        self.guaranteed = self.static > 0
        self._lines: list[tuple[float, float]] = []
        self._weight = np.zeros(
            market.users
        )  # of the last point, in units of total utility per unit of u_i / b_i
        self.best = self._weighed(np.zeros(market.users))
        self.fairest = max(self.best, self.divided(self._endowment()), key=lambda one: one.index)
        self.highest = np.inf
        self._deadline: float | None = (
            None  # of the search for the largest index, a third of the time
        )
        self.unit = max(self.best.total, np.finfo(float).tiny)

    def bound(self, index: float) -> float:
        """Upper bound on the total utility of allocations with at least this sharing index: the
        least of all linear bounds found.
        """
        return min(most - index * slope for most, slope in self._lines)

    def divided(self, cores: Floats) -> Divided:
        """Total utility and sharing index of cores (k,); raises for infeasible cores."""
        check(self.market, Allocation(cores))
        worth = user_utilities(self.market, cores)
        index = float(ratio(worth, self.static, np.inf)[self.guaranteed].min(initial=np.inf))
        return Divided(cores, float(worth.sum()), index)

    def raise_index(self) -> None:
        """Find the allocation of largest sharing index, and prove an upper bound on this index.

        The index is at most W(w) / sum w_i b_i for any weights w of users, W the most of sum w_i
        u_i.
        """
        self._deadline = (
            None if self.clock.left is None else self.clock.seconds + self.clock.left / 3
        )
        guaranteed, static = self.guaranteed, self.static[self.guaranteed]
        shares = np.zeros(self.market.users)

        def least_index(logarithm: Floats) -> tuple[float, Floats]:
            share = np.exp(np.clip(logarithm - logarithm.max(), -_WIDEST, 0.0))
            weight = np.zeros(self.market.users)
            weight[guaranteed] = share / static
            shares[guaranteed] = share / share.sum()
            cores, most = weighted_optimum(self.market, weight[self.market.user])
            found = self.divided(cores)
            self._keep(found)
            self.highest = min(self.highest, most / share.sum() * (1 + _ROUNDING))
            ratios = user_utilities(self.market, cores)[guaranteed] / static
            if self._late:
                raise _Enough
            return most / share.sum(), share * (ratios - most / share.sum()) / share.sum()

        try:
            _minimize(least_index, np.zeros(guaranteed.sum()), bounded=False)
            if self.highest - self.fairest.index > PROVED * self.highest:
                self._ask_program(None)
            if self.highest - self.fairest.index > PROVED * self.highest:
                # The bound may be tight and its allocation still poor: users of next to no weight
                # get next to nothing there.
                # At weights 1 + lambda for an index a little below the bound nobody is without
                # weight.
                for _ in range(_CLIMBS):
                    if self.fairest.index >= (1 - 2 * _NEAR) * self.highest or self._late:
                        break
                    self._weight = shares
                    self.most((1 - _NEAR) * self.highest)
                self._weight = np.zeros(self.market.users)
        except _Enough:
            pass
        self._deadline = None

    def most(self, index: float) -> Divided | None:
        """Allocation of most total utility found with at least this sharing index; None if none is
        known.

        The bound on it is `bound(index)` afterwards; it is optimal when the two agree to `PROVED`.
        """
        found: list[Divided] = [one for one in (self.best, self.fairest) if one.index >= index]
        tried: dict[str, tuple[float, Divided]] = {}

        def dual(weight: Floats) -> tuple[float, Floats]:
            line, one = self._line(self._lambda(weight))
            self._lines.append(line)
            self.highest = min(
                self.highest, line[0] / (line[1] + self.static.sum())
            )  # total utility is sigma sum b_i or more
            value = line[0] - index * line[1]
            if "least" not in tried or value < tried["least"][0]:
                tried["least"] = value, one
                self._weight = weight.copy()
            if self._late or self.highest < index:
                raise _Enough
            slack = ratio(user_utilities(self.market, one.cores), self.static) - index
            return value / self.unit, np.where(self.guaranteed, slack, 0.0)

        try:
            if self.best.index < index:
                _minimize(dual, self._weight, bounded=True)
                found += self._repaired(tried["least"][1], index)
                value = max((one.total for one in found), default=-np.inf)
                if self.bound(index) - value > PROVED * self.unit:
                    found += self._ask_program(index)
        except _Enough:
            found += self._repaired(tried["least"][1], index) if tried else []
        return max(found, key=lambda one: one.total, default=None)

    @property
    def _late(self) -> bool:
        return self.clock.expired or (
            self._deadline is not None and self.clock.seconds > self._deadline
        )

    def _lambda(self, weight: Floats) -> Floats:
        return self.unit * ratio(weight, self.static)

    def _line(self, weight: Floats) -> tuple[tuple[float, float], Divided]:
        """Constant and slope, in the guaranteed sharing index, of an upper bound on total utility;
        and the best allocation with utilities weighted by 1 + `weight`, which proves it.
        """
        cores, most = weighted_optimum(self.market, (1.0 + weight)[self.market.user])
        return (
            most * (1 + _ROUNDING),
            float(weight @ self.static) * (1 - _ROUNDING),
        ), self.divided(cores)

    def _weighed(self, weight: Floats) -> Divided:
        line, one = self._line(weight)
        self._lines.append(line)
        return one

    def _keep(self, one: Divided) -> None:
        if one.index > self.fairest.index:
            self.fairest = one

    def _repaired(self, one: Divided, index: float) -> list[Divided]:
        """Mix an allocation with as little of the fairest one as raises its sharing index to
        `index`; an empty list if the fairest falls short.

        The least user's ratio is a concave function of the mixture, so the mixtures that keep the
        index are an interval that ends at the fairest.
        """
        self._keep(one)
        if one.index >= index:
            return [one]
        if self.fairest.index < index:
            return []
        low, high, best = 0.0, 1.0, self.fairest
        for _ in range(60):
            middle = (low + high) / 2
            mixed = self.divided((1 - middle) * one.cores + middle * self.fairest.cores)
            if mixed.index >= index:
                high, best = middle, mixed
            else:
                low = middle
        return [best]

    def _ask_program(self, index: float | None) -> list[Divided]:
        """Solve the convex program for a sharing index, or for the largest one when `index` is
        None; keep the bound that its multipliers prove, and return its allocation after repair.
        """
        moving = self.market.useful & (self.market.parallel_fraction > 0)
        if not 0 < moving.sum() <= self.most_jobs or self.clock.expired:
            return []
        program = guaranteed(self.market, self.static, index)
        answer = solve_convex(
            program.problem,
            time_limit=self.clock.left,
            tol_gap_abs=1e-10,
            tol_gap_rel=1e-10,
            tol_feas=1e-10,
        )
        raise_if_interrupted(answer.stop)
        if answer.objective is None:
            return []
        weight = np.zeros(self.market.users)
        weight[program.user] = np.maximum(
            np.asarray(program.guarantees.dual_value, dtype=float), 0.0
        )
        one = self.divided(self._whole(np.asarray(program.share.value, dtype=float), program.job))
        self._keep(one)
        if index is not None:
            self._weighed(ratio(weight * program.unit, self.static))
            return self._repaired(one, index)
        shares = ratio(weight, self.static)
        most = weighted_optimum(self.market, shares[self.market.user])[1]
        self.highest = min(
            self.highest, most / max(float(weight.sum()), np.finfo(float).tiny) * (1 + _ROUNDING)
        )
        return []

    def _whole(self, share: Floats, job: np.ndarray) -> Floats:
        """Convert shares of servers into cores (k,) of all jobs: jobs with parallel fraction 0 get
        tiny parts, and each used server gives all its cores.
        """
        market = self.market
        cores = np.zeros(market.jobs)
        cores[job] = np.maximum(share, 0.0) * market.capacity[market.server[job]]
        serial = np.flatnonzero(market.useful & (market.parallel_fraction == 0))
        number = np.bincount(market.server[serial], minlength=market.servers)
        cores[serial] = (EPSILON_BUDGET * market.capacity / np.maximum(number, 1))[
            market.server[serial]
        ]
        used = total_by(market.server, cores, market.servers)
        return cores * ratio(market.capacity, used)[market.server]

    def _endowment(self) -> Floats:
        """Endowment of every user, split equally over its jobs on each server; cores that nobody
        uses are not given.
        """
        market = self.market
        useful = np.flatnonzero(market.useful)
        key = market.user[useful] * market.servers + market.server[useful]
        _, place, number = np.unique(key, return_inverse=True, return_counts=True)
        share = (
            market.budget[market.user[useful]] / market.budget[market.active].sum() / number[place]
        )
        cores = np.zeros(market.jobs)
        cores[useful] = share * market.capacity[market.server[useful]]
        return cores


def _minimize(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, *, bounded: bool
) -> None:
    """Minimize a convex function by L-BFGS-B, while `function` records the points it needs."""
    from scipy.optimize import minimize

    bounds = [(0.0, None)] * len(start) if bounded else None
    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
