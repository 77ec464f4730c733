"""Plain Python implementation of REF for any utility, from figures 1 and 3: the reference for the
compiled one.

Every coalition keeps its schedule as lists, every value is worked out afresh from equation 3 (or
whatever the utility is), and phi is exact. Exponential in the organizations and slow besides: for
small instances, and for utilities other than psi_sp.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ...instances.problem.errors import InvalidOption
from ...instances.scheduling import Schedule, Scheduling, schedule_of
from ...instances.scheduling.utility import Started, Utility, throughput
from ..outcome import Clock
from .shapley import scale, scaled_shares

Reading = Literal["figure", "definition"]


@dataclass
class _Coalition:
    """Coalition of organizations with its queues, running jobs, and schedule."""

    members: list[int]
    machines: int
    queues: dict[int, list[int]] = field(default_factory=dict)
    started: dict[int, list[Started]] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)

    def free(self, t: int) -> int:
        """Number of the coalition's free machines at time t."""
        return self.machines - sum(end > t for end in self.ends)


@dataclass(frozen=True, eq=False)
class PlainRef:
    """Schedule of the plain REF, with values and utilities.

    Attributes
    ----------
    schedule : of all organizations together.
    values : value of each coalition at the horizon, by mask.
    utilities : of each organization at the horizon.
    scaled_phi : phi of each organization at the horizon times lcm(1, ..., k).
    """

    schedule: Schedule
    values: list[int]
    utilities: list[int]
    scaled_phi: list[int]


def plain_ref(
    instance: Scheduling,
    utility: Utility = throughput,
    reading: Reading = "figure",
    clock: Clock | None = None,
) -> PlainRef:
    """Simulate REF for any utility, coalition by coalition at every event.

    `figure`: the waiting organization of least psi - phi at t is served (figure 3). `definition`:
    the one whose start brings psi and phi of all closest in the Manhattan metric at t + 1
    (`Distance` of figure 1, whose sum must leave out the organization itself, and which at t is the
    same for all, since a job started at t is worth nothing yet); of equally close ones the one of
    least psi - phi. Ties go to the lowest organization. Figure 1's update of phi runs over all
    subsets including the coalition itself. TimeoutError when the `clock` is over first;
    InvalidOption for parallel jobs and machines of different speeds, which it does not know.
    """
    if not instance.sequential:
        raise InvalidOption(
            "every utility but throughput is computed by the plain-Python REF, which takes only "
            "sequential jobs on equal machines; leave utility out"
        )
    # 1. all coalitions, smaller ones first
    k = instance.organizations
    masks = sorted(range(1, 1 << k), key=lambda mask: (mask.bit_count(), mask))
    coalitions = {mask: _coalition(instance, mask) for mask in masks}
    release, order = instance.release.tolist(), instance.order.tolist()
    owner, processing = instance.organization.tolist(), instance.processing.tolist()
    starts = [-1] * instance.jobs
    times = {time for time in release if time < instance.horizon}
    t = min(times, default=instance.horizon)
    while times:
        t = min(times)
        times.discard(t)
        # 2. jobs released at t join their queues in every coalition
        for mask in masks:
            coalition = coalitions[mask]
            for job in order:
                if release[job] == t and mask >> owner[job] & 1:
                    coalition.queues[owner[job]].append(job)
        # 3. each coalition starts jobs while machines are free
        for mask in masks:
            coalition = coalitions[mask]
            while coalition.free(t) > 0 and any(coalition.queues.values()):
                if clock is not None and clock.expired:
                    raise TimeoutError
                chosen = _choose(coalitions, mask, utility, t, reading, processing, release)
                job = coalition.queues[chosen].pop(0)
                coalition.started[chosen].append((t, processing[job], release[job]))
                coalition.ends.append(t + processing[job])
                if t + processing[job] < instance.horizon:
                    times.add(t + processing[job])
                if mask == masks[-1]:
                    starts[job] = t
    # 4. values, utilities and Shapley values at the horizon
    values = _values(coalitions, (1 << k) - 1, utility, instance.horizon)
    whole = coalitions[masks[-1]]
    return PlainRef(
        schedule=schedule_of(instance, starts, greedy=True),
        values=values,
        utilities=[utility(whole.started[u], instance.horizon) for u in range(k)],
        scaled_phi=scaled_shares(values, k),
    )


def _coalition(instance: Scheduling, mask: int) -> _Coalition:
    members = [u for u in range(instance.organizations) if mask >> u & 1]
    machines = int(instance.machines[members].sum())
    return _Coalition(members, machines, {u: [] for u in members}, {u: [] for u in members})


def _values(coalitions: dict[int, _Coalition], mask: int, utility: Utility, t: int) -> list[int]:
    """Value at t of every subset of a coalition, by mask over its members."""
    members = coalitions[mask].members
    values = [0]
    for local in range(1, 1 << len(members)):
        subset = coalitions[sum(1 << u for index, u in enumerate(members) if local >> index & 1)]
        values.append(sum(utility(subset.started[u], t) for u in subset.members))
    return values


def _choose(
    coalitions: dict[int, _Coalition],
    mask: int,
    utility: Utility,
    t: int,
    reading: Reading,
    processing: list[int],
    release: list[int],
) -> int:
    coalition = coalitions[mask]
    members = coalition.members
    when = t if reading == "figure" else t + 1
    whole = scale(len(members))
    phi = scaled_shares(_values(coalitions, mask, utility, when), len(members))
    psi = [whole * utility(coalition.started[u], when) for u in members]
    waiting = [place for place, u in enumerate(members) if coalition.queues[u]]
    if reading == "figure":
        return members[min(waiting, key=lambda place: (psi[place] - phi[place], place))]

    def distance(place: int) -> int:
        u = members[place]
        job = coalition.queues[u][0]
        trial = [*coalition.started[u], (t, processing[job], release[job])]
        gain = whole * utility(trial, when) - psi[place]  # times |C|: phi grows by gain / |C|
        size = len(members)
        return sum(
            abs(size * (phi[v] - psi[v]) + gain - (size * gain if v == place else 0))
            for v in range(size)
        )

    return members[
        min(waiting, key=lambda place: (distance(place), psi[place] - phi[place], place))
    ]
