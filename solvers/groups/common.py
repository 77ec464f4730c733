"""What the exact methods on groups share: prices that prove a bound, and groups picked greedily."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...instances.groups.instance import UNIT, Grouping, Groups, Integers, check
from ...instances.groups.penalties import pressures
from ...instances.problem.errors import InfeasibleSolution
from ...models.groups.columns import Columns


def reduced_costs(columns: Columns, price: Integers) -> Integers:
    """(N,) what each group costs more than its members' prices, whole units."""
    paid = np.append(price, 0)[columns.members].sum(axis=1)
    found: Integers = columns.cost - paid
    return found


def price_bound(instance: Groups, columns: Columns, price: Integers) -> int:
    """What all jobs lose together at least, in units, proved by whole prices (T,) of jobs, of any
    sign.

    A machine of class c whose group S costs cost_c(S) = price(S) + rest has rest >= r_c, the least
    of all groups on c; so at most machines[c] machines add at least min(0, r_c) each:

        sum over a of price[a] count[a] + sum over c of machines[c] min(0, r_c).
    """
    rest = reduced_costs(columns, price)
    least = np.zeros(len(columns.limits), dtype=np.int64)
    np.minimum.at(least, columns.where, rest)
    paid = sum(a * b for a, b in zip(price.tolist(), instance.count.tolist(), strict=True))
    return paid + sum(
        a * b for a, b in zip(least.tolist(), columns.limits.tolist(), strict=True)
    )


def mean_of(instance: Groups, total: int) -> float:
    """A sum of losses in units as the mean over jobs, never above it."""
    exact = Fraction(total, UNIT * instance.jobs)
    found = float(exact)
    return found if Fraction(found) <= exact else float(np.nextafter(found, -np.inf))


def greedy_number(instance: Groups, columns: Columns) -> Integers | None:
    """(N,) machines of each group, the cheapest for each job first as often as jobs and machines
    last; None where that leaves jobs without a place.
    """
    size = (columns.members >= 0).sum(axis=1)
    empty = instance.seats[columns.where] - size
    each = columns.cost / size
    left, machines, spare = instance.count.copy(), columns.limits.copy(), instance.spare
    number: Integers = np.zeros(len(columns), dtype=np.int64)
    open_ = np.arange(len(columns))
    while len(open_):
        at = int(open_[np.argmin(each[open_])])
        kinds, times = np.unique(columns.members[at][: size[at]], return_counts=True)
        place = columns.where[at]
        many = min(int((left[kinds] // times).min()), int(machines[place]))
        if empty[at]:
            many = min(many, spare // int(empty[at]))
        number[at] += many
        left[kinds] -= many * times
        machines[place] -= many
        spare -= many * int(empty[at])
        if not left.any():
            return number
        part = columns.some(open_)
        room = (part.most_of(left) > 0) & (machines[part.where] > 0) & (empty[open_] <= spare)
        room[open_ == at] = False
        open_ = open_[room]
    return None


def dealt(instance: Groups, snake: bool = True) -> Grouping | None:
    """Jobs by falling pressure dealt to machines, there and back again (`snake`), or machine after
    machine; None where that is not feasible.
    """
    load = pressures(instance)
    order = np.argsort(-load, kind="stable")
    jobs = np.repeat(order, instance.count[order])
    # classes of most seats first, and as few machines as do
    places = np.argsort(-instance.seats, kind="stable")
    place = np.repeat(places, instance.limits[places])
    upto = int(np.searchsorted(np.cumsum(instance.seats[place]), instance.jobs)) + 1
    place = place[:upto]
    seats = instance.seats[place]
    members = np.full((upto, int(seats.max())), -1)
    if snake:
        begin = 0
        for layer in range(members.shape[1]):
            here = np.flatnonzero(seats > layer)[:: -1 if layer % 2 else 1]
            here = here[: max(0, len(jobs) - begin)]
            members[here, layer] = jobs[begin : begin + len(here)]
            begin += len(here)
    else:
        rows = np.repeat(np.arange(upto), seats)[: len(jobs)]
        columns = np.arange(len(rows)) - np.concatenate([[0], np.cumsum(seats)[:-1]])[rows]
        members[rows, columns] = jobs
    found = Grouping(members, place, np.ones(upto, dtype=np.int64))
    try:
        check(instance, found)
    except InfeasibleSolution:
        return None
    return found
