"""Frontiers of stability and fairness: least mean penalty within limits on blocking pairs, alpha
and slack.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from ...baselines.colocation import (
    complementary,
    greedy,
    marriage_partition,
    marriage_random,
    roommates,
)
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import least_allowance, mean_penalty, scale
from ...instances.colocation.stability import (
    Alpha,
    AlphaMode,
    Uncertainty,
    blocking_pairs,
    stable_alpha,
    validate_alpha,
)
from ...instances.problem.errors import NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.colocation import at_most_blocking, fair, optimal
from ...solvers.colocation.robust import robust_alpha
from ...solvers.colocation.stable import stable
from ...solvers.outcome import Clock, Outcome, Status, Stop, agree
from ..frontier import Points, PriceFrontier, Sweep, settled

Against = Literal["blocking", "alpha", "slack"]

MOST_TYPES = 300
"""Types up to which limits are solved for: programs of more take too long to write down."""

UNHURRIED = 30.0
"""Seconds for the fairest or stablest pairing without a time limit, but for its first level."""

_FAIRNESS: dict[Against, tuple[str, str]] = {
    "blocking": ("blocking_pairs", "Each limit: at most so many blocking pairs."),
    "alpha": (
        "robust_alpha",
        "Each limit: an alpha, in points of penalty, at which no pair blocks.",
    ),
    "slack": (
        "slack",
        "Each limit: no type's mean penalty above that of a type of strictly larger bandwidth by "
        "more than this slack.",
    ),
}


@validate_options
def price_frontiers(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    points: Points = 8,
    alpha: Alpha = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> tuple[PriceFrontier, ...]:
    """Least mean penalty within each limit on blocking pairs and, with bandwidths, on slack.

    The stability-performance and the fairness-performance frontier of Cooper's desiderata (section
    II), by one exact program for each limit. Policies give the programs their starts. With
    intervals of the penalties also on alpha, in points of penalty, where no pair possibly blocks;
    and beside it, where none blocks by the measured penalties, and none certainly.

    Parameters
    ----------
    time_limit : seconds in all, in equal parts for each frontier.
    points : limits to spread over the range that matters.
    alpha, alpha_mode : least gain for which an agent breaks away, as in
        `instances.colocation.gains`.

    Raises
    ------
    InvalidOption
        An option is out of range.
    NoSolution
        The instance has no feasible pairing.
    """
    validate_alpha(alpha, alpha_mode)
    clock, found = Clock(time_limit), list[PriceFrontier]()
    kinds: list[Against] = ["blocking"] if instance.bandwidth is None else ["blocking", "slack"]
    free = optimal(instance, time_limit=None if time_limit is None else time_limit / 4)
    if free.status is Status.INFEASIBLE:
        proof = free.certificate.get("proof")
        raise NoSolution(f"the instance has no feasible pairing ({proof})")
    if free.solution is None:
        return ()
    known, robust = _known(instance), instance.low is not None and instance.types <= MOST_TYPES
    for index, against in enumerate(kinds):
        part = Clock(clock.time_slice(len(kinds) - index + robust))
        more: Any = {"alpha": alpha, "alpha_mode": alpha_mode}
        found.append(_frontier(instance, against, part, points, known, free, **more))
        if found[-1].stop is Stop.INTERRUPTED:
            return tuple(found)
    if robust:
        part = Clock(clock.time_slice())
        found.append(_alpha_frontiers(instance, part, points, known, free))
    return tuple(found)


def _frontier(
    instance: Colocation, against: Against, clock: Clock, points: int, known: Sequence[Pairing],
    free: Outcome, *, values: Iterable[float] | None = None, alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points", uncertainty: Uncertainty = "none",
) -> PriceFrontier:  # fmt: skip
    """Frontier of the least mean penalty within limits on blocking pairs, on alpha or on slack.

    `values` are the limits; spread over the range that matters when not given. `free` is what
    `optimal` says of the instance. Reached are the blocking pairs at `alpha`, the least alpha
    without a blocking pair, or the slack.
    """

    def measured(pairing: Pairing) -> tuple[float, float]:
        if against == "alpha":
            reached = stable_alpha(instance, pairing, uncertainty)
        elif against == "slack":
            reached = least_allowance(instance, pairing)
        else:
            reached = float(blocking_pairs(instance, pairing, alpha, alpha_mode).count)
        return mean_penalty(instance, pairing), reached

    def least(limit: float, start: Pairing | None, *, time_limit: float | None) -> Outcome:
        given: Any = {"time_limit": time_limit, "start": start}
        if limit < fewest and not agree(limit, fewest, unit):
            return Outcome(None, None, Status.INFEASIBLE)
        if against == "alpha":
            return at_most_blocking(instance, 0, limit, uncertainty=uncertainty, **given)
        if against == "slack":
            return fair(instance, slack=limit, **given)
        return at_most_blocking(instance, int(limit), alpha, alpha_mode, **given)

    # 1. The cheapest pairing, one as fair or as stable as can be, and how fair any can be at most.
    limits = None if values is None else sorted(set(values))
    unit, cheapest = scale(instance, _FAIRNESS[against][0]), cast("Pairing", free.solution)
    sweep = Sweep(clock, measured, "min", "min", [*known, cheapest])
    sweep.free, sweep.stops, fewest = free, [free.stop], 0.0
    name, note = _FAIRNESS[against]
    if against == "blocking" and alpha:
        note += f" An agent breaks away for a gain of more than {alpha:g}."
    loosest = measured(cheapest)[1]
    if instance.types > MOST_TYPES and limits is None:
        sweep.add(roommates(instance))
        note += (
            f" More than {MOST_TYPES} types: the limits between are not solved for; the bound is "
            "that of any pairing."
        )
        marks = sweep.staircase(loosest, free)
        return PriceFrontier("penalty", name, settled(marks, "min"), note, sweep.stopped)
    if limits is None and against != "alpha":
        method = fair if against == "slack" else partial(stable, alpha=alpha, alpha_mode=alpha_mode)
        tight = method(instance, time_limit=clock.time_slice(points + 1) or UNHURRIED)
        sweep.add(tight.solution)
        sweep.stops += [tight.stop] * (tight.stop is Stop.INTERRUPTED)
        fewest = tight.bound or 0.0

    # 2. A program for each limit.
    if limits is None:
        limits = _spread(against, sweep.fairest, loosest, points)
    marks = sweep.points(limits, least)
    return PriceFrontier("penalty", name, settled(marks, "min"), note, sweep.stopped)


def _spread(against: Against, low: float, high: float, number: int) -> list[float]:
    """Limits on blocking pairs, alpha or slack, the last one what the cheapest pairing reaches."""
    if against == "alpha":
        return [float(limit) for limit in np.linspace(0.0, high, number)]
    if against == "slack":
        return sorted(set(np.linspace(low, high, number).tolist()))
    # Few pairs and many are both of interest: half the limits are spread by factors, half by
    # differences.
    first = max(low, 1.0)
    factors = np.geomspace(first, max(high, first), (number + 1) // 2) if high else np.zeros(0)
    steps = np.linspace(low, high, number // 2 + 1)[1:]
    return sorted({0.0, low, *factors.round().tolist(), *steps.round().tolist()})


def _alpha_frontiers(
    instance: Colocation, clock: Clock, points: int, known: Sequence[Pairing], free: Outcome
) -> PriceFrontier:
    """Frontier of the least mean penalty by alpha without possibly blocking pairs. Beside it are
    those without pairs that block by the measured penalties, and without certainly blocking pairs.

    The limits are spread from robust alpha, 0 and 0 to what the cheapest pairing reaches anyway;
    the first of possible ones is the largest alpha below robust alpha that is proved too low, where
    there is one.
    """
    robust = robust_alpha(instance, time_limit=clock.time_slice(4))
    values, starts = None, list(known)
    if robust.pairing is not None and robust.alpha is not None:
        last = robust.alpha
        if isinstance(free.solution, Pairing):
            last = max(last, stable_alpha(instance, free.solution, "possible"))
        values = np.linspace(robust.alpha, last, points).tolist()
        values += [] if robust.below is None else [robust.below]
        starts.append(robust.pairing)

    stops = [robust.stop]

    def line(left: int, kind: Uncertainty, values: Sequence[float] | None) -> PriceFrontier:
        ended = Stop.INTERRUPTED if Stop.INTERRUPTED in stops else free.stop  # no program follows
        part, begin = Clock(clock.time_slice(left)), replace(free, stop=ended)
        found = _frontier(
            instance, "alpha", part, points, starts, begin, values=values, uncertainty=kind
        )
        stops.append(found.stop)
        return found

    possible = line(3, "possible", values)
    beside = {"measured": line(2, "none", None), "certain": line(1, "certain", None)}
    note = (
        "Each limit: an alpha, in points of penalty, at which no pair blocks for any matrix within "
        f"the intervals. {instance.certainty[:1].upper()}{instance.certainty[1:]}. Measured: none "
        "blocks by the measured penalties; certain: none blocks for every matrix."
    )
    ended = [Stop.INTERRUPTED] if Stop.INTERRUPTED in stops else stops
    stop = next((one for one in ended if one is not Stop.FINISHED), Stop.FINISHED)
    others = tuple((name, each.points) for name, each in beside.items())
    return replace(possible, note=note, stop=stop, beside=others)


def _known(instance: Colocation) -> list[Pairing]:
    """Pairings of fast policies as starting solutions; none where forbidden pairs stop a policy."""
    policies = (
        [greedy, marriage_partition, complementary] if instance.bandwidth is not None else [greedy]
    )
    try:
        made = [policy(instance) for policy in policies]
        return [*made, marriage_random(instance, rng=np.random.default_rng(0))]
    except NoSolution:
        return []
