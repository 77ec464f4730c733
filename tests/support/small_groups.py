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
        made = table(**numbers)
        assert made.members is not None
        assert made.losses is not None
        kept = rng.random(len(made.members)) < 0.7
        kept[0] = True
        return made.replace(
            members=made.members[kept], losses=made.losses[kept], where=np.full(kept.sum(), -1)
        )
    spare = int(rng.integers(0, 2)) if seats * -(-jobs // seats) == jobs else 0
    made = (additive if seed % 3 == 0 else pressure)(
        **numbers, machines=float(-(-jobs // seats) + spare)
    )
    if seed % 3 == 0:
        assert made.penalty is not None
        open_ = np.where(rng.random((types, types)) < 0.1, np.inf, made.penalty.round(2))
        made = made.replace(penalty=open_)
    if seed % 2:
        data = made.penalty if made.penalty is not None else made.sensitivity
        assert data is not None
        second = np.minimum(1, np.where(np.isfinite(data), data / 2, data)).round(2)
        name = "penalty" if made.penalty is not None else "sensitivity"
        made = made.replace(
            seats=[seats, 2], machines=[max(1, -(-jobs // seats) - 1), np.inf],
            classes=("big", "small"), **{name: np.stack([data, second])},
        )  # fmt: skip
    return made


def cost(made: dict[str, Any], place: int, group: Group) -> Fraction | None:
    """What the jobs of a group lose together, on the decimals of the document; None if it is
    forbidden.
    """

    def of_class(name: str) -> Any:
        return made[name][place] if isinstance(made[name][0][0], list) else made[name]

    if "table" in made:
        for own in (place, -1):
            for entry in made["table"]:
                if tuple(sorted(entry["members"])) == group and entry.get("class", -1) == own:
                    return sum((Fraction(str(x)) for x in entry["penalty"]), Fraction(0))
        return Fraction(0) if len(group) == 1 else None
    total = Fraction(0)
    for k, a in enumerate(group if len(group) > 1 else ()):
        others = group[:k] + group[k + 1 :]
        if "penalty" in made:
            entries = [of_class("penalty")[a][b] for b in others]
            if None in entries:
                return None
            total += min(Fraction(1), sum((Fraction(str(x)) for x in entries), Fraction(0)))
            continue
        knots = [Fraction(str(x)) for x in made["knots"]]
        curve = [Fraction(str(x)) for x in of_class("sensitivity")[a]]
        at = sum((Fraction(str(made["pressure"][b])) for b in others), Fraction(0))
        at = min(max(at, knots[0]), knots[-1])
        k = max(k for k, knot in enumerate(knots) if knot <= at)
        rest = (at - knots[k]) / (knots[k + 1] - knots[k]) if at > knots[k] else Fraction(0)
        total += curve[k] + (rest and (curve[k + 1] - curve[k]) * rest)
    return total


def every_cost(made: dict[str, Any]) -> Iterator[Fraction]:
    """The mean penalty of every grouping: jobs are put on machines one type after the other."""
    jobs = [a for a, number in enumerate(made["count"]) for _ in range(number)]
    limits = [len(jobs) if n is None else int(float(n)) for n in made["machines"]]
    known: dict[tuple[int, Group], Fraction | None] = {}

    def priced(place: int, group: Group) -> Fraction | None:
        if (place, group) not in known:
            known[place, group] = cost(made, place, group)
        return known[place, group]

    def placed(k: int, filled: tuple[tuple[int, Group], ...]) -> Iterator[Fraction]:
        if k == len(jobs):
            parts = [priced(*one) for one in filled]
            told = [part for part in parts if part is not None]
            if len(told) == len(parts):
                yield sum(told, Fraction(0)) / len(jobs)
            return
        used = Counter(place for place, _ in filled)
        tried = set()
        for place, seats in enumerate(made["seats"]):
            if used[place] < limits[place]:
                yield from placed(k + 1, (*filled, (place, (jobs[k],))))
            for at, (where, group) in enumerate(filled):
                if where == place and len(group) < seats and (where, group) not in tried:
                    tried.add((where, group))
                    longer = (where, (*group, jobs[k]))
                    yield from placed(k + 1, (*filled[:at], longer, *filled[at + 1 :]))

    return placed(0, ())
