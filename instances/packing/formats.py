"""Readers of foreign formats: .vbp, Azure's VMs at an instant, Alibaba's nodes and pods, added up
or with the cards inside its nodes.

Arrivals are drawn as in the publication: Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..problem.errors import InvalidFile, InvalidOption
from ..problem.option_types import Above, AtLeast, Range, validate_options
from ..problem.reading import read_text, require_few
from ..problem.tables import AMOUNT, CsvRow, CsvTable, PathLike, name_of
from .instance import LARGEST, Floats, Integers, Packing, fits

Moment = Annotated[float, Range(what="seconds")]
Copies = Annotated[int, AtLeast(1)]
Nodes = Annotated[int, AtLeast(1, "how many nodes of the list to take")]

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


@validate_options
def vbp(path: PathLike) -> Packing:
    """Read a vector bin packing file: d, the d capacities, n, then n lines of d sizes and a demand;
    bins as many as needed. BPPLIB's forms (n, the capacity, then n weights, or n weights with
    demands) and VPSolver's .mvp (bins of several sizes, items of one form) are known by their
    numbers.
    """
    where = os.fspath(path)  # 1. Read integers.
    text = read_text(path)
    require_few(text, " \t\r\n", "numbers", where)
    words = text.split()
    wrong = next((word for word in words if not _WHOLE.fullmatch(word)), None)
    if wrong is not None:
        raise InvalidFile(
            f"{where} holds {wrong[:40]!r}; expected whole numbers only. Scale fractional "
            "sizes and capacities"
        )
    numbers = [int(word) for word in words]
    if len(numbers) < 2 or numbers[0] < 1 or len(numbers) < numbers[0] + 2:
        raise InvalidFile(
            f"{where} ends too early; expected d, the d capacities, n, then n lines of d sizes "
            "and a demand"
        )
    if (found := _other_bins(where, numbers)) is not None:  # 2. Formats of other libraries.
        source = f"bin packing file {Path(path).name}"
        return Packing(**found, name=name_of(path), source=source)
    d = numbers[0]  # 3. Items of this format.
    n = numbers[1 + d]
    body = numbers[2 + d :]
    if n < 1 or len(body) != n * (d + 1):
        raise InvalidFile(
            f"{where} announces {n} items of {d} sizes and a demand, {max(n, 0) * (d + 1)} "
            f"numbers; it has {len(body)}"
        )
    rows = np.array(body, dtype=object).reshape(n, d + 1)
    if min(body) < 0:
        place = next(place for place, row in enumerate(rows) if min(row) < 0)
        raise InvalidFile(
            f"{where}, item {place} (line {place + 4}): {min(rows[place])} is negative; expected "
            "sizes of 0 or more"
        )
    return Packing(
        capacity=[numbers[1 : 1 + d]],  # type: ignore[arg-type]
        demand=rows[:, :d].tolist(),
        request=list(map(float, body[d :: d + 1])),  # type: ignore[arg-type]
        name=name_of(path),
        source=f"vector bin packing file {Path(path).name}",
    )


def _other_bins(where: str, numbers: list[int]) -> dict[str, Any] | None:
    """Fields of the instance in a file of BPPLIB or of VPSolver (.mvp); None for other files.

    No file of as many numbers as a form of BPPLIB announces is a .vbp.
    """
    n, capacity, *rest = numbers
    named = ".mvp" in (suffix.lower() for suffix in Path(where).suffixes)
    if not named and len(rest) in (n, 2 * n) and min(rest) >= 0:  # weights, or with demands
        items: Counter[int] = Counter()
        each = len(rest) // n
        for weight, demand in zip(rest[::each], rest[1::2] if each == 2 else [1] * n, strict=True):
            items[weight] += demand
        demands, counts = [[weight] for weight in items], list(map(float, items.values()))
        return {"capacity": [[capacity]], "demand": demands, "request": counts}
    bins, width = capacity, n + 2  # .mvp: sizes, cost and number (-1: as many as needed)
    classes = [rest[at * width : (at + 1) * width] for at in range(bins if bins < len(rest) else 0)]
    if not classes or len(rest) <= bins * width:
        if named:
            raise InvalidFile(
                f"{where} is an .mvp that announces {bins} kinds of bins of {n} sizes and ends too "
                "early; expected of each its sizes, a cost and a number, then the items"
            )
        return None
    if not named and all(row[-1] != -1 for row in classes):
        return None
    number, *body = rest[bins * width :]
    if number < 1 or len(body) != number * width:
        raise InvalidFile(
            f"{where} is an .mvp of {bins} kinds of bins and {number} items with {len(body)} "
            f"numbers; expected {max(number, 0) * width}: 1 form, a demand and {n} sizes of each "
            "(items of several forms are not read)"
        )
    rows = [body[at : at + width] for at in range(0, len(body), width)]
    if any(row[0] != 1 for row in rows):
        raise InvalidFile(f"{where} has items of several forms; expected 1 form of each")
    return {
        "capacity": [row[:n] for row in classes],
        "cost": [row[n] for row in classes],
        "servers": [np.inf if row[-1] == -1 else float(row[-1]) for row in classes],
        "demand": [row[2:] for row in rows],
        "request": [float(row[1]) for row in rows],
    }


@dataclass(frozen=True)
class VmTrace:
    """VMs with starts and ends: `kind` (n,) index into `demand` (s, k), `start`, `end` (n,) [s]."""

    demand: Integers
    kind: Integers
    start: Floats
    end: Floats
    resources: tuple[str, ...]
    names: tuple[str, ...]
    name: str

    def alive(self, at: float) -> Integers:
        """Number (s,) of VMs of each type with start <= at < end."""
        return np.bincount(
            self.kind[(self.start <= at) & (at < self.end)], minlength=len(self.demand)
        )

    def densest(self, capacity: Sequence[int] = ()) -> float:
        """First time at which the running VMs need most servers by volume of the scarcest resource;
        without a capacity, the time with most VMs.
        """
        lives = self.start < self.end
        if not lives.any():
            return float(self.start.min())
        size = self.demand[self.kind[lives]].astype(float)  # sums of whole numbers: exact
        if not capacity:
            size = np.ones((len(size), 1))
        times = np.concatenate([self.start[lives], self.end[lives]])
        order = np.argsort(times, kind="stable")
        load = np.concatenate([size, -size])[order].cumsum(axis=0) / (capacity or [1])
        last = np.append(times[order][1:] != times[order][:-1], True)  # event of an instant
        best = np.flatnonzero(last)[np.argmax(load.max(axis=1)[last])]
        return float(times[order][best])


@validate_options
def azure_vm(
    path: PathLike,
    *,
    at: Moment | None = None,
    cores: Annotated[int, AtLeast(1)] = 64,
    memory: Annotated[float, Above(0, "GB")] = 192.0,
    servers: Annotated[float, AtLeast(1, infinite=True)] = np.inf,
) -> Packing:
    """Read the VMs of an Azure list that are alive at an instant, on servers of one class.

    Columns vm, cpu_cores, mem_gb, start_s, end_s_lo: a VM is alive from `start_s` until before
    `end_s_lo` (the list gives its end as an interval; we take the lower end, so a VM whose interval
    is empty is never alive).

    Parameters
    ----------
    at : seconds; when not given, the first instant that needs most servers by volume.
    cores : of a server.
    memory : of a server [GB].
    servers : how many; as many as needed when not given.
    """
    if memory * 1024 % 1 or memory * 1024 >= LARGEST:
        raise InvalidOption(
            f"memory is {memory:g}; expected GB that are a whole number of MiB below 2**53"
        )
    trace = azure_trace(path)
    capacity = [cores, int(memory * 1024)]
    if not (trace.start < trace.end).any():
        raise InvalidFile(f"{path}: no VM ends after its start; expected end_s_lo above start_s")
    densest = trace.densest(capacity)
    moment = densest if at is None else float(at)
    alive = trace.alive(moment)
    if not alive.any():
        raise InvalidOption(
            f"at is {moment:g}; no VM of {Path(path).name} is alive then; its densest instant "
            f"is {densest:.12g}"
        )
    present, never = alive > 0, int((trace.start >= trace.end).sum())
    return Packing(
        capacity=[capacity],  # type: ignore[arg-type]
        demand=trace.demand[present],
        request=alive[present].astype(float),
        servers=[servers],  # type: ignore[arg-type]
        resources=trace.resources,
        names=tuple(name for name, here in zip(trace.names, present, strict=True) if here),
        name=f"{trace.name}-at-{moment:.0f}",
        source=f"VMs alive at second {moment:.0f} of {Path(path).name}, on servers of {cores} "
        f"cores and {memory:g} GB"
        + f"; left out: {never} of {len(trace.kind)} VMs, whose life is empty"
        * (never > 0),
    )


def azure_trace(path: PathLike) -> VmTrace:
    """Read every VM of an Azure list, with its start and the earliest possible end."""
    sizes: list[tuple[int, ...]] = []
    times: list[tuple[float, float]] = []
    for row in CsvTable(path, "cpu_cores", "mem_gb", "start_s", "end_s_lo", ragged=True):
        sizes.append((row.whole("cpu_cores"), row.whole("mem_gb", 1024)))
        times.append((row.number("start_s", AMOUNT), row.number("end_s_lo", AMOUNT)))
    return _trace(
        path,
        sizes,
        times,
        ("CPU cores", "memory [MiB]"),
        [f"{size[0]} cores {size[1] / 1024:g} GB" for size in sizes],
    )


@validate_options
def alibaba_openb(
    path: PathLike,
    *,
    nodes: str,
    at: Moment | None = None,
    cards: bool = False,
    demand: Annotated[float, Above(0, "times the cards of all nodes")] | None = None,
    seed: Annotated[int, AtLeast(0)] = 0,
    copies: Copies = 1,
    servers: Nodes | None = None,
) -> Packing:
    """Read the pods of an Alibaba GPU-cluster list (2023) on its nodes.

    Resources are CPU [millicores], memory [MiB] and GPU [thousandths, all cards of a node added
    up]: two pods may then share what is left of two cards, which the real cluster does not allow; a
    count of servers is a lower estimate there. GPU models (`gpu_spec`) are not looked at. With
    `cards` each node has its cards, a pod takes whole ones or a part of one, of the models it asks
    for; pods arrive in the order of the list, and may be left out.

    Parameters
    ----------
    path : the list of pods.
    nodes : path of the list of nodes.
    at : seconds; only pods that were created by then and not yet deleted. All pods when not given.
    cards : whether each card counts by itself.
    demand : with cards, pods are shuffled and drawn (or removed) until they want so many times the
        cards there are; 1.3 in the publication (Weng et al., ATC 2023).
    seed : of that draw.
    copies : every pod this many times.
    servers : only the first so many nodes of the list.
    """
    if cards:
        return _on_cards(path, nodes, at, demand, seed, copies, servers)
    if demand is not None:
        raise InvalidOption(f"demand is {demand:g} without cards; give cards=true as well")
    trace = alibaba_trace(path)
    count = (
        np.bincount(trace.kind, minlength=len(trace.demand))
        if at is None
        else trace.alive(float(at))
    )
    if not count.any():
        raise InvalidOption(
            f"at is {at:g}; no pod of {Path(path).name} is alive then; the densest instant is "
            f"{trace.densest():g}"
        )
    capacity, number = alibaba_nodes(nodes, servers)
    present = count > 0
    return Packing(
        capacity=capacity,
        demand=trace.demand[present],
        request=(copies * count[present]).astype(float),
        servers=number,
        resources=trace.resources,
        names=tuple(name for name, here in zip(trace.names, present, strict=True) if here),
        name=trace.name if at is None else f"{trace.name}-at-{at:.0f}",
        source=f"pods of {Path(path).name} on the nodes of {Path(nodes).name}",
    )


def alibaba_nodes(path: PathLike, servers: int | None) -> tuple[Integers, Floats]:
    """Resources (p, 3) of each class of equal nodes, and how many nodes (p,) each class has."""
    table: Counter[tuple[int, ...]] = Counter()
    for row in list(CsvTable(path, "cpu_milli", "memory_mib", "gpu", ragged=True))[:servers]:
        amounts = (row.whole("cpu_milli"), row.whole("memory_mib"), 1000 * row.whole("gpu"))
        table[amounts] += 1
    return np.array(list(table), dtype=np.int64), np.array(list(table.values()), dtype=float)


def alibaba_trace(path: PathLike) -> VmTrace:
    """Read every pod of an Alibaba list, with its creation and deletion."""
    sizes: list[tuple[int, ...]] = []
    times: list[tuple[float, float]] = []
    labels: list[str] = []
    amounts = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
    moments = ("creation_time", "deletion_time")
    for row in CsvTable(path, *amounts, *moments, ragged=True):
        cpu, mib, cards, share = map(row.whole, amounts)
        sizes.append((cpu, mib, cards * share))
        labels.append(f"{cpu}m {mib}MiB {cards}x{share}")
        times.append(
            (row.number("creation_time", AMOUNT), row.number("deletion_time", AMOUNT, {"": np.inf}))
        )
    resources = ("CPU [millicores]", "memory [MiB]", "GPU [thousandths]")
    return _trace(path, sizes, times, resources, labels)


def _trace(
    path: PathLike,
    sizes: list[tuple[int, ...]],
    times: list[tuple[float, float]],
    resources: tuple[str, ...],
    labels: list[str],
) -> VmTrace:
    """Trace of VMs, a type for each distinct size; a label that two sizes share gets " #NUMBER"."""
    order = {size: place for place, size in enumerate(dict.fromkeys(sizes))}
    label_of = dict(zip(reversed(sizes), reversed(labels), strict=True))
    names = [label_of[size] for size in order]
    unique = tuple(
        f"{name} #{place}" if names.count(name) > 1 else name for place, name in enumerate(names)
    )
    moments = np.array(times, dtype=float)
    return VmTrace(
        demand=np.array(list(order), dtype=np.int64),
        kind=np.array([order[size] for size in sizes], dtype=np.int64),
        start=moments[:, 0],
        end=moments[:, 1],
        resources=resources,
        names=unique,
        name=name_of(path),
    )


UNITS = 1000
"""Of a card, as `gpu_milli` counts them."""

MOST_PODS = 10_000_000
"""That a demand may need."""


Node = tuple[int, int, int, str]
"""Millicores, MiB, cards and their model."""


class Pod(NamedTuple):
    """Request of a pod: millicores, MiB, whole cards, units of one card, and models of cards."""

    cpu: int
    memory: int
    cards: int
    share: int
    models: tuple[str, ...]

    @property
    def units(self) -> int:
        """Number of card units that a pod requests."""
        return self.cards * UNITS + self.share

    @property
    def name(self) -> str:
        """Short name of a pod's request, used as the name of its VM type."""
        whole = f" {self.cards} card" + "s" * (self.cards > 1)
        asked = whole if self.cards else f" {self.share}/{UNITS} card"
        words = f"{self.cpu}m {self.memory}MiB{asked if self.units else ''}"
        return " ".join((words, *self.models[:1])) + "".join(f"|{one}" for one in self.models[1:])


