"""What stability and fairness cost: least mean penalty within limits on pairs, alpha and slack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
    UNCERTAINTIES,
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
from ...solvers.engines import EngineName
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop, agree
from ..frontier import Points, PriceFrontier, PricePoint, Programs, settled

Against = Literal["blocking", "alpha", "slack"]

MOST_TYPES = 300
"""Types up to which limits are solved for: programs of more take too long to write down."""

UNHURRIED = 30.0
"""Seconds for the fairest or stablest pairing without a time limit, but for its first level."""

_FAIRNESS: dict[Against, tuple[str, str]] = {
    "blocking": ("blocking_pairs", "at most so many blocking pairs"),
    "slack": (
        "slack",
        "no type's mean penalty above that of a type of strictly larger bandwidth by more "
        "than this slack",
    ),
}


@dataclass(frozen=True)
class FrontierPoint(PricePoint):
    """The least mean penalty under one limit: blocking pairs allowed, the alpha at which none may
    block, or the slack allowed. Reached are the blocking pairs (at the frontier's or the limit's
    alpha), or the slack, of the pairing found.

    Attributes
    ----------
    stop : why this point ended.
    price : penalty above the least of all, in points of penalty; None without a pairing.
    seconds : spent on this point.
    pairing : the pairing found.
    """

    stop: Stop = Stop.FINISHED
    price: float | None = None
    seconds: float = 0.0
    pairing: Pairing | None = None

    @property
    def penalty(self) -> float | None:
        """Mean penalty of the pairing found; None without one."""
        return self.value


@dataclass(frozen=True)
class Frontier:
    """A frontier, the tightest limit first.

    Attributes
    ----------
    against : what the limit is on.
    least : the least mean penalty without any limit, and `least_bound` its proved bound.
    points : one for each limit; those that an interrupt left undone are missing.
    stop : why it ended.
    """

    against: Against
    least: float
    least_bound: float | None
    points: tuple[FrontierPoint, ...]
    stop: Stop = Stop.FINISHED

    def rows(self) -> list[dict[str, Any]]:
        """One plain dict per point, for a table or JSON."""
        names = ("limit", "penalty", "bound", "status", "stop", "reached", "price", "seconds")
        return [
            {
                name: str(value) if name in ("status", "stop") else value
                for name in names
                for value in [getattr(point, name)]
            }
            for point in self.points
        ]


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
    engine: EngineName | None = None,
    report: Report | None = None,
    known: Sequence[Pairing] = (),
    free: Outcome | None = None,
) -> Frontier:
    """Least mean penalty against blocking pairs, against alpha, or against slack.

    One exact program for each limit (epsilon-constraint). A pairing within a limit is within every
    looser one, so each point starts from the one before it, and the bound of a looser limit is a
    bound of every tighter one.

    Parameters
    ----------
    instance : what is given.
    against : "blocking": at most so many blocking pairs at `alpha`; "alpha": no blocking pair at
        that alpha; "slack": at most so much attribution slack (needs bandwidths).
    values : the limits; spread over the range that matters when not given.
    points : how many limits to spread, at least 2.
    alpha, alpha_mode : as in `gains`; alpha only for "blocking".
    uncertainty : which gains count against alpha, as in `blocking_pairs`.
    time_limit : seconds in all, shared equally among the points to come.
    engine : "highs" or "cp-sat"; whichever can when not given.
    report : progress.
    known : pairings to start from where they keep a limit, such as those of policies.
    free : what `optimal` says of the instance, when it has been asked already.

    Raises
    ------
    InvalidOption
        An option is out of range, a limit is negative, or an uncertainty is given against another
        limit than alpha or where there are no intervals.
    NoSolution
        The instance has no feasible pairing.
    """
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
    return _Sweep(
        instance, against, alpha, alpha_mode, engine, Clock(time_limit, report), known, uncertainty
    ).run(limits, points, free)


@validate_options
def alpha_frontiers(
    instance: Colocation,
    *,
    points: Points = 8,
    time_limit: float | None = None,
    known: Sequence[Pairing] = (),
    free: Outcome | None = None,
) -> dict[Uncertainty, Frontier]:
    """Least mean penalty against alpha, in points of penalty, where no pair possibly blocks, none
    by the measured penalties, and none certainly.

    The limits are spread from robust alpha, 0 and 0 to what the cheapest pairing reaches anyway;
    the first of possible ones is the largest alpha below robust alpha that is proved too low, where
    there is one. Frontiers that an interrupt left undone are missing.

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
    clock, found = Clock(time_limit), dict[Uncertainty, Frontier]()
    free = optimal(instance, time_limit=clock.time_slice(4)) if free is None else free
    robust = robust_alpha(instance, time_limit=clock.time_slice(4))
    if Stop.INTERRUPTED in (free.stop, robust.stop):
        return found
    for left, kind in ((3, "possible"), (2, "none"), (1, "certain")):
        uncertainty: Uncertainty = kind  # type: ignore[assignment]
        values, starts = None, list(known)
        if uncertainty == "possible" and robust.pairing is not None and robust.alpha is not None:
            assert free.solution is None or isinstance(free.solution, Pairing)
            last = robust.alpha
            if free.solution is not None:
                last = max(last, stable_alpha(instance, free.solution, "possible"))
            values = np.linspace(robust.alpha, last, points).tolist()
            values += [] if robust.below is None else [robust.below]
            starts.append(robust.pairing)
        found[uncertainty] = frontier(
            instance, "alpha", values=values, points=points, uncertainty=uncertainty,
            time_limit=clock.time_slice(left), known=starts, free=free,
        )  # fmt: skip
        if found[uncertainty].stop is Stop.INTERRUPTED:
            break
    return found


