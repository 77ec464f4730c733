"""Small instances of groups by chance, and what every grouping costs, written apart from the
package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from cotenant.instances.groups import Groups
from cotenant.instances.groups.generators import additive, pressure, table

Group = tuple[int, ...]


def drawn(seed: int) -> Groups:
    """Some jobs of few types on machines of one or two classes, by each model in turn; some groups
    are forbidden, so that there may be no answer.
    """
    rng = np.random.default_rng(seed)
    types, seats, jobs = (
        int(n) for n in (rng.integers(1, 4), rng.integers(2, 4), rng.integers(2, 8))
    )
    numbers: dict[str, Any] = {"types": types, "jobs": jobs, "seats": seats, "rng": rng}
    if seed % 3 == 2:
        document = table(**numbers)
        assert document.members is not None
        assert document.losses is not None
        chosen = rng.random(len(document.members)) < 0.7
        chosen[0] = True
        return document.replace(
            members=document.members[chosen],
            losses=document.losses[chosen],
            where=np.full(chosen.sum(), -1),
        )
    spare = int(rng.integers(0, 2)) if seats * -(-jobs // seats) == jobs else 0
    document = (additive if seed % 3 == 0 else pressure)(
        **numbers, machines=float(-(-jobs // seats) + spare)
    )
    if seed % 3 == 0:
        assert document.penalty is not None
        open_ = np.where(rng.random((types, types)) < 0.1, np.inf, document.penalty.round(2))
        document = document.replace(penalty=open_)
    if seed % 2:
        data = document.penalty if document.penalty is not None else document.sensitivity
        assert data is not None
        second = np.minimum(1, np.where(np.isfinite(data), data / 2, data)).round(2)
        name = "penalty" if document.penalty is not None else "sensitivity"
        document = document.replace(
            seats=[seats, 2], machines=[max(1, -(-jobs // seats) - 1), np.inf],
            classes=("big", "small"), **{name: np.stack([data, second])},
        )  # fmt: skip
    return document


def cost(document: dict[str, Any], place: int, group: Group) -> Fraction | None:
    """What the jobs of a group lose together, on the decimals of the document; None if it is
    forbidden.
    """

    def of_class(name: str) -> Any:
        return document[name][place] if isinstance(document[name][0][0], list) else document[name]

    if "table" in document:
        for own in (place, -1):
            for entry in document["table"]:
                if tuple(sorted(entry["members"])) == group and entry.get("class", -1) == own:
                    return sum((Fraction(str(x)) for x in entry["penalty"]), Fraction(0))
        return Fraction(0) if len(group) == 1 else None
    total = Fraction(0)
    for k, a in enumerate(group if len(group) > 1 else ()):
        others = group[:k] + group[k + 1 :]
        if "penalty" in document:
            entries = [of_class("penalty")[a][b] for b in others]
            if None in entries:
                return None
            total += min(Fraction(1), sum((Fraction(str(x)) for x in entries), Fraction(0)))
            continue
        knots = [Fraction(str(x)) for x in document["knots"]]
        curve = [Fraction(str(x)) for x in of_class("sensitivity")[a]]
        at = sum((Fraction(str(document["pressure"][b])) for b in others), Fraction(0))
        at = min(max(at, knots[0]), knots[-1])
        k = max(k for k, knot in enumerate(knots) if knot <= at)
        rest = (at - knots[k]) / (knots[k + 1] - knots[k]) if at > knots[k] else Fraction(0)
        total += curve[k] + (rest and (curve[k + 1] - curve[k]) * rest)
    return total


def every_cost(document: dict[str, Any]) -> Iterator[Fraction]:
    """The mean penalty of every grouping: jobs are put on machines one type after the other."""
    jobs = [a for a, number in enumerate(document["count"]) for _ in range(number)]
    limits = [len(jobs) if n is None else int(float(n)) for n in document["machines"]]
    optima: dict[tuple[int, Group], Fraction | None] = {}

    def priced(place: int, group: Group) -> Fraction | None:
        if (place, group) not in optima:
            optima[place, group] = cost(document, place, group)
        return optima[place, group]

    def placed(k: int, filled: tuple[tuple[int, Group], ...]) -> Iterator[Fraction]:
        if k == len(jobs):
            parts = [priced(*one) for one in filled]
            parts_allowed = [part for part in parts if part is not None]
            if len(parts_allowed) == len(parts):
                yield sum(parts_allowed, Fraction(0)) / len(jobs)
            return
        used = Counter(place for place, _ in filled)
        tried = set()
        for place, seats in enumerate(document["seats"]):
            if used[place] < limits[place]:
                yield from placed(k + 1, (*filled, (place, (jobs[k],))))
            for at, (where, group) in enumerate(filled):
                if where == place and len(group) < seats and (where, group) not in tried:
                    tried.add((where, group))
                    longer = (where, (*group, jobs[k]))
                    yield from placed(k + 1, (*filled[:at], longer, *filled[at + 1 :]))

    return placed(0, ())
