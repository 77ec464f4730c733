"""Policies that know no demand before its quantum: fixed shares, max-min fairness, Karma."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..instances.problem.option_types import Between, validate_options
from ..instances.quanta import Quanta, Slices
from ..solvers.quanta import max_min_slices, raised


@validate_options
def strict(instance: Quanta) -> Slices:
    """Give each user its fair share, whether it wants it or not ("strict partitioning").

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("quanta/tiny"), "strict").solution.slices.sum(axis=1).tolist()
    [24.0, 24.0, 12.0]
    """
    return Slices(np.minimum(instance.demand, instance.share).astype(float))


@validate_options
def max_min(instance: Quanta) -> Slices:
    """Raise the user with the fewest slices first, in each quantum on its own, in whole slices;
    ties go to the first user.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("quanta/tiny"), "max-min").solution.slices.sum(axis=1).tolist()
    [30.0, 30.0, 12.0]
    """
    room = np.full(instance.demand.shape[1], instance.capacity)
    return Slices(max_min_slices(instance.demand, room))


@validate_options
def karma(
    instance: Quanta,
    *,
    alpha: Annotated[float, Between(0, 1, "a part of the fair share")] = 0.5,
    credits: Annotated[int | None, Between(0, 10**15, "credits")] = None,
) -> Slices:
    """Guarantee a part of each fair share, and lend the rest to the users with most credits.

    In each quantum of Karma (OSDI 2023, Algorithm 1) every user gets a credit for each slice of its
    fair share that is not guaranteed to it. Then, slice by slice, the borrower with most credits
    pays one for a slice of the donor with fewest credits, who gets it, or of the slices that nobody
    is guaranteed, once no donor is left. Ties go to the first user, where the authors' simulator
    draws.

    Parameters
    ----------
    alpha : the part of the fair share that is guaranteed, in whole slices, rounded down.
    credits : of each user at the beginning; None for so many that nobody ever runs out.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("quanta/tiny"), "Karma", credits=6)
    >>> result.solution.slices.sum(axis=1).tolist()
    [24.0, 24.0, 24.0]
    """
    guaranteed = int(round(alpha * instance.share, 6))  # two thirds of 3 slices are 2
    free, slices = instance.share - guaranteed, np.zeros(instance.demand.shape)
    enough = instance.demand.shape[1] * instance.capacity
    owned = np.full(len(slices), enough if credits is None else credits, dtype=np.int64)
    for quantum, wanted in enumerate(instance.demand.T):
        owned += free
        given = np.minimum(wanted, guaranteed)
        donated = guaranteed - given
        supply = int(donated.sum()) + len(slices) * free
        borrowed = raised(-owned, np.minimum(wanted - given, owned), supply)
        owned += raised(owned, donated, int(borrowed.sum())) - borrowed
        slices[:, quantum] = given + borrowed
    return Slices(slices)
