"""Outcome of an exact method, and the arithmetic of gaps.

Four things are kept apart: what the answer is (`solution`), how good it is (`bound`, `status`), why
the method stopped (`stop`), and what proves it (`certificate`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Generic, NamedTuple

from ..instances.problem.base import Answer
from ..instances.problem.option_types import SECONDS
from .stopwatch import ImportWatch, stopwatch

AGREE = 1e-9
"""A value and its bound that differ by no more than this fraction of their scale are equal: see
`agree`.
"""

NO_GAP = 1e-6
"""But not where they differ by more than this fraction of themselves, however large the scale."""

ROUNDED = 1e-14
"""Unless it is by less than this fraction of the scale, which is what sums of floats are off by."""

COVERED = 1e-9
"""A proved bound implies a claimed one that is better by no more than this fraction of itself: see
`implies`.
"""


class Status(StrEnum):
    """Status of an answer: optimal, feasible, infeasible or unknown."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"

    @property
    def sentence(self) -> str:
        """Sentence that explains the status."""
        return {
            "optimal": "proved: no answer is better",
            "feasible": "an answer, not proved to be the best",
            "infeasible": "proved: there is no answer",
            "unknown": "no answer was found, but there may be one",
        }[self.value]


class Stop(StrEnum):
    """Reason why a method stopped."""

    FINISHED = "finished"
    TIME_LIMIT = "time_limit"
    ITERATION_LIMIT = "iteration_limit"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """Sentence that explains this reason for stopping."""
        return {
            "finished": "it did all its work",
            "time_limit": "it reached the time limit",
            "iteration_limit": "it reached the limit of iterations",
            "interrupted": "it was interrupted; this is the best answer so far",
        }[self.value]


class Earlier(NamedTuple):
    """Result of the round before: instance, solution, and certificate of its method."""

    instance: Any
    solution: Any
    certificate: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """Result of an exact method: solution, bound, status, certificate, and why the method stopped.

    Attributes
    ----------
    solution : the best feasible answer found, or None.
    bound : a proved bound on the method's (first) objective, in that objective's unit; None without
        one.
    status, stop : how good, and why it stopped.
    certificate : what lets a reader check the claim, plain JSON values; further levels of a
        lexicographic method stand in `certificate["levels"]`, each {"objective", "value", "bound",
        "status"}.
    trace : (seconds, objective, bound) as they improved; None where there was none yet.
    tolerance : for an equilibrium, how close counts: its objective is a recomputed error whose
        bound is 0, and "optimal" claims that the error is within this. None for an optimization,
        where objective and bound must agree.
    """

    solution: Answer | None
    bound: float | None
    status: Status
    stop: Stop = Stop.FINISHED
    certificate: Mapping[str, Any] = field(default_factory=dict)
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    tolerance: float | None = None


def raise_if_interrupted(stop: Stop) -> None:
    """Raise KeyboardInterrupt if an engine or method was interrupted."""
    if stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt


def level(objective: str, value: float, bound: float | None, proved: bool) -> dict[str, Any]:
    """Entry of a certificate for one level: objective, value, bound and whether it is proved."""
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return {"objective": objective, "value": value, "bound": bound, "status": status.value}


def agree(value: float, bound: float, scale: float = 1.0) -> bool:
    """Return whether a value and its bound are equal at the given scale, so that the value is
    optimal.

    The one meaning of "agree", for the statuses of methods, the levels in certificates, gaps and
    `cotenant check`. They differ by at most 1e-9 of their scale and also, but for the rounding of
    sums (1e-14 of it), by at most a millionth of the larger one: a scale far above the values does
    not make a gap of them equal.

    Parameters
    ----------
    scale : what the objective could be at most on the instance: `instances.problem.scale`.
    """
    relative = NO_GAP * max(abs(value), abs(bound))
    return abs(value - bound) <= max(ROUNDED * scale, min(AGREE * scale, relative))