def _robust(
    instance: Colocation, points: int, clock: Clock, known: Sequence[Pairing], free: Outcome
) -> PriceFrontier:
    """The three frontiers against alpha on one map; the possible one is the map's own."""
    lines = alpha_frontiers(
        instance, points=points, time_limit=clock.time_slice(), known=known, free=free
    )

    def marks(kind: Uncertainty) -> tuple[PricePoint, ...]:
        if kind not in lines:
            return ()
        priced = [
            replace(
                point.priced,
                reached=None
                if point.pairing is None
                else stable_alpha(instance, point.pairing, kind),
            )
            for point in lines[kind].points
        ]
        return settled(priced, "min")

    note = (
        "Each limit: an alpha, in points of penalty, at which no pair blocks for any matrix within "
        f"the intervals. {instance.certainty[:1].upper()}{instance.certainty[1:]}. Measured: none "
        "blocks by the measured penalties; certain: none blocks for every matrix."
    )
    names: dict[Uncertainty, str] = {"none": "measured", "certain": "certain"}
    beside = tuple((name, marks(kind)) for kind, name in names.items() if kind in lines)
    stops = [line.stop for line in lines.values() if line.stop is not Stop.FINISHED]
    stop = Stop.INTERRUPTED if len(lines) < len(UNCERTAINTIES) else [*stops, Stop.FINISHED][0]
    return PriceFrontier("penalty", "robust_alpha", marks("possible"), note, stop, beside)


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
    clock = Clock(time_limit)
    kinds: list[Against] = ["blocking"] if instance.bandwidth is None else ["blocking", "slack"]
    found: list[PriceFrontier] = []
    free = optimal(instance, time_limit=None if time_limit is None else time_limit / 4)
    if free.solution is None and free.status is Status.INFEASIBLE:
        raise NoSolution(f"the instance has no feasible pairing ({free.certificate.get('proof')})")
    if free.solution is None:
        return ()
    known = _known(instance)
    robust = instance.low is not None and instance.types <= MOST_TYPES
    for place, against in enumerate(kinds):
        left = clock.time_slice(len(kinds) - place + robust)
        fairness, words = _FAIRNESS[against]
        note = f"Each limit: {words}."
        if against == "blocking" and alpha:
            note += f" An agent breaks away for a gain of more than {alpha:g}."
        sweep = _Sweep(instance, against, alpha, alpha_mode, None, Clock(left), known)
        if instance.types > MOST_TYPES:
            note += (
                f" More than {MOST_TYPES} types: the limits between are not solved for; "
                "the bound is that of any pairing."
            )
            marks, stop = settled(sweep.ends(free), "min"), free.stop
        else:
            line = sweep.run(None, points, free)
            marks, stop = settled([point.priced for point in line.points], "min"), line.stop
        found.append(PriceFrontier("penalty", fairness, marks, note, stop))
        if stop is Stop.INTERRUPTED:
            return tuple(found)
    return (*found, _robust(instance, points, clock, known, free)) if robust else tuple(found)


