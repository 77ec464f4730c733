"""From an instance to the compiled event loop and back: which coalitions play, by which rule, and
what came of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.scheduling import Schedule, Scheduling, assign_machines
from ...instances.scheduling.instance import Integers
from ..outcome import Clock, Report, Stop
from .shapley import kernel_weights

if TYPE_CHECKING:
    from . import kernels

RULES = (
    "REF", "REF-next", "RAND", "RAND-next", "DIRECTCONTR", "ROUNDROBIN",
    "FAIRSHARE", "UTFAIRSHARE", "CURRFAIRSHARE", "FIFO", "random",
)  # fmt: skip
"""Names in the order of the kernel's codes; -next compares at t + 1, as a `reading` of definition
does.
"""

SLICE = 30_000_000
"""Units of work between two looks at the clock: about a tenth of a second."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """Coalitions that RAND draws: masks, and what each counts in N times the estimated phi of each
    organization.
    """

    masks: tuple[int, ...]
    coefficients: Integers
    orderings: int


@dataclass(frozen=True, eq=False)
class Simulation:
    """What the event loop found.

    Attributes
    ----------
    instance : what was given.
    start : (j,) start of each job in the wanted schedule, -1 when it is not started.
    machine : (j,) its machine when the rule chose one (DIRECTCONTR), else None.
    masks : (n,) the coalitions, bit u for organization u; the wanted one last.
    times : (q,) sample times, the horizon last.
    values : (n, q) value of each coalition at them.
    own : (k, q) psi_sp of each organization in the wanted schedule.
    lent : (k, q) utility earned on each organization's machines (DIRECTCONTR's estimate of phi; 0
        for other rules).
    contended : how often fewer machines were free than jobs waited, with more than one organization
        waiting.
    decided_until : the time up to which the rule decided; the horizon unless it was stopped, FIFO
        after it.
    stop : why it stopped.
    """

    instance: Scheduling
    start: Integers
    machine: Integers | None
    masks: Integers
    times: Integers
    values: Integers
    own: Integers
    lent: Integers
    contended: int
    decided_until: int
    stop: Stop

    @cached_property
    def schedule(self) -> Schedule:
        """The wanted schedule; machines are the lowest free ones unless the rule chose them."""
        machine = (
            assign_machines(self.instance, self.start) if self.machine is None else self.machine
        )
        return Schedule(self.start, machine, greedy=True)


def simulate(
    instance: Scheduling,
    rule: str,
    *,
    sampling: Sampling | None = None,
    draws: npt.NDArray[np.float64] | None = None,
    shares: npt.ArrayLike | None = None,
    samples: npt.ArrayLike = (),
    time_limit: float | None = None,
    report: Report | None = None,
    partial: bool = False,
) -> Simulation:
    """Play a rule's schedule, event by event, and the schedules of the coalitions it looks at.

    Parameters
    ----------
    rule : one of `RULES`; REF plays every coalition, so its organizations are few
        (`shapley_schedule.validate_ref`).
    sampling : RAND's coalitions; they play FIFO beside the wanted one.
    draws : (2 j,) numbers in [0, 1) for the rules that draw: entry 2 i the i-th start's
        organization, 2 i + 1 its machine.
    shares : (k,) whole numbers that stand for the machines where a rule asks for an organization's
        share; the machines when not given.
    samples : times from 0 to the horizon at which values are recorded; the horizon is always one.
    time_limit, report : see `Clock`. When time is up the rest is scheduled first in, first out.
    partial : the caller looks at `stop`: at Ctrl-C, too, the rest is scheduled first in, first out.
        Otherwise the KeyboardInterrupt goes on to the caller, so that nobody takes half a rule's
        schedule for the rule's.
    """
    from . import kernels

    # when values are recorded
    clock = Clock(time_limit, report)
    share = np.array(instance.machines if shares is None else shares, dtype=np.int64)
    _validate(instance, rule, sampling, draws, share)
    times = np.unique(np.append(np.asarray(samples, dtype=np.int64), instance.horizon))
    if times[0] < 0 or times[-1] > instance.horizon:
        raise InvalidOption(
            f"samples are from {times[0]} to {times[-1]}; expected times from 0 to the "
            f"horizon, {instance.horizon}"
        )
    # the game as arrays: who plays, by which rule, and room for what is recorded
    players, every = instance.organizations, rule.startswith("REF")
    masks, rules = _playing(instance, rule, sampling)
    jobs = _jobs(instance, share)
    game = _coalitions(instance, masks, rules, sampling, shapley=every)
    state = _state(instance, game, shapley=every)
    output = kernels.Output(
        start=np.full(instance.jobs, -1, dtype=np.int64),
        machine=np.full(instance.jobs, -1, dtype=np.int64),
        sample_times=times,
        sample_value=np.zeros((len(masks), len(times)), dtype=np.int64),
        sample_own=np.zeros((players, len(times)), dtype=np.int64),
        sample_lent=np.zeros((players, len(times)), dtype=np.int64),
    )
    # play, and put starts and machines back into the order of the instance
    uniform = np.zeros(2) if draws is None else draws
    decided, stop = _play(instance, jobs, game, state, output, uniform, clock, partial)
    start = np.empty(instance.jobs, dtype=np.int64)
    start[instance.order] = output.start
    machine = None
    if rule == "DIRECTCONTR" and stop is Stop.FINISHED:
        machine = np.empty(instance.jobs, dtype=np.int64)
        machine[instance.order] = output.machine
    return Simulation(
        instance=instance,
        start=start,
        machine=machine,
        masks=np.array(masks, dtype=np.int64),
        times=times,
        values=output.sample_value,
        own=output.sample_own,
        lent=output.sample_lent,
        contended=int(state.cursor[kernels.CONTENDED]),
        decided_until=decided,
        stop=stop,
    )


def memory_needed(instance: Scheduling, masks: Sequence[int] | Integers) -> int:
    """Bytes the state of these coalitions takes, before any of it is made."""
    slots = _slots(instance, np.asarray(masks, dtype=np.int64))
    players = instance.organizations
    return 8 * int(slots[-1] + len(masks) * (5 * players + 12) + 4 * 2 ** min(players, 40))


def _validate(
    instance: Scheduling,
    rule: str,
    sampling: Sampling | None,
    draws: npt.NDArray[np.float64] | None,
    share: Integers,
) -> None:
    """Refuse what the compiled loop, which checks no bounds, could not hold."""
    if rule not in RULES:
        raise InvalidOption(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    if rule.startswith("RAND") != (sampling is not None):
        raise InvalidOption("sampling goes with RAND, and RAND needs it; see `sample_orderings`")
    if rule in ("DIRECTCONTR", "random") and (draws is None or len(draws) < 2 * instance.jobs):
        raise InvalidOption(
            f"draws has {0 if draws is None else len(draws)} numbers; {rule} needs "
            f"{2 * instance.jobs}, two a job"
        )
    busy = min(instance.total_machines, instance.jobs)
    if rule == "FAIRSHARE" and busy * instance.horizon * int(share.max()) >= 2**63:
        raise InvalidInstance(
            "horizon", instance.horizon,
            "machine time times the largest share below 2**63 for FAIRSHARE",
            "Measure time in a coarser unit",
        )  # fmt: skip
    if rule == "UTFAIRSHARE" and instance.most_utility * int(share.max()) >= 2**63:
        raise InvalidInstance(
            "horizon", instance.horizon,
            "utility times the largest share below 2**63 for UTFAIRSHARE",
            "Measure time in a coarser unit",
        )  # fmt: skip


def _playing(
    instance: Scheduling, rule: str, sampling: Sampling | None
) -> tuple[list[int], list[int]]:
    """Masks of the coalitions in order of size, the wanted one last, and the rule each plays."""
    from .kernels import FIFO, LAST_BIT

    code = RULES.index(rule)
    if rule.startswith("REF"):
        masks = sorted(
            range(1, 1 << instance.organizations), key=lambda mask: (mask.bit_count(), mask)
        )
        return masks, [code] * len(masks)
    everyone = (1 << min(instance.organizations, LAST_BIT + 1)) - 1
    others = [] if sampling is None else list(sampling.masks)
    return [*others, everyone], [FIFO] * len(others) + [code]


def _play(
    instance: Scheduling, jobs: kernels.Jobs, game: kernels.Coalitions, state: kernels.State,
    output: kernels.Output,
    draws: npt.NDArray[np.float64], clock: Clock, partial: bool,
) -> tuple[int, Stop]:  # fmt: skip
    """Run the kernel in slices; when stopped, only the wanted coalition goes on, first in, first
    out.
    """
    from . import kernels

    def go(least: int) -> bool:
        return kernels.run(jobs, game, state, output, draws, instance.horizon, least, SLICE)

    stop = Stop.FINISHED
    try:
        while not go(0):
            clock.note(None, None, f"time {state.cursor[kernels.TIME]} of {instance.horizon}")
            if clock.over:
                stop = Stop.TIME_LIMIT
                break
    except KeyboardInterrupt:
        if not partial:
            raise
        stop = Stop.INTERRUPTED
    if stop is Stop.FINISHED:
        return instance.horizon, stop
    decided = int(state.cursor[kernels.TIME])
    game.rule[-1] = kernels.FIFO
    while not go(len(game.mask) - 1):
        pass
    return decided, stop


def _jobs(instance: Scheduling, share: Integers) -> kernels.Jobs:
    from . import kernels

    order = instance.order
    count = np.bincount(instance.organization, minlength=instance.organizations)
    by_time = np.argsort(instance.release, kind="stable")
    return kernels.Jobs(
        first=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        release=instance.release[order],
        processing=instance.processing[order],
        event_time=instance.release[by_time],
        event_org=instance.organization[by_time],
        owner=instance.owner.astype(np.int64),
        share=share,
    )


def _coalitions(
    instance: Scheduling,
    masks: Sequence[int],
    rules: Sequence[int],
    sampling: Sampling | None,
    shapley: bool,
) -> kernels.Coalitions:
    from . import kernels

    players = instance.organizations
    members = np.zeros((len(masks), players), dtype=np.int64)
    sizes = np.zeros(len(masks), dtype=np.int64)
    for index, mask in enumerate(masks):
        inside = [u for u in range(players) if mask >> min(u, kernels.LAST_BIT) & 1]
        members[index, : len(inside)] = inside
        sizes[index] = len(inside)
    weight, scale = kernel_weights(players if shapley else 1)
    coefficients = (
        np.zeros((players, 1), dtype=np.int64) if sampling is None else sampling.coefficients
    )
    return kernels.Coalitions(
        mask=np.array(masks, dtype=np.int64),
        rule=np.array(rules, dtype=np.int64),
        size=sizes,
        members=members,
        slot=_slots(instance, np.array(masks, dtype=np.int64)),
        weight=weight,
        scale=scale,
        sampled=coefficients,
        orderings=0 if sampling is None else sampling.orderings,
    )


def _slots(instance: Scheduling, masks: Integers) -> Integers:
    """(n + 1,) where each coalition's heap of running jobs begins: room for its machines, or its
    jobs if fewer.
    """
    from .kernels import LAST_BIT

    bit = np.minimum(np.arange(instance.organizations), LAST_BIT)
    inside = (masks[:, None] >> bit[None, :]) & 1
    jobs = np.bincount(instance.organization, minlength=instance.organizations)
    room = np.minimum(inside @ instance.machines, inside @ jobs)
    return np.concatenate([[0], np.cumsum(room)]).astype(np.int64)


def _state(instance: Scheduling, game: kernels.Coalitions, shapley: bool) -> kernels.State:
    from . import kernels

    players, number = instance.organizations, len(game.mask)
    first = np.concatenate(
        [[0], np.cumsum(np.bincount(instance.organization, minlength=players))]
    ).astype(np.int64)
    subsets = 1 << players if shapley else 1
    free = np.array(
        [instance.machines[game.members[c, : game.size[c]]].sum() for c in range(number)],
        dtype=np.int64,
    )

    def zeros(*shape: int) -> Integers:
        return np.zeros(shape, dtype=np.int64)

    board = zeros(number, 6)
    board[:, kernels.FREE] = free
    desk = zeros(number, players, 4)
    desk[:, :, kernels.HEAD] = first[:-1]
    cursor = zeros(8)
    cursor[kernels.STAMP] = -1
    return kernels.State(
        cursor=cursor,
        queue_end=first[:-1].copy(),
        new=zeros(players),
        board=board,
        desk=desk,
        next_end=np.full(number, instance.horizon, dtype=np.int64),
        heap=zeros(max(1, int(game.slot[-1]))),
        lent=zeros(players, 3),
        machine_end=np.full(instance.total_machines, -1, dtype=np.int64),
        worth=zeros(subsets),
        folded=zeros(subsets),
        key=zeros(players),
    )
