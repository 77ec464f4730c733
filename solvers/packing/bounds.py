"""Combinatorial lower bounds on the cost of servers: by volume, by large items, by items that
exclude each other.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...instances.packing.instance import fits
from ..distinct_rows import distinct_rows
from .presolve import Reduced

MOST_PAIRED = 2000
"""VM types up to which all pairs are looked at."""


def best_bound(problem: Reduced) -> tuple[int, str]:
    """Best of the combinatorial lower bounds on the cost of servers, with its name."""
    bounds = [(volume_bound(problem), "volume"), (large_items_bound(problem), "large items")]
    if problem.types <= MOST_PAIRED:
        bounds.append((exclusion_bound(problem), "VMs that exclude each other"))
    return max(bounds, key=lambda bound: bound[0])


def volume_bound(problem: Reduced) -> int:
    """Volume bound L0: for each resource, the least cost of enough capacity with fractional
    servers, rounded up.

    Exact whole-number arithmetic. With one class this is max over j of ceil(demand in all /
    capacity).
    """
    best = 1
    for j in range(problem.demand.shape[1]):
        total = int(problem.demand[:, j] @ problem.request)
        table = np.column_stack([problem.price, problem.capacity[:, j], problem.servers])
        offers = sorted((Fraction(row[0], row[1]), *row) for row in table.tolist() if row[1] > 0)
        cost = Fraction(0)
        for _, price, room, number in offers:
            used = min(Fraction(total, room), Fraction(number))
            cost += used * price
            total -= int(used * room) if used == number else total
            if total <= 0:
                break
        if total > 0:  # not even all servers have enough
            return problem.budget + 1
        best = max(best, -(-cost.numerator // cost.denominator))
    return best


def large_items_bound(problem: Reduced) -> int:
    """Martello and Toth's L2 for each resource alone, against the largest server, times the least
    price.

    For every threshold K up to half the capacity C: items above C - K need a server each, items
    above C / 2 another each, and what items of at least K do not find room for beside the latter
    needs more.
    """
    best = 0
    for j in range(problem.demand.shape[1]):
        room = int(problem.capacity[:, j].max())
        if room == 0:  # then no VM that is wanted takes any of it
            continue
        size = problem.demand[:, j]
        for threshold in {0, *(int(value) for value in size if 2 * value <= room)}:
            huge = size > room - threshold
            large = (2 * size > room) & ~huge
            small = (size >= threshold) & ~huge & ~large
            number = int(problem.request[huge | large].sum())
            beside = room * int(problem.request[large].sum()) - int(
                size[large] @ problem.request[large]
            )
            over = int(size[small] @ problem.request[small]) - beside
            best = max(best, number + max(0, -(-over // room)))
    return best * int(problem.price.min())


def exclusion_bound(problem: Reduced) -> int:
    """Lower bound on the cost of servers: the size of a greedy set of VMs no two of which fit on
    one server, times the least price of a server.
    """
    pairs = (problem.demand[:, None, :] + problem.demand[None, :, :]).reshape(problem.types**2, -1)
    pair_fits = np.zeros(problem.types**2, dtype=bool)
    for c in distinct_rows(problem.capacity)[0]:
        pair_fits |= fits(pairs, problem.capacity[[c]])[:, 0]
    together = pair_fits.reshape(problem.types, problem.types)
    together &= problem.compatible
    alone = ~np.diag(together)
    order = np.lexsort((together.sum(axis=1), ~alone))
    kept: list[int] = []
    number = 0
    for i in order:
        if not together[i, kept].any():
            kept.append(int(i))
            number += int(problem.request[i]) if alone[i] else 1
    return number * int(problem.price.min())
