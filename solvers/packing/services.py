"""The fewest servers, or the cheapest, for services that ask for a rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ...instances.packing.instance import Floats, Integers, Packing, Placement
from ...instances.packing.services import cheapest_cover, covers
from ...models.packing.services import service_program
from ...models.program import LinearProgram
from ..engines import EngineName, solve_program
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Status, Stop, raise_if_interrupted
from .fitting import decreasing, fit
from .generation import Prices, prices_of
from .patterns import all_patterns, price_patterns
from .presolve import presolve

MOST_PATTERNS, MOST_MIXES = 20_000, 20_000
"""Columns of one program."""

GRID = 10**6
"""Parts of a server's cost in which prices are whole."""

ROUNDS = 3
"""Times that mixes are listed anew at better prices, where there are too many of them."""


@dataclass(frozen=True, eq=False)
class Demand:
    """A service in the sizes of a reduction.

    Attributes
    ----------
    sizes, rates, types : the distinct sizes of its VMs in decreasing order of the most that a VM of
        the size gives, that rate, and the VM type that gives it.
    rate : what is asked for.
    """

    sizes: list[int]
    rates: list[int]
    types: list[int]
    rate: int

    def cheapest(self, profit: Integers) -> list[int]:
        """(d,) VMs of each size that give the rate at the least price."""
        return self._by_size(cheapest_cover(self.rates, self.rate, self._of(profit)), len(profit))

    def mixes(self, profit: Integers, slack: int | None) -> Iterator[list[int]]:
        """VMs of each size (d,) that give the rate: those that cost `slack` more than the cheapest
        at most, or all.
        """
        priced: tuple[list[int], int] | tuple[()] = ()
        if slack is not None:
            priced = (self._of(profit), int(profit @ np.array(self.cheapest(profit))) + slack)
        return (self._by_size(mix, len(profit)) for mix in covers(self.rates, self.rate, *priced))

    def _of(self, profit: Integers) -> list[int]:
        return [int(profit[d]) for d in self.sizes]

    def _by_size(self, mix: tuple[int, ...], sizes: int) -> list[int]:
        row = [0] * sizes
        for d, number in zip(self.sizes, mix, strict=True):
            row[d] = number
        return row


