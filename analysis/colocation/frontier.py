"""What stability and fairness cost: least mean penalty within limits on pairs, alpha and slack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

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
from ...solvers.engines import EngineName
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop, agree
from ..frontier import Points, PriceFrontier, PricePoint, Programs, settled

Against = Literal["blocking", "alpha", "slack"]

MOST_TYPES = 300
"""Types up to which limits are solved for: programs of more take too long to write down."""

UNHURRIED = 30.0
"""Seconds for the fairest or stablest pairing without a time limit, but for its first level."""

_FAIRNESS: dict[Against, tuple[str, str]] = {
    "blocking": ("blocking_pairs", "Each limit: at most so many blocking pairs."),
    "alpha": ("blocking_pairs", "Each limit: an alpha at which no pair blocks."),
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
    engine: EngineName | None = None,
    report: Report | None = None,
    known: Sequence[Pairing] = (),
    free: Outcome | None = None,
) -> PriceFrontier:
    """Least mean penalty against blocking pairs, against alpha, or against slack.

    One exact program for each limit (epsilon-constraint). A pairing within a limit is within every
    looser one, so each point starts from the one before it, and the bound of a looser limit is a
    bound of every tighter one. Points that an interrupt left undone are missing.

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

    Returns
    -------
    PriceFrontier
        Reached are the blocking pairs (at `alpha`, or at the limit), or the slack, of the pairing
        found, a point's `answer`.

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
    clock = Clock(time_limit, report)
    if free is None:
        seconds = clock.time_slice(points + 1)
        free = optimal(instance, time_limit=seconds, engine=engine or "highs")
    return _Sweep(
        instance, against, alpha, alpha_mode, engine, clock, known, _found(free), uncertainty
    ).run(limits, points)


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
    clock, lines = Clock(time_limit), dict[Uncertainty, tuple[PricePoint, ...]]()
    free = optimal(instance, time_limit=clock.time_slice(4)) if free is None else free
    robust = robust_alpha(instance, time_limit=clock.time_slice(4))
    stops = [Stop.INTERRUPTED] if Stop.INTERRUPTED in (free.stop, robust.stop) else []
    order: tuple[tuple[int, Uncertainty], ...] = ((3, "possible"), (2, "none"), (1, "certain"))
    for left, kind in order:
        if Stop.INTERRUPTED in stops:
            break
        values, starts = None, list(known)
        if kind == "possible" and robust.pairing is not None and robust.alpha is not None:
            last = robust.alpha
            if isinstance(free.solution, Pairing):
                last = max(last, stable_alpha(instance, free.solution, "possible"))
            values = np.linspace(robust.alpha, last, points).tolist()
            values += [] if robust.below is None else [robust.below]
            starts.append(robust.pairing)
        line = frontier(
            instance, "alpha", values=values, points=points, uncertainty=kind,
            time_limit=clock.time_slice(left), known=starts, free=free,
        )  # fmt: skip
        stops.append(line.stop)
        reached = (
            None if point.answer is None else stable_alpha(instance, point.answer, kind)
            for point in line.points
        )
        pairs = zip(line.points, reached, strict=True)
        lines[kind] = settled([replace(point, reached=alpha) for point, alpha in pairs], "min")
    note = (
        "Each limit: an alpha, in points of penalty, at which no pair blocks for any matrix within "
        f"the intervals. {instance.certainty[:1].upper()}{instance.certainty[1:]}. Measured: none "
        "blocks by the measured penalties; certain: none blocks for every matrix."
    )
    names: dict[Uncertainty, str] = {"none": "measured", "certain": "certain"}
    beside = tuple((name, lines[kind]) for kind, name in names.items() if kind in lines)
    stop = (
        Stop.INTERRUPTED
        if Stop.INTERRUPTED in stops
        else next((one for one in stops if one is not Stop.FINISHED), Stop.FINISHED)
    )
    mine = lines.get("possible", ())
    return PriceFrontier("penalty", "robust_alpha", mine, note, stop, beside)


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
    if free.solution is None and free.status is not Status.INFEASIBLE:
        return ()
    free, known = _found(free), _known(instance)
    robust = instance.low is not None and instance.types <= MOST_TYPES
    for place, against in enumerate(kinds):
        left = Clock(clock.time_slice(len(kinds) - place + robust))
        sweep = _Sweep(instance, against, alpha, alpha_mode, None, left, known, free)
        found.append(sweep.run(None, points) if instance.types <= MOST_TYPES else sweep.ends())
        if found[-1].stop is Stop.INTERRUPTED:
            return tuple(found)
    if robust:
        share = clock.time_slice()
        found.append(
            alpha_frontiers(instance, points=points, time_limit=share, known=known, free=free)
        )
    return tuple(found)


