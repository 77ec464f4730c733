"""Lower bounds on the mean penalty without a program: by multipliers of a matching, or by each
agent's best partner.
"""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Pairing, blocks
from ..blossom import MATCHED_FROM
from ..outcome import Clock
from .blossom import Matched
from .common import PROGRAM_LIMITS, ProgramLimits

FRACTIONAL_UP_TO = 2000
"""Different agents up to which a fractional matching bounds the penalty: its time grows with their
cube.
"""


def least_penalty_bound(
    instance: Colocation,
    seconds: float | None = None,
    limits: ProgramLimits = PROGRAM_LIMITS,
    start: Pairing | None = None,
) -> float:
    """Lower bound on the mean penalty of any pairing.

    Parameters
    ----------
    seconds : what it may take; a fractional matching, which looks at no clock, is left out where it
        could take more.
    start : a pairing of the agents, from which large numbers of different ones are matched; their
        bound is then the least penalty itself.
    """
    large = start is not None and instance.agents >= MATCHED_FROM and instance.distinct
    if start is not None and large and (seconds is None or seconds > 0):
        search = Matched(instance, start, Clock(seconds))
        search.search()
        if search.suited and np.isfinite(search.bound):
            return search.bound / instance.agents
    present = instance.count > 0
    matched = instance.distinct and instance.singles_allowed == 0
    in_time = seconds is None or limits.agent_cubed * instance.types**3 <= seconds
    if matched and in_time and instance.types <= FRACTIONAL_UP_TO:
        return _fractional_bound(np.where(instance.allowed, instance.penalty, np.inf))
    best = np.full(instance.types, np.inf)  # everyone beside the partner it likes best, or alone
    for rows in blocks(instance.types):
        usable = instance.allowed[rows] & present
        best[rows] = np.where(usable, instance.penalty[rows], np.inf).min(axis=1)
    if instance.singles_allowed > 0:
        best = np.minimum(best, instance.single_penalty)
    return float(best[present] @ instance.count[present]) / instance.agents


def _fractional_bound(cost: Floats) -> float:
    """Least mean penalty of a fractional perfect matching: an assignment of agents to partners in
    both directions.
    """
    from scipy.optimize import linear_sum_assignment

    both = np.where(
        np.isfinite(cost) & np.isfinite(cost.T), (cost + cost.T) / 2, len(cost) * 4.0
    )  # dearer than any without
    row, column = linear_sum_assignment(both)
    return float(both[row, column].mean())