class _Sweep:
    def __init__(
        self, instance: Colocation, against: Against, alpha: float, alpha_mode: AlphaMode,
        engine: EngineName | None,
        clock: Clock, known: Sequence[Pairing], uncertainty: Uncertainty = "none",
    ) -> None:  # fmt: skip
        self.instance = instance
        self.against = against
        self.alpha = alpha
        self.alpha_mode = alpha_mode
        self.uncertainty: Uncertainty = uncertainty
        self.engine = engine
        self.clock, self.known = clock, list(known)
        self.fewest = 0.0  # proved: nothing keeps a limit below this

    def run(self, limits: list[float] | None, number: int, free: Outcome | None) -> Frontier:
        clock, programs = self.clock, Programs(self.clock)
        if free is None:
            free = optimal(
                self.instance,
                time_limit=clock.time_slice(number + 1),
                engine=self.engine or "highs",
            )
        if not isinstance(free.solution, Pairing):
            raise NoSolution(
                f"the instance has no feasible pairing ({free.certificate.get('proof')})"
            )
        self.free = free
        self.cheapest = free.solution
        self.least = mean_penalty(self.instance, free.solution)
        found: list[FrontierPoint] = []
        try:
            chosen = self._spread(number) if limits is None else limits
            begun = clock.seconds
            for limit, outcome in programs.within(chosen, self._point):
                found.append(self._record(limit, outcome, clock.seconds - begun))
                if (pairing := found[-1].pairing) is not None:
                    self.known.append(pairing)
                if Stop.INTERRUPTED in (outcome.stop, free.stop):
                    break
                clock.note(found[-1].penalty, found[-1].bound, f"{self.against} {limit:g}")
                begun = clock.seconds
            programs.stops.append(free.stop)
        except KeyboardInterrupt:
            programs.stops.append(Stop.INTERRUPTED)
        if programs.stopped is Stop.INTERRUPTED and limits is None and self.against != "alpha":
            loosest = self._reached(self.cheapest, 0.0)  # is known anyway
            if not found or (found[-1].limit or 0.0) < loosest:
                found.append(self._record(loosest, free, 0.0))
        return Frontier(
            self.against, self.least, free.bound, tuple(_tightened(found)), programs.stopped
        )

    def ends(self, free: Outcome) -> list[PricePoint]:
        """The policies' pairings at what each reaches, and the cheapest; none beyond that."""
        assert isinstance(free.solution, Pairing)
        pairings = [*self.known, roommates(self.instance), free.solution]
        priced = [
            (self._reached(pairing, 0.0), mean_penalty(self.instance, pairing))
            for pairing in pairings
        ]
        # of equals the least value
        cheapest = {at: value for at, value in sorted(priced, reverse=True) if at <= priced[-1][0]}
        return [PricePoint(at, cheapest[at], free.bound, at) for at in sorted(cheapest)]

    def _spread(self, number: int) -> list[float]:
        """From the tightest limit that can matter to what the cheapest pairing reaches anyway."""
        if self.free.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        loosest = self._reached(self.cheapest, 0.0)
        if self.against == "alpha":
            return [float(value) for value in np.linspace(0.0, self._stable_alpha(), number)]
        self._tightest(number)
        low = min(min(self._reached(pairing, 0.0) for pairing in self.known), loosest)
        if self.against == "slack":
            return sorted(set(np.linspace(low, loosest, number).tolist()))
        # Few pairs and many are both of interest: half the limits are spread by factors, half by
        # differences.
        first = max(low, 1.0)
        factors = (
            np.geomspace(first, max(loosest, first), (number + 1) // 2) if loosest else np.zeros(0)
        )
        steps = np.linspace(low, loosest, number // 2 + 1)[1:]
        return sorted({0.0, low, *factors.round().tolist(), *steps.round().tolist()})

    def _tightest(self, number: int) -> None:
        """Know a pairing as fair or as stable as can be, and how fair or stable any can be."""
        seconds = self.clock.time_slice(number + 1) or UNHURRIED
        if self.against == "slack":
            best = fair(self.instance, time_limit=seconds)
        else:
            best = stable(
                self.instance, alpha=self.alpha, alpha_mode=self.alpha_mode, time_limit=seconds
            )
        assert isinstance(best.solution, Pairing)
        self.known.append(best.solution)
        self.fewest = best.bound or 0.0
        if best.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def _stable_alpha(self) -> float:
        """An alpha, by halving, from which on the cheapest pairing has no blocking pair."""
        low, high = 0.0, 1.0 - 1e-6
        while self.alpha_mode != "relative-penalty" and self._reached(self.cheapest, high):
            high *= 2.0
        for _ in range(20):
            middle = (low + high) / 2
            if self._reached(self.cheapest, middle):
                low = middle
            else:
                high = middle
        return high

    def _point(self, limit: float, _: object, *, time_limit: float | None) -> Outcome:
        allowed = limit if self.against != "alpha" else 0.0
        if self._reached(self.cheapest, limit) <= allowed:
            return self.free  # the limit does not bind
        unit = scale(self.instance, "slack" if self.against == "slack" else "blocking_pairs")
        if allowed < self.fewest and not agree(allowed, self.fewest, unit):
            return Outcome(None, None, Status.INFEASIBLE)
        fitting = [pairing for pairing in self.known if self._reached(pairing, limit) <= allowed]
        start = min(fitting, key=lambda pairing: mean_penalty(self.instance, pairing), default=None)
        if self.clock.expired:
            return Outcome(
                start,
                None,
                Status.FEASIBLE if start is not None else Status.UNKNOWN,
                Stop.TIME_LIMIT,
            )
        if self.against == "alpha":
            return find_stable(
                self.instance,
                limit,
                self.alpha_mode,
                uncertainty=self.uncertainty,
                time_limit=time_limit,
                engine=self.engine or "highs",
                start=start,
            )
        if self.against == "slack":
            return fair(
                self.instance, slack=limit, time_limit=time_limit, engine=self.engine or "highs",
                start=start,
            )  # fmt: skip
        return at_most_blocking(
            self.instance, int(limit), self.alpha, self.alpha_mode, time_limit=time_limit,
            engine=self.engine, start=start,
        )  # fmt: skip

    def _reached(self, pairing: Pairing, limit: float) -> float:
        if self.against == "slack":
            return least_allowance(self.instance, pairing)
        alpha = limit if self.against == "alpha" else self.alpha
        read = (alpha, self.alpha_mode, self.uncertainty)
        return float(blocking_pairs(self.instance, pairing, *read).count)

    def _record(self, limit: float, outcome: Outcome, seconds: float) -> FrontierPoint:
        def measured(pairing: Pairing) -> tuple[float, float]:
            return mean_penalty(self.instance, pairing), self._reached(pairing, limit)

        point, pairing = FrontierPoint.of(limit, outcome, measured), outcome.solution
        assert pairing is None or isinstance(pairing, Pairing)
        price = None if point.value is None else point.value - self.least
        return replace(point, stop=outcome.stop, price=price, seconds=seconds, pairing=pairing)


def _tightened(points: list[FrontierPoint]) -> list[FrontierPoint]:
    """Give each point the best bound of the looser ones; answers came as starts already."""
    marks = zip(points, settled(points, "min"), strict=True)
    return [mark if point.value == mark.value else point for point, mark in marks]


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
