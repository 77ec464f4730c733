"""Fewest or cheapest servers for services that request a rate from any mix of VMs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from ...instances.packing.instance import Floats, Integers, Packing, Placement
from ...instances.packing.placement_constraints import refuse_rules
from ...instances.packing.services import covers
from ...models.packing.columns import service_program
from ...models.program import LinearProgram
from ...verify.packing_prices import least_price
from ..engines import WarmStartedProgram, solve_program
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Status, Stop, raise_if_interrupted
from ..proofs.tree import integer_bound
from .fitting import decreasing, fit
from .generation import Prices, prices_of
from .patterns import all_patterns, price_patterns
from .portfolio_state import LIMITS, PortfolioLimits
from .presolve import presolve

GRID = 10**6
"""Parts of a server's cost in which prices are whole."""


@dataclass(frozen=True, eq=False)
class Demand:
    """Rate that a service requests, and the distinct VM sizes that provide it.

    Attributes
    ----------
    rate : what is asked for.
    sizes, rates, types : the sizes in decreasing order of what a VM of the size gives at most, that
        rate, and the VM type that gives it.
    """

    rate: int
    sizes: list[int]
    rates: list[int]
    types: list[int]

    def least(self, profit: Integers) -> int:
        """Least cost of a mix that provides the rate, at dual prices of sizes (d,)."""
        prices = profit[self.sizes].tolist()
        return least_price(list(zip(prices, self.rates, strict=True)), self.rate)

    def mixes(self, sizes: int, most: int) -> tuple[Integers, Integers]:
        """List the minimal mixes (m, d) of VM sizes that provide the service's rate, and the rate
        (m,) of each; if there are more than `most`, single VMs only.
        """
        listed = np.array([*islice(covers(self.rates, self.rate), most + 1)], dtype=np.int64)
        gives = np.full(len(listed), self.rate, dtype=np.int64)
        if len(listed) > most:
            listed = np.eye(len(self.sizes), dtype=np.int64)
            gives = np.array(self.rates, dtype=np.int64)
        table = np.zeros((len(listed), sizes), dtype=np.int64)
        table[:, self.sizes] = listed
        return table, gives


