"""Conversion of an instance to the compiled event loop and back: coalitions, rules, and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, schedule_of
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


STEPS = 30_000_000
"""Units of work between two checks of the clock, about a tenth of a second."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """Coalitions that RAND samples: masks, and the weight of each in the estimated phi of each
    organization.
    """

    masks: tuple[int, ...]
    coefficients: Integers
    orderings: int


@dataclass(frozen=True, eq=False)
class Simulation:
    """Result of simulating a rule: its schedule, and values and utilities at sample times.

    Attributes
    ----------
    instance : what was given.
    start : (j,) start of each job in the wanted schedule, -1 when it is not started.
    machine : (j,) its machine when the rule chose one (DIRECTCONTR), else None.
    others : (n,) with it: the further machines of parallel jobs, as a `Schedule` has them.
    speed : (j,) of the machine that each started job takes; None when machines are alike.
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
    others: Integers
    speed: Integers | None
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
        """Schedule of the wanted coalition, on the lowest free machines unless the rule chose
        them.
        """
        if self.machine is None:
            return schedule_of(self.instance, self.start, speed=self.speed, greedy=True)
        return Schedule(self.start, self.machine, True, self.others)


@validate_options
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
    """Simulate a rule's schedule event by event, with the schedules of the coalitions it depends
    on.

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

    # 1. the times at which values are recorded
    clock = Clock(time_limit, report)
    share = np.array(instance.machines if shares is None else shares, dtype=np.int64)
    _validate(instance, rule, sampling, draws, share)
    times = np.unique(np.append(np.asarray(samples, dtype=np.int64), instance.horizon))
    if times[0] < 0 or times[-1] > instance.horizon:
        raise InvalidOption(
            f"samples are from {times[0]} to {times[-1]}; expected times from 0 to the "
            f"horizon, {instance.horizon}"
        )
    # 2. coalitions, jobs and records as arrays
    players, every = instance.organizations, rule.startswith("REF")
    masks, rules = _playing(instance, rule, sampling)
    jobs = _jobs(instance, share)
    game = _coalitions(instance, masks, rules, sampling, shapley=every)
    state = _state(instance, jobs, game, shapley=every)
    output = kernels.Output(
        start=np.full(instance.jobs, -1, dtype=np.int64),
        machine=np.full(instance.jobs, -1, dtype=np.int64),
        sample_times=times,
        sample_value=np.zeros((len(masks), len(times)), dtype=np.int64),
        sample_own=np.zeros((players, len(times)), dtype=np.int64),
        sample_lent=np.zeros((players, len(times)), dtype=np.int64),
    )
    # 3. play, and put starts and machines back into the order of the instance
    uniform = np.zeros(2) if draws is None else draws
    extra = _machines(instance, game, rule == "DIRECTCONTR")
    decided, stop = _play(instance, jobs, game, state, extra, output, uniform, clock, partial)
    start, machine, others, speed = _as_given(instance, output, extra)
    if rule != "DIRECTCONTR" or stop is not Stop.FINISHED:
        machine = None
    return Simulation(
        instance=instance,
        start=start,
        machine=machine,
        others=others,
        speed=speed,
        masks=masks,
        times=times,
        values=output.sample_value,
        own=output.sample_own,
        lent=output.sample_lent,
        contended=int(state.cursor[kernels.CONTENDED]),
        decided_until=decided,
        stop=stop,
    )


def memory_needed(instance: Scheduling, masks: Sequence[int] | Integers) -> int:
    """Bytes that the state of these coalitions takes."""
    slots = _slots(instance, np.asarray(masks, dtype=np.int64))
    players = instance.organizations
    each = 5 * players + 14 + len(np.unique(instance.pace))
    return 8 * int(2 * slots[-1] + len(masks) * each + 4 * 2 ** min(players, 40))


def _validate(
    instance: Scheduling,
    rule: str,
    sampling: Sampling | None,
    draws: npt.NDArray[np.float64] | None,
    share: Integers,
) -> None:
    """Raise InvalidOption for input that the compiled loop, which checks no bounds, cannot hold."""
    if rule not in RULES:
        raise InvalidOption(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    if rule.startswith("RAND") != (sampling is not None):
        raise InvalidOption("sampling is for RAND only, and RAND needs it; see `sample_orderings`")
    if rule in ("DIRECTCONTR", "random") and (draws is None or len(draws) < 2 * instance.jobs):
        raise InvalidOption(
            f"draws has {0 if draws is None else len(draws)} numbers; {rule} needs "
            f"{2 * instance.jobs}, two a job"
        )
    if rule == "FAIRSHARE" and instance.busy * instance.horizon * int(share.max()) >= 2**63:
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
) -> tuple[Integers, list[int]]:
    """Masks of the coalitions that a rule needs, the wanted one last, and the rule code of each."""
    from .kernels import FIFO, LAST_BIT

    code = RULES.index(rule)
    if rule.startswith("REF"):
        masks = np.arange(1, 1 << instance.organizations)
        masks = masks[np.argsort(np.bitwise_count(masks), kind="stable")]
        return masks, [code] * len(masks)
    everyone = (1 << min(instance.organizations, LAST_BIT + 1)) - 1
    others = [] if sampling is None else list(sampling.masks)
    masks = np.array([*others, everyone], dtype=np.int64)
    return masks, [FIFO] * len(others) + [code]


def _play(
    instance: Scheduling, jobs: kernels.Jobs, game: kernels.Coalitions,
    state: kernels.State, machines: kernels.Machines, output: kernels.Output,
    draws: npt.NDArray[np.float64], clock: Clock, partial: bool,
) -> tuple[int, Stop]:  # fmt: skip
    """Run the compiled simulation, with progress after every slice of steps. Once stopped, only the
    wanted coalition's schedule is completed, by the rule FIFO.
    """
    from . import kernels

    def go(least: int) -> bool:
        return kernels.run(
            jobs, game, state, machines, output, draws, instance.horizon, least, STEPS
        )

    stop = Stop.FINISHED
    try:
        while not go(0):
            clock.note(None, None, f"time {state.cursor[kernels.TIME]} of {instance.horizon}")
            if clock.expired:
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


def _machines(instance: Scheduling, game: kernels.Coalitions, chooses: bool) -> kernels.Machines:
    """Machines in the kernel's form: needs of jobs, speeds, free machines of each coalition, and
    space for the machines of each job if the rule chooses them.
    """
    from . import kernels

    need = instance.width[instance.order]
    speed = np.unique(instance.pace)[::-1].astype(np.int64)
    kind = np.searchsorted(-speed, -instance.pace).astype(np.int64)
    of_each = np.zeros((instance.organizations, len(speed)), dtype=np.int64)
    np.add.at(of_each, (instance.owner, kind), 1)
    members = [game.members[c, : game.size[c]] for c in range(len(game.mask))]
    return kernels.Machines(
        need=need,
        org=instance.organization[instance.order],
        total=np.array([instance.machines[inside].sum() for inside in members], dtype=np.int64),
        passing=instance.backfilling,
        related=instance.speed is not None,
        speed=speed,
        kind=kind,
        free=np.array([of_each[inside].sum(axis=0) for inside in members], dtype=np.int64),
        wanted=np.zeros(len(members), dtype=np.int64),
        mark=np.zeros(max(1, int(game.slot[-1])), dtype=np.int64),
        taken=np.zeros(instance.jobs, dtype=np.int64),
        runs=np.full(instance.total_machines, -1, dtype=np.int64),
        others=np.full(chooses * int((need - 1).sum()) + 1, -1, dtype=np.int64),
        others_at=np.concatenate([[0], np.cumsum(need - 1)[:-1]]).astype(np.int64),
    )


def _as_given(
    instance: Scheduling, output: kernels.Output, machines: kernels.Machines
) -> tuple[Integers, Integers | None, Integers, Integers | None]:
    """Convert the kernel's starts, machines and speeds to the order of the instance's jobs."""
    place = np.empty(instance.jobs, dtype=np.int64)
    place[instance.order] = np.arange(instance.jobs)
    start, others = output.start[place], np.zeros(0, dtype=np.int64)
    if len(machines.others) > 1:
        jobs = np.flatnonzero(start >= 0)
        more = instance.width[jobs] - 1
        within = np.arange(more.sum()) - np.repeat(np.cumsum(more) - more, more)
        others = machines.others[np.repeat(machines.others_at[place[jobs]], more) + within]
    speed = None if instance.speed is None else machines.speed[machines.taken[place]]
    return start, output.machine[place], others, speed


def _coalitions(
    instance: Scheduling,
    masks: Integers,
    rules: Sequence[int],
    sampling: Sampling | None,
    shapley: bool,
) -> kernels.Coalitions:
    from . import kernels

    players = instance.organizations
    inside = _inside(instance, masks)
    sizes = inside.sum(axis=1)
    members = np.argsort(~inside, axis=1, kind="stable")  # those inside first
    members[np.arange(players) >= sizes[:, None]] = 0
    weight, scale = kernel_weights(players if shapley else 1)
    coefficients = (
        np.zeros((players, 1), dtype=np.int64) if sampling is None else sampling.coefficients
    )
    return kernels.Coalitions(
        mask=masks,
        rule=np.array(rules, dtype=np.int64),
        size=sizes,
        members=members,
        slot=_slots(instance, masks),
        weight=weight,
        scale=scale,
        sampled=coefficients,
        orderings=0 if sampling is None else sampling.orderings,
    )


def _slots(instance: Scheduling, masks: Integers) -> Integers:
    """Start index of each coalition's heap of running jobs, shape (n + 1,)."""
    inside = _inside(instance, masks)
    jobs = np.bincount(instance.organization, minlength=instance.organizations)
    room = np.minimum(inside @ instance.machines, inside @ jobs)
    return np.concatenate([[0], np.cumsum(room)]).astype(np.int64)


