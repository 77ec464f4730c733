"""Objectives of a pairing: penalties of agents and types, and slack of fair attribution."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..problem.quantities import as_written
from .instance import Colocation, Floats, Integers, Pairing
from .stability import least_float, require_intervals


def agent_penalties(instance: Colocation, pairing: Pairing) -> tuple[Integers, Floats, Integers]:
    """Type, penalty and number of agents of each (type, co-runner's type) and each single type."""
    a, b = pairing.first, pairing.second
    alone = np.flatnonzero(pairing.single)
    kind = np.concatenate([a, b, alone])
    value = np.concatenate(
        [
            instance.penalty[a, b],
            instance.penalty[b, a],
            np.full(len(alone), instance.single_penalty),
        ]
    )
    return kind, value, np.concatenate([pairing.pairs, pairing.pairs, pairing.single[alone]])


def mean_penalty(instance: Colocation, pairing: Pairing) -> float:
    """Mean over all agents of their penalty: the objective of `optimal`."""
    _, value, number = agent_penalties(instance, pairing)
    return float(value @ number) / instance.agents


def worst_case(instance: Colocation) -> Colocation:
    """Instance with every penalty at the upper end of its interval; raises InvalidOption without
    intervals.
    """
    _, high = require_intervals(instance, "worst", True)
    known = np.isfinite(instance.penalty)
    return instance.without_intervals(penalty=np.where(known, high, np.inf))


def type_penalties(instance: Colocation, pairing: Pairing) -> Floats:
    """Mean penalty (T,) of each type's agents; NaN for a type without agents."""
    kind, value, number = agent_penalties(instance, pairing)
    total = np.bincount(kind, weights=value * number, minlength=instance.types)
    return np.where(instance.count > 0, total / np.maximum(instance.count, 1), np.nan)


def attribution_slack(instance: Colocation, pairing: Pairing) -> float:
    """Slack of fair attribution, the objective of `fair`: the maximum excess of a type's mean
    penalty over that of a type of strictly larger bandwidth.

    0 means fair attribution in the sense of Cooper section II: more contentious types lose no less.
    """
    assert instance.bandwidth is not None
    present = instance.count > 0
    mean, load = type_penalties(instance, pairing)[present], instance.bandwidth[present]
    order = np.argsort(load, kind="stable")
    heads = np.flatnonzero(np.diff(load[order], prepend=-1.0))  # of each level of bandwidth
    least = np.minimum.reduceat(mean[order], heads)
    below = np.maximum.accumulate(np.maximum.reduceat(mean[order], heads))[:-1]
    return max(0.0, float((below - least[1:]).max(initial=0.0)))


ROUNDING = 1e-12
"""Sums of the same decimals in two orders differ by less than this fraction of them."""


def within_slack(instance: Colocation, pairing: Pairing, slack: float) -> bool:
    """Return whether a pairing's slack is at most a number, up to rounding of sums."""
    return attribution_slack(instance, pairing) <= slack + ROUNDING * scale(instance, "slack")


def exact_slack(instance: Colocation, pairing: Pairing) -> Fraction:
    """Slack of fair attribution computed exactly on the decimals of the penalties."""
    assert instance.bandwidth is not None
    mean = [Fraction(0)] * instance.types
    for kind, value, number in zip(*agent_penalties(instance, pairing), strict=True):
        mean[kind] += as_written(float(value)) * int(number) / int(instance.count[kind])
    slack, above = Fraction(0), Fraction(-2)  # no mean is as low as this
    for load in np.unique(instance.bandwidth[instance.count > 0]):
        here = np.flatnonzero((instance.bandwidth == load) & (instance.count > 0))
        slack = max(slack, above - min(mean[kind] for kind in here))
        above = max(above, *(mean[kind] for kind in here))
    return slack


def least_allowance(instance: Colocation, pairing: Pairing) -> float:
    """Least float `most` at which `keeps_slack` is True: a pairing's exact slack, rounded up."""
    return least_float(exact_slack(instance, pairing))


def keeps_slack(instance: Colocation, pairing: Pairing, most: float) -> bool:
    """Return whether a pairing's slack of fair attribution is at most `most`, exactly."""
    beyond = attribution_slack(instance, pairing) - most
    if abs(beyond) > ROUNDING * scale(instance, "slack"):
        return beyond < 0
    return exact_slack(instance, pairing) <= as_written(most)


def scale(instance: Colocation, objective: str, /, **options: object) -> float:
    """Largest absolute penalty of an agent, for penalty objectives; 1 for other objectives."""
    if objective == "worst_case_penalty":
        return scale(worst_case(instance), "penalty")
    if objective not in ("penalty", "penalty_p50", "penalty_p95", "worst_penalty", "slack"):
        return 1.0
    return instance.largest_penalty
