"""Small instances of groups by chance, and what every grouping costs."""

from __future__ import annotations

import itertools
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
    """Mean penalty of every grouping of an instance."""
    counted = Counted(instance)
    return [counted.total(made) / instance.jobs for made in counted.groupings()]


def different(seed: int, jobs: int | None = None) -> Groups:
    """Random groups instance of groups of two whose jobs all differ (at most seven, or `jobs`), by
    each model in turn. One class of machines or two, equal or not, or machines to spare; a type
    without jobs, forbidden pairs, and jobs of a table that lose or gain alone.
    """
    rng = np.random.default_rng(seed)
    few, jobs = jobs is None, int(rng.integers(2, 8)) if jobs is None else jobs
    count = np.insert(np.ones(jobs, dtype=int), int(rng.integers(jobs + 1)), 0)
    machines = -(-jobs // 2) + int(rng.integers(0, 3))
    numbers: dict[str, Any] = {"types": jobs + 1, "jobs": 1, "seats": 2, "rng": rng}
    made = (additive, pressure, table)[seed % 3](**numbers)
    changes: dict[str, Any] = {"count": count, "machines": [machines]}
    if made.penalty is not None:
        closed = rng.random(made.penalty.shape) < (0.15 if few else 0.01)
        changes["penalty"] = np.where(closed, np.inf, made.penalty)
    if made.model == "table":  # of all pairs, or most, and at times of a job alone
        members = np.array([*itertools.combinations(range(jobs + 1), 2), (0, 0)])
        members = members[rng.random(len(members)) < (0.8 if few else 2)]
        if (few and seed % 4 == 0) or not len(members):
            members = np.concatenate([members, [[seed % jobs, -1]]])
        losses = rng.integers(-9, 99, members.shape) / 100
        losses[:, 1] = np.where(members[:, 0] == members[:, 1], losses[:, 0], losses[:, 1])
        changes |= {"members": members, "losses": losses, "where": np.full(len(members), -1)}
    made = made.replace(**changes)
    if seed % 2:
        split = [1, machines - 1] if machines > 1 else [0, machines]
        other: dict[str, Any] = {}
        if seed % 4 == 3 and made.model != "table":  # half of what jobs lose on the first
            name = "penalty" if made.penalty is not None else "sensitivity"
            data = made.curves(0)
            half = np.where(np.isfinite(data), (data / 2).round(6), data)
            other = {name: np.stack([data, half][:: 1 if seed % 8 == 3 else -1])}
        made = made.replace(seats=[2, 2], machines=split, classes=("one", "other"), **other)
    return made
