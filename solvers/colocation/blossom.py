"""Least total penalty where all agents differ: a least-weight matching by blossoms, whose
multipliers prove it.

Penalties become whole numbers: decimals exactly, longer ones rounded down. Blossoms are looked for
among a few pairs of each agent. Then all pairs are priced, those of negative slack join, prices are
lowered where they must be, and the search goes on from there: after each pricing the multipliers
hold for all pairs, and prove a bound.

Where some agents may be alone but not all, being alone costs a rent besides. The least cost of a
matching is convex in its number of pairs (as matchings of a given number of pairs are faces of the
matching polytope), so that at the right rent as many are alone as may be; lines of cost over rent
lead to it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers, Pairing
from ...instances.colocation.objective import mean_penalty, scale
from ..incumbent import Incumbent
from ..outcome import Clock

if TYPE_CHECKING:
    from .blossom_kernels import Edges, Forest

MATCHED_FROM = 200
"""Agents from which blossoms are looked for: with fewer other ways are quick too, and nothing needs
to be compiled.
"""

NEAREST, JOINING = 8, 4
"""Pairs of each agent that are looked at first, and that join after a pricing."""

HALVINGS, ENTROPIES, SCALINGS = 8, (0.3, 0.1, 0.03, 0.01, 0.003), 16
"""Times that each price is raised by half of its least slack before the first search; weights of
the entropy in `relaxed_prices`, as shares of what half a pair costs at most, and rounds at each.
"""

FEW = 0.75
"""The share of agents that is matched at first prices of single rows, or other prices are begun
with.
"""

STEPS = 2_000_000
"""Arcs looked at between two looks at the clock: some hundredths of a second."""

DECIMALS, BITS = 15, 56
"""Digits of penalties up to which they are exact, and to how many bits of the largest longer ones
are rounded down.
"""


class TotalPenalty(Incumbent[Pairing, float]):
    """The pairing of least total penalty over all agents so far, and a bound on it; the outcome has
    their means.
    """

    best: Pairing

    def __init__(self, instance: Colocation, start: Pairing, clock: Clock) -> None:
        agents = instance.agents
        super().__init__(
            instance, clock, lambda pairing: mean_penalty(instance, pairing) * agents,
            scale=scale(instance, "penalty") * agents, shown=lambda total: total / agents,
        )  # fmt: skip
        self.instance = instance
        self.begin(start)


class Blossoms(TotalPenalty):
    """The pairing of least total penalty so far, and the bound that multipliers prove.

    Attributes
    ----------
    suited : False where another way is quicker or the only one: agents are alike, hardly anybody
        can be matched at the first prices, or numbers grow too long.
    rent : of being alone, in the parts of multipliers.
    over : how many of the parts in which multipliers are counted penalties of 1 are.
    most_free : the share of agents that may be without partner at the first prices.
    """

    most_free = 0.5
    forest: Forest
    _pairs: Integers
    _edges_now: Edges

    def __init__(self, instance: Colocation, start: Pairing, clock: Clock) -> None:
        super().__init__(instance, start, clock)
        agents = self.agents = instance.agents
        self.suited = instance.distinct
        nothing = np.zeros(0, dtype=np.int64)
        self._proof = np.zeros(agents, dtype=np.int64), nothing, nothing, nothing, nothing
        self.over = 1
        self.rounds = self.rent = self._rent = 0
        self._some = instance.singles_allowed not in (0, agents)

    def search(self) -> None:
        """Match, price and match again, until no pair has negative slack or time is up."""
        if not self.suited or self.clock.expired:
            return
        cost, cap = self._costs()
        if self._some:
            self._at_rents(cost, cap)
        elif self._first_prices(cost, cap):
            self._match(cost, cap)

    def _first_prices(self, cost: Integers, cap: int) -> bool:
        """Set up the forest at prices at which many are matched; whether there are."""
        from . import blossom_kernels as kernels

        price = np.minimum(cost.min(axis=1) // 2, cap)
        for part in [2] * HALVINGS + [1]:
            kernels.raise_prices(cost, price, cap, part)
        free = self._begin(cost, cap, price)
        if free > (1 - FEW) * self.agents:
            price = relaxed_prices(cost, price, cap)
            for part in (1, 2, 2, 1):
                kernels.raise_prices(cost, price, cap, part)
            free = self._begin(cost, cap, price)
        self.suited = free <= self.most_free * self.agents
        if self.suited:
            self._prove()
        return self.suited

    def _match(self, cost: Integers, cap: int) -> Integers | None:
        """(n,) the partners of a least-weight matching, from the forest as it is; None where it is
        not known in time.
        """
        from . import blossom_kernels as kernels

        worst = np.empty((2, self.agents, JOINING), dtype=np.int64)
        joined = 1
        while joined:
            ended = kernels.PAUSED
            while ended == kernels.PAUSED and not self.clock.expired:
                ended = kernels.match_all(self.forest, self._edges_now, cap, STEPS)
            self.suited = ended in (kernels.MATCHED, kernels.PAUSED)
            if not self.suited:
                return None
            self.rounds += 1
            mate = self.forest.mate.copy()
            joined = kernels.lower_prices(cost, self.forest, *worst)
            self._prove()
            if not self._some:
                self.offer(self._whole(mate), "blossoms")
            if self.clock.expired:
                return None
            if joined:
                self._pairs = self._with(self._pairs, worst[0])
                self._edges_now = self._edges(cost, self._pairs)
        return mate

    def _at_rents(self, cost: Integers, alone: int) -> None:
        """Find the rent at which as many agents are alone as may be, and such a pairing.

        A matching costs a line over the rent, and the best one at a rent, less the rent of all who
        may be alone, is the lower hull of these lines. Its top is sought where the lowest line that
        rises there meets the lowest that falls. It bends at multiples of 4 only, since costs are
        multiples of 8 and pairs more or less are two agents.
        """
        from . import blossom_kernels as kernels

        most = int(self.instance.singles_allowed)

        def line(mate: Integers) -> tuple[int, int]:
            paired = np.flatnonzero(mate >= 0)
            single = self.agents - len(paired)
            return sum(cost[paired, mate[paired]].tolist()) // 2 + alone * single, single - most

        # 1. the lines of nobody paired and of the pairing in hand
        rising, falling = np.full(self.agents, kernels.ALONE), self.best.partners(self.instance)
        low, high = -2, None
        begun: Forest | None = None
        while not self.clock.expired:
            (base, rise), (top, fall) = line(rising), line(falling)
            # 2. where they meet: at a bend, or between two, which says how the hull goes on there
            rent = max(0, (top - base) // (rise - fall) // 2 * 2)
            if rent % 4 == 0 and (top - base) != rent * (rise - fall) and rent:
                rent += 2
            rent = max(rent, low + 2) if high is None else min(max(rent, low + 2), high - 2)
            self._rent, cap = rent, alone + rent
            if begun is None:
                ready = self._first_prices(cost, cap)
                if not ready:
                    return
            else:  # from the prices of a lower rent, at which those alone would pay more
                self.forest = kernels.Forest._make(part.copy() for part in begun)
                self.forest.mate[self.forest.mate == kernels.ALONE] = kernels.FREE
            mate = self._match(cost, cap)
            if mate is None:
                return
            value, more = line(mate)
            met = value + more * rent == base + rise * rent == top + fall * rent
            if more > 0:
                low, begun, rising = rent, self.forest, mate
            else:
                high, falling = rent, mate
                self.offer(self._pairing(mate), "blossoms")
            # 3. at this bend both lines are lowest: from one to the other until few are alone
            met = met or (high is not None and high - low == 2)
            if met or more == 0 or (rent == 0 and more < 0):
                self.offer(self._pairing(self._between(rising, falling, most)), "blossoms")
                return

    def _between(self, rising: Integers, falling: Integers, most: int) -> Integers:
        """A matching between two that are both best at a rent, with so many alone: paths that are
        alternately of one and the other, and have more pairs of the other, are taken over.
        """
        mate, seen = np.maximum(rising, -1), np.zeros(self.agents, dtype=bool)
        many = int(np.count_nonzero(mate < 0))
        for end in np.flatnonzero((rising < 0) & (falling >= 0)).tolist():
            path, partner = [end], int(falling[end])
            while partner >= 0:
                path.append(partner)
                partner = int((falling if len(path) % 2 else rising)[partner])
            # enough are paired, the path was seen from its other end, or has no more pairs
            if many <= most or seen[end] or len(path) % 2:
                continue
            seen[path] = True
            for one in range(0, len(path), 2):
                mate[path[one]], mate[path[one + 1]] = path[one + 1], path[one]
            many -= 2
        return mate

    def _begin(self, cost: Integers, cap: int, price: Integers) -> int:
        """Set up the forest at first prices, with pairs of slack 0 matched, and the first pairs;
        how many agents are without partner.
        """
        from . import blossom_kernels as kernels

        agents = self.agents
        size = agents + agents // 2 + 1
        nodes = np.arange(size)
        cursor = np.zeros(8, dtype=np.int64)
        cursor[kernels.SPARE] = size - agents
        nothing = [np.zeros(size, dtype=np.int64) for _ in range(12)]
        self.forest = forest = kernels.Forest._make((
            cursor, np.full(agents, kernels.FREE), price, nodes[:agents].copy(),
            np.zeros(agents, dtype=np.int64), nodes.copy(), nodes.copy(), nothing[0],
            np.full(size, -1), nodes.copy(), *nothing[1:11], nodes[agents:].copy(), nothing[11],
        ))  # fmt: skip
        first = np.empty((2, agents, NEAREST), dtype=np.int64)
        kernels.nearest(cost, price, *first)
        self._pairs = self._with(self.best.first * agents + self.best.second, first[0])
        self._edges_now = self._edges(cost, self._pairs)
        kernels.match_tight(forest, self._edges_now, cap)
        return int(np.count_nonzero(forest.mate == kernels.FREE))

    def _costs(self) -> tuple[Integers, int]:
        """(n, n) what pairs cost, doubled, and what being alone does; in `unit`s."""
        from . import blossom_kernels as kernels

        instance, alone = self.instance, self.instance.single_penalty
        digits = kernels.decimals(instance.penalty, instance.allowed, DECIMALS)
        while digits <= DECIMALS and round(alone * 10.0**digits) / 10.0**digits != alone:
            digits += 1
        finer = 4 if self._some else 1  # so that rents are whole numbers, see `_at_rents`
        self.unit = 10.0**digits
        if digits > DECIMALS:
            self.unit = 2.0 ** min(BITS - finer - math.frexp(instance.largest_penalty)[1], 1000)
        cost = np.empty((self.agents, self.agents), dtype=np.int64)
        kernels.costs(instance.penalty, instance.allowed, self.unit, cost)
        whole = round(alone * self.unit) if digits <= DECIMALS else alone * self.unit
        single = 4 * kernels.MOST
        if instance.singles_allowed > 0:
            single = 2 * math.floor(whole) * finer
        cost[cost < kernels.FORBIDDEN] *= finer
        self.unit *= finer
        return cost, single

    def _with(self, pairs: Integers, near: Integers) -> Integers:
        """Pairs and those of each agent with some others, -1 for none."""
        one = np.repeat(np.arange(self.agents), near.shape[1])[near.ravel() >= 0]
        two = near.ravel()[near.ravel() >= 0]
        keys = np.minimum(one, two) * self.agents + np.maximum(one, two)
        return np.unique(np.concatenate([pairs, keys]))

    def _edges(self, cost: Integers, pairs: Integers) -> Edges:
        from . import blossom_kernels as kernels

        one, two = pairs // self.agents, pairs % self.agents
        tail, to = np.concatenate([one, two]), np.concatenate([two, one])
        order = np.argsort(tail, kind="stable")
        start = np.searchsorted(tail[order], np.arange(self.agents + 1))
        events = len(pairs) + self.agents // 2 + 1
        return kernels.Edges(
            start, to[order], cost[tail[order], to[order]], order % len(pairs), one, two,
            np.zeros(events, dtype=np.int64), np.full(events, -1), np.zeros(events, dtype=np.int64),
        )  # fmt: skip

    def _prove(self) -> None:
        """Take the prices, which hold for all pairs, as multipliers if they prove more."""
        from . import blossom_kernels as kernels

        forest = self.forest
        size = np.zeros(len(forest.weight), dtype=np.int64)
        kernels.count_agents(forest, size)
        node = np.flatnonzero(size)
        weights = zip(forest.weight[node].tolist(), size[node].tolist(), strict=True)
        over = 2 * int(self.unit)
        total = (
            sum(forest.price.tolist()) - sum(weight * (number - 1) for weight, number in weights)
            - self._rent * int(self.instance.singles_allowed if self._some else 0)
        ) / over  # fmt: skip
        if total > self.bound:
            self._proof = (
                forest.price.copy(), forest.weight[node], forest.first[node], forest.last[node],
                forest.leaf.copy(),
            )  # fmt: skip
            self.over, self.rent = over, self._rent
            self.raise_bound(total, "pricing")

    @property
    def odd(self) -> int:
        """How many sets there are."""
        return len(self._proof[1])

    @property
    def sets(self) -> list[tuple[int, Booleans]]:
        """The multipliers of sets of an odd number of agents, at least 0 each, and who is in
        them.
        """
        _, weights, first, last, leaf = self._proof
        sets = []
        for weight, agent, end in zip(weights.tolist(), first, last, strict=True):
            inside = np.zeros(self.agents, dtype=bool)
            while not inside[agent]:
                inside[agent] = True
                agent = agent if agent == end else leaf[agent]
            sets.append((weight, inside))
        return sets

    @property
    def prices(self) -> Integers:
        """(n,) the multipliers of the agents, beside those of the sets."""
        price: Integers = self._proof[0].copy()
        for weight, inside in self.sets:
            price[inside] -= weight
        return price

    def _pairing(self, mate: Integers) -> Pairing:
        return Pairing.from_partners(np.arange(self.agents), np.maximum(mate, -1), self.agents)

    def _whole(self, mate: Integers) -> Pairing:
        """The pairing, made whole along the best one: who has no partner gets the one there, whose
        partner then has none.
        """
        best, agents = self.best.partners(self.instance).tolist(), mate.tolist()
        for agent in [agent for agent in range(self.agents) if agents[agent] == -1]:
            while agent >= 0 and agents[agent] == -1:
                other = best[agent]
                left = agents[other] if other >= 0 else -1
                agents[agent] = other if other >= 0 else -2
                if other >= 0:
                    agents[other] = agent
                    if left >= 0:
                        agents[left] = -1
                agent = left
        return self._pairing(np.array(agents))


def relaxed_prices(cost: Integers, price: Integers, cap: int) -> Integers:
    """Prices near those of a least-weight fractional matching, from other prices.

    With a weight times the matching's entropy taken off its cost, prices are the logarithms of a
    scaling that makes rows of exp(-cost / weight) sum to 1 (Sinkhorn 1967; symmetric, so that each
    round takes the square root). The weight falls step by step. Prices of single rows end at the
    first ridge of the sum of prices, and this sum has many where all want the same partners. The
    prices need not hold for any pair.
    """
    from .blossom_kernels import FORBIDDEN

    unit = float(np.abs(cost[cost < FORBIDDEN]).max(initial=0)) / 2 or 1.0
    single = np.float32(min(cap / unit, 1e30))
    scaled = (cost / unit).astype(np.float32)
    scaled[cost >= FORBIDDEN] = np.inf
    level = (price / unit).astype(np.float32)
    for weight in np.array(ENTROPIES, dtype=np.float32):
        share = level[:, None] - scaled
        share += level
        share /= weight
        np.exp(np.minimum(share, 30, out=share), out=share)
        alone = np.exp(np.minimum((level - single) / weight, 30))
        factor = np.ones(len(price), dtype=np.float32)
        for _ in range(SCALINGS):
            whole = np.einsum("ab,b->a", share, factor) + alone
            factor = np.sqrt(factor / np.maximum(whole, np.float32(1e-12)))
        level = np.clip(level + weight * np.log(factor), -3, 3)
    prices: Integers = np.minimum(np.floor(level * unit), cap).astype(np.int64)
    return prices
