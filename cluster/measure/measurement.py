"""Data of a measurement, of one job alone or some together, and the interface of the machine that
makes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .jobs import Job


@dataclass(frozen=True)
class Run:
    """Run of a job from its start to its end, with its times.

    Attributes
    ----------
    begin : seconds since 1970.
    wall, cpu : seconds on the clock and of the processor (its own children's too).
    covered : share of its wall time in which the other member ran; or the mean of several; 0 alone.
    """

    begin: float
    wall: float
    cpu: float
    covered: float = 0.0


@dataclass(frozen=True)
class JobRuns:
    """Complete runs of one job in a measurement, or the error for which they do not count, and how
    many processes it left behind.
    """

    runs: tuple[Run, ...] = ()
    error: str = ""
    left: int = 0


@dataclass(frozen=True)
class Measurement:
    """Result of one measurement: runs of one job alone, or of several at the same time.

    Attributes
    ----------
    members : as they were asked for.
    begin, seconds : when, and how long it took.
    pressure : share of that time in which somebody waited for a processor of this machine (PSI,
        "some"); None where the system does not measure it.
    """

    members: tuple[JobRuns, ...]
    begin: float
    seconds: float
    pressure: float | None = None

    @property
    def error(self) -> str:
        """Reason why the measurement does not count; "" if it does."""
        return next((member.error for member in self.members if member.error), "")


@dataclass(frozen=True)
class MeasurementRequest:
    """Request for a measurement: jobs that a machine is to run at the same time, and how.

    Attributes
    ----------
    members : one or two, None for the control that only spins; as many as seats where run once.
    timeouts : seconds for each run of each member.
    swapped : whether the first member takes the second seat.
    keep_errors : whether the error of a run that fails has the last words of its output.
    outputs : where each job is run once, the file, seen from its directory, to which its standard
        output and error are added; "" for nowhere. None where runs are measured.
    """

    members: Sequence[Job | None]
    timeouts: Sequence[float]
    swapped: bool = False
    keep_errors: bool = False
    outputs: Sequence[str] | None = None

    @classmethod
    def once(cls, jobs: Sequence[Job], outputs: Sequence[str]) -> MeasurementRequest:
        """Build a measurement request in which each job runs once, to its end or its timeout."""
        limits = [math.inf if job.timeout is None else job.timeout for job in jobs]
        return cls(list(jobs), limits, outputs=list(outputs))


class Machine(Protocol):
    """Interface of what runs jobs: this computer, or a simulated machine in tests."""

    def now(self) -> float:
        """Current time in seconds since 1970."""

    def visit(self, order: MeasurementRequest) -> Measurement:
        """Run the jobs of a request at once, each one time or until all have a complete run."""