def _on_cards(
    path: PathLike, nodes: PathLike, at: float | None, demand: float | None, seed: int,
    copies: int, servers: int | None,
) -> Packing:  # fmt: skip
    """Packing instance of an Alibaba list's pods on its nodes' cards; see `alibaba_openb`."""
    pods = _pods(path, at) * copies  # 1. Kinds of pods, classes of nodes.
    if not pods:
        raise InvalidOption(f"at is {at:g}; no pod of {Path(path).name} is alive then")
    classes = _classes(nodes, servers)
    kinds = list(dict.fromkeys(pods))
    index_of = {pod: i for i, pod in enumerate(kinds)}
    arrival = np.array([index_of[pod] for pod in pods], dtype=np.int64)
    if demand is not None:  # 2. Draw arrivals for the demand.
        cards_in_all = sum(cards * number for (_, _, cards, _), number in classes.items())
        units = np.array([pod.units for pod in kinds], dtype=np.int64)
        arrival = drawn(arrival, units, demand * cards_in_all * UNITS, np.random.default_rng(seed))
    allowed = np.array(  # 3. Leave out pods that fit no node.
        [[not pod.models or node[3] in pod.models for node in classes] for pod in kinds]
    )
    size = np.array([(*pod[:2], pod.cards + (pod.share > 0)) for pod in kinds])
    able = np.any(fits(size, np.array([node[:3] for node in classes])) & allowed, axis=1)
    lost = int((~able[arrival]).sum())
    if lost == len(arrival):
        raise InvalidOption(f"nodes is {os.fspath(nodes)}; no pod of {Path(path).name} fits one")
    arrival = (np.cumsum(able) - 1)[arrival[able[arrival]]]
    kinds = [pod for pod, fits_one in zip(kinds, able, strict=True) if fits_one]
    name = name_of(path) if at is None else f"{name_of(path)}-at-{at:.0f}"
    return Packing(
        capacity=[node[:2] for node in classes],  # type: ignore[arg-type]
        demand=[pod[:2] for pod in kinds],  # type: ignore[arg-type]
        request=np.bincount(arrival, minlength=len(kinds)).astype(float),
        servers=np.array(list(classes.values()), dtype=float),
        partial=True,
        resources=("CPU [millicores]", "memory [MiB]"),
        names=tuple(pod.name for pod in kinds),
        class_names=tuple(
            f"{cpu}m {memory}MiB" + (f" {cards} {model}" if cards else "")
            for cpu, memory, cards, model in classes
        ),
        allowed=None if allowed.all() else allowed[able],
        cards=[cards for _, _, cards, _ in classes],  # type: ignore[arg-type]
        card_model=tuple(model for *_, model in classes),
        card_units=UNITS,
        card_demand=[pod.cards for pod in kinds],  # type: ignore[arg-type]
        card_share=[pod.share for pod in kinds],  # type: ignore[arg-type]
        arrival=arrival,
        name=name if demand is None else f"{name}-demand-{demand:g}-seed-{seed}",
        source=f"pods of {Path(path).name} on the nodes of {Path(nodes).name}"
        + ("" if demand is None else f", drawn for {demand:g} times their cards, seed {seed}")
        + (f"; {lost} pods that fit no node are left out" if lost else ""),
    )


