"""Packing: virtual machines (VMs) of several types on servers of several classes."""

from fractions import Fraction

from .frame import ProofCase
from .reading import (
    MOST_FOUND,
    MOST_PRICE,
    Refused,
    Step,
    charge,
    fields,
    listed,
    refuse_if,
    text_of,
    whole,
    wholes,
)

Zonal = tuple[list[int], list[set[int]], int, int]


def _amounts_of(value: object, what: str) -> list[list[int]]:
    return [wholes(row, what, None, 0, MOST_PRICE) for row in listed(value, what)]


def _limits(value: object, what: str, size: int) -> list[int | None]:
    rows = listed([None] * size if value is None else value, what, size)
    return [None if n is None else whole(n, what, 0, MOST_PRICE) for n in rows]


def on_cards(shares: list[int], cards: int, units: int) -> bool:
    """Whether shares fit on cards of `units` each: by first fit decreasing, or else by a search of
    all placements.
    """
    if cards < 0 or sum(shares) > cards * units:
        return False
    for every in (False, True):
        lefts = {(units,) * min(cards, len(shares))}
        for size in sorted(shares, reverse=True):
            further = set[tuple[int, ...]]()
            for left in lefts:
                charge(10 + 10 * len(left))
                able = [k for k, room in enumerate(left) if room >= size]
                for k in able if every else able[:1]:
                    rest = [*left[:k], left[k] - size, *left[k + 1 :]]
                    further.add(tuple(sorted(rest)) if every else tuple(rest))
                    charge(10 + 2 * len(left))
            lefts = further
            refuse_if(len(lefts) > MOST_FOUND, "shares on cards take more memory than there is")
        if lefts:
            return True
    return False