class _Sweep:
    """One frontier: its limits, and the programs within them."""

    def __init__(
        self, instance: Colocation, against: Against, alpha: float, alpha_mode: AlphaMode,
        engine: EngineName | None, clock: Clock, known: Sequence[Pairing], free: Outcome,
        uncertainty: Uncertainty = "none",
    ) -> None:  # fmt: skip
        self.instance, self.against = instance, against
        self.alpha, self.alpha_mode, self.uncertainty = alpha, alpha_mode, uncertainty
        self.engine, self.clock, self.known = engine, clock, list(known)
        assert isinstance(free.solution, Pairing)
        self.free, self.cheapest = free, free.solution
        self.fewest = 0.0  # proved: nothing keeps a limit below this

    def run(self, limits: list[float] | None, number: int) -> PriceFrontier:
        """A program for each limit; for as many limits as are asked for where none are given."""
        programs, found = Programs(self.clock), list[PricePoint]()
        try:
            chosen = self._spread(number) if limits is None else limits
            for limit, outcome in programs.within(chosen, self._point):
                found.append(self._record(limit, outcome))
                if found[-1].answer is not None:
                    self.known.append(found[-1].answer)
                if Stop.INTERRUPTED in (outcome.stop, self.free.stop):
                    break
                self.clock.note(found[-1].value, found[-1].bound, f"{self.against} {limit:g}")
            programs.stops.append(self.free.stop)
        except KeyboardInterrupt:
            programs.stops.append(Stop.INTERRUPTED)
        if programs.stopped is Stop.INTERRUPTED and limits is None and self.against != "alpha":
            loosest = self._reached(self.cheapest, 0.0)  # is known anyway
            if not found or (found[-1].limit or 0.0) < loosest:
                found.append(self._record(loosest, self.free))
        return self._frontier(found, "", programs.stopped)

    def ends(self) -> PriceFrontier:
        """The policies' pairings at what each reaches, and the cheapest; none beyond that."""
        pairings = [*self.known, roommates(self.instance), self.cheapest]
        priced = [
            (self._reached(pairing, 0.0), mean_penalty(self.instance, pairing))
            for pairing in pairings
        ]
        # of equals the least value
        cheapest = {at: value for at, value in sorted(priced, reverse=True) if at <= priced[-1][0]}
        marks = [PricePoint(at, cheapest[at], self.free.bound, at) for at in sorted(cheapest)]
        note = (
            f" More than {MOST_TYPES} types: the limits between are not solved for; "
            "the bound is that of any pairing."
        )
        return self._frontier(marks, note, self.free.stop)

    def _frontier(self, marks: list[PricePoint], more: str, stop: Stop) -> PriceFrontier:
        fairness, note = _FAIRNESS[self.against]
        if self.against == "blocking" and self.alpha:
            note += f" An agent breaks away for a gain of more than {self.alpha:g}."
        return PriceFrontier("penalty", fairness, settled(marks, "min"), note + more, stop)

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
        """The exact method within one limit, from the best pairing known that keeps it."""
        allowed = limit if self.against != "alpha" else 0.0
        if self._reached(self.cheapest, limit) <= allowed:
            return self.free  # the limit does not bind
        unit = scale(self.instance, "slack" if self.against == "slack" else "blocking_pairs")
        if allowed < self.fewest and not agree(allowed, self.fewest, unit):
            return Outcome(None, None, Status.INFEASIBLE)
        fitting = [pairing for pairing in self.known if self._reached(pairing, limit) <= allowed]
        start = min(fitting, key=lambda pairing: mean_penalty(self.instance, pairing), default=None)
        if self.clock.expired:
            status = Status.FEASIBLE if start is not None else Status.UNKNOWN
            return Outcome(start, None, status, Stop.TIME_LIMIT)
        engine = self.engine or "highs"
        if self.against == "alpha":
            return find_stable(
                self.instance, limit, self.alpha_mode, uncertainty=self.uncertainty,
                time_limit=time_limit, engine=engine, start=start,
            )  # fmt: skip
        if self.against == "slack":
            return fair(
                self.instance, slack=limit, time_limit=time_limit, engine=engine, start=start
            )
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

    def _record(self, limit: float, outcome: Outcome) -> PricePoint:
        def measured(pairing: Pairing) -> tuple[float, float]:
            return mean_penalty(self.instance, pairing), self._reached(pairing, limit)

        return PricePoint.of(limit, outcome, measured)


def _found(free: Outcome) -> Outcome:
    """The outcome of an instance that has a pairing; refuses one that has none."""
    if isinstance(free.solution, Pairing):
        return free
    why = free.certificate.get("proof")
    raise NoSolution(f"the instance has no feasible pairing ({why})")


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
