"""What stability and fairness cost a population: least mean penalty within limits on blocking pairs, and on slack."""

from __future__ import annotations

import numpy as np

from ...baselines.colocation import complementary, greedy, marriage_partition, marriage_random, roommates
from ...instances.colocation import Colocation, Pairing, blocking_pairs
from ...instances.colocation.objective import attribution_slack, mean_penalty
from ...instances.colocation.stability import Alpha, AlphaMode, validate_alpha
from ...instances.problem.errors import NoSolution
from ...instances.problem.rules import checked
from ...solvers.colocation import optimal
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ..frontier import Points, PriceFrontier, PricePoint, settled
from .frontier import Against, frontier

MOST_TYPES = 300
"""Types up to which limits are solved for; the programs of many more take longer to write down than there is time."""

_FAIRNESS: dict[Against, tuple[str, str]] = {
    "blocking": ("blocking_pairs", "at most so many blocking pairs"),
    "slack": ("slack", "no type's mean penalty above that of a type of strictly larger bandwidth by more than this slack"),
}


@checked
def price_frontiers(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    points: Points = 8,
    alpha: Alpha = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
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
    validate_alpha(alpha, alpha_mode)
    clock = Clock(time_limit)
    kinds: list[Against] = ["blocking"] if instance.bandwidth is None else ["blocking", "slack"]
    found: list[PriceFrontier] = []
    free = optimal(instance, time_limit=None if time_limit is None else time_limit / 4)
    if free.solution is None and free.status is Status.INFEASIBLE:
        raise NoSolution(f"the instance has no feasible pairing ({free.certificate.get('proof')})")
    if free.solution is None:
        return ()
    known = _known(instance)
    for place, against in enumerate(kinds):
        left = clock.share(len(kinds) - place)
        fairness, words = _FAIRNESS[against]
        note = f"Each limit: {words}."
        if against == "blocking" and alpha:
            note += f" An agent breaks away for a gain of more than {alpha:g}."
        if instance.types > MOST_TYPES:
            note += f" More than {MOST_TYPES} types: the limits between are not solved for; the bound is that of any pairing."
            marks, stop = _ends(instance, against, known, free, alpha, alpha_mode), free.stop
        else:
            line = frontier(
                instance, against, points=points, alpha=alpha, alpha_mode=alpha_mode, time_limit=left, known=known, free=free
            )
            marks, stop = [point.priced for point in line.points], line.stop
        found.append(PriceFrontier("penalty", fairness, settled(marks, "min"), note, stop))
        if stop is Stop.INTERRUPTED:
            break
    return tuple(found)


def _ends(
    instance: Colocation, against: Against, known: list[Pairing], free: Outcome, alpha: float, alpha_mode: AlphaMode
) -> list[PricePoint]:
    """The policies' pairings at what each reaches, and the cheapest, whose bound holds for all; none beyond the cheapest."""
    assert isinstance(free.solution, Pairing)
    priced = []
    for pairing in [*known, roommates(instance), free.solution]:
        if against == "blocking":
            reached = float(blocking_pairs(instance, pairing, alpha, alpha_mode).count)
        else:
            reached = attribution_slack(instance, pairing)
        priced.append((reached, mean_penalty(instance, pairing)))
    cheapest = {at: value for at, value in sorted(priced, reverse=True) if at <= priced[-1][0]}  # of equals the least value
    return [PricePoint(at, cheapest[at], free.bound, at, Status.FEASIBLE) for at in sorted(cheapest)]


def _known(instance: Colocation) -> list[Pairing]:
    """Pairings of the policies that take no time."""
    policies = [greedy, marriage_partition, complementary] if instance.bandwidth is not None else [greedy]
    try:
        made = [policy(instance) for policy in policies]
        return [*made, marriage_random(instance, rng=np.random.default_rng(0))]
    except NoSolution:
        return []
