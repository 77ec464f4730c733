"""Audit of one window's schedule by the Shapley value: contributed, received, owed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from ...baselines.scheduling import validate_orderings
from ...baselines.scheduling.rules import Orderings
from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.option_types import Between, validate_options
from ...instances.problem.settings import with_settings
from ...instances.scheduling import Scheduling, psi
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import Window
from ...instances.scheduling.utility import per_organization, units_done
from ...solvers.scheduling.fifo import fifo_values, joined
from ...solvers.scheduling.shapley import scale, scaled_shares
from ...solvers.scheduling.shapley_schedule import affordable, play_ref, reference_of

Floats = npt.NDArray[np.float64]
Moments = Annotated[int, Between(1, 1000)]
Reference = Literal["auto", "REF", "FIFO", "RAND"]

MOST_ENUMERATED = 20
"""Organizations whose coalitions are all looked at, at most."""

_RISK = 0.05
"""That some sampled contribution is farther off than its error says."""

_MOST_SERVED = 1.5e9
"""Jobs that all coalitions together serve, at most, before a sample takes their place: a minute."""


@dataclass(frozen=True, eq=False)
class Audit:
    """Audit of the log's own schedule: how much it gave to which organization.

    Attributes
    ----------
    instance : the window judged.
    times : (q,) moments of the window, the end last [s].
    received : (k, q) psi_sp of the log's schedule [unit-seconds].
    contributed : (k, q) phi: the Shapley value, or what `judging` says, of the game whose
        coalitions schedule as `reference` says, the log's own schedule being that of all together;
        so phi and psi have one sum at every time [unit-seconds].
    work : (k,) machine time the log gave to each organization's jobs in the window [s].
    reference : how coalitions schedule: "REF"; "FIFO", all of them first in, first out; or "RAND",
        a sample of those.
    judged : the window as it was read.
    wanted : (k,) psi_sp at the end of the schedule that would have been fair: REF's own, or
        `contributed` where coalitions do not play REF [unit-seconds].
    error, bound : (k,) with RAND, how far the sampled `contributed` at the end may be from FIFO's,
        with probability 0.95 for all organizations together: by the spread of the sample, and by a
        bound that supposes nothing; 0 otherwise [unit-seconds].
    """

    instance: Scheduling
    times: Integers
    received: Integers
    contributed: Floats
    work: Integers
    reference: Reference
    judged: Window
    wanted: Floats
    error: Floats
    bound: Floats

    @property
    def owed(self) -> Floats:
        """Debt to each organization at each time, contributed minus received (k, q): above 0 the
        organization is owed [unit-seconds].
        """
        return self.contributed - self.received

    def in_unit(self, values: Any) -> Any:
        """Convert machines or machine seconds to an amount of the counted unit, such as cores."""
        return values if self.judged.size == 1 else values * float(self.judged.size)

    def document(self) -> dict[str, Any]:
        """Return the audit of a window as JSON values."""
        return {
            "reference": self.reference,
            "window": self.instance.source,
            "organizations": list(self.instance.names),
            "machines": self.in_unit(self.instance.machines).tolist(),
            "jobs": np.bincount(
                self.instance.organization, minlength=self.instance.organizations
            ).tolist(),
            "times": self.times.tolist(),
            **{
                name: self.in_unit(getattr(self, name)).tolist()
                for name in ("work", "received", "contributed", "owed", "error", "bound")
            },
            "notes": list(window_notes([self.judged])),
        }


@validate_options
@dataclass(frozen=True)
class Judging:
    """Settings of an audit.

    Attributes
    ----------
    reference : how coalitions schedule: "REF"; "FIFO": first in, first out, all coalitions; "RAND":
        the same over sampled coalitions; or "auto": the first of them that takes seconds.
    orderings : orders of joining that RAND draws; as many as a minute allows if not given.
    points : moments at which debts are worked out, evenly spaced.
    """

    reference: Reference = "auto"
    orderings: Orderings | None = None
    points: Moments = 12


FAIRLY = Judging()
"""How a schedule is judged when nothing else is said."""


@validate_options
@with_settings()
def audit(judged: Window, *, judging: Judging = FAIRLY) -> Audit:
    """Audit the schedule of a window.

    Parameters
    ----------
    judging : see `Judging`.

    Raises
    ------
    InvalidOption
        Too many organizations, or orders, for the reference.
    InvalidInstance
        Utilities are beyond 64 bits, or machines differ in speed.
    """
    instance, start = judged.instance, judged.start  # 1. Refuse what cannot be audited.
    if instance.speed is not None:
        raise InvalidInstance(
            "speed", "given", "machines that are alike, whose hours can be counted",
            "The metrics owed:NAME of `cotenant solve` count units of work",
        )  # fmt: skip
    chosen: Reference = _affordable(instance) if judging.reference == "auto" else judging.reference
    if chosen == "FIFO" and instance.organizations > MOST_ENUMERATED:
        raise InvalidOption(
            f"reference is FIFO, which takes all coalitions of at most {MOST_ENUMERATED} "
            f"organizations; there are {instance.organizations}. Use RAND, or merge some with top="
        )
    longest = np.minimum(instance.processing, instance.horizon) * instance.width.astype(float)
    if (longest * (instance.horizon + 1.0)).sum() >= 2.0**62:
        raise InvalidInstance(
            "window", f"{instance.horizon} long with {instance.jobs} jobs",
            "utilities of the log's schedule that fit 64 bits",
            "Judge a shorter window",
        )  # fmt: skip
    times = np.unique(np.linspace(0, instance.horizon, judging.points + 1).astype(np.int64)[1:])
    received = np.array(  # 2. Utilities by the log's own schedule.
        [
            per_organization(instance, psi(start, instance.work, int(t), instance.processors))
            for t in times
        ]
    ).T
    error = bound = np.zeros(instance.organizations)  # 3. Contributions, by one of three games.
    wanted: Any = None
    if chosen == "REF":
        played = play_ref(instance, samples=times)
        contributed = _divided(played.masks, played.values, received)
        wanted = reference_of(played).psi.astype(float)
    elif chosen == "FIFO":
        masks = np.arange(1 << instance.organizations)
        values = fifo_values(instance, masks, times)
        assert values is not None
        contributed = _divided(masks[1:], values[1:], received)
    else:
        drawn = judging.orderings or many_orderings(instance)
        validate_orderings(drawn, instance.organizations)
        contributed, error, bound = _sampled(instance, received, times, drawn)
    return Audit(
        instance=instance,
        times=times,
        received=received,
        contributed=contributed,
        work=per_organization(
            instance, units_done(start, instance.work, instance.horizon, instance.processors)
        ),
        reference=chosen,
        judged=judged,
        wanted=contributed[:, -1] if wanted is None else wanted,
        error=error,
        bound=bound,
    )


def _affordable(instance: Scheduling) -> Literal["REF", "FIFO", "RAND"]:
    """Most exact rule for the schedules of coalitions that can be computed in seconds."""
    if affordable(instance):
        return "REF"
    k = instance.organizations
    few = k <= MOST_ENUMERATED and 2.0**k * _served(instance) <= _MOST_SERVED
    return "FIFO" if few else "RAND"


def _served(instance: Scheduling) -> float:
    """Estimated steps to schedule all jobs once; backfilling examines every queue."""
    return instance.jobs * (instance.organizations / 2 if instance.backfilling else 1.0)


def many_orderings(instance: Scheduling) -> int:
    """Number of random orders that RAND can use in a minute, at most 20,000."""
    return int(min(20_000, max(10, _MOST_SERVED / (_served(instance) * instance.organizations))))


def _divided(masks: Integers, values: Integers, received: Integers) -> Floats:
    """Shapley value phi (k, q) of each organization at each time, where the log's utilities are the
    value of the grand coalition.
    """
    k = len(received)
    by_mask = np.zeros((1 << k, received.shape[1]), dtype=object)
    by_mask[masks] = values
    by_mask[-1] = received.astype(object).sum(axis=0)
    return (np.array(scaled_shares(by_mask, k)) / scale(k)).astype(float)


def _sampled(
    instance: Scheduling, received: Integers, times: Integers, orderings: int
) -> tuple[Floats, Floats, Floats]:
    """Shapley value phi (k, q) estimated from random orders of joining, coalitions scheduling first
    in, first out; and its error (k,) at the end by the sample's spread, and by `sampling_bound`.
    """
    k, rng = instance.organizations, np.random.default_rng(0)
    orders = [rng.permutation(k) for _ in range(orderings)]
    masks, places = joined([order.tolist() for order in orders])
    found = fifo_values(instance, masks, times)
    assert found is not None
    values = found.astype(float)
    values[masks.index((1 << k) - 1)] = received.sum(axis=0)
    gains = np.empty((orderings, k, len(times)))
    for row, order in enumerate(orders):
        gains[row, order] = np.diff(values[places[row]], axis=0)
    last = gains[:, :, -1]
    # no coalition is worth more than most_utility, nor less than nothing
    bound = sampling_bound(last, 2.0 * max(instance.most_utility, values[:, -1].max()))
    if orderings < 2:
        return gains.mean(axis=0), bound, bound
    deviations = NormalDist().inv_cdf(1 - _RISK / (2 * k))
    error = deviations * last.std(axis=0, ddof=1) / np.sqrt(orderings)
    return gains.mean(axis=0), np.minimum(error, bound), bound


def sampling_bound(gains: Floats, width: float) -> Floats:
    """Bound (k,) on the deviation of each mean of N sampled gains from the mean over all orders.

    The empirical Bernstein bound of Maurer and Pontil (2009, theorem 4) on both sides, over all
    columns together: sqrt(2 V ln(4 k / risk) / N) + 7 w ln(4 k / risk) / (3 (N - 1)), at a risk of
    0.05 that some mean is farther away.

    Parameters
    ----------
    gains : (N, k) what each player added in each order.
    width : w, of an interval that holds every gain.
    """
    number, players = gains.shape
    if number < 2:
        return np.full(players, width)
    term = np.log(4 * players / _RISK)
    spread = np.sqrt(2 * gains.var(axis=0, ddof=1) * term / number)
    found: Floats = np.minimum(spread + 7 * width * term / (3 * (number - 1)), width)
    return found


def window_notes(windows: Sequence[Window]) -> Iterator[str]:
    """Notes on the windows' data: machines used, and jobs whose start is not known."""
    total = windows[0].instance.total_machines
    peaks = [_peak(each) for each in windows]
    over = sum(peak > total for peak in peaks)
    several = len(windows) > 1
    if over:
        yield (
            f"the log used up to {float(windows[0].size * max(peaks)):.10g} processors at once"
            f"{f', in {over} of {len(windows)} windows' * several}, more than the "
            f"{float(windows[0].size * total):.10g} machines given: its schedule has an advantage "
            "over the reference"
        )
    late = sum(int((each.start < 0).sum()) for each in windows)
    jobs = sum(each.instance.jobs for each in windows)
    if windows[0].title:
        yield f"judged is {windows[0].title}"
        if late:
            yield f"{late} of {jobs} jobs are not started before the horizon"
    elif late:
        yield (
            f"{late} of {jobs} jobs were not started in {'their' if several else 'the'} window, "
            "or the log does not say when"
        )


def _peak(judged: Window) -> int:
    """Largest number of processors in use at one time."""
    instance, start = judged.instance, judged.start
    ran = start >= 0
    begin, end = start[ran], start[ran] + instance.processing[ran]
    times = np.concatenate([end, begin])
    change = np.concatenate([-instance.width[ran], instance.width[ran]])
    return int(np.cumsum(change[np.lexsort((change, times))]).max(initial=0))
