"""REF: the schedule that follows the Shapley value (Skowron and Rzadca, section 3 and figures 1 and
3).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, validate_options
from ...instances.scheduling import UTILITIES, Scheduling, utilities
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import job_units, units_done
from ..outcome import Clock, Outcome, Report, Status, Stop
from .event_loop import Simulation, memory_needed, simulate
from .ref_reference import Reading, plain_ref
from .shapley import scale, scaled_shares

MOST_WORK = 1e12
"""Steps that REF begins without a time limit; at worst they take half an hour."""

_PLAIN_ORGANIZATIONS = 6
Memory = Annotated[float, Above(0, "gigabytes", infinite=True)]
_READINGS = {"figure": "REF", "definition": "REF-next"}


@dataclass(frozen=True, eq=False)
class Reference:
    """Result of REF at the horizon: values and utilities.

    Attributes
    ----------
    values : value of each coalition by mask; exact.
    psi : (k,) utility of each organization in REF's schedule.
    units : work done in REF's schedule before the horizon, the paper's p_tot.
    contended : decisions that made a difference in REF's schedule; 0 means every greedy schedule
        gives the same psi.
    """

    values: tuple[int, ...]
    psi: Integers
    units: int
    contended: int

    def phi(self, psi: npt.ArrayLike | None = None) -> list[Fraction]:
        """Contribution of each organization (equation 1), with REF's values of sub-coalitions.

        Parameters
        ----------
        psi : (k,) utilities of the schedule judged; its total is the value of all together, as in
            definition 3.1, so that phi and psi have one sum. REF's own when not given.
        """
        judged = self.psi if psi is None else np.asarray(psi)
        values = [*self.values[:-1], sum(int(value) for value in judged.tolist())]
        players = len(self.psi)
        return [Fraction(share, scale(players)) for share in scaled_shares(values, players)]


@validate_options
def ref(
    instance: Scheduling,
    *,
    reading: Reading = "figure",
    utility: Literal["throughput", "utilization", "flow-time", "tardiness"] = "throughput",
    memory: Memory = 4.0,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Schedule jobs such that every organization's utility follows its Shapley value, through all
    2^k coalitions.

    Parameters
    ----------
    reading : "figure": serve the waiting organization of least psi - phi at t (figure 3 as
        printed). psi and phi do not change within a moment, so one organization takes the free
        machines until its queue is empty. "definition": the exact Manhattan minimizer of definition
        3.1, for which figure 1 has to look one step ahead (at t a start is worth nothing yet, so
        all choices tie and theorem 3.3 fails for the figures read literally): the organization of
        largest phi - psi at t + 1, less the starts it already had at t. Ties go to the lowest
        organization. For parallel jobs and machines of different speeds it is this comparison, a
        start counting its units of work, and no longer always the minimizer.
    utility : "throughput" is psi_sp, compiled; the others go through the plain-Python REF, up to 6
        organizations.
    memory : gigabytes the coalitions' state may take; stated in the certificate, refused before it
        is made.
    time_limit : seconds. When they are up, or at Ctrl-C, what is left is scheduled first in, first
        out, and the certificate says from when.

    Raises
    ------
    InvalidOption
        Too much work without a time limit, too little memory, or numbers beyond int64, with the
        cure.

    Notes
    -----
    O(3^k) per decision time at worst; the coalitions are looked at only where machines are short
    and two of their organizations wait. phi is a whole number times 1/lcm(1..k) throughout. The
    bound 0 is unfairness, the distance to this very schedule: no other can be nearer.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "REF", reading="definition")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.0
    """
    validate_ref(instance, reading, memory, time_limit)
    if utility != "throughput":
        return _plain(instance, utility, reading, time_limit)
    if report is not None:
        needed = memory_needed(instance, np.arange(1, 1 << instance.organizations)) / 1e6
        report(0.0, None, None, f"{2**instance.organizations - 1} coalitions, {needed:.1f} MB")
    played = play_ref(
        instance, reading=reading, memory=memory, time_limit=time_limit, report=report,
        partial=True,
    )  # fmt: skip
    found = reference_of(played)
    certificate: dict[str, Any] = {
        "reading": reading,
        "psi": found.psi.tolist(),
        "coalitions": len(played.masks),
        "contended decisions": played.contended,
        "memory_mb": round(memory_needed(instance, played.masks) / 1e6, 3),
    }
    if played.stop is Stop.FINISHED:
        remember(instance, reading, found)
        phi = found.phi()
        certificate["phi"] = [float(value) for value in phi]
        certificate["owed"] = [
            float(value - mine) for value, mine in zip(phi, found.psi.tolist(), strict=True)
        ]
        bound = 0.0 if found.units else None
        return Outcome(
            played.schedule,
            bound,
            Status.OPTIMAL if found.units else Status.FEASIBLE,
            certificate=certificate,
        )
    certificate["decided_until"] = played.decided_until
    certificate["after_that"] = (
        "first in, first out; psi is this schedule's, not REF's, and phi is not known"
    )
    return Outcome(played.schedule, None, Status.FEASIBLE, played.stop, certificate)


