"""Time-slotted simulation of a trace (VMs arrive, wait, run and leave; a policy shares the free
capacity), and policies on clusters of growing size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np

from ...catalog import find, methods
from ...instances.packing import Packing, Placement, check
from ...instances.packing.formats import VmTrace
from ...instances.packing.instance import Integers, fits
from ...instances.problem.errors import CotenantError, InvalidInstance, UnknownName
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...instances.problem.options import accepted
from ...solvers.outcome import Clock
from ..run.question import outcome_of
from .metrics import metrics

Policy = str | Callable[..., Any]


@dataclass(frozen=True)
class Slot:
    """State of the simulated cluster after the decision at the start of a time slot.

    Attributes
    ----------
    time : seconds.
    arrived : VMs that asked since the last decision.
    placed : VMs that began to run now.
    waiting : VMs that go on waiting.
    running : VMs that run.
    utilization : share of each resource of the cluster in use.
    """

    time: float
    arrived: int
    placed: int
    waiting: int
    running: int
    utilization: tuple[float, ...]


@validate_options
def simulate(
    trace: VmTrace,
    capacity: Integers,
    servers: Integers,
    policy: Policy = "first-fit",
    *,
    slot: Annotated[float, Above(0, "seconds")] = 300.0,
    slots: Annotated[int, AtLeast(1)] | None = None,
    rounds: Annotated[int, AtLeast(1)] = 1,
    seed: int = 0,
    **options: Any,
) -> list[Slot]:
    """Simulate a trace on a cluster of fixed size, as in section 3.1 of the paper.

    What was asked for since the last decision is decided at the start of the next slot, together
    with what still waits; what cannot be served waits on (first come, first served among VMs of one
    type). A VM lives as long as in the trace, counted from when it is placed; VMs are not moved.
    Every decision is one instance: the waiting VMs as requests that may be served in part, the
    servers with what they have free, their whole capacity as initial space.

    Parameters
    ----------
    trace : VMs with their type, arrival and departure.
    capacity, servers : (p, k) and (p,) classes of servers and how many of each.
    policy : a method for fixed servers by name, or a function.
    slot : seconds between decisions.
    slots : how many decisions; until the last arrival when not given.
    rounds : how often a decision may be repeated on what is left, until it places nothing. A game
        leaves requests unserved when all combinations in its strategy sets are larger than what is
        still asked for.
    options : the policy's own (alpha, eta, ...).
    """
    if (trace.end < trace.start).any():
        raise InvalidInstance("end", "before start for some VM", "every VM to end after it starts")
    state = _State(
        trace,
        np.repeat(
            np.asarray(capacity, dtype=np.int64), np.asarray(servers, dtype=np.int64), axis=0
        ),
    )
    begin = float(trace.start.min())
    number = slots or int(np.ceil((trace.start.max() - begin) / slot)) + 1
    return [
        state.decide(begin + step * slot, policy, seed + step, options, rounds)
        for step in range(1, number + 1)
    ]


class _State:
    """State of the simulation: free capacities, running VMs, and waiting VMs."""

    def __init__(self, trace: VmTrace, space: Integers) -> None:
        self.trace = trace
        self.space = space
        self.free = space.copy()
        self.order = np.argsort(trace.start, kind="stable")
        self.arrived = 0
        self.waiting: list[list[int]] = [[] for _ in range(len(trace.demand))]
        self.running: list[tuple[float, int, int]] = []

    def decide(
        self, now: float, policy: Policy, seed: int, options: dict[str, Any], rounds: int
    ) -> Slot:
        """Process one slot: departures, arrivals, and the policy's decision."""
        staying = []
        for leaves, server, kind in self.running:
            if leaves <= now:
                self.free[server] += self.trace.demand[kind]
            else:
                staying.append((leaves, server, kind))
        self.running = staying
        before = self.arrived
        while self.arrived < len(self.order) and self.trace.start[self.order[self.arrived]] < now:
            vm = int(self.order[self.arrived])
            self.waiting[int(self.trace.kind[vm])].append(vm)
            self.arrived += 1
        placed = 0
        for _ in range(rounds):
            more = self._place(now, policy, seed, options)
            placed += more
            if more == 0:
                break
        wait = sum(map(len, self.waiting))
        total = self.space.sum(axis=0)
        used = (self.space - self.free).sum(axis=0)
        return Slot(
            now, self.arrived - before, placed, wait, len(self.running),
            tuple((used / np.maximum(total, 1)).tolist()),
        )  # fmt: skip

    def _place(self, now: float, policy: Policy, seed: int, options: dict[str, Any]) -> int:
        """Run the policy, and start the oldest waiting VMs of each type as it decides."""
        demand = self.trace.demand
        kinds = np.array([kind for kind, queue in enumerate(self.waiting) if queue], dtype=np.int64)
        if not len(kinds):
            return 0
        room = fits(demand[kinds], self.free)
        kinds, open_servers = kinds[room.any(axis=1)], np.flatnonzero(room.any(axis=0))
        if not len(kinds):
            return 0
        # servers of equal free and total amounts become one class of the instance
        present = self.free[open_servers].max(axis=0) > 0
        rows = np.concatenate(
            [self.free[open_servers][:, present], self.space[open_servers][:, present]], axis=1
        )
        classes, member = np.unique(rows, axis=0, return_inverse=True)
        width = int(present.sum())
        instance = Packing(
            capacity=classes[:, :width],
            initial=classes[:, width:],
            servers=np.bincount(member.reshape(-1)).astype(float),
            demand=demand[kinds][:, present],
            request=np.array([float(len(self.waiting[kind])) for kind in kinds]),
            partial=True,
        )
        placement = share(instance, policy, seed=seed, **options)
        if placement is None:
            return 0
        places = {c: list(open_servers[member.reshape(-1) == c]) for c in range(len(classes))}
        number = 0
        for count, c in zip(placement.count, placement.server_class.tolist(), strict=True):
            server = int(places[c].pop(0))
            for kind, vms in zip(kinds.tolist(), count.tolist(), strict=True):
                for _ in range(vms):
                    vm = self.waiting[kind].pop(0)
                    self.free[server] -= demand[kind]
                    life = float(self.trace.end[vm] - self.trace.start[vm])
                    self.running.append((now + life, server, kind))
                    number += 1
        assert (self.free >= 0).all(), "a policy overfilled a server"
        return number


