"""Policies for servers with cards, the slow and plain way: every score anew, of lists and fractions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from cotenant.instances.packing import Packing


class Server:
    """Server with its free resources and free units of each card."""

    def __init__(self, instance: Packing, kind: int) -> None:
        self.instance, self.kind = instance, kind
        self.free = instance.capacity[kind].tolist()
        self.cards = [instance.card_units] * int(instance.cards[kind])

    def choices(self, i: int) -> list[list[int]]:
        """The cards that a VM of type i may take, a list of each choice."""
        given = self.instance
        wanted = given.demand[i].tolist()
        if not given.rules.allowed[i, self.kind] or any(map(int.__gt__, wanted, self.free)):
            return []
        if given.card_share[i]:
            return [[c] for c, room in enumerate(self.cards) if room >= given.card_share[i]]
        whole = [c for c, room in enumerate(self.cards) if room == given.card_units]
        need = int(given.card_demand[i])
        return [whole[:need]] if len(whole) >= need else []

    def after(self, i: int, cards: Sequence[int]) -> Server:
        """Server after placing a VM of type i on given cards."""
        found = Server(self.instance, self.kind)
        found.free = [
            a - b for a, b in zip(self.free, self.instance.demand[i].tolist(), strict=True)
        ]
        found.cards = list(self.cards)
        for card in cards:
            found.cards[card] -= int(self.instance.card_share[i]) or self.instance.card_units
        return found

    def fragments(self, typical: Counter[int]) -> int:
        """Units of free cards that typical VMs cannot take, summed over these VMs (Weng et al.
        2023, section 3).
        """
        found = 0
        for i, times in typical.items():
            share, need = int(self.instance.card_share[i]), int(self.instance.card_demand[i])
            least = share or self.instance.card_units
            usable = [room for room in self.cards if room >= least]
            fits = (
                (share or need)
                and self.instance.rules.allowed[i, self.kind]
                and self.instance.demand[i, 0] <= self.free[0]
                and len(usable) >= max(need, 1)
            )
            found += times * (sum(self.cards) - (sum(usable) if fits else 0))
        return found


def scores(
    server: Server, i: int, policy: str, typical: Counter[int]
) -> dict[tuple[int, ...], int]:
    """Score of each feasible choice of cards for a VM of type i on a server."""
    units = server.instance.card_units
    choices = server.choices(i)
    if policy == "FGD":
        scale = float(sum(typical.values()) * units)
        before = server.fragments(typical)
        gains = {tuple(c): before - server.after(i, c).fragments(typical) for c in choices}
        return {c: int(100 / (1 + math.exp(-gain / scale))) for c, gain in gains.items()}
    tight = sorted(choices, key=lambda c: server.cards[c[0]] if c else 0)[:1]
    return {tuple(c): _score(server, i, c, policy) for c in tight}


def _score(server: Server, i: int, cards: list[int], policy: str) -> int:
    given, units = server.instance, server.instance.card_units
    largest = [max(1, int(amount)) for amount in given.capacity.max(axis=0)[:1]]
    largest.append(units * max(1, int(given.cards.max())))
    free = [*server.free[:1], sum(server.cards)]
    asked = int(given.card_demand[i]) * units + int(given.card_share[i])
    wanted = [*given.demand[i, :1].tolist(), asked]
    if policy == "BEST":
        parts = [(f - w) / n for f, w, n in zip(free, wanted, largest, strict=True)]
        left = 0.0
        for part in parts:
            left += part * (1.0 / len(parts))
        return int((1.0 - left) * 100)
    if policy == "DOT":
        product = 0.0
        for f, w, n in zip(free, wanted, largest, strict=True):
            product += f / n * (w / n)
        return int(100 * (1.0 - product / len(free)))
    if policy == "RANDOM" or asked == 0:
        return 0
    unused = server.cards.count(units)
    if unused == len(server.cards):
        return max(33 - unused, unused)
    opened = sum(server.cards[card] == units for card in cards)
    if opened:
        return max(50 - opened, 33)
    return max(100 - server.cards[cards[0]] * 100 // units // 10, 50)


def played(
    instance: Packing, policy: str, order: Sequence[int], typical: Counter[int]
) -> list[int]:
    """The server of each VM of `arrival`, -1 where none takes it; ties in the order of servers."""
    servers = [Server(instance, int(kind)) for kind in instance.server_class]
    found = []
    for i in np.asarray(instance.arrival).tolist():
        best, host, cards = -1, -1, ()
        for m in order:
            for chosen, score in scores(servers[m], i, policy, typical).items():
                if score > best:
                    best, host, cards = score, m, chosen
        if host >= 0:
            servers[host] = servers[host].after(i, cards)
        found.append(host)
    return found
