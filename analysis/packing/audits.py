"""Audits of a placement on fixed servers: sharing incentive, envy, Pareto efficiency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.instance import Integers, fits
from ...solvers.packing.fixed_servers import fixed_cluster
from .metrics import enviers, loads


@dataclass(frozen=True)
class Audit:
    """Users for whom a placement violates the audited properties, by index.

    Attributes
    ----------
    below_pooled_split : users with fewer VMs than 1/s of the whole cluster, as one pool, would hold
        (or than they request).
    below_server_split : users with fewer VMs than 1/s of every server, added up over servers, would
        hold (or than requested).
    enviers : users for whom another user's total amounts hold more of their VMs than they.
    still_fits : users of whose VMs one more fits on some server (and is wanted): the placement is
        not Pareto efficient.
    """

    below_pooled_split: tuple[int, ...]
    below_server_split: tuple[int, ...]
    enviers: tuple[int, ...]
    still_fits: tuple[int, ...]


def audit(instance: Packing, placement: Placement) -> Audit:
    """Measure a placement on fixed servers against the paper's theorems 8 to 10.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    """
    fixed_cluster(instance)
    total = placement.totals(instance.types)
    return Audit(
        below_pooled_split=_below(instance, total, pooled_split(instance)),
        below_server_split=_below(instance, total, server_split(instance)),
        enviers=tuple(enviers(instance, total)),
        still_fits=still_fitting(instance, placement),
    )


def pooled_split(instance: Packing) -> Integers:
    """VMs of each user in 1/s of the pooled free capacity, shape (s,)."""
    total = (instance.capacity * instance.server_count.astype(np.int64)[:, None]).sum(axis=0)
    return _vms_in_part(total, instance)


def server_split(instance: Packing) -> Integers:
    """VMs of each of the s users that fit in an s-th part of each server, summed; shape (s,)."""
    each = np.array([_vms_in_part(capacity, instance) for capacity in instance.capacity])
    split: Integers = instance.server_count.astype(np.int64) @ each
    return split


def still_fitting(instance: Packing, placement: Placement) -> tuple[int, ...]:
    """Users with unserved requests for whom one more VM fits on some server."""
    load, kind = loads(instance, placement, idle=True)
    free = instance.capacity[kind] - load
    total = placement.totals(instance.types)
    room = fits(instance.demand, free).any(axis=1)
    return tuple(int(user) for user in np.flatnonzero(room & (total < instance.requested)))


def _vms_in_part(amounts: Integers, instance: Packing) -> Integers:
    """Integer number of VMs of each user in 1/s of the amounts."""
    users = instance.types
    return np.array(
        [
            min(
                int(amount) // (users * int(need))
                for amount, need in zip(amounts, row, strict=True)
                if need > 0
            )
            for row in instance.demand
        ]
    )


def _below(instance: Packing, total: Integers, split: Integers) -> tuple[int, ...]:
    return tuple(
        int(user) for user in np.flatnonzero(total < np.minimum(split, instance.requested))
    )
