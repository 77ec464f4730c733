"""Shared parts of the exact methods of groups: dual prices that prove a bound, and feasible
groupings to begin with.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.groups.conversion import scale
from ...instances.groups.instance import FORBIDDEN, UNIT, Grouping, Groups, Integers, ascending
from ...instances.groups.penalties import pressures, units
from ...instances.groups.stability import total_units
from ...instances.problem.base import Solution
from ...instances.problem.errors import NoSolution
from ...instances.problem.registry import feasible
from ...models.groups.columns import Columns, columns_of
from ..engines import solve_program
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Status, Stop

NOISE = 1e-9
"""What is taken off an engine's bound, relative to it and the largest cost."""


class TotalLoss(Incumbent[Grouping, int]):
    """Search state for the least total loss of all jobs, in integer units: incumbent and bound; its
    outcome has means over jobs.
    """

    best: Grouping

    def __init__(
        self, instance: Groups, begin: Grouping, clock: Clock, bound: int | None = None
    ) -> None:
        super().__init__(
            instance, clock, partial(total_units, instance), bound=bound,
            scale=int(scale(instance, "penalty") * UNIT * instance.jobs),
            shown=partial(mean_of, instance),
        )  # fmt: skip
        self.instance = instance
        self.begin(begin)


def reduced_costs(columns: Columns, price: Integers) -> Integers:
    """Reduced cost of each group (N,) in integer units: its cost minus its members' prices."""
    paid = np.append(price, 0)[columns.members].sum(axis=1)
    found: Integers = columns.cost - paid
    return found


