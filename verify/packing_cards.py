"""Packing: the most cards (GPUs) allocated, by prices."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .packing import Packing
from .reading import MOST_PRICE, Refused, charge, listed, refuse_if, whole, wholes


def dearest_filling(sizes: list[int], prices: list[int], units: int) -> int:
    """The most that shares on one card are worth together: `best[n]`, by the units n they take."""
    best = {0: 0}
    for size, price in zip(sizes, prices, strict=True):
        for taken, worth in sorted(best.items()) if price else ():
            charge(20)
            while taken + size <= units:
                charge(10)
                taken, worth = taken + size, worth + price
                if best.get(taken, -1) >= worth:
                    break
                best[taken] = worth
    return max(best.values())


def packing_cards(case: ProofCase) -> list[CheckedLevel]:
    """The most percent of all cards that are allocated, in whole or in part.

    Theorem. Let VMs, and on each class of servers units of each resource, whole cards and shares of
    each size, have prices, 0 or more, and no shares that fit on one card together be worth more
    than a card. On a class where a VM may run, let what it takes of cards be worth no more than its
    own price and what it takes there. So an answer allocates no more than all VMs that are wanted
    are worth, and all servers' room and cards: the VMs on a server take no more than it has, its
    cards hold its whole ones and fillings, and each VM takes a unit of all cards at least.
    """
    given, level = Packing(case, ruled=True), CheckedLevel()
    if given.cards is None:
        raise Refused("there are no cards")
    servers = [whole(n, "the number of servers") for n in given.servers]
    there = given.units * sum(n * g for n, g in zip(servers, given.cards, strict=True))
    taken = [given.units * n + m for n, m in zip(given.card_demand, given.card_share, strict=True)]
    percent = Fraction(100, max(there, 1))
    if given.answered:
        level.value = percent * sum(n * t for n, t in zip(given.total, taken, strict=True))
    sizes = sorted({n for n in given.card_share if n}, reverse=True)
    place = {size: z for z, size in enumerate(sizes)}
    for _, step in case.each(0, prices="over prices rates card shares"):
        over = whole(step["over"], "over", 1, MOST_PRICE)
        prices = wholes(step["prices"], "prices", len(taken), 0, MOST_PRICE)
        card_prices = wholes(step["card"], "card", len(servers), 0, MOST_PRICE)
        most = sum(
            price * (there if n is None else min(n, there))
            for price, n in zip(prices, given.request, strict=True)
        )
        rates, shares = (listed(step[name], name, len(servers)) for name in ("rates", "shares"))
        for c, (number, room) in enumerate(zip(servers, given.room, strict=True)):
            rate = wholes(rates[c], "rates", given.wide, 0, MOST_PRICE)
            share = wholes(shares[c], "shares", len(sizes), 0, MOST_PRICE)
            charge((10 + 3 * len(room)) * len(taken))
            if dearest_filling(sizes, share, given.units) > card_prices[c]:
                raise Refused(f"shares on a card of class {c} are worth more than it costs")
            for i, (units, size) in enumerate(zip(taken, given.size, strict=True)):
                paid = prices[i] + sum(u * d for u, d in zip(rate, size, strict=False))
                paid += card_prices[c] * given.card_demand[i]
                paid += share[place[given.card_share[i]]] if given.card_share[i] else 0
                able = number and given.allowed[i][c] and given.request[i] != 0
                able = able and all(d <= r for d, r in zip(size, room, strict=True))
                if able and paid < over * units:
                    raise Refused(f"type {i} takes more on class {c} than it is priced there")
            server = sum(u * r for u, r in zip(rate, room, strict=False))
            most += number * (server + card_prices[c] * given.cards[c])
        level.at_most(percent * (most // over))
    refuse_if(not given.partial and any(given.request), "a request is no cap")
    return [level]


METHODS: Methods = {"max-gpus": ("", "cards_allocated max", packing_cards)}
