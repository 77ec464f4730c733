"""Least total penalty over very many pairs of types, by pricing, odd-set cuts, and a small integer
program.

The program of `models.colocation.penalty_program` has a column for each of the T (T + 1) / 2 pairs
of types: half a million for a thousand different agents, nearly all useless. Three exact steps
avoid them:

1. Linear relaxation by column generation: a sparse set of pairs, joined by those of negative
   reduced cost until there are none. The multipliers bound the optimum from below over *all* pairs,
   whatever the set.
2. Odd-set (blossom) cuts: for types S with an odd number of agents, at least one of them is paired
   outside or single: x(edges leaving S) + single(S) >= 1 (Edmonds 1965; for b-matchings Padberg and
   Rao 1982). Found as components of the support, which is where half-integral odd cycles live.
3. Whoever uses a pair of reduced cost r costs at least bound + r. So an integer program over the
   pairs with r up to delta proves min(its own bound, bound + delta), and with delta = best known -
   bound it proves the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers, Pairing
from ...models.colocation import PairingProgram, penalty_program
from ...models.program import LinearProgram
from ..blossom import MATCHED_FROM, certificate
from ..engines import WarmStartedProgram, solve_program
from ..outcome import AGREE, Clock, Status, Stop, agree, raise_if_interrupted
from ..routes import Routed
from .blossom import Matched, TotalPenalty

_PRICED_OUT = 1e-9  # a reduced cost above minus this is none
_CUT = 1e-4  # an odd set is cut off when it is violated by more


@dataclass(frozen=True)
class MatchingLimits(Routed):
    """Parameters of `least_penalty_matching`.

    Attributes
    ----------
    nearest : cheapest partners of each type in the first set of pairs.
    joining : pairs that join per type and round.
    first_pairs : pairs of least reduced cost for each type in the first integer program.
    most_pairs : pairs in the largest integer program.
    blossoms : from how many agents on, if all differ, they are matched by blossoms.
    """

    nearest: int = 6
    joining: int = 4
    first_pairs: float = 8.0
    most_pairs: int = 400_000
    blossoms: int = MATCHED_FROM
    routes: frozenset[str] = frozenset({"blossoms", "odd sets"})


MATCHING_LIMITS = MatchingLimits()


@dataclass(frozen=True)
class Multipliers:
    """Dual multipliers that prove the bound of the relaxation, see `verify.pairing_bound`.

    Attributes
    ----------
    prices : (T,) of the agents of each type.
    rent : of a job that runs alone, at least 0.
    sets : types with an odd number of agents together, each (T,), with the price of each, at least
        0.
    over : the parts of one in which all of them are given; whole numbers where they are exact.
    """

    prices: Floats | Integers
    rent: float
    sets: Sequence[tuple[float, Booleans]]
    over: int = 1


def multipliers(instance: Colocation, start: Pairing, clock: Clock) -> Multipliers | None:
    """Dual multipliers of the relaxation with odd-set cuts, from a feasible start; None at the time
    limit.
    """
    quick = Matched(instance, start, clock) if instance.distinct else None
    if quick:
        quick.search()
    if quick and quick.suited:
        found = quick.blossoms
        if found is None or found.bound is None:
            return None
        return Multipliers(found.prices, found.rent, found.sets, quick.over)
    search = Matching(instance, start, clock)
    search.relax()
    if not np.isfinite(search.bound):
        return None
    prices = np.zeros(instance.types)
    prices[search.present] = search.prices
    sets = []
    for price, members in zip(search.set_prices.tolist(), search.sets, strict=False):
        full = np.zeros(instance.types, dtype=bool)
        full[search.present] = members
        sets.append((price, full))
    return Multipliers(prices, search.rent, sets)


def least_penalty_matching(
    instance: Colocation, start: Pairing, clock: Clock, limits: MatchingLimits = MATCHING_LIMITS
) -> Matching | Matched:
    """Search for the least total penalty from a feasible pairing; return the finished search.

    By blossoms where agents differ and that is quicker. Ctrl-C or the end of the time gives the
    best pairing so far with the bound reached.
    """
    large = "blossoms" in limits.routes and instance.agents >= limits.blossoms
    quick = Matched(instance, start, clock) if large and instance.distinct else None
    if quick:
        with quick.keeping_best():
            quick.search()
    if quick and quick.suited:
        quick.certificate = certificate(quick.blossoms)
        return quick
    search = Matching(instance, start, clock, limits)
    with search.keeping_best():
        search.relax()
        search.close()
    search.certificate = {
        "proof": "linear relaxation priced over all pairs, odd-set cuts, integer program over the "
        "pairs left",
        "pricing_rounds": search.rounds,
        "odd_sets": len(search.sets),
        "engine": "highs",
    }
    return search


class Matching(TotalPenalty):
    """Search for the least total penalty over pairs of types, with a bound by dual multipliers."""

    def __init__(
        self,
        instance: Colocation,
        start: Pairing,
        clock: Clock,
        limits: MatchingLimits = MATCHING_LIMITS,
    ) -> None:
        super().__init__(instance, start, clock)
        self.limits = limits
        self.present = instance.present
        self.count = instance.count[self.present].astype(float)
        around = np.ix_(self.present, self.present)
        penalty = instance.penalty[around]
        self.cost: Floats = np.where(instance.allowed[around], penalty + penalty.T, np.inf)
        self.most = np.minimum(self.count[:, None], self.count[None, :])
        np.fill_diagonal(self.most, self.count // 2)
        self.sets: list[Booleans] = []  # odd sets cut off, over the present types
        self.reduced: Floats = self.cost
        self.rounds = 0

    @property
    def closed(self) -> bool:
        """Whether value and bound agree to a tenth of the tolerance, because means are rounded."""
        value, bound = (total / self.instance.agents for total in (self.value, self.bound))
        scale = 0.1 * self.scale / self.instance.agents
        return value <= bound or agree(value, bound, scale)

    # Step 1 and 2

    def relax(self) -> None:
        """Solve the relaxation over all pairs with odd-set cuts; sets `bound` and `reduced`."""
        # 1. the linear program over the first pairs
        chosen = self._first_pairs()
        place = np.full(self.instance.types, -1)
        place[self.present] = np.arange(len(self.present))
        chosen[place[self.best.first], place[self.best.second]] = True
        base = penalty_program(self.instance, self.spread(chosen))
        self.first, self.second = place[base.first], place[base.second]
        self.alone = place[base.alone]
        program = base.program
        relaxed = LinearProgram(
            program.matrix, program.row_lower, program.row_upper, program.cost, program.lower,
            np.full(program.columns, np.inf), np.zeros(program.columns, dtype=bool),
        )  # fmt: skip
        self.plain_rows = program.rows
        # of each column of the linear program its pair, or -1 - its single type
        self.order = np.append(np.arange(len(self.first)), -1 - np.arange(len(self.alone)))
        # 2. the odd groups that may not share with others are cut off at once
        living = WarmStartedProgram(relaxed)
        in_set = np.zeros_like(self.cost, dtype=bool)
        in_set[self.first, self.second] = True
        if groups := self._odd_groups():
            self._add_cuts(living, groups)
        # 3. price all pairs; those of negative reduced cost join, and then violated odd sets
        while not self.clock.expired:
            answer = living.solve(self.clock.left)
            raise_if_interrupted(answer.stop)
            if (
                answer.row_dual is None
                or answer.point is None
                or answer.status is not Status.OPTIMAL
            ):
                return
            self.rounds += 1
            self._price(answer.row_dual)
            wanted = self._wanted(in_set)
            if len(wanted[0]):
                self._add_pairs(living, *wanted)
                in_set[wanted] = True
                continue
            sets = self._odd_sets(answer.point) if "odd sets" in self.limits.routes else []
            self.report("pricing")
            if not sets or self.value - self.bound <= 1e-12 * (1 + abs(self.value)):
                return
            self._add_cuts(living, sets)

    def _first_pairs(self) -> Booleans:
        """Cheapest partners of each type relative to its cheapest one."""
        finite = np.where(np.isfinite(self.cost), self.cost, np.nan)
        with np.errstate(all="ignore"):
            typical = np.nan_to_num(np.sort(finite, axis=1)[:, 0], nan=0.0) / 2
        adjusted = self.cost - typical[:, None] - typical[None, :]
        # equals must not all choose the same few
        adjusted += 1e-9 * np.random.default_rng(0).random(adjusted.shape)
        number = min(self.limits.nearest, len(adjusted))
        nearest = np.argpartition(adjusted, number - 1, axis=1)[:, :number]
        chosen = np.zeros_like(self.cost, dtype=bool)
        np.put_along_axis(chosen, nearest, True, axis=1)
        return cast("Booleans", np.triu(chosen | chosen.T) & np.isfinite(self.cost))

    def spread(self, chosen: Booleans) -> Booleans:
        """Extend a matrix over the present types to all types, with False for the others."""
        full = np.zeros((self.instance.types, self.instance.types), dtype=bool)
        full[np.ix_(self.present, self.present)] = chosen
        return full

    def _price(self, dual: Floats) -> None:
        """Compute all reduced costs and the bound that they prove; keep them if it is no worse."""
        types = len(self.present)
        y, capacity = dual[:types], 0.0
        if self.plain_rows > types:
            capacity = min(0.0, float(dual[types]))
        pi = np.maximum(dual[self.plain_rows :], 0.0)
        reduced = self.cost - y[:, None] - y[None, :]
        alone = self.instance.single_penalty - y - capacity
        total = float(y @ self.count)
        if capacity:
            total += capacity * self.instance.singles_allowed
        if len(pi):
            member = np.array(self.sets, dtype=float)
            inside = pi @ member
            reduced -= inside[:, None] + inside[None, :] - 2.0 * (member.T * pi) @ member
            alone = alone - inside
            total += float(pi.sum())
        upper = np.triu(np.where(np.isfinite(reduced), np.minimum(reduced, 0.0), 0.0))
        total += float((upper * self.most).sum())
        if self.instance.singles_allowed > 0:
            total += float(np.minimum(alone, 0.0) @ self.count)
        if total >= self.bound:
            self.bound, self.reduced, self.reduced_alone = total, reduced, alone
            self.prices, self.rent, self.set_prices = y, -capacity, pi
        self._latest = reduced

    def _wanted(self, in_set: Booleans) -> tuple[Integers, Integers]:
        """Pairs of most negative reduced cost of each type that are not in the program yet."""
        price = np.where(in_set | in_set.T, np.inf, self._latest)
        number = min(self.limits.joining, len(price))
        nearest = np.argpartition(price, number - 1, axis=1)[:, :number]
        rows = np.repeat(np.arange(len(price)), number)
        columns = nearest.reshape(-1)
        negative = price[rows, columns] < -_PRICED_OUT
        low, high = np.minimum(rows, columns)[negative], np.maximum(rows, columns)[negative]
        keys = np.unique(low * len(price) + high)
        return keys // len(price), keys % len(price)

    def _add_pairs(self, living: WarmStartedProgram, first: Integers, second: Integers) -> None:
        starts, rows, values = [0], [], []
        cut_rows = self.plain_rows + np.arange(len(self.sets))
        member = np.array(self.sets, dtype=bool).reshape(len(self.sets), len(self.present))
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            crossing = cut_rows[member[:, a] != member[:, b]]
            rows += [a, *([b] if b != a else []), *crossing.tolist()]
            values += [2.0 if a == b else 1.0, *([1.0] if b != a else []), *([1.0] * len(crossing))]
            starts.append(len(rows))
        living.add_columns(
            self.cost[first, second], np.full(len(first), np.inf), np.array(starts[:-1]),
            np.array(rows), np.array(values),
        )  # fmt: skip
        self.order = np.concatenate([self.order, len(self.first) + np.arange(len(first))])
        self.first = np.concatenate([self.first, first])
        self.second = np.concatenate([self.second, second])

    def _odd_sets(self, point: Floats) -> list[Booleans]:
        """Violated odd sets: connected components of the support at several thresholds with an odd
        number of agents.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pair = self.order >= 0
        x = np.zeros(len(self.first))
        x[self.order[pair]] = point[pair]
        single = np.zeros(len(self.present))
        single[self.alone[-1 - self.order[~pair]]] = point[~pair]
        known = {part.tobytes() for part in self.sets}
        found: list[Booleans] = []
        size = len(self.present)
        apart = self.first != self.second
        for threshold in (1e-6, 0.1, 0.25, 0.4, 0.49, 0.6, 0.75):
            strong = (x > threshold) & apart
            graph = coo_array(
                (x[strong], (self.first[strong], self.second[strong])), shape=(size, size)
            )
            number, label = connected_components(graph, directed=False)
            agents = np.bincount(label, self.count, number)
            leaving = np.bincount(label, single, number)
            cross = label[self.first] != label[self.second]
            leaving += np.bincount(label[self.first[cross]], x[cross], number)
            leaving += np.bincount(label[self.second[cross]], x[cross], number)
            for part in np.flatnonzero((agents % 2 == 1) & (leaving < 1 - _CUT)).tolist():
                members = label == part
                if members.tobytes() not in known:
                    known.add(members.tobytes())
                    found.append(members)
        return found

    def _odd_groups(self) -> list[Booleans]:
        """Connected components with an odd number of agents, of which one has to run alone. Agents
        of different components may not share.
        """
        from scipy.sparse.csgraph import connected_components

        number, label = connected_components(np.isfinite(self.cost), directed=False)
        odd = np.flatnonzero(np.bincount(label, self.count, number) % 2 == 1)
        return [label == part for part in odd.tolist()] if number > 1 else []

    def _add_cuts(self, living: WarmStartedProgram, sets: list[Booleans]) -> None:
        starts, columns = [0], []
        for members in sets:
            where = np.zeros(len(self.order), dtype=bool)
            pair = self.order >= 0
            at = self.order[pair]
            where[pair] = members[self.first[at]] != members[self.second[at]]
            where[~pair] = members[self.alone[-1 - self.order[~pair]]]
            columns.append(np.flatnonzero(where))
            starts.append(starts[-1] + len(columns[-1]))
        self.sets += sets
        living.add_rows(
            np.ones(len(sets)), np.array(starts[:-1]), np.concatenate(columns), np.ones(starts[-1])
        )

    # Step 3

    def close(self) -> None:
        """Solve integer programs over the pairs of small reduced cost until the bound meets the
        value or the time is up.
        """
        self.relaxation = self.bound
        delta = self.delta_for(int(self.limits.first_pairs * len(self.present)))
        while self.open:
            gap = self.value - self.relaxation
            tiny = gap <= AGREE * self.scale
            if tiny:  # below what an engine tells apart beside the largest penalties
                delta = gap * (1 + 1e-9)
            keep = np.triu(self.reduced <= delta) & np.isfinite(self.cost)
            if keep.sum() > self.limits.most_pairs:
                self.stop = Stop.ITERATION_LIMIT
                return
            program = self.with_cuts(penalty_program(self.instance, self.spread(keep)))
            if tiny:
                program = self._without_prices(program, delta)
            answer = solve_program(
                program.program, time_limit=self.clock.time_slice(), start=self._start(program)
            )
            if answer.point is not None:
                self.offer(program.pairing(answer.point), "integer program")
            proved = np.inf if answer.status is Status.INFEASIBLE else answer.bound
            if proved is not None:  # the pairs that are left out hold nothing better than the best
                bound = min(proved, self.relaxation + delta, self.value)
                self.raise_bound(bound, "integer program")
            if answer.stop is not Stop.FINISHED:
                self.stop = answer.stop
                return
            if (
                tiny
                or answer.status not in (Status.OPTIMAL, Status.INFEASIBLE)
                or delta > self.value - self.relaxation
            ):
                return
            # a better pairing has only pairs of reduced cost below the gap
            delta = (self.value - self.relaxation) * (1 + 1e-9) + 1e-12

    def delta_for(self, number: int) -> float:
        """Reduced cost below which there are about `number` pairs."""
        values = self.reduced[np.triu_indices(len(self.reduced))]
        values = values[np.isfinite(values)]
        if len(values) <= number:
            return float(values.max(initial=0.0)) + 1.0
        return max(1e-9, float(np.partition(values, number)[number]))

    def _without_prices(self, program: PairingProgram, delta: float) -> PairingProgram:
        """Program with the dual prices subtracted from the costs, which shifts all objectives
        equally and improves the engine's precision.

        Types of whom nobody runs alone in a better pairing have no column for it.
        """
        base = program.program
        every = np.zeros(base.rows)
        every[: len(self.present)] = self.prices
        alone = np.full(self.instance.types, np.inf)
        alone[self.present] = self.reduced_alone
        upper = base.upper.copy()
        upper[len(program.first) :][alone[program.alone] > delta] = 0.0
        shifted = replace(
            base,
            cost=np.where(upper > 0, base.cost - base.matrix.T @ every, 0.0),
            upper=upper,
            offset=base.offset + float(self.prices @ self.count),
        )
        return replace(program, program=shifted)

    def with_cuts(self, program: PairingProgram) -> PairingProgram:
        """Copy of a pairing program with the odd-set cuts as additional rows."""
        if not self.sets:
            return program
        from scipy.sparse import csr_array, vstack

        member = np.zeros((len(self.sets), self.instance.types), dtype=bool)
        member[:, self.present] = np.array(self.sets)
        crossing = np.hstack(
            [member[:, program.first] != member[:, program.second], member[:, program.alone]]
        )
        base = program.program
        rows = LinearProgram(
            vstack([base.matrix, csr_array(crossing.astype(float))]).tocsr(),
            np.concatenate([base.row_lower, np.ones(len(self.sets))]),
            np.concatenate([base.row_upper, np.full(len(self.sets), np.inf)]),
            base.cost, base.lower, base.upper, base.integer, base.offset, base.names,
        )  # fmt: skip
        return replace(program, program=rows)

    def _start(self, program: PairingProgram) -> Floats | None:
        point = program.point(self.best)
        return point if program.program.holds(point) else None