class SweepRow(TypedDict, total=False):
    """Metrics of one policy on a cluster of so many `machines`, or its `error`."""

    machines: int
    method: str
    seconds: float
    metrics: dict[str, float]
    error: str


def share(instance: Packing, policy: Policy, *, seed: int = 0, **options: Any) -> Placement | None:
    """Checked placement of a policy with those options that it takes; None without one. Raises
    UnknownName for a name of no policy for fixed servers.
    """
    function: Any = policy
    if isinstance(policy, str):
        every = methods("packing")
        known = [each.name for each in every if each.precondition.endswith(":shared_servers")]
        if policy not in known:
            raise UnknownName("policy for fixed servers", policy, known)
        function = find("packing", policy).resolve()
    given = {"rng": np.random.default_rng(seed), **options}
    answer = function(instance, **accepted(function, given))
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", "own")
    placement: Placement | None = outcome_of(answer, (Placement,), name).solution
    if placement is not None:
        check(instance, placement)
    return placement


def size_sweep(
    policies: Sequence[Policy],
    *,
    sizes: Iterable[int],
    cluster: Callable[[int], Packing],
    seed: int = 0,
    **options: Any,
) -> list[SweepRow]:
    """Metrics of each policy on clusters of growing size (figure 6: 50 to 700 servers).

    Parameters
    ----------
    cluster : number of servers -> instance.
    """
    rows: list[SweepRow] = []
    for size in sizes:
        instance = cluster(size)
        rows += [{"machines": size, **_row(instance, it, seed, options)} for it in policies]
    return rows


def _row(instance: Packing, policy: Policy, seed: int, options: dict[str, Any]) -> SweepRow:
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", "policy")
    clock = Clock()
    try:
        placement = share(instance, policy, seed=seed, **options)
    except CotenantError as error:
        return {"method": name, "metrics": {}, "error": str(error), "seconds": clock.seconds}
    seconds = clock.seconds
    measured = (
        {} if placement is None else metrics(instance, placement, alpha=options.get("alpha", 2.0))
    )
    return {"method": name, "metrics": measured, "seconds": seconds}