class Packing:
    """Instance and answer of a packing proof. None: servers as many as needed, VMs as many as fit.

    `services`: what a VM of each type gives that serves one, and the rate that is asked for;
    `owed`: VMs of each type beyond which more are of no use, None: there is no such number.

    Rules on where VMs may run: `allowed[i][c]`; `limits`, types and how many of their VMs one
    server may hold; `apart`, types of which no server holds both; `zonal`, types, zones (sets of
    classes), how many VMs of them each zone may hold, and by how many two zones may differ.
    """

    def __init__(self, case: ProofCase, ruled: bool = False) -> None:
        others = "initial servers request cost partial resources names class_names"
        others += " placed server_names zone"
        rules = " allowed most_per_server apart skew limits spreads services"
        rules += " cards card_model card_units card_demand card_share arrival"
        document = fields(case.document, "capacity demand", others + rules * ruled, "the instance")
        self.room, self.size = (_amounts_of(document[n], n) for n in ("capacity", "demand"))
        kinds, wide = len(self.room), len(self.room[0])
        self.start = _amounts_of(document.get("initial") or self.room, "initial")
        widths = {*map(len, self.room + self.size + self.start)}
        if widths != {wide} or len(self.start) != kinds or not all(map(any, self.size)):
            raise Refused("capacities differ in length, or a VM takes nothing")
        self.servers = _limits(document.get("servers"), "servers", kinds)
        self.request = _limits(document.get("request"), "request", len(self.size))
        self.cost = wholes(document.get("cost") or [1] * kinds, "cost", kinds, 1)
        self.partial = document.get("partial") is True
        self._cards(document)
        self._rules(document)
        self._services(document)
        self.answered, self.kinds = case.witness is not None, list[int]()
        self.rows = list[list[int]]()
        self.total = [0] * len(self.size)
        if self.answered:
            self._answer(fields(case.witness, "count server_class", what="the answer"))

    def _answer(self, answer: Step) -> None:
        """Refuse an answer with overfull or missing servers, or unmet requests."""
        # 1. The servers: no more than there are, and none overfull.
        rows = listed(answer["count"], "rows")
        self.rows = [wholes(row, "count", len(self.size), 0, MOST_PRICE) for row in rows]
        self.kinds = wholes(answer["server_class"], "class", len(rows), 0, len(self.room) - 1)
        charge(len(rows) * (len(self.size) * (5 + len(self.room[0])) + self.work))
        used = [0] * len(self.room)
        for kind, row in zip(self.kinds, self.rows, strict=True):
            used[kind] += 1
            self.total = [n + more for n, more in zip(self.total, row, strict=True)]
            for j, most in enumerate(self.room[kind]):
                if sum(n * size[j] for n, size in zip(row, self.size, strict=True)) > most:
                    raise Refused("a server of the answer holds more than it has room for")
        for kind, (number, there_are) in enumerate(zip(used, self.servers, strict=True)):
            if there_are is not None and number > there_are:
                raise Refused(f"the answer uses more servers of class {kind} than there are")
        # 2. What is requested, by VMs and by services.
        for placed, wanted in zip(self.total, self.request, strict=True):
            if wanted is not None and (placed > wanted or (placed < wanted and not self.partial)):
                raise Refused("the answer does not place the VMs that are requested")
        for rates, rate in self.services:
            if sum(self.total[i] * gives for i, gives in rates.items()) < rate:
                raise Refused("the answer does not give a service its rate")
        # 3. The rules of a server, its cards, and the rules of zones.
        for kind, row in zip(self.kinds, self.rows, strict=True):
            types = {i for i, n in enumerate(row) if n}
            over = any(sum(row[i] for i in group) > most for group, most in self.limits)
            if over or any(pair <= types for pair in self.apart):
                raise Refused("a server of the answer holds VMs that may not be there together")
            if not all(self.allowed[i][kind] for i in types):
                raise Refused("a server of the answer holds VMs that are not allowed there")
            if self.cards is not None:
                free = self.cards[kind] - sum(row[i] * self.card_demand[i] for i in types)
                sharing = [i for i in types if self.card_share[i]]
                charge(100 * sum(row[i] for i in sharing))
                shares = [n for i in sharing for n in [self.card_share[i]] * row[i]]
                refuse_if(not on_cards(shares, free, self.units), "a server has too few cards")
        for group, zones, most, skew in self.zonal:
            there = [0] * len(self.room)
            charge(5 * len(there))
            for kind, row in zip(self.kinds, self.rows, strict=True):
                there[kind] += sum(row[i] for i in group)
            totals = [sum(there[c] for c in zone) for zone in zones] or [0]
            if max(totals) > most or max(totals) - min(totals) > skew:
                raise Refused("a zone holds too many VMs")

    def _cards(self, document: Step) -> None:
        """Read the GPU cards: their number by class (None if no class has any), the units of a
        card, and what a VM of each type takes.
        """
        types, given = len(self.size), document.get("cards")
        named = [document.get(name) for name in ("card_demand", "card_share")]
        refuse_if(given is None and any(named), "there are no cards to take")
        kinds = len(self.room)
        self.cards = None if given is None else wholes(given, "cards", kinds, 0, MOST_PRICE)
        self.units = whole(document.get("card_units", 1000), "card_units", 1, MOST_PRICE)
        self.card_demand, self.card_share = (
            wholes(rows or [0] * types, "what is taken of cards", types, 0, MOST_PRICE)
            for rows in named
        )
        for n, share in zip(self.card_demand, self.card_share, strict=True):
            refuse_if(share >= self.units or (n and share), "a share is no part of a card")
        self.wide = len(self.room[0])
        for k in (0, 1, 2, 3) if self.cards is not None else ():
            self._counted(self.cards or [], k)

    def _counted(self, cards: list[int], k: int) -> None:
        """Add the GPU cards of servers and VMs as one more resource. It is counted in units if k is
        0, else rounded by the dual feasible function of k.

        Theorem (Fekete and Schepers 2001). Let a share x of a card count x if x (k + 1) is whole,
        and floor(x (k + 1)) / k if not. Shares on one card count 1 at most: of those that are not
        whole the floors are less than k + 1 less the others' x (k + 1), a whole number m, so k - m
        at most; together (k - m) / k + m / (k + 1).
        """
        for room, n in zip(self.room, cards, strict=True):
            room.append(n * self.units * max(k, 1))
        for size, n, share in zip(self.size, self.card_demand, self.card_share, strict=True):
            parts = (k + 1) * share
            counted = k * share if parts % self.units == 0 else parts // self.units * self.units
            size.append(n * self.units * max(k, 1) + (counted if k else share))

    def _rules(self, document: Step) -> None:
        types, kinds, no_limit = len(self.size), len(self.room), MOST_PRICE**2

        def group(value: object) -> list[int]:
            members = wholes(value, "types", None, 0, types - 1)
            refuse_if(len(set(members)) < len(members), "a rule names a type twice")
            return members

        def rules(own: str, name: str, key: str, other: str) -> list[tuple[list[int], int, Step]]:
            each = enumerate(listed(document.get(own) or [None] * types, own, types))
            entries: list[object] = [{"types": [i], key: n} for i, n in each if n is not None]
            entries += listed(document.get(name, []), name)
            entries_read = [fields(e, f"types {key}", other, f"a {name[:-1]}") for e in entries]
            return [(group(rule["types"]), whole(rule[key], key, 1), rule) for rule in entries_read]

        # 1. Where each type is allowed, and which types are apart.
        allowed = listed(document.get("allowed") or [], "allowed")
        rows = [listed(row, "allowed", kinds) for row in allowed]
        if any(type(entry) is not bool for row in rows for entry in row):
            raise Refused("allowed is neither true nor false")
        self.allowed = rows or [[True] * kinds] * types
        listed(self.allowed, "allowed", types)
        self.limits, self.zonal = list[tuple[list[int], int]](), list[Zonal]()
        pairs = [listed(pair, "apart", 2) for pair in listed(document.get("apart") or [], "apart")]
        self.apart = [set(group(pair)) for pair in pairs]
        # 2. Limits on a server and in a zone, and spreads over zones.
        zones: dict[str, set[int]] = {}
        for c, name in enumerate(listed(document.get("zone") or [""] * kinds, "zone", kinds)):
            zones.setdefault(text_of(name, "zone"), set()).add(c)
        zones.pop("", None)
        every = list(zones.values())
        for limited, most, rule in rules("most_per_server", "limits", "most", "within"):
            if rule.get("within", "server") == "server":
                self.limits.append((limited, most))
            else:
                refuse_if(rule["within"] != "zone", "a limit is within neither server nor zone")
                self.zonal.append((limited, every, most, no_limit))
        for members, skew, rule in rules("skew", "spreads", "skew", "zones"):
            charge(kinds * (len(members) + 5))
            able = {c for c, n in enumerate(self.servers)
                    if n != 0 and any(self.allowed[i][c] for i in members)}  # fmt: skip
            named = {text_of(name, "a zone") for name in listed(rule.get("zones", []), "zones")}
            refuse_if(not named <= set(zones), "a spread names a zone in which there is no server")
            listing = sorted(zones.items())
            over = [z for name, z in listing if (name in named if named else z & able)]
            self.zonal.append((members, over, no_limit, skew))
        groups = [group for group, _ in self.limits] + [group for group, *_ in self.zonal]
        self.work = 2 * sum(map(len, groups)) + 10 * len(self.apart)  # to see if a server is right
        # 3. The VMs that run now.
        self.placed = dict[int, tuple[int, dict[int, int]]]()  # by server: its class, and its VMs
        for entry in listed(document.get("placed") or [], "placed"):
            server, i, n = wholes(entry, "placed", 3, 0)
            _, present = self.placed.setdefault(server, (self.class_of(server), {}))
            refuse_if(i >= types or i in present, "what runs now is of no type, or told twice")
            present[i] = n
        self.placed_vms = sum(sum(present.values()) for _, present in self.placed.values())

    def _services(self, document: Step) -> None:
        self.services, self.owed = list[tuple[dict[int, int], int]](), list(self.request)
        for entry in listed(document.get("services") or [], "services"):
            service = fields(entry, "types rates rate", "name", "a service")
            types = wholes(service["types"], "types", None, 0, len(self.size) - 1)
            rates = wholes(service["rates"], "rates", len(types), 1, MOST_PRICE)
            rate = whole(service["rate"], "rate", 1, MOST_PRICE)
            self.services.append((dict(zip(types, rates, strict=True)), rate))
            for i, gives in zip(types, rates, strict=True):
                refuse_if(self.owed[i] is not None, "a VM serves two services, or has a request")
                self.owed[i] = -(-rate // gives)

    def class_of(self, server: int) -> int:
        """Class of a server; servers are numbered class by class."""
        charge(2 * len(self.servers))
        for c, number in enumerate(self.servers):
            server -= whole(number, "the number of servers")
            if server < 0:
                return c
        raise Refused("there is no such server")

    def cluster(self) -> tuple[list[int], list[list[Fraction]], list[list[int]]]:
        """Number of servers by class, fraction of all free capacity that a VM of each type takes by
        resource, and sums by resource of the initial and of the free capacity.
        """
        refuse_if(not self.partial and any(self.request), "a request is no cap")
        servers = [whole(n, "the number of servers") for n in self.servers]
        sums = [[sum(n * row[j] for n, row in zip(servers, rows, strict=True))
                 for j in range(len(rows[0]))] for rows in (self.start, self.room)]  # fmt: skip
        sizes = [zip(row, sums[1], strict=True) for row in self.size]
        return servers, [[Fraction(d, n or 1) for d, n in row] for row in sizes], sums
