"""Alibaba's GPU cluster of 2023 with the cards inside its nodes, and the arrivals drawn as in the
publication: Weng et al., "Beware of Fragmentation", USENIX ATC 2023.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.tables import AMOUNT, CsvRow, CsvTable, PathLike, name_of
from .instance import Integers, Packing, fits

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


def on_cards(
    path: PathLike,
    nodes: PathLike,
    *,
    at: float | None,
    demand: float | None,
    seed: int,
    copies: int,
    servers: int | None,
) -> Packing:
    """Packing instance of an Alibaba list's pods on its nodes' cards; see
    `formats.alibaba_openb`.
    """
    pods = _pods(path, at) * copies
    if not pods:
        raise InvalidOption(f"at is {at:g}; no pod of {Path(path).name} is alive then")
    classes = _classes(nodes, servers)
    kinds = list(dict.fromkeys(pods))
    place = {pod: i for i, pod in enumerate(kinds)}
    arrival = np.array([place[pod] for pod in pods], dtype=np.int64)
    if demand is not None:
        there = sum(cards * number for (_, _, cards, _), number in classes.items())
        units = np.array([pod.units for pod in kinds], dtype=np.int64)
        arrival = drawn(arrival, units, demand * there * UNITS, np.random.default_rng(seed))
    allowed = np.array(
        [[not pod.models or node[3] in pod.models for node in classes] for pod in kinds]
    )
    size = np.array([(*pod[:2], pod.cards + (pod.share > 0)) for pod in kinds])
    able = np.any(fits(size, np.array([node[:3] for node in classes])) & allowed, axis=1)
    lost = int((~able[arrival]).sum())
    if lost == len(arrival):
        raise InvalidOption(f"nodes is {os.fspath(nodes)}; no pod of {Path(path).name} fits one")
    arrival = (np.cumsum(able) - 1)[arrival[able[arrival]]]
    kinds = [pod for pod, there in zip(kinds, able, strict=True) if there]
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
    kept = rng.permutation(given).tolist()
    total, mean = int(units[given].sum()), float(units[given].mean())
    if total == 0 or (target - total) / mean > MOST_PODS - len(kept):
        raise InvalidOption(
            f"demand asks for {target / UNITS:g} cards, and a pod of the list takes "
            f"{mean / UNITS:g} on average; expected at most {MOST_PODS:,} pods. Ask for less"
        )
    while total > target:
        total -= units[kept.pop(int(rng.integers(len(kept))))]
    if total < target and len(kept) >= len(given):
        while total + min(units[more := given[rng.integers(len(given))]], UNITS) <= target:
            kept.append(int(more))
            total += units[more]
    return np.array(kept, dtype=np.int64)


def _pods(path: PathLike, at: float | None) -> list[Pod]:
    """Pods of a list in its order, or those alive at a second."""
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
