"""Audits of a placement on fixed servers: sharing incentive, envy, Pareto efficiency, Nash
equilibrium, joint optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import skewness
from ...instances.packing.instance import Integers, fits
from ...solvers.outcome import AGREE
from ...solvers.packing.game.joint import joint_optimum
from ...solvers.packing.game.strategies import Eta, Game, game_of
from .metrics import enviers, metrics, ratio


@dataclass(frozen=True)
class Audit:
    """Violations of the audited properties by a placement; users and servers by index.

    Attributes
    ----------
    below_pooled_split : users with fewer VMs than 1/s of the whole cluster, as one pool, would hold
        (or than they request).
    below_server_split : users with fewer VMs than 1/s of every server, added up over servers, would
        hold (or than requested).
    enviers : users for whom another user's total amounts hold more of their VMs than they.
    still_fits : users of whose VMs one more fits on some server (and is wanted): the placement is
        not Pareto efficient.
    could_gain : servers that could raise their own utility by another combination of their strategy
        set, others unchanged: none of them means a Nash equilibrium of the one-shot game.
    largest_gain : the most any server could gain.
    disutility, least_disutility : of all servers together, here and at least over the same strategy
        sets (a proved bound).
    price_of_anarchy : their ratio, 1 when both are equal; None without the joint optimum, and for a
        placement that is no play of the game.
    """

    below_pooled_split: tuple[int, ...]
    below_server_split: tuple[int, ...]
    enviers: tuple[int, ...]
    still_fits: tuple[int, ...]
    could_gain: tuple[int, ...]
    largest_gain: float
    disutility: float
    least_disutility: float | None
    price_of_anarchy: float | None


def audit(
    instance: Packing,
    placement: Placement,
    *,
    alpha: float = 2.0,
    eta: Eta = 5,
    overload: float | None = None,
    joint: bool = True,
    time_limit: float | None = 30.0,
) -> Audit:
    """Measure a placement on fixed servers against the paper's theorems 8 to 10.

    Parameters
    ----------
    alpha, eta, overload : of the game the placement is judged in.
    joint : also compute the joint optimum, for the ratio.
    time_limit : seconds for that.

    Raises
    ------
    InvalidInstance, InvalidOption
        As `FUGA`.
    """
    game = game_of(instance, alpha=alpha, eta=eta, overload=overload)
    total = placement.totals(instance.types)
    disutility = metrics(instance, placement, alpha=alpha)["disutility"]
    least = None
    if joint:
        least = joint_optimum(
            instance, alpha=alpha, eta=eta, overload=overload, time_limit=time_limit
        ).bound
    gains = _gains(game, placement)
    better = [server for server, gain in enumerate(gains) if gain > AGREE]
    return Audit(
        below_pooled_split=_below(instance, total, pooled_split(instance)),
        below_server_split=_below(instance, total, server_split(instance)),
        enviers=tuple(enviers(instance, total)),
        still_fits=still_fitting(instance, placement),
        could_gain=tuple(better),
        largest_gain=max([0.0, *gains]),
        disutility=disutility,
        least_disutility=least,
        price_of_anarchy=None
        if least is None or not game.is_play(placement)
        else ratio(disutility, least),
    )


def pooled_split(instance: Packing) -> Integers:
    """VMs of each user in 1/s of the pooled free capacity, shape (s,)."""
    total = (instance.capacity * instance.server_count.astype(np.int64)[:, None]).sum(axis=0)
    return _vms_in_part(total, instance)


def server_split(instance: Packing) -> Integers:
    """VMs of each user in 1/s of every single server, summed, shape (s,)."""
    each = np.array([_vms_in_part(capacity, instance) for capacity in instance.capacity])
    split: Integers = instance.server_count.astype(np.int64) @ each
    return split


def still_fitting(instance: Packing, placement: Placement) -> tuple[int, ...]:
    """Users with unserved requests for whom one more VM fits on some server."""
    count, kind = _all_servers(instance, placement)
    free = instance.capacity[kind] - count @ instance.demand
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


def _all_servers(instance: Packing, placement: Placement) -> tuple[Integers, Integers]:
    """Counts and classes of all servers including empty ones, class by class."""
    rows, kinds = [], []
    for c in range(instance.classes):
        own = (
            placement.count[placement.server_class == c]
            if placement.servers
            else np.zeros((0, instance.types), dtype=np.int64)
        )
        idle = int(instance.server_count[c]) - len(own)
        rows.append(np.concatenate([own, np.zeros((idle, instance.types), dtype=np.int64)]))
        kinds.append(np.full(int(instance.server_count[c]), c))
    return np.concatenate(rows), np.concatenate(kinds)


def _gains(game: Game, placement: Placement) -> list[float]:
    """Largest utility gain of each server by another choice while the other servers keep theirs."""
    instance, fair = game.instance, game.fair
    count, kind = _all_servers(instance, placement)
    total = count.sum(axis=0)
    now = fair.variance(total, game.alpha)
    known: dict[tuple[int, bytes], float] = {}
    gains = []
    for row, c in zip(count, kind.tolist(), strict=True):
        key = (c, row.tobytes())
        if key not in known:
            here = -now - float(
                skewness(instance.capacity[c], instance.initial_capacity[c], row @ instance.demand)
            )
            best = here
            for move, uneven in zip(
                game.strategies[c].combination, game.strategies[c].uneven.tolist(), strict=True
            ):
                after = total - row + move
                if (after <= instance.requested).all():
                    best = max(best, -fair.variance(after, game.alpha) - uneven)
            known[key] = best - here
        gains.append(known[key])
    return gains
