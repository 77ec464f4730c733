"""Heuristics: the policies that clusters use."""

from __future__ import annotations

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.feasible import isolated_shares
from ...instances.accelerators.instance import Accelerators


def isolated(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> TimeShares:
    """Every job alone in its own 1/n of the cluster, n the number of jobs.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "isolated")
    >>> round(result.objective, 6)
    0.5
    """
    return isolated_shares(instance)
