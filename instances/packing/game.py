"""Equations 4 to 14 of Xu and Yu (2014), one function each: fair share, fairness variance,
utilization, skewness, utility.

Total amounts x_ij enter as VM counts n_i (x_ij = n_i r_ij), since every user has one VM type. What
is a rational by these formulas is worked out as one, and rounded last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidInstance
from ..problem.option_types import Above, validate_options
from ..problem.quantities import as_written
from .instance import Floats, Integers, Packing


@validate_options
@dataclass(frozen=True, eq=False)
class FairShare:
    """Fair share of equation 4: normalized capacities, normalized demands, and the dominant share
    of all users.

    Attributes
    ----------
    total : (k,) C, free in all on the fixed servers.
    normalized : (s, k) psi_ij = r_ij / C_j.
    demand : (s, k) d_ij = psi_ij / max_j psi_ij.
    share : lambda = 1 / max_j sum_i d_ij.
    request : (s, k) r_ij.
    """

    total: Integers
    normalized: Floats
    demand: Floats
    share: float
    request: Integers

    @classmethod
    def of(cls, instance: Packing) -> FairShare:
        """Fair share of an instance with fixed servers; else raises InvalidInstance."""
        if np.isinf(instance.server_count).any():
            raise InvalidInstance(
                "servers",
                "as many as needed in some class",
                "a number of servers",
                "Shares need a total",
            )
        total = (instance.capacity * instance.server_count.astype(np.int64)[:, None]).sum(axis=0)
        normalized = instance.demand / np.maximum(total, 1)
        demand = normalized / normalized.max(axis=1, keepdims=True)
        return cls(
            total, normalized, demand, float(1.0 / demand.sum(axis=0).max()), instance.demand
        )

    @property
    def dominant_unit(self) -> Floats:
        """Dominant share (s,) of one VM of each user: max_j psi_ij."""
        largest: Floats = self.normalized.max(axis=1)
        return largest

    @cached_property
    def unit(self) -> tuple[Fraction, ...]:
        """Dominant share (s,) of one VM of each user, exactly."""
        whole = [max(int(number), 1) for number in self.total]
        return tuple(
            max(Fraction(amount, number) for amount, number in zip(row, whole, strict=True))
            for row in self.request.tolist()
        )

    def shares(self, vms: Integers) -> Floats:
        """Dominant shares (s,) of VM counts, each rounded once: equal shares stay equal."""
        result: Floats = (vms[:, None] * self.request / np.maximum(self.total, 1)).max(axis=1)
        return result

    @cached_property
    def due(self) -> tuple[tuple[Fraction, ...], ...]:
        """Exact fair share lambda d_ij (s, k); with more than 64 users lambda to 300 bits."""
        whole = [max(int(number), 1) for number in self.total]
        demand = []
        for row in self.request.tolist():
            shares = [Fraction(amount, number) for amount, number in zip(row, whole, strict=True)]
            demand.append([part / max(shares) for part in shares])
        columns = zip(*demand, strict=True)
        if len(demand) <= MOST_EXACT:
            share = 1 / max(sum(column, Fraction(0)) for column in columns)
        else:
            largest = max(sum(int(part * SHORTENED) for part in column) for column in columns)
            share = Fraction(SHORTENED**2 // largest, SHORTENED)
        return tuple(tuple(share * part for part in row) for row in demand)

    def deviations(self, user: int, vms: int) -> list[Fraction]:
        """Absolute differences of a user's shares from its fair ones, by resource, with n VMs.

        Of resource j that of n r_ij / C_j and lambda d_ij; resources without a total are left out.
        """
        return [
            abs(Fraction(vms * amount, total) - due)
            for amount, total, due in zip(
                self.request[user].tolist(), self.total.tolist(), self.due[user], strict=True
            )
            if total > 0
        ]

    @validate_options
    def variance(self, vms: npt.ArrayLike, alpha: Alpha = 2.0) -> float:
        """Fairness variance v of total VM counts (s,), equation 5 as printed: exponent alpha - 1
        inside and 1/alpha outside.

        It is no norm: at alpha 2 it is the square root of a sum of absolute values. Deviations are
        exact and v is rounded from them; where alpha is a whole number up to 64, totals of one v
        give one float.
        """
        counts = np.asarray(vms, dtype=np.int64).tolist()
        parts = [
            part
            for user, number in enumerate(counts)
            for part in self.deviations(user, number)
            if part
        ]
        if not parts:
            return 0.0
        inside = as_written(alpha) - 1
        largest = max(parts)
        if inside.denominator == 1 and inside <= MOST_EXACT and len(counts) <= MOST_EXACT:
            total = float(sum(part**inside.numerator for part in parts))
            if total > SMALLEST:
                return float(total ** (1.0 / alpha))
        total = math.fsum(float(part / largest) ** float(inside) for part in parts)
        return float(float(largest) ** (float(inside) / alpha) * total ** (1.0 / alpha))


MOST_ALPHA = 1_000_000

Alpha = Annotated[
    float, Above(1, "a weight of fairness", most=MOST_ALPHA, cure="the paper has 2 to 5 (eq. 14)")
]
"""At 1 the sign in eq. 8 is 0 and fairness drops out, below it unfairness would be sought; far
above it v is the largest deviation, to more digits than floats have.
"""

MOST_EXACT = 64
"""Users up to which lambda, and whole exponents up to which v, are worked out in rationals."""

SHORTENED = 2**300
"""With more users lambda is rounded to a fraction of this denominator."""

SMALLEST = 1e-280
"""Sums of powers below this are scaled by the largest deviation before they are rounded."""


def server_utilization(free: Integers, start: Integers, load: npt.ArrayLike) -> Floats:
    """Used part of each resource of servers (..., k) under a load; NaN without any capacity.

    It is u_j = 1 - (C_j - x_j) / Pi_j, written as (Pi_j - C_j + x_j) / Pi_j and rounded once: equal
    fractions are equal floats.
    """
    used = start - free + np.asarray(load, dtype=np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(start > 0, used / np.maximum(start, 1), np.nan)


@validate_options
def min_utilization(free: Integers, start: Integers, load: npt.ArrayLike) -> Floats:
    """Least utilization u_min of a server over the resources it has, equations 6 and 10."""
    least: Floats = np.nanmin(server_utilization(free, start, load), axis=-1)
    return least


def whole_utilization(
    free: Integers, start: Integers, load: Integers
) -> tuple[npt.NDArray[Any], int]:
    """Minimum utilization u_min of one server under loads (n, k): integers (n,) and their
    denominator.
    """
    own = start > 0
    common = math.lcm(*(int(amount) for amount in start[own]))
    # a load that fits is at most the space, so at most common after scaling
    kind = np.int64 if common < 2**62 else object
    times = np.array([common // int(amount) for amount in start[own]], dtype=kind)
    used = (start - free + np.asarray(load, dtype=np.int64))[:, own].astype(kind) * times
    return used.min(axis=1), common


def skewness(free: Integers, start: Integers, load: npt.ArrayLike) -> Floats:
    """Skewness of utilization, equation 7: sqrt(sum_j (u_j / mean u - 1)^2); 0 at no use."""
    used = server_utilization(free, start, load)
    mean = np.nanmean(used, axis=-1)
    safe = np.where(mean > 0, mean, 1.0)
    spread = np.nansum((used / safe[..., None] - 1.0) ** 2, axis=-1)
    uneven: Floats = np.where(mean > 0, np.sqrt(spread), 0.0)
    return uneven


def squared_skewness(free: Integers, start: Integers, load: Integers) -> list[Fraction]:
    """Square of the skewness under loads (n, k), exactly: k (k sum u_j^2 / (sum u_j)^2 - 1)."""
    own = start > 0
    space = [int(amount) for amount in start[own]]
    common = math.lcm(*space)
    result = []
    for row in (start - free + np.asarray(load, dtype=np.int64))[:, own].tolist():
        used = [amount * (common // whole) for amount, whole in zip(row, space, strict=True)]
        total = sum(used)
        result.append(
            Fraction(
                len(used) * (len(used) * sum(u * u for u in used) - total**2), max(total**2, 1)
            )
        )
    return result


@validate_options
def utility(variance: float, uneven: float, alpha: Alpha = 2.0) -> float:
    """Utility U of equations 8 and 14: sgn(1 - alpha) v - ske, which for alpha > 1 is -v - ske."""
    return -variance - uneven


def scale(instance: Packing, objective: str, *, alpha: float = 2.0, **options: object) -> float:
    """Upper bound on an objective of packing by which its accuracy is judged; 1 for counts."""
    if objective == "cards_allocated":  # percent
        return 100.0
    if objective == "disutility":
        parts: float = instance.demand.size ** (1 / alpha)
        return float(instance.server_count.sum()) * (1 + parts)
    if (
        objective in ("utilization", "dominant_share_min")
        and np.isfinite(instance.server_count).all()
    ):
        return _most_share(instance, objective)
    return 1.0


def _most_share(instance: Packing, objective: str) -> float:
    number = instance.server_count.astype(np.int64)
    fitting = instance.capacity[None] // np.maximum(instance.demand, 1)[:, None]
    fitting = np.where(instance.demand[:, None] > 0, fitting, instance.capacity.max())
    vms = np.minimum(instance.requested, fitting.min(axis=2) @ number)
    if objective == "dominant_share_min":
        return float((vms * FairShare.of(instance).dominant_unit)[vms > 0].min(initial=1.0))
    space = number @ instance.initial_capacity
    busy = number @ (instance.initial_capacity - instance.capacity) + vms @ instance.demand
    return float(np.minimum(1.0, busy[space > 0] / space[space > 0]).mean())
