"""Frontier of efficiency and fairness: the best efficiency within each limit on unfairness, with
bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ..instances.problem.option_types import AtLeast, validate_options
from ..solvers.outcome import AGREE, Clock, Outcome, Status, Stop
from .metric import Sense

Points = Annotated[int, AtLeast(2)]


@dataclass(frozen=True)
class PricePoint:
    """Point of a frontier: the best efficiency within one limit on unfairness.

    Attributes
    ----------
    limit : on the fairness metric: at most this where less is better, at least this where more is;
        None for no limit.
    value : efficiency of the answer found; None without one.
    bound : proved: no answer within the limit is more efficient; None without a proof.
    reached : fairness of the answer found.
    status : of this point; `settled` works it out anew but where no answer keeps the limit.
    answer : the answer found; not in documents.
    """

    limit: float | None
    value: float | None
    bound: float | None
    reached: float | None
    status: Status = Status.UNKNOWN
    answer: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, limit: float | None, outcome: Outcome, measured: Callable[[Any], tuple[float, float]]
    ) -> PricePoint:
        """Frontier point from a program's outcome; efficiency and fairness are measured again."""
        value, reached = (None, None) if outcome.solution is None else measured(outcome.solution)
        return cls(limit, value, outcome.bound, reached, outcome.status, outcome.solution)

    def document(self) -> dict[str, Any]:
        """Return the frontier point as JSON values, without its answer."""
        row = {name: getattr(self, name) for name in ("limit", "value", "bound", "reached")}
        return row | {"status": self.status.value}


