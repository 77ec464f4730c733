"""Compiled policies that place VMs on servers with cards as they arrive; numba is imported with
this module, so import it on first use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...solvers.compiled import compiled

Array = npt.NDArray[Any]

RANDOM, BEST, DOT, PACKING, FGD = range(5)
"""How servers are scored."""


class Cluster(NamedTuple):
    """Data of the servers and VM types that stay constant while a policy places arriving VMs.

    Attributes
    ----------
    demand, cards, share : (s, k), (s,), (s,) what a VM of each type takes: amounts, whole cards,
        units of one card.
    allowed : (s, p) whether a type may run on a class.
    kind, order : (n,) class of each server, and the servers in the order that decides ties.
    installed : (n,) cards of each server.
    largest, most : the most that a server has of the first resource, and of units of cards.
    typical, times : (t,) types by which fragments are measured, and how often each is wanted.
    units : of a card.
    """

    demand: Array
    cards: Array
    share: Array
    allowed: Array
    kind: Array
    order: Array
    installed: Array
    largest: int
    most: int
    typical: Array
    times: Array
    units: int


@compiled
def place(
    policy: int, cluster: Cluster, arrival: Array, free: Array, room: Array, draw: Array
) -> Array:
    """Server (v,) of each VM in the order of `arrival`, -1 where it fits none.

    A score is worked out again only once its server has changed.

    Parameters
    ----------
    free : (n, k) what each server has free; written.
    room : (n, g) units free on each of its cards, 0 where it has no such card; written.
    draw : (v, 2) numbers from 0 to 1 that choose server and card at random.
    """
    servers, types = len(cluster.kind), len(cluster.cards)
    score = np.full((types, servers), -1, dtype=np.int64)
    changes, scored = np.zeros(servers, dtype=np.int64), np.full((types, servers), -1)
    chosen = np.full(len(arrival), -1, dtype=np.int64)
    for index in range(len(arrival)):
        i = arrival[index]
        able, host = 0, -1
        for m in cluster.order:
            if scored[i, m] != changes[m]:
                scored[i, m] = changes[m]
                score[i, m] = points(policy, cluster, i, m, free[m], room[m])
            if score[i, m] >= 0:
                able += 1
                if host < 0 or score[i, m] > score[i, host]:
                    host = m
        if host < 0:
            continue
        if policy == RANDOM:
            host = nth(score[i], 0, int(draw[index, 0] * able))
        chosen[index] = host
        take(policy, cluster, i, host, free[host], room[host], draw[index, 1])
        changes[host] += 1
    return chosen


@compiled
def nth(values: Array, least: int, n: int) -> int:
    """Index of the n-th (from 0) entry of an array that is at least `least`."""
    for index in range(len(values)):
        if values[index] >= least:
            if n == 0:
                return index
            n -= 1
    return -1


@compiled
def points(policy: int, cluster: Cluster, i: int, m: int, free: Array, room: Array) -> int:
    """Integer score from 0 of server m for a VM of type i by a policy, -1 where it does not fit."""
    if not cluster.allowed[i, cluster.kind[m]] or (cluster.demand[i] > free).any():
        return -1
    if room.max() < cluster.share[i] or (room == cluster.units).sum() < cluster.cards[i]:
        return -1
    if policy in (BEST, DOT):
        return by_volume(policy, cluster, i, free, room)
    if policy == PACKING:
        return packing(cluster, i, m, room)
    if policy == FGD:
        return steepest(cluster, i, m, free, room)[0]
    return 0


@compiled
def by_volume(policy: int, cluster: Cluster, i: int, free: Array, room: Array) -> int:
    """Score of a server for a VM, 100 at most, by what is left or by free and wanted amounts.

    It is 100 less a mean over the first resource and the cards, in percent of the largest server:
    of amounts left (`BEST`), or of free amounts times wanted ones (`DOT`).
    """
    wanted = cluster.cards[i] * cluster.units + cluster.share[i]
    if policy == BEST:
        left = (free[0] - cluster.demand[i, 0]) / cluster.largest * 0.5
        left += (room.sum() - wanted) / cluster.most * 0.5
        return int((1.0 - left) * 100.0)
    product = free[0] / cluster.largest * (cluster.demand[i, 0] / cluster.largest)
    product += room.sum() / cluster.most * (wanted / cluster.most)
    return int(100.0 * (1.0 - product / 2))


@compiled
def packing(cluster: Cluster, i: int, m: int, room: Array) -> int:
    """Score of a server: 50 to 100 if a used card has room, 33 to 50 if a used server has free
    cards, less on a free server.
    """
    if cluster.cards[i] == 0 and cluster.share[i] == 0:
        return 0
    whole = (room == cluster.units).sum()
    if whole == cluster.installed[m]:
        return int(max(33 - whole, whole))
    if cluster.cards[i] > 0:
        return int(max(50 - cluster.cards[i], 33))
    left = room[tightest(room, cluster.share[i])]
    if left == cluster.units:
        return 49
    return int(max(100 - left * 100 // cluster.units // 10, 50))


@compiled
def tightest(room: Array, share: int) -> int:
    """Card with the least room that is enough for a share, ties to the first."""
    best = -1
    for card in range(len(room)):
        if room[card] >= share and (best < 0 or room[card] < room[best]):
            best = card
    return best


@compiled
def steepest(cluster: Cluster, i: int, m: int, free: Array, room: Array) -> tuple[int, int]:
    """Score of how much a VM reduces fragments, and the card on which it does so most."""
    kind, share = cluster.kind[m], cluster.share[i]
    scale = float(cluster.times.sum() * cluster.units)
    before = fragments(cluster, kind, free, room)
    left, after = free - cluster.demand[i], room.copy()
    if share == 0:
        take_cards(after, cluster.cards[i], cluster.units)
        return sigmoid((before - fragments(cluster, kind, left, after)) / scale), -1
    best, chosen = -1, -1
    for card in range(len(room)):
        if room[card] >= share:
            after[card] -= share
            score = sigmoid((before - fragments(cluster, kind, left, after)) / scale)
            after[card] += share
            if score > best:
                best, chosen = score, card
    return best, chosen


@compiled
def sigmoid(gain: float) -> int:
    """Convert a gain into an integer score from 0 to 100 by the logistic function."""
    return int(1.0 / (1.0 + np.exp(-gain)) * 100.0)


@compiled
def fragments(cluster: Cluster, kind: int, free: Array, room: Array) -> int:
    """Units of a server's cards that typical VMs cannot use, summed over typical VMs.

    All its free units where the type does not fit or takes no cards, else those on cards with less
    room than it asks (of one card, where it takes several).
    """
    total, whole = room.sum(), (room == cluster.units).sum()
    found = 0
    for index in range(len(cluster.typical)):
        i = cluster.typical[index]
        lost = total
        fits = cluster.allowed[i, kind] and cluster.demand[i, 0] <= free[0]
        if fits and 0 < cluster.cards[i] <= whole:
            lost = total - whole * cluster.units
        elif fits and cluster.share[i] > 0:
            lost = 0
            for card in range(len(room)):
                if room[card] < cluster.share[i]:
                    lost += room[card]
        found += cluster.times[index] * lost
    return found


@compiled
def take_cards(room: Array, cards: int, units: int) -> None:
    """Take the first `cards` free cards of a server."""
    for card in range(len(room)):
        if cards > 0 and room[card] == units:
            room[card] = 0
            cards -= 1


@compiled
def take(
    policy: int, cluster: Cluster, i: int, m: int, free: Array, room: Array, draw: float
) -> None:
    """Place a VM of type i on server m; its share goes on the card that the policy chooses."""
    share = cluster.share[i]
    if share > 0:
        card = tightest(room, share)
        if policy == RANDOM:
            card = nth(room, share, int(draw * (room >= share).sum()))
        elif policy == FGD:
            card = steepest(cluster, i, m, free, room)[1]
        room[card] -= share
    take_cards(room, cluster.cards[i], cluster.units)
    free -= cluster.demand[i]
