"""Packing: the most cards (GPUs) allocated, by prices or by a tree."""

from fractions import Fraction
from math import gcd

from .frame import CheckedLevel, Methods, ProofCase
from .packing import Packing
from .program import Program, Terms
from .reading import MOST_PRICE, Refused, charge, listed, refuse_if, whole, wholes


def dearest_filling(sizes: list[int], prices: list[int], units: int) -> int:
    """Largest total price of shares that fit on one card, by dynamic programming over the units
    taken.
    """
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


def fillings(sizes: list[int], units: int) -> list[list[int]]:
    """Maximal fillings of a card with shares, each as the number of shares of each size."""
    found, stack = list[list[int]](), [(list[int](), units)] if sizes else []
    while stack:
        taken, left = stack.pop()
        charge(20 + len(taken))
        if len(taken) == len(sizes):
            found.append(taken)
            continue
        most = left // sizes[len(taken)]
        fewest = most if len(taken) + 1 == len(sizes) else 0
        further = [([*taken, n], left - n * sizes[len(taken)]) for n in range(fewest, most + 1)]
        charge(len(further) * (5 + len(taken)))
        stack += further
    return found


def cards_program(given: Packing, above: int) -> Program:
    """Integer program of the answers that allocate more than `above` units of GPU cards, which is
    the last row.

    Columns, server by server: the VMs of each type, and the cards with each filling. Rows: a server
    has room for its VMs, in the largest unit that divides what all types take; it has so many
    cards, whole or filled; its shares of each size are no more than its fillings have, as those on
    each card are below some filling; and no more VMs are placed than are requested.
    """
    program, placed = Program(), [Terms() for _ in given.size]
    sizes = sorted({n for n in given.card_share if n}, reverse=True)
    listed_fillings = fillings(sizes, given.units)
    unit = [max(1, gcd(*column)) for column in zip(*given.size, strict=True)]
    parts = [[d // u for d, u in zip(size, unit, strict=True)] for size in given.size]
    for c, (number, room, cards) in enumerate(
        zip(given.servers, given.room, given.cards or [], strict=True)
    ):
        space = [r // u for r, u in zip(room, unit, strict=True)]
        fit = [min(r // d for r, d in zip(space, part, strict=True) if d) for part in parts]
        for _ in range(whole(number, "the number of servers")):
            charge((10 + 3 * len(room)) * len(parts) + 10 * len(listed_fillings) * (1 + len(sizes)))
            able = [i for i, n in enumerate(fit) if n and given.allowed[i][c]]
            asked = [given.request[i] for i in able]
            on = {i: program.column(fit[i] if n is None else min(n, fit[i]))
                  for i, n in zip(able, asked, strict=True)}  # fmt: skip
            filled = [(program.column(cards), filling) for filling in listed_fillings]
            for k, most in enumerate(space):
                program.at_most([(j, parts[i][k]) for i, j in on.items()], most)
            alone = [(j, given.card_demand[i]) for i, j in on.items()]
            program.at_most([*alone, *((f, 1) for f, _ in filled)], cards)
            for z, size in enumerate(sizes):
                shares = [(j, 1) for i, j in on.items() if given.card_share[i] == size]
                program.at_most([*shares, *((f, -filling[z]) for f, filling in filled)], 0)
            for i, j in on.items():
                placed[i].append((j, 1))
    units = Terms()
    for i, (terms, asked_for) in enumerate(zip(placed, given.request, strict=True)):
        program.at_most(*((terms, asked_for) if asked_for is not None else ([], 0)))
        taken = given.units * given.card_demand[i] + given.card_share[i]
        units += [(j, -taken) for j, _ in terms]
    program.at_most(units, -above - 1)
    return program


def packing_cards(case: ProofCase) -> list[CheckedLevel]:
    """Check the largest percentage of all cards allocated, in whole or in part.

    Theorem. Let VMs, and on each class of servers units of each resource, whole cards and shares of
    each size, have prices, 0 or more, and no shares that fit on one card together be worth more
    than a card. On a class where a VM may run, let what it takes of cards be worth no more than its
    own price and what it takes there. So an answer allocates no more than all VMs that are wanted
    are worth, and all servers' room and cards: the VMs on a server take no more than it has, its
    cards hold its whole ones and fillings, and each VM takes a unit of all cards at least.
    Or a tree shows that no answer allocates more than so many units of cards ("propagation").
    """
    # 1. The cards there are, and the percentage that the answer allocates.
    given, level = Packing(case, ruled=True), CheckedLevel()
    if given.cards is None:
        raise Refused("there are no cards")
    servers = [whole(n, "the number of servers") for n in given.servers]
    there = given.units * sum(n * g for n, g in zip(servers, given.cards, strict=True))
    taken = [given.units * n + m for n, m in zip(given.card_demand, given.card_share, strict=True)]
    percent = Fraction(100, max(there, 1))
    if given.answered:
        level.value = percent * sum(n * t for n, t in zip(given.total, taken, strict=True))
    # 2. A bound by each step: by a tree, or by prices of VMs, resources, cards and shares.
    sizes = sorted({n for n in given.card_share if n}, reverse=True)
    index_of = {size: z for z, size in enumerate(sizes)}
    kinds = {"prices": "over prices rates card shares", "propagation": "above tree|leaves cuts"}
    for kind, step in case.each(0, **kinds):
        if kind == "propagation":
            above = whole(step["above"], "above", 0, there)
            cards_program(given, above).impossible(step)
            level.at_most(percent * above)
            continue
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
                paid += share[index_of[given.card_share[i]]] if given.card_share[i] else 0
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
