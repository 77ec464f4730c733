"""Small instances of groups by chance, and what every grouping costs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from cotenant.instances.groups import Groups
from cotenant.instances.groups.generators import additive, pressure, table
from support.group_cases import Counted


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


def every_cost(instance: Groups) -> list[Fraction]:
    """The mean penalty of every grouping."""
    counted = Counted(instance)
    return [counted.total(made) / instance.jobs for made in counted.groupings()]