def drawn(given: Integers, units: Integers, target: float, rng: np.random.Generator) -> Integers:
    """Types of arriving pods in order, such that about the target number of card units is
    requested.

    The given pods are shuffled. While they want less, more of them are drawn, until one would pass
    the target with a single card of it; while they want more, some are removed at random.

    Parameters
    ----------
    given : (n,) type of each pod of the list.
    units : (s,) that a pod of each type takes.
    target : units.
    """
    types = rng.permutation(given).tolist()
    total, mean = int(units[given].sum()), float(units[given].mean())
    if total == 0 or (target - total) / mean > MOST_PODS - len(types):
        raise InvalidOption(
            f"demand asks for {target / UNITS:g} cards, and a pod of the list takes "
            f"{mean / UNITS:g} on average; expected at most {MOST_PODS:,} pods. Ask for less"
        )
    while total > target:
        total -= units[types.pop(int(rng.integers(len(types))))]
    if total < target and len(types) >= len(given):
        while total + min(units[more := given[rng.integers(len(given))]], UNITS) <= target:
            types.append(int(more))
            total += units[more]
    return np.array(types, dtype=np.int64)


def _pods(path: PathLike, at: float | None) -> list[Pod]:
    """Pods of a list in its order; with `at`, only those alive at that second."""
    moments = () if at is None else ("creation_time", "deletion_time")
    found = []
    for row in CsvTable(path, "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", *moments):
        if at is not None:
            start = row.number("creation_time", AMOUNT)
            if not start <= at < row.number("deletion_time", AMOUNT, {"": np.inf}):
                continue
        found.append(_pod(row))
    return found


