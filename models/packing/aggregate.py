"""Aggregate program: numbers of VMs of each type on each class of servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..program import LinearProgram, ProgramBuilder
from .assignment import Integers, RuledPacking

SPARE = ((0.005, 16.0), (0.005, 12.0), (0.01, 8.0), (0.02, 4.0), (0.05, 1.0))
"""Parts of a server that are to stay empty, and what each is worth."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Program of packing aggregated by class of servers, with the indices of its columns.

    Attributes
    ----------
    program : minimize; all coefficients and bounds are whole numbers below 2**53.
    cost : the column of the cost of all servers, the objective besides what is left out.
    pools : columns of the servers of classes of equal capacity and price, where there are several.
    servers : (p,) columns: servers of each class.
    count : (s, p) columns: VMs of each type on each class; -1 where none can be.
    """

    program: LinearProgram
    cost: int
    pools: Integers
    servers: Integers
    count: Integers


def aggregate_program(packing: RuledPacking, penalty: int, budget: int | None = None) -> Aggregate:
    """Minimize the cost of servers whose capacities, limits and zones suffice for all VMs by class.

    Every answer gives a point of it: VMs of a type on a class, and servers of it that are used. So
    its least cost is a bound, whether VMs are whole or not. Servers are whole numbers.

    Parameters
    ----------
    penalty : cost of a VM that is left out, so that the program always has a point.
    budget : servers cost at most so much, and instead of their cost the free room counts: as much
        of each resource of each class as possible stays free, the first parts of a server (`SPARE`)
        with larger weights. In such answers integer VMs are placed most easily.

    Rows: all VMs are somewhere or left out; for each class the room for each resource; VMs of a
    type, or of a group, on a class are at most what one server holds times its servers; of two
    types apart no server holds both; limits within a zone; for each spread the VMs of a zone are
    between the fewest and `skew` more, and no more than whole numbers allow.
    """
    weights = (1.0, 0.0) if budget is None else (0.0, 1.0)
    builder, cost, pools, servers, count = _building(packing, penalty, *weights, budget)
    return Aggregate(builder.build(), cost, pools, servers, count)


@dataclass(frozen=True, eq=False)
class Moves:
    """Program that maximizes the VMs that stay, aggregated by class of servers, with its columns.

    Attributes
    ----------
    program : minimize VMs that stay (with the sign changed).
    servers, count : as in `Aggregate`.
    kept : columns: whether each server that is in use now stays so.
    stay : columns: VMs that stay, of type `stay_type` on that server of `kept`, `stay_at`.
    """

    program: LinearProgram
    servers: Integers
    count: Integers
    kept: Integers
    stay: Integers
    stay_at: Integers
    stay_type: Integers


def moves_program(
    packing: RuledPacking,
    placed: Integers,
    kind: Integers,
    servers: int,
    penalty: int,
    room: Integers,
    spare: float = 0.0,
    budget: int | None = None,
) -> Moves:
    """Maximize the number of VMs that stay on their servers, with `servers` in use at most.

    On a server VMs stay if it is kept, and together with the others of its class they keep the
    rows of the aggregate program. Every answer gives a point of it.

    Parameters
    ----------
    placed, kind : (n, s) VMs on each server now that may stay there, and (n,) its class.
    servers : that may be in use.
    penalty : of a VM left out.
    room : (n, k) of each server.
    spare : what stays empty counts so much more than `SPARE` says.
    budget : what the servers in use may cost in all; None for any cost.
    """
    builder, _, _, of_class, count = _building(packing, penalty, 0.0, spare, budget)
    size = packing.size.astype(float)
    builder.row(of_class, size, upper=float(servers))
    used = np.flatnonzero(placed.any(axis=1))
    forced = (packing.size[kind[used]] > 1).astype(float)
    kept = builder.columns(len(used), lower=forced, upper=1.0, integer=True)
    for c in range(len(packing.price)):
        here = kept[kind[used] == c]
        if len(here):
            ones = np.append(np.ones(len(here)), -size[c])
            builder.row(np.append(here, of_class[c]), ones, upper=0.0)
    m, i = np.nonzero(placed[used])
    able = count[i, kind[used[m]]] >= 0
    m, i = m[able], i[able]
    number = placed[used[m], i]
    stay = builder.columns(len(m), upper=number, cost=-1.0)
    builder.at_most(0.0, (stay, 1.0), (kept[m], -number.astype(float)))
    whole = count[i, kind[used[m]]]
    columns, row = np.unique(whole, return_inverse=True)
    every = np.arange(len(columns))
    builder.sums(len(columns), (row, stay, 1.0), (every, columns, -1.0), upper=0.0)
    # a server that holds too much now cannot keep all of it
    load = placed[used] @ packing.demand
    for place, j in np.argwhere(load > room[used]):
        here = np.flatnonzero((m == place) & (packing.demand[i, j] > 0))
        if len(here):
            most = float(room[used[place], j])
            builder.row(stay[here], packing.demand[i[here], j], upper=most)
    return Moves(builder.build(), of_class, count, kept, stay, m, i)


def _building(
    packing: RuledPacking, penalty: int, weight: float, spare: float, budget: int | None
) -> tuple[ProgramBuilder, int, Integers, Integers, Integers]:
    """Collect the columns and rows of the program aggregated by class; returns the builder and the
    indices of the columns.

    weight, spare, budget : what a unit of cost counts, how much what stays empty counts, and what
    servers may cost (None: anything).
    """
    # 1. columns: servers of each class, their cost, VMs by type and class, VMs left out
    types, classes = packing.most.shape
    builder = ProgramBuilder()
    servers = builder.columns(classes, lower=packing.least, upper=packing.limit, integer=True)
    every = float(packing.limit @ packing.price)
    paid = every if budget is None else min(every, float(budget))
    cost = builder.columns(1, upper=paid, cost=weight, integer=True)[0]
    _equal(builder, servers, packing.price, cost)
    alike: dict[bytes, list[int]] = {}  # classes of equal size and price
    for c in range(classes):
        key = packing.capacity[c].tobytes() + packing.price[c].tobytes()
        alike.setdefault(key, []).append(c)
    pools = [pool for pool in alike.values() if 1 < len(pool) < classes]
    sums = builder.columns(
        len(pools), upper=[float(packing.limit[pool].sum()) for pool in pools], integer=True
    )
    for pool, column in zip(pools, sums, strict=True):
        _equal(builder, servers[pool], np.ones(len(pool)), column)
    there = packing.most > 0
    count = np.full(there.shape, -1, dtype=np.int64)
    most = np.minimum(packing.request[:, None], packing.most.astype(float) * packing.limit)
    count[there] = builder.columns(int(there.sum()), upper=most[there])
    left_out = builder.columns(types, upper=packing.request, cost=float(penalty))
    # 2. every VM is placed or left out
    placed, missing = (np.nonzero(there)[0], count[there], 1.0), (np.arange(types), left_out, 1.0)
    builder.sums(types, placed, missing, lower=packing.request, upper=packing.request)
    # 3. the capacity of each class
    largest = np.maximum((packing.capacity / packing.size[:, None]).max(axis=0), 1.0)
    for c in range(classes):
        here = np.flatnonzero(there[:, c])
        for j, room in enumerate(packing.capacity[c].tolist()):
            needing = here[packing.demand[here, j] > 0]
            columns, values = count[needing, c], packing.demand[needing, j]
            if not len(needing):
                continue
            if spare:
                worth = [-spare * each / largest[j] for _, each in SPARE]
                empty = builder.columns(len(SPARE), cost=worth)
                for column, (part, _) in zip(empty, SPARE, strict=True):
                    _at_most(builder, [column], np.ones(1), servers[c], int(part * room))
                columns = np.append(columns, empty)
                values = np.append(values, np.ones(len(empty), dtype=np.int64))
            _at_most(builder, columns, values, servers[c], room)
    # 4. limits on a server: a type's own where rules or whole VMs make it less than the room does
    place, kind = np.nonzero(there & (packing.most < packing.request[:, None]))
    own = packing.most[place, kind].astype(float)
    builder.at_most(0.0, (count[place, kind], 1.0), (servers[kind], -own))
    # VMs of one size together: so a rule less, which lets types be merged, proves no more
    sizes: dict[bytes, list[int]] = {}
    for i in range(types):
        sizes.setdefault(packing.demand[i].tobytes(), []).append(i)
    for same in (same for same in sizes.values() if len(same) > 1):
        needs = packing.demand[same[0]] > 0
        holds = (packing.capacity[:, needs] // packing.demand[same[0]][needs]).min(axis=1)
        for c in range(classes):
            able = [i for i in same if there[i, c]]
            if len(able) > 1 and holds[c] < packing.request[able].sum():
                _at_most(builder, count[able, c], np.ones(len(able)), servers[c], int(holds[c]))
    for group, number in packing.limits:
        for c in range(classes):
            able = [i for i in group if there[i, c]]
            if len(able) > 1:
                together = number * int(packing.size[c])
                _at_most(builder, count[able, c], np.ones(len(able)), servers[c], together)
    for i, other in packing.apart:
        for c in np.flatnonzero(there[i] & there[other] & (packing.size == 1)).tolist():
            one, two = int(packing.most[i, c]), int(packing.most[other, c])
            _at_most(builder, count[[i, other], c], np.array([two, one]), servers[c], one * two)

    # 5. zones
    def within(group: Sequence[int], zone: int) -> Integers:
        columns = count[np.array(group)][:, packing.zone == zone]
        found: Integers = columns[columns >= 0]
        return found

    for group, number in packing.zone_limits:
        for zone in range(packing.zones):
            if len(columns := within(group, zone)):
                builder.row(columns, upper=float(number))
    for group, skew, zones in packing.spreads:
        total = int(packing.request[list(group)].sum())
        fewest = builder.columns(1, upper=float(total // len(zones)))[0]
        highest = (total + (len(zones) - 1) * skew) // len(zones)
        for zone in zones:
            columns = within(group, zone)
            ones = np.append(np.ones(len(columns)), -1.0)
            builder.row(np.append(columns, fewest), ones, lower=0.0, upper=float(skew))
            if len(columns):
                builder.row(columns, upper=float(highest))
    return builder, int(cost), sums, servers, count


def _equal(builder: ProgramBuilder, columns: Integers, values: npt.ArrayLike, total: int) -> None:
    """Add the row by which a column equals a weighted sum of other columns."""
    builder.row(np.append(columns, total), np.append(values, -1.0), lower=0.0, upper=0.0)


def _at_most(
    builder: ProgramBuilder, columns: npt.ArrayLike, values: npt.ArrayLike, servers: int, room: int
) -> None:
    """Add the row that a weighted sum of columns is at most `room` times the column `servers`."""
    builder.row(np.append(columns, servers), np.append(values, -float(room)), upper=0.0)
