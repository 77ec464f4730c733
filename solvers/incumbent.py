"""Incumbent and bound of a search, and the outcome that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, Literal, TypeVar, cast

from ..instances.problem.base import Instance
from ..instances.problem.registry import feasible
from .outcome import Clock, Outcome, Status, Stop, agree, raise_if_interrupted

Found = TypeVar("Found")
Number = TypeVar("Number", bound=float)

Sense = Literal["min", "max"]


class Incumbent(Generic[Found, Number]):
    """State of a search: incumbent, its value and the best proved bound, in the search's unit.

    Parameters
    ----------
    instance : whose `check` an answer has to pass before it is kept: no solver is believed on its
        word. None for a search whose answers are not those of a problem.
    clock : notes every better answer and bound.
    objective : the value of an answer, recomputed for each that is offered.
    sense : "min" where less is better.
    scale : what the objective could be at most, for `agree`; 1 for numbers that count.
    bound : what is known before the search; None for nothing.
    then : of two answers of the same value the one with less of this is better.
    shown : turns values and bounds into the unit of the outcome.

    Attributes
    ----------
    best, value : the best answer and its value; without one None, and an infinity.
    bound : the best bound; an infinity without one.
    found_by, bound_by : what found the best answer and proved the bound, in words.
    stop, certificate : why the search ended and its facts so far, for the outcome.
    """

    best: Found | None

    def __init__(
        self,
        instance: Instance | None,
        clock: Clock,
        objective: Callable[[Found], Number],
        *,
        sense: Sense = "min",
        scale: float = 1.0,
        bound: Number | None = None,
        then: Callable[[Found], float] | None = None,
        shown: Callable[[Number], float] = float,
    ) -> None:
        self.clock, self.sense, self.scale = clock, sense, scale
        self._checked, self._objective, self._then, self._shown = instance, objective, then, shown
        self._sign = 1 if sense == "min" else -1
        self.best = None
        self.value = cast("Number", math.inf * self._sign)
        self.bound = cast("Number", -math.inf * self._sign) if bound is None else bound
        self.found_by = self.bound_by = ""
        self.stop = Stop.FINISHED
        self.certificate: dict[str, Any] = {}

    def begin(self, answer: Found) -> None:
        """Set the first answer regardless of its value."""
        self.best, self.value = answer, self._objective(answer)

    def offer(self, answer: Found | None, text: str = "") -> bool:
        """Keep a feasible answer if it is better; return whether it is."""
        if answer is None or not (self._checked is None or feasible(self._checked, answer)):
            return False
        value = self._objective(answer)
        better = self.best is None or value * self._sign < self.value * self._sign
        if not better and (
            self._then is None
            or value != self.value
            or self._then(answer) >= self._then(cast("Found", self.best))
        ):
            return False
        self.best, self.value, self.found_by = answer, value, text
        self.report(text)
        return True

    def raise_bound(self, bound: Number, text: str = "", proof: str = "") -> bool:
        """Keep a proved bound if it is better; return whether it is.

        Parameters
        ----------
        proof : what proves it, for the certificate.
        """
        if bound * self._sign <= self.bound * self._sign:
            return False
        self.bound, self.bound_by = bound, text
        if proof:
            self.certificate["proof"] = proof
        self.report(text)
        return True

    def report(self, text: str) -> None:
        """Report the incumbent and the bound."""
        nearest = min(self.bound, self.value) if self._sign > 0 else max(self.bound, self.value)
        value = None if self.best is None else self._shown(self.value)
        self.clock.note(value, self._shown(nearest) if math.isfinite(nearest) else None, text)

    @property
    def closed(self) -> bool:
        """Whether value and bound agree, or the bound is even beyond the value."""
        beyond = self.bound * self._sign >= self.value * self._sign
        return beyond or agree(self.value, self.bound, self.scale)

    @property
    def proved(self) -> bool:
        """Whether value and bound agree, so that the incumbent is optimal."""
        return agree(self.value, self.bound, self.scale)

    @property
    def open(self) -> bool:
        """Whether value and bound still differ, and time is left."""
        return not self.closed and not self.clock.expired

    @contextmanager
    def keeping_best(self) -> Iterator[None]:
        """Context in which Ctrl-C ends the search with the incumbent."""
        try:
            yield
        except KeyboardInterrupt:
            self.stop = Stop.INTERRUPTED

    def accept_outcome(self, found: Outcome[Any], text: str) -> None:
        """Offer the answer of another method as incumbent, record why that method stopped, and
        raise KeyboardInterrupt if it was interrupted.
        """
        self.offer(found.solution, text)
        raise_if_interrupted(found.stop)
        if found.stop is not Stop.FINISHED:
            self.stop = found.stop

    def finish(self, certificate: Mapping[str, Any] | None = None) -> Outcome[Any]:
        """Outcome of the search by `conclude`, with additional facts in its certificate."""
        answer = self.best
        return conclude(
            cast("Any", answer), None if answer is None else self._shown(self.value),
            self._shown(self.bound) if math.isfinite(self.bound) else None, self.stop,
            {**self.certificate, **(certificate or {})}, self.clock,
            sense=self.sense, scale=self._shown(cast("Number", self.scale)),
        )  # fmt: skip


def conclude(
    answer: Any,
    value: float | None,
    bound: float | None,
    stop: Stop,
    certificate: Mapping[str, Any],
    clock: Clock,
    *,
    sense: Sense = "min",
    scale: float = 1.0,
) -> Outcome[Any]:
    """Outcome of a feasible answer with its recomputed value and a proved bound.

    The one rule of what they make of each other: optimal where the two `agree`; a bound beyond the
    value by more than that is a contradiction, and the outcome claims neither; without an answer
    nothing is claimed but the bound. What ends with nothing proved and no time left was ended by
    the time limit.
    """
    facts, trace = dict(certificate), clock.trace
    if answer is None or value is None:
        return Outcome(None, bound, Status.UNKNOWN, stop, facts, tuple(trace))
    status = Status.FEASIBLE
    if bound is not None:
        beyond = bound > value if sense == "min" else bound < value
        if agree(value, bound, scale):
            status = Status.OPTIMAL
            stop = stop if stop is Stop.INTERRUPTED else Stop.FINISHED
            bound = value if beyond else bound
        elif beyond:
            side = "above" if sense == "min" else "below"
            facts["contradiction"] = (
                f"the bound {bound:.12g} is {side} the value {value:.12g}; neither is trusted"
            )
            bound, status = None, Status.UNKNOWN
    if status is Status.FEASIBLE and stop is not Stop.INTERRUPTED and clock.expired:
        stop = Stop.TIME_LIMIT
    try:
        clock.note(value, bound, "contradiction" if status is Status.UNKNOWN else "done")
    except KeyboardInterrupt:  # the answer is there
        stop = Stop.INTERRUPTED
    return Outcome(answer, bound, status, stop, facts, tuple(trace))