class ServiceCover:
    """Instance with services in terms of distinct sizes, with bounds from dual prices of sizes.

    Attributes
    ----------
    problem : the sizes, each requested as often as it could be of use.
    demands : of the services.
    owed : (d,) VMs of each size that are requested besides.
    table, kind : (n, d) all maximal fillings of a server, and (n,) its class; None where there are
        too many.
    mixes, gives : see `Demand.mixes`.
    """

    def __init__(self, instance: Packing, *, costs: bool, limits: PortfolioLimits = LIMITS) -> None:
        self.instance = instance
        plain = instance.replace(services=(), request=instance.useful)
        refuse_rules(plain)
        self.problem = presolve(plain, costs=costs)
        size = {i: d for d, members in enumerate(self.problem.members) for i in members}
        self.demands = []
        for service in instance.services:
            best: dict[int, tuple[int, int]] = {}
            for rate, i in sorted(zip(service.rates, service.types, strict=True)):
                best[size[i]] = rate, i
            order = sorted(best, key=lambda d: best[d], reverse=True)
            rates, types = [best[d][0] for d in order], [best[d][1] for d in order]
            self.demands.append(Demand(service.rate, order, rates, types))
        self.owed = np.zeros(self.problem.types, dtype=np.int64)
        for i, number in enumerate(instance.requested.tolist()):
            if 0 < number < np.inf:
                self.owed[size[i]] += int(number)
        each = limits.listed_mixes // len(self.demands)
        pairs = [demand.mixes(self.problem.types, each) for demand in self.demands]
        self.mixes, self.gives = [table for table, _ in pairs], [gives for _, gives in pairs]
        ones = np.ones(self.problem.types, dtype=np.int64)
        tables = [
            all_patterns(self.problem, c, ones, 1, most=limits.listed_patterns)
            for c in range(len(self.problem.price))
        ]
        self.table: Integers | None = None
        if found := [table for table in tables if table is not None and len(tables)]:
            self.table = np.concatenate(found) if len(found) == len(tables) else None
        self.kind = np.repeat(np.arange(len(found)), [len(table) for table in found])

    def program(self, *, integer: bool) -> LinearProgram:
        """Integer program over fillings of servers and mixes of services."""
        assert self.table is not None
        return service_program(
            self.table, self.kind, self.problem.servers, self.problem.price, self.mixes, self.gives,
            [demand.rate for demand in self.demands], self.owed, integer=integer,
        )  # fmt: skip

    def prices(self, clock: Clock) -> Iterator[Floats]:
        """Yield dual prices (d,) of VM sizes relative to a server's cost: first by volume, then
        from the linear relaxation.
        """
        largest = np.maximum(self.problem.capacity.max(axis=0), 1)
        yield np.maximum((self.problem.demand / largest).sum(axis=1), 1 / GRID)
        if self.table is not None:
            relaxed = WarmStartedProgram(self.program(integer=False)).solve(clock.time_slice(3))
            raise_if_interrupted(relaxed.stop)
            if relaxed.row_dual is not None:
                yield np.maximum(relaxed.row_dual[: self.problem.types], 0.0)

    def proved(self, profit: Integers, scale: int) -> Prices:
        """Lower bound on cost from integer dual prices (d,) of VM sizes. Each service pays for its
        cheapest mix, and a filling of a server is worth at most its scaled cost plus a rent.
        """
        income = int(profit @ self.owed) + sum(demand.least(profit) for demand in self.demands)
        tops = [
            price_patterns(self.problem, c, profit, scale * int(cost)).best
            for c, cost in enumerate(self.problem.price)
        ]
        return prices_of(self.problem, profit, tops, scale, income=income)

    def start(self, price: Floats) -> Placement | None:
        """Heuristic answer: for each service VMs of the size with the least price per rate, packed
        by first fit decreasing; None if infeasible.
        """
        request = np.where(np.isfinite(self.instance.requested), self.instance.requested, 0.0)
        for demand in self.demands:
            best = int(np.argmin(price[demand.sizes] / np.array(demand.rates)))
            request[demand.types[best]] = -(-demand.rate // demand.rates[best])
        fixed = presolve(self.instance.replace(services=(), request=request))
        packed = fit(fixed, decreasing(fixed))
        return None if packed is None else fixed.placement(*packed)

    def placement(self, point: Floats) -> Placement:
        """Convert a point of the program to a placement, in which the VMs of each service's mix
        take places of their size in the chosen fillings.
        """
        assert self.table is not None
        number = np.round(point).astype(np.int64)
        filling = np.repeat(np.arange(len(self.table)), number[: len(self.table)])
        ends = len(self.table) + np.cumsum([len(table) for table in self.mixes])
        left = [0 if np.isinf(n) else int(n) for n in self.instance.requested]
        for demand, table, end in zip(self.demands, self.mixes, ends.tolist(), strict=True):
            vms = number[end - len(table) : end] @ table
            for d, i in zip(demand.sizes, demand.types, strict=True):
                left[i] = int(vms[d])
        count = np.zeros((len(filling), self.instance.types), dtype=np.int64)
        for m, d in np.argwhere(self.table[filling]).tolist():
            room = int(self.table[filling[m], d])
            for i in self.problem.members[d]:
                count[m, i] = min(room, left[i])
                left[i] -= int(count[m, i])
                room -= int(count[m, i])
        return Placement(count, self.problem.classes[self.kind[filling]])


def serve(
    instance: Packing, clock: Clock, start: Placement | None, limits: PortfolioLimits, *,
    costs: bool,
) -> Outcome:  # fmt: skip
    """Outcome of `min_servers` or `min_cost` with services: bounds by prices of sizes, then the
    program over fillings and mixes.
    """
    cover = ServiceCover(instance, costs=costs, limits=limits)
    cost = instance.server_cost if costs else np.ones(instance.classes, dtype=np.int64)
    search: Incumbent[Placement, int] = Incumbent(
        instance, clock, lambda answer: int(cost[answer.server_class].sum()), bound=1
    )
    search.offer(start, "the start")
    facts: dict[str, Any] = {"mixes": sum(map(len, cover.mixes))}
    infeasible = False
    with search.keeping_best():
        for price in cover.prices(clock):
            search.offer(cover.start(price), "FFD, a size of VMs for each service")
            profit = np.floor(price * GRID + 0.5).astype(np.int64)
            value = cover.proved(profit, GRID).value
            search.raise_bound(-(-value.numerator // value.denominator), "prices of sizes")
        if cover.table is not None and search.open:
            program = cover.program(integer=True)
            answer = solve_program(program, time_limit=clock.time_slice(2))
            if answer.point is not None:
                search.offer(cover.placement(answer.point), "program over mixes")
            bound = integer_bound(program, answer, clock, above=search.bound)
            infeasible = bound == np.inf
            if bound is not None and not infeasible:
                search.raise_bound(int(bound), "program over mixes")
            search.stop = answer.stop
            facts["fillings"] = len(cover.table)
    if infeasible and search.best is None:
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, facts, tuple(clock.trace))
    return search.finish({**facts, "found_by": search.found_by, "bound_by": search.bound_by})
