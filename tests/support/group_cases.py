"""Small groups instances, and everything about them by enumeration: jobs one by one, losses as
fractions, partitions listed.

`wrongs` holds every method against it: tests/test_groups_*.py and `benchmarks/fuzz.py --family groups-core`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np

from cotenant.baselines import groups as policies
from cotenant.instances.groups import Grouping, Groups, blocking_groups, check
from cotenant.instances.groups.instance import UNIT
from cotenant.instances.groups.stability import least_alpha_of, swap_blocking_pairs, total_units
from cotenant.instances.problem.errors import InvalidInstance, NoSolution
from cotenant.instances.problem.options import accepted
from cotenant.solvers.groups.core import CoreLimits, core, least_alpha
from cotenant.solvers.groups.optimal import optimal

Group = tuple[int, tuple[int, ...]]
"""Class and types of one machine."""


class Counted:
    """Enumeration of the groupings of an instance, with their penalties and blocking groups.

    `loss(place, types)` is what each member of a group loses, None when it is forbidden.
    """

    def __init__(self, instance: Groups) -> None:
        self.instance = instance
        self.jobs = [t for t, number in enumerate(instance.count.tolist()) for _ in range(number)]
        self.loss = cache(self._loss)

    def _loss(self, place: int, types: tuple[int, ...]) -> tuple[Fraction, ...] | None:
        instance = self.instance
        if instance.model == "table":
            return self._tabled(place, types)
        if instance.model == "pressure" and len(types) == 1:
            return (Fraction(0),)
        found = []
        for at, kind in enumerate(types):
            others = types[:at] + types[at + 1 :]
            curve = instance.curves(place)[kind].tolist()
            if instance.model == "additive":
                terms = [curve[other] for other in others]
                if np.inf in terms:
                    return None
                found.append(min(Fraction(1), sum((_fraction(t) for t in terms), Fraction(0))))
            else:
                assert instance.pressure is not None
                assert instance.knots is not None
                load = sum((_fraction(instance.pressure[o]) for o in others), Fraction(0))
                found.append(_interpolated([_fraction(k) for k in instance.knots.tolist()],
                                           [_fraction(c) for c in curve], load))  # fmt: skip
        return tuple(found)

    def _tabled(self, place: int, types: tuple[int, ...]) -> tuple[Fraction, ...] | None:
        instance = self.instance
        found = None
        for wanted in (-1, place):
            for row, lost, where in zip(
                instance.members.tolist(), instance.losses.tolist(), instance.where.tolist(),
                strict=True,
            ):  # fmt: skip
                used = sum(t >= 0 for t in row)
                if where == wanted and tuple(row[:used]) == types:
                    found = tuple(_fraction(p) for p in lost[:used])
        return (Fraction(0),) if found is None and len(types) == 1 else found

    def groupings(self) -> set[tuple[Group, ...]]:
        """Every feasible grouping as a sorted tuple of groups."""
        instance = self.instance
        limits = [min(int(min(m, len(self.jobs))), len(self.jobs)) for m in instance.machines]
        found: set[tuple[Group, ...]] = set()

        def place(left: Counter[int], machines: list[int], made: tuple[Group, ...]) -> None:
            if not +left:
                found.add(tuple(sorted(made)))
                return
            first = min(+left)
            rest = sorted((left - Counter([first])).elements())
            for where, seats in enumerate(instance.seats.tolist()):
                if not machines[where]:
                    continue
                for size in range(min(seats, len(rest) + 1)):
                    for others in set(itertools.combinations(rest, size)):
                        types = tuple(sorted((first, *others)))
                        if self.loss(where, types) is None:
                            continue
                        fewer = [m - (c == where) for c, m in enumerate(machines)]
                        place(left - Counter(types), fewer, (*made, (where, types)))

        place(Counter(self.jobs), limits, ())
        return found

    def lost(self, group: Group) -> tuple[Fraction, ...]:
        """Penalty of each member of an allowed group."""
        found = self.loss(*group)
        assert found is not None
        return found

    def total(self, made: tuple[Group, ...]) -> Fraction:
        """Total penalty of all jobs in a grouping."""
        return sum((lost for group in made for lost in self.lost(group)), Fraction(0))

    def gains(self, made: tuple[Group, ...]) -> Iterator[Fraction]:
        """Least gain of a member, for each set of jobs that could form a group."""
        instance = self.instance
        alike = instance.alike.tolist()
        for index, seats in enumerate(instance.seats.tolist()):
            if alike[index] != index:
                continue
            here = [
                (kind, lost)
                for where, types in made if alike[where] == index and len(types) > 1
                for kind, lost in zip(types, self.loss(where, types), strict=True)
            ]  # fmt: skip
            for jobs in itertools.combinations(sorted(here), seats):
                there = self.loss(index, tuple(kind for kind, _ in jobs))
                if there is not None:
                    yield min(now - then for (_, now), then in zip(jobs, there, strict=True))

    def blocking(self, made: tuple[Group, ...], alpha: float) -> int:
        """Sets of jobs that would all gain more than alpha."""
        least = _fraction(alpha)
        return sum(gain > least for gain in self.gains(made))

    def least_alpha(self, made: tuple[Group, ...]) -> Fraction:
        """Least alpha at which no group blocks a grouping."""
        return max([Fraction(0), *self.gains(made)])

    def swaps(self, made: tuple[Group, ...], alpha: float) -> int:
        """Pairs of jobs on two machines that would both gain more than alpha in each other's
        seat.
        """
        found = 0
        for one, other in itertools.combinations(made, 2):
            for a, b in itertools.product(range(len(one[1])), range(len(other[1]))):
                gains = (self._moved(one, a, other, b), self._moved(other, b, one, a))
                found += min(gains) > _fraction(alpha)
        return found

    def _moved(self, one: Group, a: int, other: Group, b: int) -> Fraction:
        """Gain of a job that takes the seat of another; negative if forbidden."""
        kind = one[1][a]
        types = tuple(sorted((*other[1][:b], *other[1][b + 1 :], kind)))
        there = self.loss(other[0], types)
        if there is None or kind == other[1][b]:
            return Fraction(-1)
        return self.lost(one)[a] - there[types.index(kind)]


def machines_of(grouping: Grouping) -> tuple[Group, ...]:
    """Grouping as a sorted tuple of groups."""
    return tuple(
        sorted(
            (where, tuple(t for t in row if t >= 0))
            for row, where, number in zip(
                grouping.members.tolist(), grouping.where.tolist(), grouping.number.tolist(),
                strict=True,
            )
            for _ in range(number)
        )
    )  # fmt: skip


def small(rng: np.random.Generator) -> Groups:
    """Random groups instance of at most nine jobs, by any model, with one or two classes."""
    types, jobs = int(rng.integers(1, 6)), int(rng.integers(2, 10))
    count = np.bincount(rng.integers(types, size=jobs), minlength=types)
    model = rng.choice(["additive", "pressure", "table"], p=[0.5, 0.35, 0.15])
    if rng.random() < 0.7:
        seats = [int(rng.integers(2, 5))]
        least = -(-jobs // seats[0])
        machines = [float(least + rng.integers(0, 3) * (rng.random() < 0.4))]
        if rng.random() < 0.1:
            machines = [np.inf]
    else:
        seats = rng.integers(1, 4, size=2).tolist()
        first = int(rng.integers(0, jobs // seats[0] + 1))
        second = max(0, -(-(jobs - first * seats[0]) // seats[1]))
        machines = [float(first), float(second + (rng.random() < 0.3))]
        if rng.random() < 0.1:
            machines[1] = np.inf
    classes = len(seats)
    shape = (classes, types) if classes > 1 and rng.random() < 0.5 else (types,)
    coarse = int(rng.choice([10, 100, 1000]))
    given = {"count": count, "seats": seats, "machines": machines}
    if model == "pressure":
        knots = np.arange(int(rng.integers(1, 5)), dtype=float) * 2
        curves = np.cumsum(rng.integers(0, coarse // 4 + 1, size=(*shape, len(knots))), axis=-1)
        return Groups(
            **given, pressure=rng.integers(0, 9, size=types) / 4, knots=knots,
            sensitivity=np.round(np.minimum(curves / coarse, 1), 3),
        )  # fmt: skip
    penalty = rng.integers(-coarse // 20, coarse // 2, size=(*shape, types)) / coarse
    if model == "additive":
        if rng.random() < 0.25:
            penalty[rng.random(penalty.shape) < 0.1] = np.inf
        return Groups(**given, penalty=penalty)
    rows, lost, where = [], [], []
    width = max(seats)
    for size in range(2, width + 1):
        for types_of in itertools.combinations_with_replacement(range(types), size):
            if rng.random() < 0.85:
                each = rng.integers(0, coarse, size=types) / coarse
                rows.append([*types_of, *[-1] * (width - size)])
                lost.append([*(each[t] for t in types_of), *[0.0] * (width - size)])
                where.append(int(rng.integers(-1, classes)) if rng.random() < 0.3 else -1)
    if not rows:
        return Groups(**given, penalty=penalty)
    return Groups(**given, members=rows, losses=lost, where=where)


def wrongs(seed: int, limits: CoreLimits | None = None) -> Iterator[str]:
    """Differences between the group methods and enumeration on a random small instance."""
    rng = np.random.default_rng(seed)
    try:
        instance = small(rng)
    except InvalidInstance:  # too few seats
        return
    counted = Counted(instance)
    every = {made: counted.least_alpha(made) for made in sorted(counted.groupings())}
    alpha = float(rng.choice([0, 0, 0.01, 0.05, 0.1]))
    if not every:
        for method in (optimal, core, least_alpha):
            if method(instance).status != "infeasible":
                yield f"{method.__name__}: an answer where there is none"
        return
    yield from _counts(instance, counted, list(every)[int(rng.integers(len(every)))], alpha)
    yield from _exact(instance, counted, every, alpha, limits)
    for name in policies.__all__:
        try:
            policy = getattr(policies, name)
            drawn = accepted(policy, {"rng": np.random.default_rng(seed)})
            check(instance, policy(instance, **drawn))
        except NoSolution as error:
            yield f"{name}: {error}"


def _counts(
    instance: Groups, counted: Counted, made: tuple[Group, ...], alpha: float
) -> Iterator[str]:
    """Differences between the package's metrics of a grouping and those by enumeration."""
    width = max(len(types) for _, types in made)
    rows = [[*types, *[-1] * (width - len(types))] for _, types in made]
    grouping = Grouping(rows, [place for place, _ in made], [1] * len(made))
    check(instance, grouping)
    for what, found, wanted in (
        ("total", Fraction(total_units(instance, grouping), UNIT), counted.total(made)),
        ("blocking", blocking_groups(instance, grouping, alpha).count,
         counted.blocking(made, alpha)),
        ("swaps", swap_blocking_pairs(instance, grouping, alpha), counted.swaps(made, alpha)),
        ("alpha", Fraction(least_alpha_of(instance, grouping), UNIT), counted.least_alpha(made)),
    ):  # fmt: skip
        if found != wanted:
            yield f"{what}: {found}, counted {wanted}"


