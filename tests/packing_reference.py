"""Brute force for packing, written apart from the package, and where development data may lie."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from measured import DATA

from cotenant.instances.packing import Packing


def data_folder(name: str) -> Path | None:
    """A folder of development data, or None when it is absent."""
    folder = DATA / name
    return folder if folder.is_dir() else None


def fewest(instance: Packing, costs: bool = False) -> int | None:
    """Least number (or cost) of servers for all requests by trying every way to place VM by VM; None when there is none."""
    items = [tuple(instance.demand[i]) for i in range(instance.types) for _ in range(int(instance.wanted[i]))]
    items.sort(reverse=True)
    price = instance.price.tolist() if costs else [1] * instance.classes
    best = [float("inf")]

    def place(at: int, opened: list[tuple[int, tuple[int, ...]]], spent: int) -> None:
        if spent >= best[0]:
            return
        if at == len(items):
            best[0] = spent
            return
        seen = set()
        for m, (kind, free) in enumerate(opened):
            left = tuple(f - d for f, d in zip(free, items[at], strict=True))
            if min(left) < 0 or (kind, free) in seen:
                continue
            seen.add((kind, free))
            place(at + 1, [*opened[:m], (kind, left), *opened[m + 1 :]], spent)
        for kind in range(instance.classes):
            left = tuple(int(f) - d for f, d in zip(instance.capacity[kind], items[at], strict=True))
            if min(left) >= 0 and sum(k == kind for k, _ in opened) < instance.available[kind]:
                place(at + 1, [*opened, (kind, left)], spent + price[kind])

    place(0, [], 0)
    return None if best[0] == float("inf") else int(best[0])


def fitting(instance: Packing, kind: int) -> list[tuple[int, ...]]:
    """Every combination of VMs that fits a server of a class, the empty one included, by trying all."""
    most = [
        min([int(instance.capacity[kind, j]) // int(d) for j, d in enumerate(row) if d > 0] + [int(min(instance.wanted[i], 99))])
        for i, row in enumerate(instance.demand)
    ]
    return [
        counts
        for counts in itertools.product(*(range(m + 1) for m in most))
        if all(
            sum(c * int(d) for c, d in zip(counts, instance.demand[:, j], strict=True)) <= instance.capacity[kind, j]
            for j in range(instance.capacity.shape[1])
        )
    ]


def server_kinds(instance: Packing) -> list[int]:
    """The class of every server of a fixed cluster."""
    return [c for c in range(instance.classes) for _ in range(int(instance.available[c]))]


def totals_possible(instance: Packing) -> set[tuple[int, ...]]:
    """Every vector of VMs placed in all that fixed servers can hold (and requests allow)."""
    reached = {(0,) * instance.types}
    for kind in server_kinds(instance):
        reached = {
            tuple(a + b for a, b in zip(total, counts, strict=True)) for total in reached for counts in fitting(instance, kind)
        }
    return {total for total in reached if all(n <= w for n, w in zip(total, instance.wanted, strict=True))}


def random_requests(rng: np.random.Generator, classes: int = 1, vms: int = 7) -> Packing:
    """A small instance whose requests are all to be served."""
    k = int(rng.integers(1, 4))
    s = int(rng.integers(1, 5))
    capacity = rng.integers(6, 14, (classes, k))
    demand = rng.integers(0, 7, (s, k))
    demand[:, 0] = np.maximum(demand[:, 0], 1)
    request = 1 + rng.multinomial(max(vms - s, 0), np.full(s, 1 / s))
    servers = np.where(rng.random(classes) < 0.5, np.inf, rng.integers(1, 5, classes).astype(float))
    return Packing(
        capacity=capacity, demand=demand, request=request.astype(float), servers=servers, cost=rng.integers(1, 5, classes)
    )


def random_cluster(rng: np.random.Generator, capped: bool = False, most: int = 3) -> Packing:
    """A small cluster of fixed servers with elastic requests, or caps."""
    k, s, p = (int(rng.integers(1, 4)) for _ in range(3))
    capacity = rng.integers(4, 11, (p, k))
    demand = rng.integers(0, 5, (s, k))
    demand[:, 0] = np.maximum(demand[:, 0], 1)
    demand = np.minimum(demand, capacity[0])
    request = np.where(rng.random(s) < 0.5, np.inf, rng.integers(1, 4, s).astype(float)) if capped else np.full(s, np.inf)
    return Packing(
        capacity=capacity, demand=demand, request=request, partial=capped,
        servers=rng.integers(1, most, p).astype(float), initial=capacity + rng.integers(0, 4, (p, k)),
    )  # fmt: skip