def implies(proved: float | Fraction, claimed: float, sense: str, *, exact: bool = False) -> bool:
    """Return whether a proved bound is at least as strong as a claimed one.

    The one rule of what a proof covers, for `cotenant check`, `cotenant prove` and the tables that
    say "certified". It looks at the two bounds alone: the claimed one may be the better by 1e-9 of
    itself, which is what it was rounded by, and a bound of 0 by nothing; an exact one is no better
    than the float nearest to what is proved.

    Parameters
    ----------
    sense : "min" where the bounds say that nothing is less, "max" where nothing is more.
    exact : the objective counts (pairs, servers, jobs), or is a fraction of integers.

    Raises
    ------
    ValueError
        The sense is neither.
    """
    if sense not in ("min", "max"):
        raise ValueError(f"sense is {sense!r}; expected 'min' or 'max'")
    proved = float(proved) if exact else proved
    short = claimed - proved if sense == "min" else proved - claimed
    return short <= (0.0 if exact else COVERED * abs(claimed))


def gap_absolute(
    objective: float | None, bound: float | None, tolerance: float | None = None, scale: float = 1.0
) -> float | None:
    """Absolute gap |objective - bound|, 0 if they `agree` (or are within an equilibrium's
    `tolerance`); None without either.
    """
    if (
        objective is None
        or bound is None
        or not (math.isfinite(objective) and math.isfinite(bound))
    ):
        return None
    difference = abs(objective - bound)
    return 0.0 if agree(objective, bound, scale) or difference <= (tolerance or 0.0) else difference


def gap(
    objective: float | None, bound: float | None, tolerance: float | None = None, scale: float = 1.0
) -> float | None:
    """Relative gap |objective - bound| / |objective|, 0 if they agree; None without either.

    None too where one of them is 0 and the other is not: nothing is a fraction of that, and
    `gap_absolute` tells.
    """
    difference = gap_absolute(objective, bound, tolerance, scale)
    if difference is None or objective is None or bound is None:
        return None
    if difference and (agree(bound, 0.0, scale) or agree(objective, 0.0, scale)):
        return None
    return 0.0 if difference == 0 else difference / abs(objective)


LEAST_SECONDS = 0.01
"""The shortest time limit that is handed on."""

Report = Callable[[float, float | None, float | None, str], None]
"""Progress: (seconds, objective, bound, what is being done); may raise KeyboardInterrupt."""


class Clock:
    """Time limit of a method, and the trace of its improvements.

    It stands still while libraries are loaded, kernels compiled and processes started in the thread
    that made it.

    Parameters
    ----------
    time_limit : seconds, more than 0; None for no limit.
    report : called with every improvement and at every `say`.

    Attributes
    ----------
    unit : what the objectives and bounds noted are multiplied by, for who works in a unit of its
        own.
    """

    def __init__(self, time_limit: float | None = None, report: Report | None = None) -> None:
        validate_time_limit(time_limit)
        self._imports = ImportWatch()
        self._stopwatch = stopwatch()
        self._start = self._stopwatch.seconds
        self._limit = time_limit
        self._report = report
        self.unit = 1.0
        self.trace: list[tuple[float, float | None, float | None]] = []

    @property
    def seconds(self) -> float:
        """Seconds since this clock was started."""
        return self._stopwatch.seconds - self._start

    @property
    def left(self) -> float | None:
        """Seconds left, None without a limit; `expired` says whether the time is up.

        Never below `LEAST_SECONDS`: a limit of 0 would be refused as an option.
        """
        return None if self._limit is None else max(LEAST_SECONDS, self._limit - self.seconds)

    def time_slice(self, parts: float = 1, most: float | None = None) -> float | None:
        """Seconds for each of `parts` equal runs in the remaining time, at most `most` and at least
        `LEAST_SECONDS`; None without a time limit and without `most`.
        """
        limits = [
            limit
            for limit in (None if self.left is None else self.left / parts, most)
            if limit is not None
        ]
        return max(min(limits), LEAST_SECONDS) if limits else None

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self._limit is not None and self.seconds >= self._limit

    def note(self, objective: float | None, bound: float | None, text: str = "") -> None:
        """Report value and bound, and add them to the trace if either changed."""
        objective = None if objective is None else objective * self.unit
        bound = None if bound is None else bound * self.unit
        if not self.trace or self.trace[-1][1:] != (objective, bound):
            self.trace.append((self.seconds, objective, bound))
        if self._report is not None:
            self._report(self.seconds, objective, bound, text)


def validate_time_limit(time_limit: float | None) -> None:
    """Raise InvalidOption for a time limit that is not positive."""
    SECONDS.check("time_limit", time_limit)