def price_bound(instance: Groups, columns: Columns, price: Integers) -> int:
    """Lower bound on the total loss in units, proved by any integer prices (T,) of jobs.

    A machine of class c whose group S costs cost_c(S) = price(S) + rest has rest >= r_c, the least
    of all groups on c; so at most machines[c] machines add at least min(0, r_c) each:

        sum over a of price[a] count[a] + sum over c of machines[c] min(0, r_c),

    rounded up to a multiple of what divides every cost.
    """
    rest = reduced_costs(columns, price)
    paid = sum(a * b for a, b in zip(price.tolist(), instance.count.tolist(), strict=True))
    least = least_rests(columns, rest).tolist()
    total: int = paid + sum(a * b for a, b in zip(least, columns.limits.tolist(), strict=True))
    return -(-total // columns.step) * columns.step


def engine_units(columns: Columns, bound: float) -> int:
    """Bound in units that an engine's bound on the total loss proves, reduced by its tolerances and
    rounded up to a common divisor of the costs.
    """
    least = int(np.ceil((bound - NOISE * (columns.largest + abs(bound))) * UNIT))
    return -(-least // columns.step) * columns.step


def least_rests(columns: Columns, rest: Integers) -> Integers:
    """Least reduced cost of a group in each class of machines, at most 0, shape (C,)."""
    least = np.zeros(len(columns.limits), dtype=np.int64)
    np.minimum.at(least, columns.where, rest)
    return least


def mean_of(instance: Groups, total: int) -> float:
    """Mean over jobs of a total loss in units, rounded down."""
    exact = Fraction(total, UNIT * instance.jobs)
    found = float(exact)
    return found if Fraction(found) <= exact else float(np.nextafter(found, -np.inf))


def prices_told(instance: Groups, price: Integers, total: int) -> dict[str, Any]:
    """Integer prices (T,) and their bound for a certificate: decimals of 12 places for a job of
    each type, and the mean over jobs.
    """
    return {"prices": (price / UNIT).tolist(), "price_bound": mean_of(instance, total)}


def whole_prices(prices: Iterable[float]) -> list[int]:
    """Integer prices in units of 1e-12 from the decimals of a certificate."""
    return [round(float(price) * UNIT) for price in prices]


def greedy_number(instance: Groups, columns: Columns) -> Integers | None:
    """Number of machines of each group (N,), filled greedily by least cost per job. None if jobs
    are left without a place.
    """
    size = (columns.members >= 0).sum(axis=1)
    empty = instance.seats[columns.where] - size
    cost_per_job = columns.cost / size
    left, machines, spare = instance.count.copy(), columns.limits.copy(), instance.spare
    number: Integers = np.zeros(len(columns), dtype=np.int64)
    open_ = np.arange(len(columns))
    while len(open_):
        cheapest = int(open_[np.argmin(cost_per_job[open_])])
        kinds, times = np.unique(columns.members[cheapest][: size[cheapest]], return_counts=True)
        machine_class = columns.where[cheapest]
        filled = min(int((left[kinds] // times).min()), int(machines[machine_class]))
        if empty[cheapest]:
            filled = min(filled, spare // int(empty[cheapest]))
        number[cheapest] += filled
        left[kinds] -= filled * times
        machines[machine_class] -= filled
        spare -= filled * int(empty[cheapest])
        if not left.any():
            return number
        part = columns.some(open_)
        room = (part.most_of(left) > 0) & (machines[part.where] > 0) & (empty[open_] <= spare)
        room[open_ == cheapest] = False
        open_ = open_[room]
    return None


def forbidden(instance: Groups, members: Integers, where: Integers) -> npt.NDArray[np.bool_]:
    """Whether each group (N, S) is forbidden on its class of machines, in whatever seat order."""
    found = np.zeros(len(where), dtype=bool)
    for place in np.unique(where).tolist():
        here = np.flatnonzero(where == place)
        lost = units(instance, place, ascending(members[here]))
        found[here] = (lost >= FORBIDDEN).any(axis=1) & (members[here] >= 0).any(axis=1)
    return found


def machines_used(instance: Groups) -> tuple[Integers, Integers]:
    """Machine classes by decreasing seats, and the machines of each that the jobs fill."""
    places = np.argsort(-instance.seats, kind="stable")
    number, left = [], instance.jobs
    for place in places.tolist():
        number.append(min(int(instance.limits[place]), -(-left // int(instance.seats[place]))))
        left = max(0, left - number[-1] * int(instance.seats[place]))
    used = np.array(number) > 0
    return places[used], np.array(number)[used]


def dealt(instance: Groups, snake: bool = True) -> Grouping:
    """Jobs by decreasing pressure assigned to machines in serpentine order (`snake`) or machine
    after machine; groups may be forbidden.

    Along the machines each seat's type changes where the jobs of a type end: only as many machines
    are looked at as there are such places.
    """
    order = np.argsort(-pressures(instance), kind="stable")
    ends = np.cumsum(instance.count[order])
    places, number = machines_used(instance)
    seats, first = instance.seats[places], np.concatenate([[0], np.cumsum(number)])
    if snake:
        layers = [int(number[seats > layer].sum()) for layer in range(int(seats[0]))]
        begin = np.concatenate([[0], np.cumsum(layers)])
        cuts = [first]
        for layer, wide in enumerate(layers):
            inside = ends[(ends >= begin[layer]) & (ends <= begin[layer + 1])] - begin[layer]
            cuts.append(wide - inside if layer % 2 else inside)
    else:
        begin = np.concatenate([[0], np.cumsum(number * seats)])
        there = np.clip(ends[:, None] - begin[:-1], 0, number * seats) // seats + first[:-1]
        cuts = [first, there.reshape(-1), np.minimum(there + 1, first[1:]).reshape(-1)]
    machine = np.unique(np.concatenate(cuts))
    machine, many = machine[:-1], np.diff(machine)
    at = np.searchsorted(first, machine, side="right") - 1
    members = np.full((len(machine), int(seats[0])), -1)
    for seat in range(members.shape[1]):
        if snake:
            turned = layers[seat] - 1 - machine if seat % 2 else machine
            job = begin[seat] + np.where(machine < layers[seat], turned, instance.jobs)
        else:
            job = begin[at] + (machine - first[at]) * seats[at] + seat
            job[seat >= seats[at]] = instance.jobs
        here = job < instance.jobs
        members[here, seat] = order[np.searchsorted(ends, job[here], side="right")]
    return Grouping(members, places[at], many)


def starting_grouping(
    instance: Groups, columns: Columns | None, start: Solution | None, clock: Clock
) -> Grouping | Outcome:
    """First grouping of a search: `start` if it is a feasible grouping, else jobs dealt by
    pressure, else greedy groups, else an engine's answer. An outcome without solution if there is
    none.

    Parameters
    ----------
    columns : None where there is no time to list them.
    """
    for begin in (start, dealt(instance)):
        if isinstance(begin, Grouping) and feasible(instance, begin):
            return begin
    if columns is None:
        why = {"proof": "none: there is no time to list the kinds of groups"}
        return Outcome(None, None, Status.UNKNOWN, Stop.TIME_LIMIT, why)
    missing = np.setdiff1d(instance.present, columns.members)
    if len(missing):
        why = {"proof": f"no group that may be formed holds {instance.names[missing[0]]!r}"}
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, why)
    number = greedy_number(instance, columns)
    if number is not None:
        return columns.grouping(instance, number)
    answer = solve_program(columns.program(instance), time_limit=clock.time_slice())
    if answer.point is not None:
        made = columns.grouping(instance, np.rint(answer.point).astype(np.int64))
        if feasible(instance, made):
            return made
    if answer.status is Status.INFEASIBLE:
        why = {
            "proof": "integer program: the groups that may be formed do not place all jobs; allow "
            "more groups or give more machines"
        }
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, why)
    return Outcome(None, None, Status.UNKNOWN, answer.stop, {"engine": answer.message})


def repaired(instance: Groups, found: Grouping) -> Grouping:
    """A policy's grouping if feasible, else another feasible one.

    Raises
    ------
    NoSolution
        There is none, or none was found.
    """
    if feasible(instance, found):
        return found
    other = starting_grouping(instance, columns_of(instance), None, Clock())
    if isinstance(other, Grouping):
        return other
    raise NoSolution(
        "no grouping exists: too many groups are forbidden"
        if other.status is Status.INFEASIBLE
        else "no grouping was found among those that are not forbidden; try optimal"
    )
