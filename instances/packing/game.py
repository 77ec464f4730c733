"""Eq. 4 to 14 of Xu and Yu (2014), one function each: fair share, fairness variance, utilization, skewness, utility.

Total amounts x_ij enter as VM counts n_i (x_ij = n_i r_ij), since every user has one VM type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidInstance, InvalidOption
from .instance import Floats, Integers, Packing


@dataclass(frozen=True, eq=False)
class FairShare:
    """What eq. 4 defines: the normalised matrix, the normalised demands, and the dominant share all users should have.

    Attributes
    ----------
    total : (k,) C, free in all on the fixed servers.
    normalised : (s, k) psi_ij = r_ij / C_j.
    demand : (s, k) d_ij = psi_ij / max_j psi_ij.
    share : lambda = 1 / max_j sum_i d_ij.
    request : (s, k) r_ij.
    """

    total: Integers
    normalised: Floats
    demand: Floats
    share: float
    request: Integers

    @classmethod
    def of(cls, instance: Packing) -> FairShare:
        """The fair share of an instance with fixed servers; raises InvalidInstance when they are not."""
        if np.isinf(instance.available).any():
            raise InvalidInstance("servers", "as many as needed in some class", "a number of servers", "Shares need a total")
        total = (instance.capacity * instance.available.astype(np.int64)[:, None]).sum(axis=0)
        normalised = instance.demand / np.maximum(total, 1)
        demand = normalised / normalised.max(axis=1, keepdims=True)
        return cls(total, normalised, demand, float(1.0 / demand.sum(axis=0).max()), instance.demand)

    @property
    def dominant_unit(self) -> Floats:
        """(s,) dominant share of one VM: max_j psi_ij."""
        largest: Floats = self.normalised.max(axis=1)
        return largest

    def deviation(self, user: int, vms: int, alpha: float) -> float:
        """One user's part of eq. 5: sum over j of |n r_ij / C_j - lambda d_ij| ** (alpha - 1), in plain float arithmetic."""
        return math.fsum(
            abs(vms * int(self.request[user, j]) / int(self.total[j]) - self.share * float(self.demand[user, j])) ** (alpha - 1)
            for j in range(len(self.total))
            if self.total[j] > 0
        )

    def variance(self, vms: npt.ArrayLike, alpha: float = 2.0) -> float:
        """Fairness variance v of total VM counts (s,): eq. 5 as printed, exponent alpha - 1 inside and 1/alpha outside.

        It is no norm: at alpha 2 it is the square root of a sum of absolute values.
        """
        validate_alpha(alpha)
        counts = np.asarray(vms, dtype=np.int64)
        parts = [self.deviation(user, int(number), alpha) for user, number in enumerate(counts)]
        return float(added(parts) ** (1.0 / alpha))


def added(parts: list[float]) -> float:
    """The users' parts of eq. 5 added in index order, as the game's solvers add them."""
    total = 0.0
    for part in parts:
        total += part
    return total


def server_utilization(free: Integers, start: Integers, load: npt.ArrayLike) -> Floats:
    """u_j = 1 - (C_j - x_j) / Pi_j of servers (..., k) under a load; NaN where a server never had the resource.

    Written as (Pi_j - C_j + x_j) / Pi_j, a single rounding, so that equal fractions are equal floats.
    """
    used = start - free + np.asarray(load, dtype=np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(start > 0, used / np.maximum(start, 1), np.nan)


def min_utilization(free: Integers, start: Integers, load: npt.ArrayLike) -> Floats:
    """u_min, eq. 6 and 10: the least utilization over the resources the server has."""
    least: Floats = np.nanmin(server_utilization(free, start, load), axis=-1)
    return least


def skewness(free: Integers, start: Integers, load: npt.ArrayLike) -> Floats:
    """ske, eq. 7: sqrt(sum_j (u_j / mean u - 1)^2) over the resources the server has; 0 where nothing is used at all."""
    used = server_utilization(free, start, load)
    mean = np.nanmean(used, axis=-1)
    safe = np.where(mean > 0, mean, 1.0)
    spread = np.nansum((used / safe[..., None] - 1.0) ** 2, axis=-1)
    uneven: Floats = np.where(mean > 0, np.sqrt(spread), 0.0)
    return uneven


def utility(variance: float, uneven: float, alpha: float = 2.0) -> float:
    """U, eq. 8 and 14: sgn(1 - alpha) v - ske, which for alpha > 1 is -v - ske."""
    validate_alpha(alpha)
    return -variance - uneven


def validate_alpha(alpha: float) -> None:
    """Refuse alpha <= 1: at 1 the sign in eq. 8 is 0 and fairness drops out, below it unfairness would be sought."""
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not (alpha > 1 and math.isfinite(alpha)):
        raise InvalidOption(f"alpha is {alpha}; expected a number above 1 (eq. 14; the paper uses 2 to 5)")
