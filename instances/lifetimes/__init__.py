"""Lifetimes: VMs that come and go on equal servers, each VM on one server for its whole life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ..packing.instance import LARGEST, Packing
from ..problem.answer_table import AnswerTable, labels
from ..problem.base import Instance, Solution
from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import Axes, Index, Names, raise_first_broken, set_array, set_fields
from ..problem.option_types import Above, AtLeast, Between, validate_options
from ..problem.registry import Problem

Integers = npt.NDArray[np.int64]

A_TIME = Between(-(2**42), 2**42, "a time")
"""Milliseconds since 1970 are."""


@dataclass(frozen=True, eq=False, repr=False)
class Lifetimes(Instance["Hosts"]):
    """n VMs of s types with k resources, each with a start and an end, on equal servers. A server
    without VMs is off.

    Parameters
    ----------
    demand : (s, k) what a VM of each type takes of each resource, integers; not 0 everywhere.
    capacity : (k,) what a server has.
    kind : (n,) index of each VM's type.
    start, end : (n,) integer times [s, or another unit]; a VM runs at start <= t < end.
    predicted_end : (n,) when policies expect it to end, optional.
    resources : (k,) strings, optional.
    names : (n,) strings, optional.
    dropped, censored : VMs of the list that are not here, as they never run while it is looked at;
        and VMs here whose end is not known, or later than it is looked at.
    """

    problem: ClassVar[str] = "lifetimes"
    counted: ClassVar[Mapping[str, str]] = dict(types="VM type", resources="resource", vms="VM")

    demand: Annotated[Integers, Axes("types resources"), AtLeast(0, "a whole amount")]
    capacity: Annotated[Integers, Axes("resources"), AtLeast(0, "a whole amount")]
    kind: Annotated[Integers, Axes("vms"), Index("types")]
    start: Annotated[Integers, Axes("vms"), A_TIME]
    end: Annotated[Integers, Axes("vms"), A_TIME]
    predicted_end: Annotated[Integers | None, Axes("vms"), A_TIME] = None
    resources: Annotated[tuple[str, ...], Names("resources", filled=True)] = ()
    names: Annotated[tuple[str, ...], Names("vms")] = ()
    dropped: Annotated[int, AtLeast(0)] = 0
    censored: Annotated[int, AtLeast(0)] = 0

    def __post_init__(self) -> None:
        set_fields(self)
        for i in np.flatnonzero(self.end <= self.start)[:1].tolist():
            wanted = f"more than its start, {self.start[i]}"
            raise InvalidInstance(f"end[{i}]", self.end[i], wanted, "Leave out VMs that never run")
        for i, j in np.argwhere(self.demand > self.capacity)[:1].tolist():
            wanted = f"at most what a server has of it, {self.capacity[j]}"
            raise InvalidInstance(f"demand[{i}, {j}]", self.demand[i, j], wanted)
        for i in np.flatnonzero(~self.demand.any(axis=1))[:1].tolist():
            raise InvalidInstance(f"demand[{i}]", "0 everywhere", "a VM that takes something")
        if (self.demand[self.kind].sum(axis=0, dtype=float) >= LARGEST).any():
            raise InvalidInstance("demand", "so large in all", "below 2**53", "Use larger units")
        if len(self.kind) * int(self.end.max() - self.start.min()) >= 2**62:
            raise InvalidInstance("end", "so late", "fewer units of time", "Use a larger unit")

    @cached_property
    def times(self) -> Integers:
        """(T + 1,) sorted instants at which VMs start or end; interval t follows instant t."""
        return np.unique(np.concatenate([self.start, self.end]))

    @cached_property
    def intervals(self) -> tuple[Integers, Integers]:
        """(n,) first interval in which each VM runs, and (n,) the first after its end."""
        return np.searchsorted(self.times, self.start), np.searchsorted(self.times, self.end)

    @property
    def length(self) -> Integers:
        """(T,) length of each interval between two starts or ends of VMs."""
        return np.diff(self.times)

    def load(self, each: Integers) -> Integers:
        """Sum (T,) over the VMs that run in each interval of an amount given by type (s,)."""
        change = np.zeros(len(self.times), dtype=np.int64)
        for place, sign in zip(self.intervals, (1, -1), strict=True):
            np.add.at(change, place, sign * each[self.kind])
        return change.cumsum()[:-1]

    @cached_property
    def most(self) -> Integers:
        """Maximum number of VMs of each type that run at once, shape (s,)."""
        return np.array([self.load(one).max() for one in np.eye(len(self.demand), dtype=np.int64)])

    @cached_property
    def volume(self) -> Integers:
        """Lower bound (T,) on the servers in each interval: total demand over capacity."""
        pairs = zip(self.demand.T, self.capacity.tolist(), strict=True)
        needed = [-(-self.load(size) // room) for size, room in pairs if room]
        return np.asarray(np.max(needed, axis=0))

    @property
    def size(self) -> int:
        """Number of VMs times number of servers."""
        return len(self.kind) * int(self.volume.max())

    def count(self, time: int) -> Integers:
        """(s,) number of VMs of each type that run at a given time."""
        here = (self.start <= time) & (time < self.end)
        return np.bincount(self.kind[here], minlength=len(self.demand))

    def packing(self, request: Integers) -> Packing:
        """Packing instance of the given number of VMs (s,) of each type."""
        rows = self.capacity[None], self.demand, request.astype(float)
        return Packing(*rows, resources=self.resources, name=self.name, source=self.source)

    def at(self, time: int) -> Packing:
        """Packing instance of the VMs that run at a given time."""
        return self.packing(self.count(time))

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: VMs with those left out and cut off, instants, servers."""
        mean = self.volume @ self.length / self.length.sum()
        pairs = zip(self.capacity, self.resources, strict=True)
        return {
            **super().summary(), "VMs": self.left_out or f"{len(self.kind):,}",
            "types": len(self.demand),
            "server": ", ".join(f"{room} {name}" for room, name in pairs),
            "time": f"{self.length.sum():,} in {len(self.length):,} intervals",
            "arrivals": f"at {len(np.unique(self.start)):,} instants",
            "servers by volume": f"{self.volume.max():,} at the peak, {mean:,.1f} on average",
        }  # fmt: skip

    @property
    def left_out(self) -> str:
        """Sentence on VMs of the source list that were dropped or censored; "" without any."""
        pairs = ((self.dropped, "dropped"), (self.censored, "censored"))
        counts = [f"{number:,} {word}" for number, word in pairs if number]
        return ", ".join([*counts, f"{len(self.kind):,} here"] if counts else [])


