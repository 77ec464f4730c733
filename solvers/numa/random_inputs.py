"""Random draws of a simulation, made in advance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...instances.numa.instance import Floats, Numa

Reaches = npt.NDArray[np.int32]


class Draws(NamedTuple):
    """Random properties of n tasks in order of arrival.

    Attributes
    ----------
    arrival : (n,) times of arrival [s], not decreasing.
    service : (n,) service times with local data [s].
    location : (n,) memory of the task's data.
    kind : (n,) class.
    pick : (n,) uniform on [0, 1): chooses among equally good idle cores.
    reach : (n,) farthest distance at which the task accepts a core while it still refuses.
    """

    arrival: Floats
    service: Floats
    location: Reaches
    kind: Reaches
    pick: Floats
    reach: Reaches

    @property
    def tasks(self) -> int:
        """Number n of tasks."""
        return len(self.arrival)


def draw(
    instance: Numa,
    tasks: int,
    reach: int | Floats,
    rng: np.random.Generator,
    *,
    rate: float | None = None,
    backlog: int = 0,
) -> Draws:
    """Draw n tasks.

    Parameters
    ----------
    reach : one for all, or (K, L, D) shares, by class and memory, of the tasks with each reach (a
        mix of policies).
    rate : arrivals [tasks/s]; the instance's when None.
    backlog : the first so many arrive together at time 0, and the others after.
    """
    between = unit_draws(instance.arrival_law, float(instance.arrival_scv or 0.0), tasks, rng)
    with np.errstate(over="ignore"):  # an infinite time is refused by those who simulate
        between /= instance.rate if rate is None else rate
    between[:backlog] = 0.0
    service = unit_draws(instance.law, float(instance.scv or 0.0), tasks, rng)
    location = categories(instance.location_share, tasks, rng)
    kind = categories(instance.class_share, tasks, rng)
    with np.errstate(over="ignore"):
        service *= instance.service_mean[kind]
    pick = rng.random(tasks)
    if isinstance(reach, int):
        reaches = np.full(tasks, reach, dtype=np.int32)
    else:
        below = np.cumsum(reach, axis=2)[kind, location, :-1]
        reaches = (rng.random(tasks)[:, None] >= below).sum(axis=1).astype(np.int32)
    if instance.refusal_limit == 0:
        reaches[:] = instance.blade_distance  # nobody ever refuses
    with np.errstate(over="ignore"):
        arrival = np.cumsum(between)
    return Draws(arrival, service, location, kind, pick, reaches)


def unit_draws(law: str, scv: float, number: int, rng: np.random.Generator) -> Floats:
    """(number,) draws of mean 1 and the given squared coefficient of variation."""
    if law == "deterministic":
        return np.ones(number)
    if law == "exponential":
        return rng.standard_exponential(number)
    if law == "gamma":
        return rng.standard_gamma(1 / scv, number) * scv
    variance = np.log1p(scv)  # of the logarithm
    return np.exp(rng.normal(-variance / 2, np.sqrt(variance), number))


def categories(share: Floats, number: int, rng: np.random.Generator) -> Reaches:
    """(number,) indices drawn with the given shares; one of share 0 is never drawn."""
    edges = np.cumsum(share)
    edges[np.flatnonzero(share)[-1] :] = np.inf  # the sum may miss 1 by rounding
    return np.searchsorted(edges, rng.random(number), side="right").astype(np.int32)