def _pod(row: CsvRow) -> Pod:
    """Read the request of a pod from its row; raises InvalidFile for parts of several cards."""
    number, part = row.whole("num_gpu"), row.whole("gpu_milli")
    if number == 1 and not 0 < part <= UNITS:
        raise row.wrong("gpu_milli", f"units of one card, from 1 to {UNITS}")
    if number > 1 and part != UNITS:
        raise row.wrong("gpu_milli", f"{UNITS}, as {number} cards are whole ones")
    if number == 0 and part:
        raise row.wrong("num_gpu", f"the number of cards of which it takes {part} units")
    share = part if number == 1 and part < UNITS else 0
    models = tuple(sorted({model.strip() for model in row["gpu_spec"].split("|")} - {""}))
    return Pod(
        row.whole("cpu_milli"), row.whole("memory_mib"), 0 if share else number, share, models
    )


def _classes(path: PathLike, servers: int | None) -> Counter[Node]:
    """Number of nodes of each kind, in the order of first appearance."""
    rows = list(CsvTable(path, "cpu_milli", "memory_mib", "gpu", "model"))[:servers]
    amounts = ("cpu_milli", "memory_mib", "gpu")
    return Counter((*map(row.whole, amounts), row["model"]) for row in rows)  # type: ignore[misc]
