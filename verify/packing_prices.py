"""Packing: prices of VMs."""

from fractions import Fraction

from .packing import Packing
from .program import Program
from .reading import MOST_FOUND, MOST_PRICE, Refused, Step, charge, listed, refuse_if, whole, wholes


def server_patterns(given: Packing, kind: int, items: list[tuple[int, int, list[int]]],
             weights: list[int], least: int) -> list[tuple[int, dict[int, int]]]:  # fmt: skip
    """Every maximal filling of a server worth `least` or more: its worth, and copies by item.

    Items: (price above 0, most copies, size). With any weights of the resources, 0 or more, a
    filling weighs no more than the room. So what can still be added is worth no more than if
    the items of least weight per price fill what is left of it, the last in part (Dantzig
    1957).
    """
    room, line, patterns = given.room[kind], [], []
    charge(5 * (len(items) + 1) * len(room))
    items = [] if given.servers[kind] == 0 else items
    for i, (price, most, size) in enumerate(items):
        fits = [r // d for r, d in zip(room, size, strict=True) if d]
        heavy = sum(u * d for u, d in zip(weights, size, strict=True))
        if copies := min(most, *fits):
            line.append((Fraction(heavy, price), i, price, copies, heavy, size))
    line.sort(key=lambda item: item[:2])
    full = [(most * heavy, most * price) for _, _, price, most, heavy, _ in line]
    space, nothing = sum(u * r for u, r in zip(weights, room, strict=True)), dict[int, int]()
    stack = [(0, 0, room, space, nothing)]
    while stack:
        at, worth, free, space, counts = stack.pop()
        if at == len(line):
            charge(20 * len(counts))
            patterns.append((worth, counts))
            for _, i, _, most, _, size in line:
                charge(3 + len(room))
                more = counts.get(i, 0) < most
                if more and all(d <= f for d, f in zip(size, free, strict=True)):
                    patterns.pop()  # it is not maximal
                    break
            continue
        _, i, price, most, heavy, size = line[at]
        fits = [f // d for f, d in zip(free, size, strict=True) if d]
        for copies in range(min(most, *fits), -1, -1):
            reach, left, k = worth + copies * price, space - copies * heavy, at + 1
            while k < len(line) and full[k][0] <= left:
                reach, left, k = reach + full[k][1], left - full[k][0], k + 1
            if k < len(line):
                reach += line[k][2] * left // line[k][4]
            charge(20 + len(counts) + 2 * len(room) + 3 * (k - at))
            if max(len(patterns), len(stack) // 10) > MOST_FOUND:
                raise Refused("there are more fillings than this program has memory for")
            if reach < least:
                break
            rest = [f - copies * d for f, d in zip(free, size, strict=True)]
            added = {**counts, i: copies} if copies else counts
            stack.append((at + 1, worth + copies * price, rest, space - copies * heavy, added))
    return patterns


def least_price(given: list[tuple[int, int]], rate: int) -> int:
    """What a mix of VMs costs at least that give a rate: (price, what one gives) of each type.

    The best type for its price comes first: what is missing costs no less than it would by the
    next type, were parts of VMs allowed.
    """
    if any(price == 0 for price, _ in given):
        return 0
    line = sorted(given, key=lambda pair: Fraction(*pair))
    best = min(-(-rate // gives) * price for price, gives in line)
    stack = [(0, rate, 0)]
    while stack:
        at, left, paid = stack.pop()
        price, gives = line[at]
        best = min(best, paid - (-left // gives) * price)
        for n in range(left // gives, -1, -1) if at + 1 < len(line) else []:
            charge(10)
            rest, cost = left - n * gives, paid + n * price
            per, gets = line[at + 1]
            if rest > 0 and cost - (-rest * per // gets) >= best:
                break  # with fewer of the better type it costs no less
            stack.append((at + 1, rest, cost))
    return best


class Priced:
    """What answers that serve `owed` VMs cost at least, by a step of "prices".

    Theorem. Let prices y of VMs, a scale t and rents r of servers be 0 or more, and no filling of a
    server of any class c (with up to `owed` VMs of each type) be worth more than cost_c t + r_c. An
    answer uses at most n_c servers of each class and serves VMs worth y.owed, so that its cost
    times t is at least gain := y.owed - sum of r_c n_c. Costs are whole: it costs at least gain / t
    rounded up. If t is 0 and gain above 0 there is no answer (bound None).
    Of a service, VMs worth as much as the cheapest mix are served at least that gives its rate; a
    filling has no more VMs of a type than are of use.
    With a tree: fill up the servers of an answer of cost up to `target` (of any cost, if t is 0).
    What they fall short of cost_c t + r_c is at most target t - gain =: reach in all, so for each.
    All fillings as good are listed. The answer takes each of them a whole number of times, a
    column: they serve what is owed with at most n_c servers and cost at most target. Further
    columns are sums: how many fillings of a class (-1: any) hold so many copies of some items. The
    tree shows that no whole numbers are like this; so there is no such answer.
    """

    kind = "prices scale rents weights|target sums tree leaves cuts"

    def __init__(self, given: Packing, owed: list[int], cost: list[int],
                 step: Step) -> None:  # fmt: skip
        self.given, self.cost, self.step, classes = given, cost, step, len(given.room)
        prices = wholes(step["prices"], "prices", len(owed), 0, MOST_PRICE)
        class_prices = wholes(step["rents"], "rents", classes, 0, MOST_PRICE)
        self.scale = scale = whole(step["scale"], "scale", 0, MOST_PRICE)
        self.target = whole(step.get("target", 0), "target", 0, MOST_PRICE)
        alike: dict[tuple[int, tuple[int, ...]], int] = {}
        for price, number, size in zip(prices, owed, given.size, strict=True):
            if price and number:
                alike[price, tuple(size)] = alike.get((price, tuple(size)), 0) + number
        items = [(price, number, list(size)) for (price, size), number in alike.items()]
        self.owed = list(alike.values())
        if any(r and n is None for r, n in zip(class_prices, given.servers, strict=True)):
            raise Refused("servers of which there are as many as needed have a rent")
        serving = {i for rates, _ in given.services for i in rates}
        self.gain = sum(prices[i] * n for i, n in enumerate(owed) if i not in serving)
        for rates, rate in given.services:
            self.gain += least_price([(prices[i], gives) for i, gives in rates.items()], rate)
        refuse_if("sums" in step and bool(given.services), "no tree is about services")
        self.gain -= sum(r * (n or 0) for r, n in zip(class_prices, given.servers, strict=True))
        reach = max(self.target * scale - self.gain, -1) if "sums" in step else -1
        self.patterns = list[tuple[int, dict[int, int]]]()
        for c, row in enumerate(listed(step["weights"], "weights", classes)):
            weights = wholes(row, "weights", len(given.room[0]), 0, MOST_PRICE)
            limit = cost[c] * scale + class_prices[c]
            for worth, filling in server_patterns(given, c, items, weights, max(1, limit - reach)):
                if worth > limit:
                    raise Refused(f"a filling of class {c} is worth more than the server costs")
                self.patterns.append((c, filling))

    def program(self) -> Program:
        """Of the fillings listed. Rows: each item, each class, the target, and two for each sum."""
        program, servers, patterns = Program(), self.given.servers, list(enumerate(self.patterns))
        for _, (c, _) in patterns:  # there are at most so many, or each costs at least 1
            most = servers[c]
            program.column(self.target // self.cost[c] if most is None else most)
        for i, number in enumerate(self.owed):
            program.at_most([(k, -filling.get(i, 0)) for k, (_, filling) in patterns], -number)
        for c, most in enumerate(servers):
            taken = [(k, int(kind == c and most is not None)) for k, (kind, _) in patterns]
            program.at_most(taken, most or 0)
        paid = [(k, self.cost[c]) for k, (c, _) in patterns if self.scale]
        program.at_most(paid, self.target if self.scale else 0)
        sums = listed(self.step["sums"], "sums")
        refuse_if(len(sums) * len(patterns) > 10**7, "so many sums take too long")
        for entry in sums:
            kind, *holds = wholes(entry, "a sum", None, -1)
            pairs = list(zip(holds[::2], holds[1::2], strict=True))
            charge((1 + len(pairs)) * len(patterns))
            counted = [k for k, (c, filling) in patterns if kind in (-1, c)
                       and all(filling.get(i, 0) >= n for i, n in pairs)]  # fmt: skip
            total = program.column(sum(program.high[k] for k in counted))
            program.equal([*((k, 1) for k in counted), (total, -1)], 0)
        return program

    def bound(self) -> int | None:
        """No answer costs less; None if there is none at all."""
        if "sums" in self.step:
            self.program().impossible(self.step)
            return self.target + 1 if self.scale else None
        refuse_if(not self.scale and self.gain <= 0, "the prices prove nothing")
        return -(-self.gain // self.scale) if self.scale else None
