"""Brute force for packing, written apart from the package, and where development data may lie."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from cotenant.instances.packing import Packing
from cotenant.instances.problem.errors import InvalidInstance
from support.measured import DATA


def data_folder(name: str) -> Path | None:
    """A folder of development data, or None when it is absent."""
    folder = DATA / name
    return folder if folder.is_dir() else None


def fewest(instance: Packing, costs: bool = False) -> int | None:
    """Minimum number, or cost, of servers for all requests, by enumeration of fillings; None if
    infeasible.
    """
    wanted = tuple(int(number) for number in instance.requested)
    price = instance.server_cost.tolist() if costs else [1] * instance.classes
    fillings = {
        c: [
            row
            for row in itertools.product(*(range(number + 1) for number in wanted))
            if any(row)
            and (np.array(row) @ instance.demand <= instance.capacity[c]).all()
            and (instance.cards is None or carded(instance, c, row))
        ]
        for c in range(instance.classes)
    }
    start = tuple(99 if np.isinf(n) else int(n) for n in instance.server_count)

    @cache
    def least(left: tuple[int, ...], servers: tuple[int, ...]) -> float:
        if not any(left):
            return 0
        first = next(i for i, number in enumerate(left) if number)
        options = [np.inf]
        for c, rows in fillings.items():
            if not servers[c]:
                continue
            rest = tuple(number - (k == c) for k, number in enumerate(servers))
            for row in rows:
                if row[first] and all(n <= most for n, most in zip(row, left, strict=True)):
                    after = tuple(most - n for n, most in zip(row, left, strict=True))
                    options.append(price[c] + least(after, rest))
        return min(options)

    found = least(wanted, start)
    return None if np.isinf(found) else int(found)


def fitting(instance: Packing, kind: int) -> list[tuple[int, ...]]:
    """Every combination of VMs that fits a server of a class, and its cards, the empty one
    included, by trying all.
    """
    most = [
        min(
            [int(instance.capacity[kind, j]) // int(d) for j, d in enumerate(row) if d > 0]
            + [int(min(instance.requested[i], 99))]
        )
        for i, row in enumerate(instance.demand)
    ]
    return [
        counts
        for counts in itertools.product(*(range(m + 1) for m in most))
        if all(
            sum(c * int(d) for c, d in zip(counts, instance.demand[:, j], strict=True))
            <= instance.capacity[kind, j]
            for j in range(instance.capacity.shape[1])
        )
        and (instance.cards is None or carded(instance, kind, counts))
    ]


def carded(instance: Packing, kind: int, counts: Sequence[int]) -> bool:
    """Whether numbers of VMs by type are allowed on a server of a class and fit its cards."""
    whole = int(np.dot(counts, instance.card_demand))
    each = [size for n, size in zip(counts, instance.card_share, strict=True) for _ in range(n)]
    allowed = instance.allowed
    here = allowed is None or bool(allowed[np.array(counts) > 0, kind].all())
    free = int(instance.cards[kind]) - whole
    return (
        here and free >= 0 and on_some_cards([int(n) for n in each if n], free, instance.card_units)
    )


def server_kinds(instance: Packing) -> list[int]:
    """Class of every server of a fixed cluster."""
    return [c for c in range(instance.classes) for _ in range(int(instance.server_count[c]))]


def totals_possible(instance: Packing) -> set[tuple[int, ...]]:
    """Every vector of numbers of VMs by type that fixed servers can hold within the requests."""
    reached = {(0,) * instance.types}
    for kind in server_kinds(instance):
        reached = {
            tuple(a + b for a, b in zip(total, counts, strict=True))
            for total in reached
            for counts in fitting(instance, kind)
        }
    return {
        total
        for total in reached
        if all(n <= w for n, w in zip(total, instance.requested, strict=True))
    }


def most_cards(instance: Packing) -> Fraction:
    """The largest percent of all cards that a placement allocates."""
    units = [
        int(whole) * instance.card_units + int(share)
        for whole, share in zip(instance.card_demand, instance.card_share, strict=True)
    ]
    there = instance.card_units * int(np.asarray(instance.cards)[server_kinds(instance)].sum())
    most = max(
        sum(n * u for n, u in zip(total, units, strict=True)) for total in totals_possible(instance)
    )
    return Fraction(100 * most, max(there, 1))


def shares_of(instance: Packing, vms: Sequence[int]) -> list[Fraction]:
    """Dominant shares of the users with requests, in ascending order."""
    total = [int(n) for n in (instance.capacity * instance.server_count[:, None]).sum(axis=0)]
    unit = [
        max(Fraction(int(d), n) for d, n in zip(row, total, strict=True)) for row in instance.demand
    ]
    return sorted(vms[i] * unit[i] for i, n in enumerate(instance.requested) if n)


def leximin(instance: Packing) -> list[Fraction]:
    """Leximin dominant shares over all placements, in ascending order."""
    return max(shares_of(instance, vms) for vms in totals_possible(instance))


def random_requests(rng: np.random.Generator, classes: int = 1, vms: int = 7) -> Packing:
    """Small random packing instance whose requests are all required."""
    k = int(rng.integers(1, 4))
    s = int(rng.integers(1, 5))
    capacity = rng.integers(6, 14, (classes, k))
    demand = rng.integers(0, 7, (s, k))
    demand[:, 0] = np.maximum(demand[:, 0], 1)
    request = 1 + rng.multinomial(max(vms - s, 0), np.full(s, 1 / s))
    servers = np.where(rng.random(classes) < 0.5, np.inf, rng.integers(1, 5, classes).astype(float))
    return Packing(
        capacity=capacity,
        demand=demand,
        request=request.astype(float),
        servers=servers,
        cost=rng.integers(1, 5, classes),
    )


def random_cluster(rng: np.random.Generator, capped: bool = False, most: int = 3) -> Packing:
    """A small cluster of fixed servers with elastic requests, or caps."""
    k, s, p = (int(rng.integers(1, 4)) for _ in range(3))
    capacity = rng.integers(4, 11, (p, k))
    demand = rng.integers(0, 5, (s, k))
    demand[:, 0] = np.maximum(demand[:, 0], 1)
    demand = np.minimum(demand, capacity[0])
    request = (
        np.where(rng.random(s) < 0.5, np.inf, rng.integers(1, 4, s).astype(float))
        if capped
        else np.full(s, np.inf)
    )
    return Packing(
        capacity=capacity, demand=demand, request=request, partial=capped,
        servers=rng.integers(1, most, p).astype(float),
        initial=capacity + rng.integers(0, 4, (p, k)),
    )  # fmt: skip


def random_game(rng: np.random.Generator, capped: bool = False) -> Packing:
    """A small cluster with the symmetries that make ties: equal users, resources in proportion,
    powers of two.
    """
    k, s, p = int(rng.integers(1, 4)), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    capacity, demand = rng.integers(2, 9, (p, k)), rng.integers(0, 4, (s, k))
    kind = int(rng.integers(4))
    if kind == 1:
        capacity, demand = (
            np.repeat(rng.integers(2, 9, (p, 1)), k, axis=1),
            np.repeat(rng.integers(1, 4, (s, 1)), k, axis=1),
        )
    elif kind == 2:
        base = rng.integers(1, 3, (1, k))
        capacity, demand = base * rng.integers(1, 6, (p, 1)), base * rng.integers(1, 3, (s, 1))
    elif kind == 3:
        capacity, demand = (
            2 ** rng.integers(1, 4, (p, k)),
            2 ** rng.integers(0, 3, (s, k)) * (rng.random((s, k)) < 0.8),
        )
    demand[:, 0] = np.maximum(demand[:, 0], 1)
    request = (
        np.where(rng.random(s) < 0.6, rng.integers(1, 4, s).astype(float), np.inf)
        if capped
        else np.full(s, np.inf)
    )
    return Packing(
        capacity=capacity, demand=np.minimum(demand, capacity[0]), request=request, partial=capped,
        servers=rng.integers(1, 4, p).astype(float),
        initial=capacity + rng.integers(0, 4, (p, k)) * int(rng.integers(2)),
    )  # fmt: skip


Counts = tuple[int, ...]
Play = tuple[Counts, ...]


class ExactGame:
    """The game of Xu and Yu by full enumeration in 80-digit decimals, where what differs by less
    than 1e-55 is equal.
    """

    def __init__(
        self, instance: Packing, eta: int, alpha: float, overload: float | None = None
    ) -> None:
        self.alpha, self.users = Fraction(repr(alpha)), range(instance.types)
        self.free, self.start, self.size = (
            array.tolist()
            for array in (instance.capacity, instance.initial_capacity, instance.demand)
        )
        self.wanted = instance.requested.tolist()
        self.nothing = (0,) * instance.types
        resources = range(len(self.free[0]))
        self.kind = server_kinds(instance)
        self.total = [sum(self.free[c][j] for c in self.kind) for j in resources]
        psi = [[Fraction(row[j], max(self.total[j], 1)) for j in resources] for row in self.size]
        demand = [[part / max(row) for part in row] for row in psi]
        share = 1 / max(sum(column) for column in zip(*demand, strict=True))
        self.due = [[share * part for part in row] for row in demand]
        most = Fraction(10**9) if overload is None else Fraction(repr(overload))
        self.strategies: list[list[Counts]] = []
        least = []
        for c in range(instance.classes):
            rows = [
                row for row in fitting(instance, c) if any(row) and max(self._used(c, row)) <= most
            ] or [self.nothing]
            ranked = sorted((-min(self._used(c, row)), row) for row in rows)[:eta]
            self.strategies.append(sorted(row for _, row in ranked))
            least.append(-ranked[-1][0])
        self.order = sorted(range(len(self.kind)), key=lambda m: (least[self.kind[m]], m))
        self.leaves = int(np.prod([len(self.strategies[c]) for c in self.kind]))
        self.known: dict[object, Decimal] = {}

    def _used(self, c: int, counts: Counts) -> list[Fraction]:
        load = [
            sum(n * row[j] for n, row in zip(counts, self.size, strict=True))
            for j in range(len(self.free[c]))
        ]
        rows = zip(self.free[c], self.start[c], load, strict=True)
        return [Fraction(start - free + more, start) for free, start, more in rows if start > 0]

    def variance(self, counts: Counts) -> Decimal:
        if counts not in self.known:
            inside = Decimal(0)
            for i, n in enumerate(counts):
                for j, total in enumerate(self.total):
                    if total > 0:
                        inside += _power(
                            abs(Fraction(n * self.size[i][j], total) - self.due[i][j]),
                            self.alpha - 1,
                        )
            self.known[counts] = _power(inside, 1 / self.alpha)
        return self.known[counts]

    def skewness(self, place: int, counts: Counts) -> Decimal:
        key = (self.kind[self.order[place]], counts)
        if key not in self.known:
            used = self._used(*key)
            mean = sum(used, Fraction(0)) / len(used)
            self.known[key] = _power(
                sum(((u / mean - 1) ** 2 for u in used if mean), Fraction(0)), Fraction(1, 2)
            )
        return self.known[key]

    def disutility(self, counts: Counts, place: int, own: Counts) -> Decimal:
        return self.variance(counts) + self.skewness(place, own)

    def moves(self, place: int, counts: Counts) -> list[Counts]:
        rows = self.strategies[self.kind[self.order[place]]]
        return [
            row
            for row in rows
            if all(n <= w for n, w in zip(_sum(counts, row), self.wanted, strict=True))
        ] or [self.nothing]

    def equilibrium(self, made: Play = ()) -> Play:
        """Play of the game tree by backward induction; ties go to the lexicographically smallest
        move.
        """
        place = len(made)
        if place == len(self.order):
            return made
        ends = [
            self.equilibrium((*made, row)) for row in self.moves(place, _sum(self.nothing, *made))
        ]
        return ends[_first_least([self.disutility(_sum(*end), place, end[place]) for end in ends])]

    def algorithm_1(self) -> list[Counts]:
        last, chosen = len(self.order) - 1, [self.nothing] * len(self.order)
        if last == 0:
            return [self._reply(0, self.nothing)]
        pairs = [(row, self._reply(last, row)) for row in self.moves(last - 1, self.nothing)]
        chosen[last - 1 :] = pairs[
            _first_least([self.disutility(_sum(*pair), last - 1, pair[0]) for pair in pairs])
        ]
        for index in range(last - 2, -1, -1):
            chosen[index] = self._reply(index, _sum(*chosen))
        return chosen

    def _reply(self, place: int, counts: Counts) -> Counts:
        moves = self.moves(place, counts)
        return moves[
            _first_least([self.disutility(_sum(counts, row), place, row) for row in moves])
        ]

    def joint(self) -> tuple[Decimal, Play]:
        """Least total disutility of all plays, and the first play that attains it."""
        plays = list(self.plays())
        totals = [
            sum((self.disutility(_sum(*made), p, row) for p, row in enumerate(made)), Decimal(0))
            for made in plays
        ]
        best = _first_least(totals)
        return totals[best], plays[best]

    def plays(self, made: Play = ()) -> Iterator[Play]:
        if len(made) == len(self.order):
            yield made
            return
        for row in self.moves(len(made), _sum(self.nothing, *made)):
            yield from self.plays((*made, row))


def _sum(*rows: Counts) -> Counts:
    return tuple(map(sum, zip(*rows, strict=True)))


def _first_least(values: list[Decimal]) -> int:
    best = 0
    for index, value in enumerate(values):
        if value < values[best] - Decimal("1e-55"):
            best = index
    return best


def _power(number: Decimal | Fraction, exponent: Fraction) -> Decimal:
    value = (
        number if isinstance(number, Decimal) else Decimal(number.numerator) / number.denominator
    )
    if value == 0:
        return value
    return (
        value.sqrt()
        if exponent == Fraction(1, 2)
        else (value.ln() * exponent.numerator / exponent.denominator).exp()
    )


def on_some_cards(shares: Sequence[int], cards: int, units: int) -> bool:
    """Whether shares fit on cards, by trying every card for each share."""
    return any(
        all(
            sum(size for size, card in zip(shares, chosen, strict=True) if card == each) <= units
            for each in range(cards)
        )
        for chosen in itertools.product(range(cards), repeat=len(shares))
    )


def random_cards(rng: np.random.Generator, *, partial: bool = True) -> Packing:
    """A small cluster whose servers have cards, and VMs that take whole ones or parts of one."""
    p, s, units = int(rng.integers(1, 3)), int(rng.integers(1, 5)), int(rng.integers(2, 13))
    cards = rng.integers(0, 4, p)
    cards[0] = max(int(cards[0]), 1)
    kind = rng.integers(0, 3, s)  # whole cards, a share, neither
    whole = np.where(kind == 0, rng.integers(1, cards[0] + 1, s), 0)
    share = np.where(kind == 1, rng.integers(1, units, s), 0)
    allowed = rng.random((s, p)) < 0.8
    allowed[:, 0] = True
    return Packing(
        capacity=rng.integers(4, 11, (p, 2)), demand=rng.integers(1, 4, (s, 2)),
        request=rng.integers(1, 5, s).astype(float), partial=partial,
        servers=rng.integers(1, 3, p).astype(float), cost=rng.integers(1, 4, p),
        cards=cards, card_units=units, card_demand=whole, card_share=share,
        allowed=allowed if rng.random() < 0.5 else None,
    )  # fmt: skip


def fewest_for_rates(instance: Packing, costs: bool = False) -> int | None:
    """Minimum number, or cost, of servers that give all services their rates and hold all requests,
    by enumeration of fillings; None if infeasible.
    """
    asked = [service.rate for service in instance.services]
    gives = np.zeros((instance.types, len(asked) + instance.types), dtype=np.int64)
    for g, service in enumerate(instance.services):
        gives[list(service.types), g] = service.rates
    for i, number in enumerate(instance.requested):
        if np.isfinite(number):
            gives[i, len(asked) + i] = 1
    wanted = [int(n) if np.isfinite(n) else 0 for n in instance.requested]
    price = instance.server_cost.tolist() if costs else [1] * instance.classes
    added = []
    for c in range(instance.classes):
        rows = {tuple((np.array(row) @ gives).tolist()) for row in fitting(instance, c)}
        added.append(
            [
                row
                for row in rows
                if any(row) and not any(row != m and np.greater_equal(m, row).all() for m in rows)
            ]
        )
    start = tuple(99 if np.isinf(n) else int(n) for n in instance.server_count)

    @cache
    def least(left: tuple[int, ...], servers: tuple[int, ...], first: int) -> float:
        if not any(left):
            return 0
        options = [np.inf]
        for c in range(first, len(added)):
            if servers[c]:
                rest = tuple(n - (k == c) for k, n in enumerate(servers))
                after = {
                    tuple(max(0, n - m) for n, m in zip(left, row, strict=True)) for row in added[c]
                }
                options += [price[c] + least(each, rest, c) for each in after if each != left]
        return min(options)

    found = least((*asked, *wanted), start, 0)
    return None if np.isinf(found) else int(found)


def random_services(rng: np.random.Generator) -> Packing:
    """A small instance of one to three services, at times with requests, costs and few servers."""
    while True:
        classes, k = int(rng.integers(1, 3)), int(rng.integers(1, 3))
        capacity = rng.integers(2, 7, (classes, k))
        services, demand = [], list[list[int]]()
        for _ in range(int(rng.integers(1, 4))):
            own = int(rng.integers(1, 4))
            types = list(range(len(demand), len(demand) + own))
            demand += rng.integers(0, 6, (own, k)).tolist()
            rates = rng.integers(1, 12, own).tolist()
            services.append({"types": types, "rates": rates, "rate": int(rng.integers(1, 20))})
        request = [np.inf] * len(demand)
        if rng.random() < 0.4:
            demand.append(rng.integers(1, 4, k).tolist())
            request.append(float(rng.integers(1, 3)))
        servers = [
            float(rng.integers(1, 5)) if rng.random() < 0.4 else np.inf for _ in range(classes)
        ]
        with suppress(InvalidInstance):  # a VM that fits nowhere, or takes nothing
            return Packing(
                capacity=capacity, demand=np.array(demand), request=request, servers=servers,  # type: ignore[arg-type]
                cost=rng.integers(1, 5, classes), services=services, name="services",  # type: ignore[arg-type]
            )  # fmt: skip
