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
from ..problem.fields import Axes, Index, Names, set_array, set_fields
from ..problem.option_types import Above, AtLeast, Between, validate_options
from ..problem.registry import Problem

Integers = npt.NDArray[np.int64]

LATEST = 2**42
"""Times are within this many units of 0: milliseconds since 1970 are."""


@dataclass(frozen=True, eq=False, repr=False)
class Lifetimes(Instance["Hosts"]):
    """n VMs of s types with k resources, from a start until an end, and servers of one class, as
    many as needed. A server without VMs is off.

    Parameters
    ----------
    demand : (s, k) what a VM of each type takes of each resource, whole numbers; not 0 everywhere.
    capacity : (k,) what a server has.
    kind : (n,) index of each VM's type.
    start, end : (n,) whole times [s, or another unit]; a VM runs at start <= t < end.
    predicted_end : (n,) when policies expect it to end, optional.
    resources : (k,) strings, optional.
    names : (n,) strings, optional.
    dropped, censored : VMs of the list that are not here, as they never run while it is looked at;
        and VMs here whose end is not known, or later than it is looked at.
    """

    problem: ClassVar[str] = "lifetimes"
    counted: ClassVar[Mapping[str, str]] = {
        "types": "VM type", "resources": "resource", "vms": "VM",
    }  # fmt: skip

    demand: Annotated[Integers, Axes("types resources"), AtLeast(0, "a whole amount")]
    capacity: Annotated[Integers, Axes("resources"), AtLeast(0, "a whole amount")]
    kind: Annotated[Integers, Axes("vms"), Index("types")]
    start: Annotated[Integers, Axes("vms"), Between(-LATEST, LATEST, "a time")]
    end: Annotated[Integers, Axes("vms"), Between(-LATEST, LATEST, "a time")]
    predicted_end: Annotated[
        Integers | None, Axes("vms"), Between(-LATEST, LATEST, "a time")
    ] = None  # fmt: skip
    resources: Annotated[tuple[str, ...], Names("resources", filled=True)] = ()
    names: Annotated[tuple[str, ...], Names("vms")] = ()
    dropped: Annotated[int, AtLeast(0)] = 0
    censored: Annotated[int, AtLeast(0)] = 0

    def __post_init__(self) -> None:
        """Raise InvalidInstance, naming the field, the value and what was expected."""
        set_fields(self)
        for i in np.flatnonzero(self.end <= self.start)[:1].tolist():
            raise InvalidInstance(
                f"end[{i}]", self.end[i], f"more than its start, {self.start[i]}",
                "Leave out VMs that never run",
            )  # fmt: skip
        for i, j in np.argwhere(self.demand > self.capacity)[:1].tolist():
            raise InvalidInstance(
                f"demand[{i}, {j}]", self.demand[i, j],
                f"at most what a server has of it, {self.capacity[j]}",
            )  # fmt: skip
        for i in np.flatnonzero(~self.demand.any(axis=1))[:1].tolist():
            raise InvalidInstance(f"demand[{i}]", "0 everywhere", "a VM that takes something")
        if (self.demand[self.kind].sum(axis=0, dtype=float) >= LARGEST).any():
            raise InvalidInstance(
                "demand", "so large in all", "a sum below 2**53", "Use larger units"
            )
        if len(self.kind) * int(self.end.max() - self.start.min()) >= 2**62:
            raise InvalidInstance("end", "so late", "fewer units of time", "Use a larger unit")

    @cached_property
    def times(self) -> Integers:
        """(T + 1,) all instants at which a VM comes or goes, in order; interval t is between the
        t-th and the next.
        """
        return np.unique(np.concatenate([self.start, self.end]))

    @cached_property
    def intervals(self) -> tuple[Integers, Integers]:
        """(n,) first interval of each VM, and (n,) the first after its end."""
        return np.searchsorted(self.times, self.start), np.searchsorted(self.times, self.end)

    @property
    def length(self) -> Integers:
        """(T,) the length of each interval."""
        return np.diff(self.times)

    def load(self, each: Integers) -> Integers:
        """(T,) the sum, over the VMs that run in each interval, of a number of their type (s,)."""
        first, last = self.intervals
        change = np.zeros(len(self.times), dtype=np.int64)
        np.add.at(change, first, each[self.kind])
        np.subtract.at(change, last, each[self.kind])
        return change.cumsum()[:-1]

    def count(self, interval: int) -> Integers:
        """(s,) VMs of each type that run in an interval."""
        first, last = self.intervals
        here = (first <= interval) & (interval < last)
        return np.bincount(self.kind[here], minlength=len(self.demand))

    @cached_property
    def most(self) -> Integers:
        """(s,) the most VMs of each type that run at once."""
        order = np.argsort(self.kind, kind="stable")
        groups = np.split(order, np.bincount(self.kind, minlength=len(self.demand)).cumsum()[:-1])
        return np.array([self._at_once(group) for group in groups])

    def _at_once(self, vms: Integers) -> int:
        """The most of some VMs that run at once."""
        first, last = (part[vms] for part in self.intervals)
        change = np.bincount(first, minlength=len(self.times))
        change -= np.bincount(last, minlength=len(self.times))
        return int(change.cumsum().max())

    @cached_property
    def volume(self) -> Integers:
        """(T,) servers that are needed in each interval by volume alone."""
        needed = [
            -(-self.load(self.demand[:, j]) // room)
            for j, room in enumerate(self.capacity.tolist()) if room
        ]  # fmt: skip
        return np.asarray(np.max(needed, axis=0))

    @property
    def size(self) -> int:
        """VMs times servers, about what a policy looks at."""
        return len(self.kind) * int(self.volume.max())

    def packing(self, request: Integers) -> Packing:
        """So many VMs (s,) of each type, on as few servers as possible."""
        return Packing(
            self.capacity[None], self.demand, request.astype(float), resources=self.resources,
            name=self.name, source=self.source,
        )  # fmt: skip

    def at(self, time: int) -> Packing:
        """The VMs that run at a time, on as few servers as possible."""
        return self.packing(self.count(int(np.searchsorted(self.times, time, "right")) - 1))

    def summary(self) -> dict[str, object]:
        """Facts for people: VMs with those left out and cut off, instants, servers by volume."""
        arrivals = len(np.unique(self.start))
        return {
            **super().summary(), "VMs": f"{self.counts_left_out}{len(self.kind):,} here",
            "types": len(self.demand),
            "server": ", ".join(
                f"{room} {name}" for room, name in zip(self.capacity, self.resources, strict=True)
            ),
            "time": f"{self.times[-1] - self.times[0]:,} in {len(self.length):,} intervals",
            "arrivals": f"at {arrivals:,} instants"
            + "; the order of VMs that arrive together matters, see ties" * self.tied,
            "servers by volume": f"{self.volume.max():,} at the peak, "
            f"{self.volume @ self.length / (self.times[-1] - self.times[0]):,.1f} on average",
        }  # fmt: skip

    @cached_property
    def tied(self) -> bool:
        """Whether VMs arrive at the same time."""
        return len(np.unique(self.start)) < len(self.start)

    @property
    def counts_left_out(self) -> str:
        """How many VMs of the list were dropped or cut off, in words; "" for none."""
        words = [f"{self.dropped:,} dropped"] * (self.dropped > 0)
        words += [f"{self.censored:,} censored"] * (self.censored > 0)
        return ", ".join(words) + "; " * bool(words)


@dataclass(frozen=True, eq=False, repr=False)
class Hosts(Solution):
    """On which server each VM runs.

    Parameters
    ----------
    host : (n,) number of its server, 0 or more.
    """

    problem: ClassVar[str] = "lifetimes"

    host: Integers

    def __post_init__(self) -> None:
        set_array(self, "host", int)

    def spells(self, instance: Lifetimes) -> tuple[Integers, Integers]:
        """Beginnings and ends of the spells for which a server is on, one behind the other without
        a break in between, of all servers.
        """
        _, server = np.unique(self.host, return_inverse=True)
        order = np.lexsort((instance.start, server))
        apart = server[order] * (int(instance.times[-1] - instance.times[0]) + 1)
        start, end = instance.start[order] + apart, instance.end[order] + apart
        reached = np.maximum.accumulate(end)
        new = np.append(True, start[1:] > reached[:-1])
        last = np.append(np.flatnonzero(new)[1:], len(start)) - 1
        return (start - apart)[new], (reached - apart)[last]

    def in_use(self, instance: Lifetimes) -> Integers:
        """(T,) servers that are on in each interval."""
        begin, end = (np.searchsorted(instance.times, at) for at in self.spells(instance))
        change = np.bincount(begin, minlength=len(instance.times))
        return (change - np.bincount(end, minlength=len(instance.times))).cumsum()[:-1]


@validate_options
def check(instance: Lifetimes, solution: Hosts) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless every VM has a server, and on
    no server VMs that run at the same time take more than it has.
    """
    host, n = solution.host, len(instance.kind)
    if host.shape != (n,):
        raise InfeasibleSolution(f"host has {len(host)} entries; expected {n}, one per VM")
    for i in np.flatnonzero(host < 0)[:1].tolist():
        raise InfeasibleSolution(f"VM {i} is on server {host[i]}; expected 0 or more")
    # all starts and ends, server by server in order of time, what ends before what starts
    time = np.concatenate([instance.end, instance.start])
    server, starts = np.tile(host, 2), np.repeat([0, 1], n)
    order = np.lexsort((starts, time, server))
    size = instance.demand[instance.kind]
    load = np.concatenate([-size, size])[order].cumsum(axis=0)
    for event, j in np.argwhere(load > instance.capacity)[:1].tolist():
        place = order[event]
        raise InfeasibleSolution(
            f"server {server[place]} has VMs at {time[place]} that take {load[event, j]} of "
            f"{instance.resources[j]}; it has {instance.capacity[j]}"
        )


@validate_options
def arrivals(
    *,
    vms: Annotated[int, AtLeast(1)] = 500,
    hours: Annotated[int, AtLeast(1)] = 12,
    life: Annotated[float, Above(0, "minutes")] = 90.0,
    spread: Annotated[float, AtLeast(0, "a standard deviation of logarithms")] = 1.0,
    every: Annotated[int, AtLeast(1, "seconds")] = 300,
    cores: Annotated[int, AtLeast(16)] = 32,
    memory: Annotated[int, AtLeast(64, "GB")] = 96,
    rng: np.random.Generator,
) -> Lifetimes:
    """VMs of a public cloud by its rough shape: more arrivals by day, many short lives and a few
    very long ones, small VMs most of all; looked at for some hours.

    Parameters
    ----------
    vms, hours : how many, and how long they come; what runs then is cut off there.
    life, spread : median of their lives [minutes], and how much these differ.
    every : times are multiples of this [s], as monitoring tells them; many VMs arrive together.
    cores, memory : of a server [GB].
    """
    demand = np.array([[n, n * per] for n in (1, 2, 4, 8, 16) for per in (2, 4)])
    drawn = rng.random(4 * vms) * hours
    kept = rng.random(4 * vms) < 0.5 + 0.5 * np.sin((drawn - 6) * np.pi / 12) ** 2
    hour = np.append(drawn[kept], drawn[~kept])[:vms]
    start = np.sort((hour * 3600 // every * every).astype(np.int64))
    minutes = life * np.exp(spread * rng.standard_normal(vms))
    lives = np.clip(minutes * 60 // every, 1, hours * 3600 // every + 1).astype(np.int64) * every
    stop = hours * 3600 if start.max() < hours * 3600 else int(start.max()) + every
    end = np.minimum(start + lives, stop)
    share = np.array([0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.04, 0.04, 0.01, 0.01])
    return Lifetimes(
        demand, np.array([cores, memory]), rng.choice(len(demand), vms, p=share), start, end,
        resources=("cores", "memory [GB]"), censored=int((end == stop).sum()),
        name=f"arrivals-{vms}", source=f"synthetic: {vms} VMs in {hours} hours",
    )  # fmt: skip


def answer_table(instance: Lifetimes, solution: Hosts, most: int | None = None) -> AnswerTable:
    """A row for each VM, server by server in order of time."""
    order = np.lexsort((instance.start, solution.host))
    names = labels("VM", instance.names, len(order))
    rows = tuple(
        (int(solution.host[i]), names[i], int(instance.start[i]), int(instance.end[i]))
        for i in order[:most].tolist()
    )
    use = solution.in_use(instance)
    sentence = f"{instance.counts_left_out}{use.max()} servers at the peak, "
    sentence += f"{use @ instance.length / instance.length.sum():.6g} on average"
    if instance.tied:
        sentence += "; another order of VMs that arrive together gives another answer"
    return AnswerTable(sentence, ("server", "VM", "start", "end"), rows, len(order))


PROBLEM = Problem(
    name="lifetimes",
    title="VMs that come and go, on servers that are off while they have none",
    instance=Lifetimes,
    solution=Hosts,
    check=check,
    generators={"arrivals": "instances.lifetimes:arrivals"},
    formats={
        "lifetimes-csv": "instances.lifetimes.formats:lifetimes_csv",
        "azure-2017": "instances.lifetimes.formats:azure_2017",
        "azure-2020": "instances.lifetimes.formats:azure_2020",
        "temporal-bin-packing": "instances.lifetimes.formats:temporal_bin_packing",
    },
    answer_table="instances.lifetimes:answer_table",
)
