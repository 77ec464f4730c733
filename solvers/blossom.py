"""Minimum-cost matchings of different agents by the blossom algorithm, with dual multipliers that
prove them.

Costs are whole numbers. Blossoms are looked for among a few pairs of each agent. Then all pairs are
priced, those of negative slack join, prices are lowered where they must be, and the search goes on
from there: after each pricing the multipliers hold for all pairs, and prove a bound.

Where some agents may be alone but not all, being alone costs a rent besides. The least cost of a
matching is convex in its number of pairs (as matchings of a given number of pairs are faces of the
matching polytope), so that at the right rent as many are alone as may be; lines of cost over rent
lead to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .outcome import Clock

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

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


def parts(agents: int, most_alone: int) -> int:
    """Denominator of integer costs such that all dual multipliers are integers."""
    return 2 if most_alone in (0, agents) else 8


class Blossoms:
    """Search for a minimum-cost matching by blossoms, with the bound its dual multipliers prove.

    Parameters
    ----------
    cost : (n, n) what pairs cost, in `parts` of whole numbers; `FORBIDDEN` for those that may not
        share, and on the diagonal.
    alone : what being alone costs, in the same parts.
    most_alone : how many agents may be alone.
    mate : (n,) partners in some matching, -1 for those alone.
    clock : ends the search.
    offer, prove : called with the partners in each better matching, and with each better bound.
    most_free : the share of agents that may be without partner at the first prices.

    Attributes
    ----------
    mate, value : (n,) partners in the best matching so far, and what it costs, in parts.
    bound : what every matching costs at least, in parts; None for nothing proved.
    suited : False where another way is quicker or the only one: hardly anybody can be matched at
        the first prices, or numbers grow too long.
    rent : of being alone, in parts.
    rounds : of matching and pricing.
    """

    forest: Forest
    _pairs: Integers
    _edges_now: Edges

    def __init__(
        self, cost: Integers, alone: int, most_alone: int, mate: Integers, clock: Clock, *,
        offer: Callable[[Integers], object] = lambda mate: None,
        prove: Callable[[int], object] = lambda bound: None, most_free: float = 0.5,
    ) -> None:  # fmt: skip
        from .blossom_kernels import MOST

        self.cost, self.most_alone, self.mate, self.clock = cost, most_alone, mate, clock
        self.alone = alone if most_alone else 4 * MOST
        self.offer, self.prove, self.most_free = offer, prove, most_free
        self.agents = len(cost)
        nothing = np.zeros(0, dtype=np.int64)
        self._proof = np.zeros(self.agents, dtype=np.int64), nothing, nothing, nothing, nothing
        self.bound: int | None = None
        self.value = self._total(mate)
        self.rounds = self.rent = self._rent = 0
        self.suited, self._some = True, most_alone not in (0, self.agents)

    def search(self) -> None:
        """Match, price and match again until no pair has negative slack or the time is up."""
        try:
            if self._some:
                self._at_rents()
            elif self._first_prices(self.alone):
                self._match(self.alone)
        finally:  # who is called may refer to this: what is large is freed without a collection
            del self.cost, self.offer, self.prove

    def _first_prices(self, cap: int) -> bool:
        """Initialize the forest at prices that match many agents; return whether there are such
        prices.
        """
        from . import blossom_kernels as kernels

        cost = self.cost
        price = np.minimum(cost.min(axis=1) // 2, cap)
        for part in [2] * HALVINGS + [1]:
            kernels.raise_prices(cost, price, cap, part)
        free = self._begin(cap, price)
        if free > (1 - FEW) * self.agents:
            price = relaxed_prices(cost, price, cap)
            for part in (1, 2, 2, 1):
                kernels.raise_prices(cost, price, cap, part)
            free = self._begin(cap, price)
        self.suited = free <= self.most_free * self.agents
        if self.suited:
            self._prove()
        return self.suited

    def _match(self, cap: int) -> Integers | None:
        """Partners (n,) of a minimum-weight matching from the current forest; None at the time
        limit.
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
            joined = kernels.lower_prices(self.cost, self.forest, *worst)
            self._prove()
            if not self._some:
                self._keep(self._completed(mate))
            if self.clock.expired:
                return None
            if joined:
                self._join(worst[0])
        return mate

    def _at_rents(self) -> None:
        """Find the rent of single agents at which as many are single as allowed, and a matching.

        A matching costs a line over the rent, and the best one at a rent, less the rent of all who
        may be alone, is the lower hull of these lines. Its top is sought where the lowest line that
        rises there meets the lowest that falls. It bends at multiples of 4 only, since costs are
        multiples of 8 and pairs more or less are two agents.
        """
        from . import blossom_kernels as kernels

        alone, most = self.alone, self.most_alone

        # cost, and how many are alone beyond those who may be: the slope over the rent
        def line(mate: Integers) -> tuple[int, int]:
            return self._total(mate), int(np.count_nonzero(mate < 0)) - most

        # 1. the lines of nobody paired and of the pairing in hand
        rising, falling = np.full(self.agents, kernels.ALONE), self.mate
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
                ready = self._first_prices(cap)
                if not ready:
                    return
            else:  # from the prices of a lower rent, at which those alone would pay more
                self.forest = kernels.Forest._make(part.copy() for part in begun)
                self.forest.mate[self.forest.mate == kernels.ALONE] = kernels.FREE
            mate = self._match(cap)
            if mate is None:
                return
            value, more = line(mate)
            met = value + more * rent == base + rise * rent == top + fall * rent
            if more > 0:
                low, begun, rising = rent, self.forest, mate
            else:
                high, falling = rent, mate
                self._keep(mate)
            # 3. at this bend both lines are lowest: from one to the other until few are alone
            met = met or (high is not None and high - low == 2)
            if met or more == 0 or (rent == 0 and more < 0):
                self._keep(self._between(rising, falling, most))
                return

    def _total(self, mate: Integers) -> int:
        """Total cost of a matching, of its pairs and single agents, in parts of a unit."""
        paired = np.flatnonzero(mate >= 0)
        together: int = sum(self.cost[paired, mate[paired]].tolist()) // 2
        return together + self.alone * (self.agents - len(paired))

    def _keep(self, mate: Integers) -> None:
        """Keep and offer a matching if it costs less than the best so far."""
        if (value := self._total(mate)) < self.value:
            self.mate, self.value = np.maximum(mate, -1), value
            self.offer(self.mate)

    def _between(self, rising: Integers, falling: Integers, most: int) -> Integers:
        """Matching with a given number of single agents, by exchanging alternating paths between
        two matchings that are optimal at the same rent of single agents.
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

    def _begin(self, cap: int, price: Integers) -> int:
        """Initialize the forest at the first prices, with pairs of slack 0 matched; return the
        number of unmatched agents.
        """
        from . import blossom_kernels as kernels

        cost, agents = self.cost, self.agents
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
        self._pairs = np.zeros(0, dtype=np.int64)
        self._join(np.column_stack([first[0], self.mate]))
        kernels.match_tight(forest, self._edges_now, cap)
        return int(np.count_nonzero(forest.mate == kernels.FREE))

    def _join(self, near: Integers) -> None:
        """Add the pairs of each agent with those in its row of `near` to the considered pairs."""
        from . import blossom_kernels as kernels

        one = np.repeat(np.arange(self.agents), near.shape[1])[near.ravel() >= 0]
        two = near.ravel()[near.ravel() >= 0]
        keys = np.minimum(one, two) * self.agents + np.maximum(one, two)
        self._pairs = pairs = np.unique(np.concatenate([self._pairs, keys]))
        one, two = pairs // self.agents, pairs % self.agents
        tail, to = np.concatenate([one, two]), np.concatenate([two, one])
        order = np.argsort(tail, kind="stable")
        start = np.searchsorted(tail[order], np.arange(self.agents + 1))
        events = len(pairs) + self.agents // 2 + 1
        self._edges_now = kernels.Edges(
            start, to[order], self.cost[tail[order], to[order]], order % len(pairs), one, two,
            np.zeros(events, dtype=np.int64), np.full(events, -1), np.zeros(events, dtype=np.int64),
        )  # fmt: skip

    def _prove(self) -> None:
        """Keep the prices as multipliers if they prove a better bound for all pairs."""
        from . import blossom_kernels as kernels

        forest = self.forest
        size = np.zeros(len(forest.weight), dtype=np.int64)
        kernels.count_agents(forest, size)
        node = np.flatnonzero(size)
        weights = zip(forest.weight[node].tolist(), size[node].tolist(), strict=True)
        total = sum(forest.price.tolist()) - self._rent * (self.most_alone if self._some else 0)
        total -= sum(weight * (number - 1) for weight, number in weights)
        if self.bound is None or total > self.bound:
            self._proof = (
                forest.price.copy(), forest.weight[node], forest.first[node], forest.last[node],
                forest.leaf.copy(),
            )  # fmt: skip
            self.bound, self.rent = total, self._rent
            self.prove(total)

    @property
    def odd(self) -> int:
        """Number of odd sets with positive multipliers."""
        return len(self._proof[1])

    @property
    def sets(self) -> list[tuple[int, Booleans]]:
        """Multipliers of the odd sets, at least 0, and the members of each set."""
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
        """Dual prices (n,) of the agents, which prove the lower bound on the matching's cost."""
        price: Integers = self._proof[0].copy()
        for weight, inside in self.sets:
            price[inside] -= weight
        return price

    def _completed(self, mate: Integers) -> Integers:
        """Complete a partial matching to a perfect one along the best matching known."""
        best, agents = self.mate.tolist(), mate.tolist()
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
        return np.array(agents)


def first_mates(cost: Integers) -> Integers:
    """Partners (n,) in a maximum matching of allowed pairs, -1 for none."""
    from .blossom_kernels import FORBIDDEN
    from .roommates.arrays import UNRANKED
    from .roommates.partition import largest_matching
    from .roommates.ranks import lists_of

    rank = np.where(cost < FORBIDDEN, np.arange(len(cost)), UNRANKED).astype(np.int32)
    return largest_matching(lists_of(rank), np.full(len(cost), -1)).astype(np.int64)


def certificate(search: Blossoms | None) -> dict[str, Any]:
    """Facts that prove the bound of a search; None if it had no time to begin."""
    return {
        "proof": "multipliers of a least-weight matching, priced over all pairs",
        "pricing_rounds": search.rounds if search else 0,
        "odd_sets": search.odd if search else 0,
        "engine": "blossoms",
    }


def relaxed_prices(cost: Integers, price: Integers, cap: int) -> Integers:
    """Prices near those of a fractional minimum-weight matching, by entropic scaling.

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
