"""What stability and fairness cost a population: least mean penalty within limits on blocking pairs, and on slack."""

from __future__ import annotations

import numpy as np

from ...baselines.colocation import complementary, greedy, marriage_partition, marriage_random
from ...instances.colocation import Colocation, Pairing
from ...instances.problem.errors import NoSolution
from ...solvers.outcome import Clock, Stop
from ..price_map import PriceFrontier, settled
from .frontier import Against, frontier

_FAIRNESS: dict[Against, tuple[str, str]] = {
    "blocking": ("blocking_pairs", "at most so many blocking pairs"),
    "slack": ("slack", "no type's mean penalty above that of a type of strictly larger bandwidth by more than this slack"),
}


def price_frontiers(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    points: int = 8,
    alpha: float = 0.0,
    alpha_mode: str = "penalty-points",
) -> tuple[PriceFrontier, ...]:
    """The least mean penalty within each limit on blocking pairs, and, with bandwidths, on attribution slack.

    The stability-performance and the fairness-performance frontier of Cooper's desiderata (section II), by one exact program
    for each limit. Policies give the programs their starts.

    Parameters
    ----------
    time_limit : seconds in all, half of them for each frontier where there are two.
    points : limits to spread over the range that matters.
    alpha, alpha_mode : least gain for which an agent breaks away, as in `instances.colocation.gains`.

    Raises
    ------
    InvalidOption
        An option is out of range.
    NoSolution
        The instance has no feasible pairing.
    """
    clock = Clock(time_limit)
    kinds: list[Against] = ["blocking"] if instance.bandwidth is None else ["blocking", "slack"]
    found: list[PriceFrontier] = []
    for place, against in enumerate(kinds):
        left = None if clock.left is None else max(clock.left / (len(kinds) - place), 1e-2)
        line = frontier(
            instance, against, points=points, alpha=alpha, alpha_mode=alpha_mode, time_limit=left, known=_known(instance)
        )
        fairness, words = _FAIRNESS[against]
        note = f"Each limit: {words}."
        if against == "blocking" and alpha:
            note += f" An agent breaks away for a gain of more than {alpha:g}."
        marks = settled([point.priced for point in line.points], "min")
        found.append(PriceFrontier("penalty", fairness, marks, note, line.stop))
        if line.stop is Stop.INTERRUPTED:
            break
    return tuple(found)


def _known(instance: Colocation) -> list[Pairing]:
    """Pairings of the policies that take no time."""
    policies = [greedy, marriage_partition, complementary] if instance.bandwidth is not None else [greedy]
    try:
        made = [policy(instance) for policy in policies]
        return [*made, marriage_random(instance, rng=np.random.default_rng(0))]
    except NoSolution:
        return []
