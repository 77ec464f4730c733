"""Check of the bound on servers that dual prices of VMs prove, as no filling is worth more."""

from bisect import bisect_right
from fractions import Fraction

from .packing import Packing
from .program import Program
from .reading import MOST_FOUND, MOST_PRICE, Refused, Step, charge, listed, refuse_if, whole, wholes


def server_patterns(given: Packing, kind: int, items: list[tuple[int, int, list[int]]],
             weights: list[int], least: int) -> list[tuple[int, dict[int, int]]]:  # fmt: skip
    """All maximal fillings of a server worth at least `least`, each as (worth, copies by item); the
    empty filling where nothing fits.

    Items: (price above 0, most copies, size). With any weights of the resources, 0 or more, a
    filling weighs no more than the room. So what can still be added is worth no more than if
    the items of least weight per price fill what is left of it, the last in part (Dantzig
    1957); and no more than items whose weights, rounded down to parts of the room, are in all
    no more than the parts that are left.
    """
    # 1. The items that fit, by least weight per price, with their sizes as one number each.
    # line: (weight per price, item, price, copies, weight, weight in parts of the room, size)
    room, line = given.room[kind], []
    patterns = list[tuple[int, dict[int, int]]]()
    charge(5 * (len(items) + 1) * len(room))
    items = [] if given.servers[kind] == 0 else items
    space = sum(u * r for u, r in zip(weights, room, strict=True))
    grid = min(5_000, 2_000_000 // (len(items) + 1) // len(given.room)) if space else 0
    # sizes as one number: a field for each resource, whose highest bit is there as long as they fit
    width = max(room, default=0).bit_length() + 1
    guard = sum(1 << width * (j + 1) - 1 for j in range(len(room)))
    step = 1 + width * len(room) // 5_000
    for i, (price, most, size) in enumerate(items):
        fits = [r // d for r, d in zip(room, size, strict=True) if d]
        heavy = sum(u * d for u, d in zip(weights, size, strict=True))
        if copies := min(most, *fits):
            field = sum(d << width * j for j, d in enumerate(size))
            parts = heavy * grid // space if space else 0
            line.append((Fraction(heavy, price), i, price, copies, heavy, parts, field))
    line.sort(key=lambda item: item[:2])
    full = [(most * heavy, most * price) for _, _, price, most, heavy, _, _ in line]

    def dantzig(at: int, reach: int, rest: int) -> int:
        k = at
        while k < len(line) and full[k][0] <= rest:
            reach, rest, k = reach + full[k][1], rest - full[k][0], k + 1
        charge(20 + 3 * (k - at))
        return reach + line[k][2] * rest // line[k][4] if k < len(line) else reach

    # 2. What the items from one on are worth at most, by parts of the room.
    if line and dantzig(0, 0, space) < least:
        return []
    tables = [[0] * (grid + 1)]  # negated largest worth of items from one on, by room
    for _, _, price, most, _, parts, _ in reversed(line):
        table, left, bundle = tables[-1], most, 1
        while left:  # bundles of 1, 2, 4, ... copies and a rest make every number
            charge(grid + 1)
            bundle = min(bundle, left)
            more, value = bundle * parts, bundle * price
            added = zip(table[more:], table, strict=False)
            table = table[:more] + [min(kept, before - value) for kept, before in added]
            left, bundle = left - bundle, 2 * bundle
        tables.append(table)
    by_room, fields = [*zip(*reversed(tables), strict=True)], [item[-1] for item in line]
    start = guard + sum(r << width * j for j, r in enumerate(room))
    # 3. Item by item, of fillings that leave equal room the dearest; if none is worth enough none
    # is listed. Where these are too many, the search below decides.
    dearest = {start: (0, space, grid)}
    for k, (_, _, price, most, heavy, parts, field) in enumerate(line):
        found = dict[int, tuple[int, int, int]]()  # by room left: worth, room, cells
        for free, (worth, left, cells) in dearest.items():
            if by_room[cells][k] > worth - least or dantzig(k, worth, left) < least:
                continue
            n = 0
            while n <= most and (rest := free - n * field) & guard == guard:
                if rest not in found or found[rest][0] < worth + n * price:
                    found[rest] = worth + n * price, left - n * heavy, cells - n * parts
                n += 1
            charge((n + 1) * (5 + step))
        if len(dearest := found) > MOST_FOUND:
            break
    else:
        if line and all(worth < least for worth, _, _ in dearest.values()):
            return []
    # 4. A search for all fillings that are worth enough.
    stack = [(0, 0, start, space, grid, dict[int, int]())]
    while stack:
        at, worth, free, left, cells, counts = stack.pop()
        charge(len(counts))
        if line and dantzig(at, worth, left) < least:
            continue
        # the items that may come next: later ones are not worth enough
        end = min(bisect_right(by_room[cells], worth - least, at), len(line))
        following = [k for k in range(at, end) if (free - fields[k]) & guard == guard]
        charge(10 + step * (end - at))
        for k in following:
            _, i, price, most, heavy, parts, field = line[k]
            copies = 1
            while copies < most and (free - (copies + 1) * field) & guard == guard:
                copies += 1
            stack += [
                (k + 1, worth + n * price, free - n * field, left - n * heavy, cells - n * parts,
                 {**counts, i: n}) for n in range(copies, 0, -1)
            ]  # fmt: skip
            charge(copies * (10 + step + len(counts)))
        if max(len(patterns), len(stack) // 10) > MOST_FOUND:
            raise Refused("there are more fillings than this program has memory for")
        if end == len(line) and (worth >= least or not line):
            charge(20 * len(counts) + 2 * step * len(line))
            if not any((free - field) & guard == guard and counts.get(i, 0) < most
                       for _, i, _, most, _, _, field in line):  # fmt: skip
                patterns.append((worth, counts))
    return patterns


def least_price(given: list[tuple[int, int]], rate: int) -> int:
    """Least cost of a mix of VMs with a given rate: (price, rate of one VM) of each type.

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
    """Lower bound on the cost of answers that serve `owed` VMs, from a step with their prices.

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
        """Integer program of how many servers take each listed filling. Rows: each item, each
        class, the target, two for each sum.
        """
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
        """Lower bound on the cost; None if no answer exists."""
        if "sums" in self.step:
            self.program().impossible(self.step)
            return self.target + 1 if self.scale else None
        refuse_if(not self.scale and self.gain <= 0, "the prices prove nothing")
        return -(-self.gain // self.scale) if self.scale else None
