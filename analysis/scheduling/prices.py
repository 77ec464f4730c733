"""Price of greedy and of fair scheduling: rules compared with proved optima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...instances.scheduling import Schedule, Scheduling
from ...instances.scheduling.utility import job_psi, job_units
from ...solvers.outcome import Status
from ...solvers.scheduling.optimum import max_utility, max_utilization
from .strategy import STRATEGY_RULES
from .windows import rule_schedule, whole_schedule


@dataclass(frozen=True)
class Price:
    """A rule's share of the optimum, on one instance.

    Attributes
    ----------
    rule : name.
    work, utility : its units of work, and total psi_sp, over the optimum's; 1 where both are 0.
    """

    rule: str
    work: float
    utility: float


def prices(
    instance: Scheduling,
    rules: Sequence[str] = STRATEGY_RULES,
    *,
    time_limit: float | None = None,
    seed: int = 0,
) -> list[Price] | None:
    """Fraction of the most work and of the most utility by each rule; None without a proof."""
    optima = [method(instance, time_limit=time_limit) for method in (max_utilization, max_utility)]
    if any(outcome.status is not Status.OPTIMAL for outcome in optima):
        for outcome in optima:
            whole_schedule(outcome)
        return None
    most = [_measure(instance, whole_schedule(outcome)) for outcome in optima]
    found = []
    for name in rules:
        work, utility = _measure(
            instance, rule_schedule(instance, name, np.random.default_rng(seed))
        )
        found.append(
            Price(
                name,
                work / most[0][0] if most[0][0] else 1.0,
                utility / most[1][1] if most[1][1] else 1.0,
            )
        )
    return found


def _measure(instance: Scheduling, schedule: Schedule) -> tuple[int, int]:
    units, worth = (
        int(measure(instance, schedule, instance.horizon).sum()) for measure in (job_units, job_psi)
    )
    return units, worth
