"""A bound on the mean penalty that needs no program: every agent beside a partner of its own
choice.
"""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Colocation, Floats


def least_penalty_bound(instance: Colocation) -> float:
    """A bound on the mean penalty of any pairing at all, stable or not."""
    present = instance.count > 0
    cost = np.where(instance.allowed & present, instance.penalty, np.inf)
    if instance.distinct and instance.singles_allowed == 0:
        return _fractional_bound(cost)
    best = cost.min(axis=1)  # everyone beside the partner it likes best, or alone
    if instance.singles_allowed > 0:
        best = np.minimum(best, instance.single_penalty)
    return float(best[present] @ instance.count[present]) / instance.agents


def _fractional_bound(cost: Floats) -> float:
    """Least mean penalty of a fractional perfect matching: an assignment of agents to co-runners,
    both ways at once.
    """
    from scipy.optimize import linear_sum_assignment

    both = np.where(
        np.isfinite(cost) & np.isfinite(cost.T), (cost + cost.T) / 2, len(cost) * 4.0
    )  # dearer than any without
    row, column = linear_sum_assignment(both)
    return float(both[row, column].mean())