@validate_options
@dataclass(frozen=True)
class PriceFrontier:
    """Frontier of one instance: efficiency against a fairness or stability metric.

    Attributes
    ----------
    efficiency, fairness : names of two metrics of the problem.
    points : the tightest limit first.
    note : what the limits are on, in words, and what was left out.
    beside : further frontiers for the same map, where the fairness metric is read in other ways:
        a name and points each.
    stop : why it ended; interrupted: points are missing, or were not worked on.
    """

    efficiency: str
    fairness: str
    points: tuple[PricePoint, ...]
    note: str = ""
    stop: Stop = Stop.FINISHED
    beside: tuple[tuple[str, tuple[PricePoint, ...]], ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the frontier as JSON values, without its answers."""
        names = ("efficiency", "fairness", "note")
        content: dict[str, Any] = {name: getattr(self, name) for name in names}
        content |= {"points": list(map(PricePoint.document, self.points)), "stop": self.stop.value}
        beside = [
            {"name": name, "points": list(map(PricePoint.document, points))}
            for name, points in self.beside
        ]
        return content | {"beside": beside}

    @classmethod
    def from_document(cls, content: Mapping[str, Any]) -> PriceFrontier:
        """Rebuild a frontier from the JSON values that its `document` returned."""

        def made(points: Sequence[Mapping[str, Any]]) -> tuple[PricePoint, ...]:
            return tuple(
                PricePoint(**{**point, "status": Status(point["status"])}) for point in points
            )

        stop = Stop(content.get("stop", Stop.FINISHED))
        beside = tuple((each["name"], made(each["points"])) for each in content.get("beside", ()))
        note = content.get("note", "")
        return cls(
            content["efficiency"], content["fairness"], made(content["points"]), note, stop, beside
        )

    @property
    def status(self) -> Status:
        """Status of the frontier: optimal if each point is proved and nothing was interrupted."""
        if not self.points:
            return Status.UNKNOWN
        done = all(point.status in (Status.OPTIMAL, Status.INFEASIBLE) for point in self.points)
        return Status.OPTIMAL if done and self.stop is not Stop.INTERRUPTED else Status.FEASIBLE


Within = Callable[..., Outcome]
"""An exact method within a limit: `method(limit, start, time_limit=...)`, where `start` is the most
efficient answer known that keeps the limit, or None.
"""


class Sweep:
    """Exact programs of one frontier, run one after the other in equal shares of the time.

    None follows an interrupt: what is known by then is what there is.

    Parameters
    ----------
    clock : what is left of it is shared.
    measured : efficiency and fairness of an answer.
    efficiency, fairness : in which direction each is better, "min" or "max".
    known : answers of policies, to start from.

    Attributes
    ----------
    answers : all that are known: efficiency, fairness, and the answer.
    free : the answer without a limit, where limits that it keeps need no program.
    stops : why each program ended.
    """

    def __init__(
        self, clock: Clock, measured: Callable[[Any], tuple[float, float]], efficiency: Sense,
        fairness: Sense, known: Iterable[Any] = (),
    ) -> None:  # fmt: skip
        self.clock, self.measured = clock, measured
        self.better, self.fairer = (-1.0 if way == "max" else 1.0 for way in (efficiency, fairness))
        self.answers: list[tuple[float, float, Any]] = [(*measured(one), one) for one in known]
        self.free: Outcome | None = None
        self.stops: list[Stop] = []

    @property
    def stopped(self) -> Stop:
        """Reason why the frontier ended: interrupted or out of time as soon as one program was."""
        order = (Stop.INTERRUPTED, Stop.TIME_LIMIT, Stop.ITERATION_LIMIT)
        return next((stop for stop in order if stop in self.stops), Stop.FINISHED)

    @property
    def fairest(self) -> float:
        """Fairness of the fairest known answer."""
        return min((fairness for _, fairness, _ in self.answers), key=self.fairer.__mul__)

    def add(self, answer: Any) -> None:
        """Add a known answer to those from which the frontier's points are chosen."""
        self.answers.append((*self.measured(answer), answer))

    def solve(self, left: int, method: Within, *given: Any, **options: Any) -> Outcome:
        """Run a program of the frontier within an equal share of the time left, and keep its
        answer. `left` programs share that time; after an interrupt the outcome has no answer.
        """
        if self.stopped is Stop.INTERRUPTED:
            return Outcome(None, None, Status.UNKNOWN, Stop.INTERRUPTED)
        outcome = method(*given, time_limit=self.clock.time_slice(left), **options)
        self.stops.append(outcome.stop)
        if outcome.solution is not None:
            self.add(outcome.solution)
        return outcome

    def best(self, limit: float | None = None) -> Any:
        """Most efficient known answer within a limit, ties to the fairest; or None."""
        kept = [one for one in self.answers if limit is None or self._keeps(one[1], limit)]
        ranked = ((float(f"{self.better * one[0]:.9g}"), self.fairer * one[1]) for one in kept)
        # the index breaks ties: answers have no order
        return min(zip(ranked, range(len(kept)), kept, strict=True))[2][2] if kept else None

    def _keeps(self, fairness: float, limit: float) -> bool:
        return self.fairer * (fairness - limit) <= 0

    def within(self, limit: float, left: int, method: Within) -> PricePoint:
        """Frontier point at one limit on fairness: by a program, unless a known answer settles it.
        `left` programs share the time that is left.
        """
        start, free = self.best(limit), self.free
        if free is not None and self._keeps(self.measured(free.solution)[1], limit):
            return PricePoint.of(limit, free, self.measured)
        if self.clock.expired and start is not None:
            self.stops.append(Stop.TIME_LIMIT)
        if self.stopped is Stop.INTERRUPTED or (self.clock.expired and start is not None):
            outcome = Outcome(start, None, Status.UNKNOWN, self.stopped)
        else:
            outcome = self.solve(left, method, limit, start)
        return PricePoint.of(limit, outcome, self.measured)

    def points(
        self, limits: Sequence[float], method: Within, *, after: int = 0
    ) -> list[PricePoint]:
        """Frontier points at limits on fairness, tightest first; time is left for `after` more."""
        left = range(len(limits) + after, 0, -1)
        return [self.within(limit, more, method) for limit, more in zip(limits, left, strict=False)]

    def staircase(self, loosest: float, free: Outcome) -> list[PricePoint]:
        """Frontier points at each fairness that an answer found so far has, within the loosest
        limit. All have the bound of `free`, the outcome of a program without a limit.
        """
        limits = {fairness for _, fairness, _ in self.answers if self._keeps(fairness, loosest)}
        outcomes = [(at, replace(free, solution=self.best(at))) for at in limits]
        made = [PricePoint.of(at, outcome, self.measured) for at, outcome in outcomes]
        return sorted(made, key=lambda point: self.fairer * (point.limit or 0.0))

    def unlimited(self, *outcomes: Outcome) -> PricePoint:
        """Frontier point without a limit on fairness: the best known answer and the best bound."""
        bounds = [outcome.bound for outcome in outcomes if outcome.bound is not None]
        bound = max(bounds, key=self.better.__mul__, default=None)
        return PricePoint.of(None, Outcome(self.best(), bound, Status.FEASIBLE), self.measured)


def settled(
    points: Sequence[PricePoint], sense: Sense, agree: float = AGREE, unit: float = 1.0
) -> tuple[PricePoint, ...]:
    """Points of a frontier that use the best answers of tighter limits and the best bounds of
    looser ones.

    What keeps a tight limit keeps every looser one, so an answer holds for all of those; what
    bounds the answers within a loose limit bounds those within every tighter one. Statuses follow:
    optimal where bound and value meet. A bound contradicted by more than `agree` is dropped.

    Parameters
    ----------
    points : the tightest limit first.
    sense : of the efficiency, "min" or "max".
    agree : difference at which a value and its bound are equal, relative to the value or to `unit`,
        whichever is larger.
    unit : size below which values are as good as 0; 0 where the metric has no such size (it depends
        on what work, speed or energy is counted in), so that only the relative difference counts.
    """
    better = -1.0 if sense == "min" else 1.0
    forward: list[PricePoint] = []
    for point in points:
        best = forward[-1] if forward and point.status is not Status.INFEASIBLE else None
        known = None if best is None else best.value
        if known is not None and (point.value is None or better * (known - point.value) > 0):
            tight = forward[-1]
            point = replace(point, value=known, reached=tight.reached, answer=tight.answer)
        forward.append(point)
    result: list[PricePoint] = []
    bound: float | None = None
    for point in reversed(forward):
        if point.bound is not None and (bound is None or better * (bound - point.bound) > 0):
            bound = point.bound
        result.append(_judged(replace(point, bound=bound), better, agree, unit))
        bound = result[-1].bound
    return tuple(result[::-1])


def _judged(point: PricePoint, better: float, agree: float, unit: float) -> PricePoint:
    """Point of a frontier with the status that follows from its value and bound."""
    if point.value is None:
        impossible = point.status is Status.INFEASIBLE
        return replace(point, bound=None) if impossible else replace(point, status=Status.UNKNOWN)
    if point.bound is None:
        return replace(point, status=Status.FEASIBLE)
    apart, allowed = better * (point.bound - point.value), agree * max(unit, abs(point.value))
    if apart < -allowed:
        return replace(point, bound=None, status=Status.UNKNOWN)
    bound = point.value if apart < 0 else point.bound
    return replace(
        point, bound=bound, status=Status.OPTIMAL if apart <= allowed else Status.FEASIBLE
    )
