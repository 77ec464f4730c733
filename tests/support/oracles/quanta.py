"""Slices over time by definition: every set of users, and Karma slice by slice."""

from __future__ import annotations

import itertools
from fractions import Fraction

from cotenant.instances.quanta import Quanta


def most(instance: Quanta, users: tuple[int, ...]) -> int:
    """Maximum number of slices that a set of users can receive together."""
    columns = instance.demand[list(users)].sum(axis=0).tolist()
    return sum(min(instance.capacity, wanted) for wanted in columns)


def fairest_totals(instance: Quanta) -> dict[int, Fraction]:
    """Total slices of each user in the leximin division: repeatedly the largest set of users with
    the least mean of what it can have beyond earlier sets gets that mean.
    """
    users = [i for i, row in enumerate(instance.demand.tolist()) if any(row)]
    totals: dict[int, Fraction] = {}
    while len(totals) < len(users):
        before = tuple(totals)
        rest = [i for i in users if i not in totals]
        sets = [s for k in range(1, len(rest) + 1) for s in itertools.combinations(rest, k)]
        base = most(instance, before) if before else 0
        means = {s: Fraction(most(instance, (*before, *s)) - base, len(s)) for s in sets}
        least = min(means.values())
        found = max((s for s in sets if means[s] == least), key=len)
        totals |= dict.fromkeys(found, least)
    return totals


def karma(
    instance: Quanta, guaranteed: int, credits: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Algorithm 1 of Karma as printed, a slice at a time; the slices, and the credits afterwards,
    of each quantum. Ties go to the first user.
    """
    users = range(len(instance.demand))
    owned, given, history = [credits] * len(users), [], []
    for column in instance.demand.T.tolist():
        shared = len(instance.demand) * (instance.share - guaranteed)
        owned = [credit + instance.share - guaranteed for credit in owned]
        got = [min(guaranteed, wanted) for wanted in column]
        donated = [guaranteed - slices for slices in got]
        while True:
            borrowers = [i for i in users if got[i] < column[i] and owned[i] > 0]
            donors = [i for i in users if donated[i]]
            if not borrowers or not (donors or shared):
                break
            borrower = max(borrowers, key=lambda i: (owned[i], -i))
            if donors:
                donor = min(donors, key=lambda i: (owned[i], i))
                owned[donor] += 1
                donated[donor] -= 1
            else:
                shared -= 1
            got[borrower] += 1
            owned[borrower] -= 1
        given.append(got)
        history.append(owned)
    return [list(row) for row in zip(*given, strict=True)], history