def play_ref(
    instance: Scheduling,
    *,
    reading: Reading = "figure",
    samples: npt.ArrayLike = (),
    memory: Memory = 4.0,
    time_limit: float | None = None,
    report: Report | None = None,
    partial: bool = False,
) -> Simulation:
    """Simulate the REF schedules of all coalitions, by size, with values recorded at `samples` and
    the horizon.

    With a `time_limit`, or with `partial` at Ctrl-C, look at `stop` before the values; see
    `simulate`.

    Raises
    ------
    InvalidOption
        See `validate_ref`.
    """
    validate_ref(instance, reading, memory, time_limit)
    return simulate(
        instance,
        _READINGS[reading],
        samples=samples,
        time_limit=time_limit,
        report=report,
        partial=partial,
    )


def reference_of(played: Simulation) -> Reference:
    """Convert a simulated REF schedule into a `Reference` (coalitions' values by bit mask)."""
    values = [0] * (len(played.masks) + 1)
    for mask, value in zip(played.masks.tolist(), played.values[:, -1].tolist(), strict=True):
        values[mask] = value
    instance = played.instance
    if instance.speed is None:
        done = units_done(played.start, instance.work, instance.horizon, instance.processors)
    else:  # which machine it was counts
        done = job_units(instance, played.schedule, instance.horizon)
    units = int(done.sum())
    return Reference(tuple(values), played.own[:, -1], units, played.contended)


@validate_options
def validate_ref(
    instance: Scheduling, reading: Reading, memory: Memory, time_limit: float | None = None
) -> None:
    """Raise InvalidOption for instances that REF cannot handle."""
    k = instance.organizations
    if time_limit is None and steps(instance) > MOST_WORK:
        raise InvalidOption(
            f"REF takes up to {steps(instance):.1e} steps for the 2^{k} coalitions of {k} "
            f"organizations; without a time limit it takes at most {MOST_WORK:.0e}. "
            "Give time_limit=, merge organizations, or use RAND"
        )
    if (
        scale(k) * instance.most_utility >= 2**61
    ):  # psi - phi of two organizations differ by at most three times that
        raise InvalidOption(
            f"phi times lcm(1..{k}) = {scale(k)} passes 64 bits at utilities of "
            f"{instance.most_utility:.1e}; "
            "measure time in a coarser unit, shorten the horizon, or use RAND"
        )
    needed = 40 * k * 2.0**k / 1e9  # at least
    if needed <= memory:
        needed = memory_needed(instance, np.arange(1, 1 << k)) / 1e9
    if needed > memory:
        raise InvalidOption(
            f"REF needs {needed:.2f} GB for {2**k - 1} coalitions; memory is {memory:g}. Give "
            "more with memory=, "
            "merge organizations, or use RAND"
        )


def steps(instance: Scheduling) -> float:
    """Worst-case number of steps of REF: 3^k for each job, ten times as many for parallel jobs and
    different speeds.
    """
    return 3.0**instance.organizations * instance.jobs * (1 if instance.sequential else 10)


_WORK = 2e9
"""`reference` on its own initiative spends no more than about this many steps, some seconds."""

_known: OrderedDict[tuple[Scheduling, str], Reference] = OrderedDict()
_known_lock = threading.Lock()


def affordable(instance: Scheduling) -> bool:
    """Return whether REF takes seconds rather than minutes."""
    if 3.0**instance.organizations * instance.jobs > _WORK:
        return False
    try:
        validate_ref(instance, "figure", 1.0)
    except InvalidOption:
        return False
    return True


@validate_options
def reference(instance: Scheduling, reading: Reading = "figure") -> Reference:
    """Values and utilities of REF; cached for the last 32 instances and readings of its rule."""
    with _known_lock:
        found = _known.get((instance, reading))
    if found is None:
        found = reference_of(play_ref(instance, reading=reading))
        remember(instance, reading, found)
    return found


def remember(instance: Scheduling, reading: Reading, found: Reference) -> None:
    """Cache the result of REF on an instance for the metrics of its other schedules."""
    with _known_lock:
        _known[instance, reading] = found
        while len(_known) > 32:
            _known.popitem(last=False)


def _plain(
    instance: Scheduling, utility: str, reading: Reading, time_limit: float | None
) -> Outcome:
    """REF for another utility than psi_sp, by the plain implementation."""
    if instance.organizations > _PLAIN_ORGANIZATIONS:
        raise InvalidOption(
            f"utility {utility!r} goes through the plain-Python REF, which takes at most "
            f"{_PLAIN_ORGANIZATIONS} organizations; "
            f"there are {instance.organizations}"
        )
    try:
        found = plain_ref(instance, UTILITIES[utility], reading, Clock(time_limit))
    except (TimeoutError, KeyboardInterrupt) as error:
        stop = Stop.TIME_LIMIT if isinstance(error, TimeoutError) else Stop.INTERRUPTED
        schedule = simulate(instance, "FIFO").schedule
        facts = {
            "reading": reading,
            "utility": utility,
            "decided_until": 0,
            "after_that": "first in, first out",
        }
        return Outcome(
            schedule,
            None,
            Status.FEASIBLE,
            stop,
            facts | {"psi_sp": utilities(instance, schedule).tolist()},
        )
    whole = scale(instance.organizations)
    certificate = {
        "reading": reading,
        "utility": utility,
        "psi": found.utilities,
        "phi": [share / whole for share in found.scaled_phi],
        "psi_sp": utilities(instance, found.schedule).tolist(),
    }
    return Outcome(found.schedule, None, Status.FEASIBLE, certificate=certificate)