class ServiceCover:
    """An instance with services: its distinct sizes, what they are to serve, and what prices prove.

    Attributes
    ----------
    problem : its sizes, each requested as often as it could be of use.
    demands : of its services.
    owed : (d,) VMs of each size that are requested besides.
    table, kind : (n, d) all maximal fillings of a server, and (n,) its class; None before they are
        listed, and where there are too many.
    mixes, whole : of each service, (m, d) mixes of VMs, and whether these are all that there are.
    """

    table: Integers | None = None
    kind: Integers
    mixes: list[Integers]
    whole: bool

    def __init__(self, instance: Packing, *, costs: bool) -> None:
        self.instance = instance
        self.problem = presolve(instance.replace(services=(), request=instance.useful), costs=costs)
        size = {i: d for d, members in enumerate(self.problem.members) for i in members}
        self.demands = []
        for service in instance.services:
            best: dict[int, tuple[int, int]] = {}
            for rate, i in sorted(zip(service.rates, service.types, strict=True)):
                best[size[i]] = (rate, i)
            order = sorted(best, key=lambda d: (-best[d][0], d))
            rates, types = [best[d][0] for d in order], [best[d][1] for d in order]
            self.demands.append(Demand(order, rates, types, service.rate))
        self.owed = np.zeros(self.problem.types, dtype=np.int64)
        for i, number in enumerate(instance.requested.tolist()):
            if 0 < number < np.inf:
                self.owed[size[i]] += int(number)

    def prices(self, clock: Clock) -> Iterator[Floats]:
        """Prices of sizes (d,), in servers, each better than the one before: by volume, then those
        of the relaxation, whose patterns and mixes are left in `table`, `kind`, `mixes`, `whole`.
        """
        share = self.problem.demand / np.maximum(self.problem.capacity.max(axis=0), 1)
        price = np.maximum(share.sum(axis=1), 1 / GRID)
        yield price
        self._list_patterns()
        for _ in range(ROUNDS if self.table is not None else 0):
            self._list_mixes(np.maximum(price * GRID, 0).astype(np.int64))
            relaxed = solve_program(self.program(integer=False), time_limit=clock.time_slice(3))
            raise_if_interrupted(relaxed.stop)
            if relaxed.row_dual is None:
                return
            price = np.maximum(relaxed.row_dual[: self.problem.types], 0.0)
            yield price
            if self.whole or not price.any() or clock.expired:
                return

    def program(self, *, integer: bool) -> LinearProgram:
        """The program over the patterns and mixes that are listed."""
        assert self.table is not None
        return service_program(
            self.table, self.kind, self.problem.servers, self.problem.price, self.mixes, self.owed,
            integer=integer,
        )  # fmt: skip

    def proved(self, profit: Integers, scale: int) -> Prices:
        """The bound that prices of sizes (d,) prove: each service costs what its cheapest mix does,
        and no server holds more than its cost times a scale, and a rent.
        """
        income = int(profit @ self.owed)
        income += sum(int(profit @ np.array(each.cheapest(profit))) for each in self.demands)
        tops = [
            price_patterns(self.problem, c, profit, scale * int(cost)).best
            for c, cost in enumerate(self.problem.price)
        ]
        return prices_of(self.problem, profit, tops, scale, income=income)

    def _list_patterns(self) -> None:
        """All maximal fillings of a server, unless there are too many."""
        ones = np.ones(self.problem.types, dtype=np.int64)
        tables = [
            all_patterns(self.problem, c, ones, 1, most=MOST_PATTERNS)
            for c in range(len(self.problem.price))
        ]
        found = [table for table in tables if table is not None]
        if len(found) == len(tables):
            self.table = np.concatenate(found)
            self.kind = np.repeat(np.arange(len(found)), [len(table) for table in found])

    def _list_mixes(self, profit: Integers) -> None:
        """All mixes of each service, or those that cost little more than the cheapest."""
        step, each = int(profit.max()), MOST_MIXES // len(self.demands)
        tables: list[list[list[int]]] = []
        for slack in (None, 4 * step, step, step // 4, 0):
            tables = [list(islice(d.mixes(profit, slack), each + 1)) for d in self.demands]
            self.whole = slack is None
            if all(len(table) <= each for table in tables):
                break
        self.mixes = [np.array(table, dtype=np.int64) for table in tables]

    def placement(self, table: Integers, kind: Integers, mixes: list[list[int]]) -> Placement:
        """Servers (n, d) of these classes (n,), with the VMs of a mix of each service in their
        places.
        """
        queue: list[list[int]] = [[] for _ in range(self.problem.types)]
        for demand, mix in zip(self.demands, mixes, strict=True):
            for d, i in zip(demand.sizes, demand.types, strict=True):
                queue[d] += [i] * mix[d]
        serving = {i for service in self.instance.services for i in service.types}
        for d, members in enumerate(self.problem.members):
            for i in set(members) - serving:
                queue[d] += [i] * int(self.instance.requested[i])
        count = np.zeros((len(table), self.instance.types), dtype=np.int64)
        for m, d in np.argwhere(table).tolist():
            for _ in range(min(int(table[m, d]), len(queue[d]))):
                count[m, queue[d].pop()] += 1
        return Placement(count, self.problem.classes[kind])

    def fixed(self, mixes: list[list[int]]) -> Packing:
        """The instance in which each service asks for these VMs."""
        request = np.zeros(self.instance.types)
        for demand, mix in zip(self.demands, mixes, strict=True):
            for d, i in zip(demand.sizes, demand.types, strict=True):
                request[i] = mix[d]
        asked = np.isfinite(self.instance.requested)
        request[asked] = self.instance.requested[asked]
        return self.instance.replace(services=(), request=request)


def serve(
    instance: Packing, clock: Clock, start: Placement | None, master: EngineName, *, costs: bool
) -> Outcome:
    """What `min_servers`, or `min_cost`, ends with where services ask for a rate.

    Prices of the distinct sizes of VMs bound the cost: each service pays for its cheapest mix, and
    a server earns what it holds. A program chooses a maximal filling for each server and a mix
    for each service.
    """
    cover = ServiceCover(instance, costs=costs)
    price = instance.server_cost if costs else np.ones(instance.classes, dtype=np.int64)
    search: Incumbent[Placement, int] = Incumbent(
        instance, clock, lambda answer: int(price[answer.server_class].sum()), bound=1
    )
    facts: dict[str, Any] = {}
    with search.keeping_best():
        facts = _search(cover, search, start, master)
    if facts.pop("infeasible", False) and search.best is None:
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, facts, tuple(clock.trace))
    return search.finish({**facts, "found_by": search.found_by, "bound_by": search.bound_by})


def _search(
    cover: ServiceCover, search: Incumbent[Placement, int], start: Placement | None,
    master: EngineName,
) -> dict[str, Any]:  # fmt: skip
    search.offer(start, "the start")
    # 1. bounds by prices; an answer of the mixes that are cheapest at each of them
    for round_, price in enumerate(cover.prices(search.clock)):
        profit = np.floor(price * GRID + 0.5).astype(np.int64)
        value = cover.proved(profit, GRID).value
        search.raise_bound(-(-value.numerator // value.denominator), "prices of sizes")
        if round_ == 0 or cover.table is None:
            reduced = presolve(cover.fixed([d.cheapest(profit) for d in cover.demands]))
            packed = fit(reduced, decreasing(reduced))
            if packed is not None:
                search.offer(reduced.placement(*packed), "FFD of the smallest mixes")
    if cover.table is None or not search.open:
        return {}
    # 2. the program in whole numbers
    answer = solve_program(
        cover.program(integer=True), engine=master, time_limit=search.clock.time_slice()
    )
    raise_if_interrupted(answer.stop)
    search.stop = answer.stop
    if answer.point is not None:
        number = np.round(answer.point).astype(np.int64)
        rows = np.repeat(np.arange(len(cover.table)), number[: len(cover.table)])
        ends = np.cumsum([len(table) for table in cover.mixes])
        parts = np.split(number[len(cover.table) :], ends[:-1])
        chosen = [
            table[int(np.argmax(part))].tolist()
            for table, part in zip(cover.mixes, parts, strict=True)
        ]
        search.offer(
            cover.placement(cover.table[rows], cover.kind[rows], chosen), "program over mixes"
        )
    if cover.whole and answer.bound is not None:
        search.raise_bound(int(np.ceil(answer.bound - 1e-6)), "program over mixes")
    facts = {"patterns": len(cover.table), "mixes": sum(map(len, cover.mixes))}
    return facts | {"infeasible": cover.whole and answer.status is Status.INFEASIBLE}
