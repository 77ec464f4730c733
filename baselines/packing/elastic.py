"""Policies for elastic requests on fixed servers: first-fit, best-fit, DRF, fair-slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...instances.packing.game import FairShare
from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.problem.errors import TimeLimitTooShort
from ...instances.problem.option_types import validate_options
from ...solvers.packing.fixed_servers import Cluster, fixed_cluster

A_VM, A_SERVER = 3e-5, 2e-8
"""Seconds that a turn of a user takes, and a look at a server in it."""

MOST_SECONDS = 600.0
"""What a policy that goes VM by VM may take where time is not limited."""


@validate_options
def first_fit(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """first-fit: users take turns in index order, each asking for one VM, placed on the first
    server where it fits.

    A user whose VM fits nowhere, or whose request is met, drops out; the filling ends when all
    have.

    Raises
    ------
    InvalidInstance
        The number of servers is not fixed, or a finite request must be served whole.
    TimeLimitTooShort
        So many VMs fit that placing them one by one would pass the time limit, or `MOST_SECONDS`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "first-fit")
    >>> print(result.status, round(result.objective, 3))
    feasible 2.281
    """
    return fill_elastic(instance, "first", rng or np.random.default_rng(0), time_limit)


@validate_options
def best_fit(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """best-fit: users take turns as in first-fit; each VM goes to the server with the least free
    space, as shares of its initial space (ties: the first).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "best-fit")
    >>> print(result.status, round(result.objective, 3))
    feasible 2.202
    """
    return fill_elastic(instance, "best", rng or np.random.default_rng(0), time_limit)


@validate_options
def drf(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """DRF: progressive filling on whole VMs: next the user of least dominant share, on the first
    server where its VM fits.

    Ties to the lowest index; a user whose VM fits nowhere, or whose request is met, drops out and
    the others go on. Dominant shares are of what the cluster has free in all (`capacity`).

    Source: Ghodsi et al. (NSDI 2011), algorithm 1, on servers instead of one pool.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "DRF")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.25
    """
    return fill_elastic(instance, "least", rng or np.random.default_rng(0), time_limit)


@validate_options
def fair_slots(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """fair-slots: the Hadoop fair scheduler: servers are cut into fixed slots; next the user with
    the fewest running VMs.

    A slot is, in every resource, the smallest positive demand of any VM type; a server has as many
    as fit in it whole, and a VM takes as many as cover it in every resource. Ties to the lowest
    index; the first server with enough free slots takes the VM. Xu and Yu (2014, section 5.2) do
    not give the size of their slots: this is our reading.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "fair-slots")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.25
    """
    cluster = fixed_cluster(instance)
    _require_few(instance, cluster, time_limit)
    demand = instance.demand
    slot = np.array([column[column > 0].min() if (column > 0).any() else 0 for column in demand.T])
    needed = np.ceil(demand / np.maximum(slot, 1)).max(axis=1, keepdims=True).astype(np.int64)
    own = slot > 0
    slots = np.min(cluster.free[:, own] // slot[own], axis=1, keepdims=True)
    return _filled(
        replace(cluster, free=slots), needed, needed, "least", rng or np.random.default_rng(0)
    )


def require_time(vms: float, each: float, time_limit: float | None) -> None:
    """Raise TimeLimitTooShort if placing VMs one by one takes longer than the time limit, or than
    `MOST_SECONDS` without one.
    """
    most = MOST_SECONDS if time_limit is None else time_limit
    if vms * each > most:
        raise TimeLimitTooShort(
            f"up to {vms:.2g} VMs, one by one, may take {vms * each:.2g} s, and there are "
            f"{most:.2g} s. Give more time, a larger unit and larger VMs, or use a method that "
            "places many at once (max-min-share for elastic requests, FFD for others)"
        )


def _require_few(instance: Packing, cluster: Cluster, time_limit: float | None) -> None:
    """Raise TimeLimitTooShort for more VMs than there is time to place one by one."""
    fits = (instance.capacity[:, None, :] // np.maximum(instance.demand, 1)).astype(float)
    fits[:, instance.demand == 0] = np.inf
    vms = np.minimum(instance.server_count @ fits.min(axis=2), cluster.cap).sum()
    require_time(float(vms), A_VM + A_SERVER * cluster.free.size, time_limit)


def fill_elastic(
    instance: Packing, rule: str, rng: np.random.Generator, time_limit: float | None
) -> Placement:
    """Place VMs one by one until none fits; `rule` is first, best, random (users in turn) or
    least (dominant share).
    """
    cluster = fixed_cluster(instance)
    _require_few(instance, cluster, time_limit)
    pool = np.maximum(FairShare.of(instance).total, 1)
    pools = np.broadcast_to(pool, instance.demand.shape)
    return _filled(cluster, instance.demand, pools, rule, rng)


def _filled(
    cluster: Cluster, demand: Integers, pool: Integers, rule: str, rng: np.random.Generator
) -> Placement:
    """Place VMs of sizes (s, k) one by one until none fits; users' shares are parts of `pool`."""
    types, free = len(demand), cluster.free.copy()
    count = np.zeros((cluster.servers, types), dtype=np.int64)
    total, share = np.zeros(types, dtype=np.int64), np.zeros(types)
    active = np.ones(types, dtype=bool)
    weight = 1.0 / np.maximum(cluster.start, 1)
    turn = 0
    while active.any():
        least = int(np.argmin(np.where(active, share, np.inf))) if rule == "least" else turn
        i, turn = least % types, turn + 1
        if not active[i]:
            continue
        full = total[i] >= cluster.cap[i]
        m = -1 if full else _server(free, demand[i], weight, rule, rng)
        if m < 0:
            active[i] = False
            continue
        free[m] -= demand[i]
        count[m, i] += 1
        total[i] += 1
        # rounded once, so that equal shares are equal floats
        share[i] = (total[i] * demand[i] / pool[i]).max()
    return Placement(count, cluster.kind)


def _server(
    free: Integers, size: Integers, weight: np.ndarray, rule: str, rng: np.random.Generator
) -> int:
    """Server that a rule chooses for a VM of this size, -1 when none can hold it."""
    room = (free >= size).all(axis=1)
    if not room.any():
        return -1
    if rule == "random":
        return int(rng.choice(np.flatnonzero(room)))
    if rule == "best":
        return int(np.argmin(np.where(room, (free * weight).sum(axis=1), np.inf)))
    return int(np.argmax(room))
