"""What stability and fairness cost: least mean penalty within limits on pairs, alpha and slack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from ...baselines.colocation import (
    complementary,
    greedy,
    marriage_partition,
    marriage_random,
    roommates,
)
from ...instances.colocation.groups import stable_alpha
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import least_allowance, mean_penalty, scale
from ...instances.colocation.stability import (
    Alpha,
    AlphaMode,
    Uncertainty,
    blocking_pairs,
    compared,
    validate_alpha,
)
from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.colocation import (
    at_most_blocking,
    fair,
    find_stable,
    optimal,
    require_bandwidth,
)
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
def frontier(
    instance: Colocation,
    against: Against = "blocking",
    *,
    values: Iterable[float] | None = None,
    points: Points = 8,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
    time_limit: float | None = None,
    known: Sequence[Pairing] = (),
    free: Outcome | None = None,
) -> PriceFrontier:
    """Least mean penalty against blocking pairs, against alpha, or against slack.

    One exact program for each limit (epsilon-constraint). A pairing within a limit is within every
    looser one, so each point starts from the best one known, and the bound of a looser limit is a
    bound of every tighter one.

    Parameters
    ----------
    instance : what is given.
    against : "blocking": at most so many blocking pairs at `alpha`; "alpha": no blocking pair at
        that alpha, in points of penalty; "slack": at most so much attribution slack (needs
        bandwidths).
    values : the limits; spread over the range that matters when not given.
    points : how many limits to spread, at least 2.
    alpha, alpha_mode : as in `gains`, only for "blocking".
    uncertainty : which gains count against alpha, as in `blocking_pairs`.
    time_limit : seconds in all, shared equally among the points to come.
    known : pairings to start from where they keep a limit, such as those of policies.
    free : what `optimal` says of the instance, when it has been asked already.

    Returns
    -------
    PriceFrontier
        Reached are the blocking pairs at `alpha`, the least alpha without a blocking pair, or the
        slack, of the pairing found, a point's `answer`.

    Raises
    ------
    InvalidOption
        An option is out of range, a limit is negative, or an uncertainty is given against another
        limit than alpha or where there are no intervals.
    NoSolution
        The instance has no feasible pairing.
    """
    # 1. What is asked.
    validate_alpha(alpha, alpha_mode)
    compared(instance, uncertainty)
    if uncertainty != "none" and against != "alpha":
        raise InvalidOption(
            f"uncertainty is {uncertainty!r} against {against}; expected it against alpha only"
        )
    if against == "slack":
        require_bandwidth(instance)
    limits = None if values is None else sorted({float(value) for value in values})
    if limits is not None and (not limits or not limits[0] >= 0):
        raise InvalidOption(f"values is {limits}; expected limits of 0 or more")
    if limits is not None and against == "blocking" and any(value % 1 for value in limits):
        raise InvalidOption(f"values is {limits}; expected whole numbers of blocking pairs")

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
            return find_stable(instance, limit, uncertainty=uncertainty, **given)
        if against == "slack":
            return fair(instance, slack=limit, **given)
        return at_most_blocking(instance, int(limit), alpha, alpha_mode, **given)

    # 2. The cheapest pairing, one as fair or as stable as can be, and how fair any can be at most.
    clock, unit = Clock(time_limit), scale(instance, _FAIRNESS[against][0])
    if free is None:
        free = optimal(instance, time_limit=clock.time_slice(points + 1))
    cheapest = _cheapest(free)
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

    # 3. A program for each limit.
    if limits is None:
        limits = _spread(against, sweep.fairest, loosest, points)
    marks = sweep.points(limits, least)
    return PriceFrontier("penalty", name, settled(marks, "min"), note, sweep.stopped)


def _spread(against: Against, low: float, high: float, number: int) -> list[float]:
    """Limits from the tightest that can matter to what the cheapest pairing reaches anyway."""
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


@validate_options
def alpha_frontiers(
    instance: Colocation,
    *,
    points: Points = 8,
    time_limit: float | None = None,
    known: Sequence[Pairing] = (),
    free: Outcome | None = None,
) -> PriceFrontier:
    """Least mean penalty against alpha, in points of penalty, where no pair possibly blocks; and
    beside it, where none blocks by the measured penalties, and none certainly.

    The limits are spread from robust alpha, 0 and 0 to what the cheapest pairing reaches anyway;
    the first of possible ones is the largest alpha below robust alpha that is proved too low, where
    there is one.

    Parameters
    ----------
    instance : with intervals.
    points, time_limit, known, free : as in `frontier`; the time is shared.

    Raises
    ------
    InvalidOption
        An option is out of range, or there are no intervals.
    NoSolution
        The instance has no feasible pairing.
    """
    clock = Clock(time_limit)
    free = optimal(instance, time_limit=clock.time_slice(4)) if free is None else free
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
        found = frontier(
            instance, "alpha", values=values, points=points, uncertainty=kind,
            time_limit=clock.time_slice(left), known=starts, free=replace(free, stop=ended),
        )  # fmt: skip
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


@validate_options
def price_frontiers(
    instance: Colocation,
    *,
    time_limit: float | None = None,
    points: Points = 8,
    alpha: Alpha = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> tuple[PriceFrontier, ...]:
    """The least mean penalty within each limit on blocking pairs, and, with bandwidths, on
    attribution slack.

    The stability-performance and the fairness-performance frontier of Cooper's desiderata (section
    II), by one exact program for each limit. Policies give the programs their starts. With
    intervals also on alpha, see `alpha_frontiers`.

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
    if free.solution is None and free.status is not Status.INFEASIBLE:
        return ()
    _cheapest(free)
    given: Any = {"points": points, "known": _known(instance), "free": free}
    robust = instance.low is not None and instance.types <= MOST_TYPES
    for place, against in enumerate(kinds):
        given["time_limit"] = clock.time_slice(len(kinds) - place + robust)
        found.append(frontier(instance, against, alpha=alpha, alpha_mode=alpha_mode, **given))
        if found[-1].stop is Stop.INTERRUPTED:
            return tuple(found)
    if robust:
        found.append(alpha_frontiers(instance, **{**given, "time_limit": clock.time_slice()}))
    return tuple(found)


def _cheapest(free: Outcome) -> Pairing:
    """The cheapest pairing; refuses an instance that has none."""
    if isinstance(free.solution, Pairing):
        return free.solution
    raise NoSolution(f"the instance has no feasible pairing ({free.certificate.get('proof')})")


def _known(instance: Colocation) -> list[Pairing]:
    """Pairings of the policies that take no time."""
    policies = (
        [greedy, marriage_partition, complementary] if instance.bandwidth is not None else [greedy]
    )
    try:
        made = [policy(instance) for policy in policies]
        return [*made, marriage_random(instance, rng=np.random.default_rng(0))]
    except NoSolution:
        return []