def _exact(
    instance: Groups,
    counted: Counted,
    every: dict[tuple[Group, ...], Fraction],
    alpha: float,
    limits: CoreLimits | None,
) -> Iterator[str]:
    """Differences between the levels of the exact group methods and enumeration."""
    least = min(every.values())
    stable = [made for made, enough in every.items() if enough <= _fraction(alpha)]
    at_least = [made for made, enough in every.items() if enough == least]
    for name, outcome, among in (
        ("optimal", optimal(instance, limits=limits and limits.relaxation), list(every)),
        ("core", core(instance, alpha=alpha, limits=limits), stable),
        ("least alpha", least_alpha(instance, limits=limits), at_least),
    ):
        made, facts = machines_of(outcome.solution), outcome.certificate
        if made not in every:
            yield f"{name}: not a grouping"
            continue
        if name == "core" and not stable:
            number = counted.blocking(made, alpha)
            if outcome.bound != 1 or (outcome.status == "optimal") != (number == 1):
                yield f"core: {outcome.status} {outcome.bound} where it is empty"
            if facts["levels"][0]["value"] != number:
                yield f"core: {facts['levels'][0]['value']} groups block, counted {number}"
            proved = facts.get("least_alpha", {}), facts.get("confirmed")
            if proved != ({"value": float(least), "bound": float(least)}, True):
                yield f"core: least alpha {proved}, enumerated {float(least)}"
            continue
        value = {"optimal": counted.total(made) / instance.jobs, "core": Fraction(0)}
        first = value.get(name, every[made])
        if outcome.status != "optimal" or abs(float(first) - outcome.bound) > 1e-9:
            yield f"{name}: {outcome.status}, value {float(first)}, bound {outcome.bound}"
        if made not in among or counted.total(made) != min(map(counted.total, among)):
            yield f"{name}: not the least penalty"
        if name != "optimal" and facts["levels"][1]["status"] != "optimal":
            yield f"{name}: the least penalty is not proved"


def _fraction(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def _interpolated(knots: list[Fraction], curve: list[Fraction], load: Fraction) -> Fraction:
    if load <= knots[0]:
        return curve[0]
    for left, right, low, high in zip(knots, knots[1:], curve, curve[1:], strict=False):
        if load <= right:
            return low + (high - low) * (load - left) / (right - left)
    return curve[-1]