@dataclass(frozen=True, eq=False, repr=False)
class Hosts(Solution):
    """Answer of a lifetimes instance: the server of each VM.

    Parameters
    ----------
    host : (n,) number of its server, 0 or more.
    """

    host: Integers

    def __post_init__(self) -> None:
        set_array(self, "host", int)

    def spells(self, instance: Lifetimes) -> tuple[Integers, Integers]:
        """Starts and ends of the busy periods of all servers, in which a server holds a VM."""
        _, server = np.unique(self.host, return_inverse=True)
        order = np.lexsort((instance.start, server))
        apart = server[order] * (int(instance.times[-1] - instance.times[0]) + 1)
        start, end = instance.start[order] + apart, instance.end[order] + apart
        reached = np.maximum.accumulate(end)
        new = np.append(True, start[1:] > reached[:-1])
        return (start - apart)[new], (reached - apart)[np.append(new[1:], True)]

    def in_use(self, instance: Lifetimes) -> Integers:
        """(T,) number of servers that hold a VM in each interval."""
        places = (np.searchsorted(instance.times, at) for at in self.spells(instance))
        begin, end = (np.bincount(at, minlength=len(instance.times)) for at in places)
        return (begin - end).cumsum()[:-1]


@validate_options
def check(instance: Lifetimes, solution: Hosts) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless every VM has a server, and VMs
    that run at the same time fit their server.
    """
    host, n = solution.host, len(instance.kind)
    if host.shape != (n,):
        raise InfeasibleSolution(f"host has {len(host)} entries; expected {n}, one per VM")
    raise_first_broken(host < 0, lambda i: f"VM {i} is on server {host[i]}; expected 0 or more")
    # all starts and ends, server by server in order of time, what ends before what starts
    time = np.concatenate([instance.end, instance.start])
    order = np.lexsort((np.repeat([0, 1], n), time, np.tile(host, 2)))
    size = instance.demand[instance.kind]
    load = np.concatenate([-size, size])[order].cumsum(axis=0)
    raise_first_broken(
        load > instance.capacity,
        lambda event, j: (
            f"server {host[order[event] % n]} has VMs at {time[order[event]]} that take "
            f"{load[event, j]} of {instance.resources[j]}; it has {instance.capacity[j]}"
        ),
    )


@validate_options
def arrivals(
    *,
    vms: Annotated[int, AtLeast(1)] = 500,
    hours: Annotated[int, AtLeast(1)] = 12,
    life: Annotated[float, Above(0, "minutes")] = 90.0,
    spread: Annotated[float, AtLeast(0, "a standard deviation of logarithms")] = 1.0,
    every: Annotated[int, AtLeast(1, "seconds")] = 300,
    rng: np.random.Generator,
) -> Lifetimes:
    """Draw VMs of a cloud, many of them small and short-lived, on servers of 32 cores and 96 GB.

    Parameters
    ----------
    vms, hours : how many, and how long they come; what runs then is cut off there.
    life, spread : median of their lives [minutes], and how much these differ.
    every : times are multiples of this [s], as monitoring tells them; many VMs arrive together.
    """
    demand = np.array([[n, n * per] for n in (1, 2, 4, 8, 16) for per in (2, 4)])
    share = np.repeat([0.2, 0.15, 0.1, 0.04, 0.01], 2)
    stop = -(-hours * 3600 // every)
    start = np.sort(rng.integers(stop, size=vms))
    lives = np.ceil(life * 60 / every * np.exp(spread * rng.standard_normal(vms)))
    end = np.minimum(start + lives, stop).astype(np.int64)
    return Lifetimes(
        demand, np.array([32, 96]), rng.choice(len(demand), vms, p=share), start * every,
        end * every, resources=("cores", "memory [GB]"), censored=int((start + lives > stop).sum()),
        name=f"arrivals-{vms}", source=f"synthetic: {vms} VMs in {hours} hours",
    )  # fmt: skip


def answer_table(instance: Lifetimes, solution: Hosts, most: int | None = None) -> AnswerTable:
    """Table of the VMs with their servers, server by server in order of time."""
    order = np.lexsort((instance.start, solution.host))
    columns = solution.host, labels("VM", instance.names, len(order)), instance.start, instance.end
    rows = [(int(h), vm, int(a), int(b)) for h, vm, a, b in zip(*columns, strict=True)]
    use = solution.in_use(instance)
    sentence = f"VMs: {instance.left_out}; " if instance.left_out else ""
    sentence += f"{use.max()} servers at the peak, "
    sentence += f"{use @ instance.length / instance.length.sum():.6g} on average"
    if len(np.unique(instance.start)) < len(order):
        sentence += "; another order of VMs that arrive together gives another answer"
    shown = tuple(rows[i] for i in order[:most])
    return AnswerTable(sentence, ("server", "VM", "start", "end"), shown, len(order))


PROBLEM = Problem(
    title="VMs that come and go, on servers that are off while they have none",
    instance=Lifetimes,
    solutions=(Hosts,),
    check=check,
    generators={"arrivals": "instances.lifetimes:arrivals"},
    formats={
        "lifetimes-csv": "instances.lifetimes.formats:lifetimes_csv",
        "azure-2017": "instances.lifetimes.formats:azure_2017",
        "azure-2020": "instances.lifetimes.formats:azure_2020",
        "temporal-bin-packing": "instances.lifetimes.formats:temporal_bin_packing",
    },
    answer_table=answer_table,
)