def _inside(instance: Scheduling, masks: Integers) -> npt.NDArray[np.bool_]:
    """Whether each organization is in each coalition, shape (n, k)."""
    from .kernels import LAST_BIT

    bits = 1 << np.minimum(np.arange(instance.organizations), LAST_BIT)
    inside: npt.NDArray[np.bool_] = (masks[:, None] & bits) != 0
    return inside


def _state(
    instance: Scheduling, jobs: kernels.Jobs, game: kernels.Coalitions, shapley: bool
) -> kernels.State:
    from . import kernels

    players, number = instance.organizations, len(game.mask)
    subsets = 1 << players if shapley else 1
    free = _inside(instance, game.mask) @ instance.machines

    def zeros(*shape: int) -> Integers:
        return np.zeros(shape, dtype=np.int64)

    board = zeros(number, 6)
    board[:, kernels.FREE] = free
    desk = zeros(number, players, 4)
    desk[:, :, kernels.HEAD] = jobs.first[:-1]
    cursor = zeros(8)
    cursor[kernels.STAMP] = -1
    return kernels.State(
        cursor=cursor,
        queue_end=jobs.first[:-1].copy(),
        new=zeros(players),
        board=board,
        desk=desk,
        next_end=np.full(number, instance.horizon, dtype=np.int64),
        heap=zeros(max(1, int(game.slot[-1]))),
        lent=zeros(players, 3),
        worth=zeros(subsets),
        folded=zeros(subsets),
        key=zeros(players),
    )
