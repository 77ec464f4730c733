"""Checks of the largest least dominant share and of the largest utilization in packing."""

import math
from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase, step_of
from .packing import Packing
from .packing_prices import Priced, server_patterns
from .program import Program
from .reading import MOST_PRICE, Refused, charge, common, listed, rational, refuse_if, whole, wholes


class Shares:
    """Dominant shares: the largest fraction of any resource that a user has."""

    def __init__(self, given: Packing) -> None:
        self.given, self.unit = given, [max(part) for part in given.cluster()[1]]
        self.users = [i for i, most in enumerate(given.request) if most != 0]
        self.order = sorted(given.total[i] * self.unit[i] for i in self.users)
        self.patterns: list[list[dict[int, int]]] = []

    def maximal(self) -> list[list[dict[int, int]]]:
        """Maximal fillings of a server of each class with requested VMs."""
        given, users = self.given, self.users
        items = [(1, MOST_PRICE if (n := given.request[i]) is None else n, given.size[i])
                 for i in users]  # fmt: skip
        for c in range(len(given.room) if not self.patterns else 0):
            patterns = server_patterns(given, c, items, [0] * len(given.room[c]), 1)
            self.patterns.append(
                [{users[i]: n for i, n in filling.items()} for _, filling in patterns]
            )
        return self.patterns

    def program(self, level: int) -> Program:
        """Integer program of the placements that beat the answer by the share at position `level`
        of the sorted shares, and are no worse at the positions before.

        Columns: how often each maximal filling is taken by the servers of a class, which may hold
        more than is wanted; and for each of these conditions and each user, whether it misses it.
        For each share of the answer before the level no more users are below it than in the answer;
        and no more than `level` are not above its share at the level. Who misses a condition does
        not want as many VMs as it takes, or has fewer.
        """
        program, patterns = Program(), list[dict[int, int]]()
        for rows, number in zip(self.maximal(), self.given.servers, strict=True):
            program.at_most([(program.column(number or 0), 1) for _ in rows], number or 0)
            patterns += rows
        reached = sorted(set(self.order[:level]))
        goals = [(self.order.index(share), share, False) for share in reached]
        for below, share, above in [*goals, (level, self.order[level], True)]:
            missing = list[int]()
            for i in self.users:
                exactly, most = share / self.unit[i], self.given.request[i]
                need = int(exactly) + 1 if above else -int(-exactly // 1)
                missing.append(program.column(1))
                charge(50 + len(patterns))
                if most is not None and most < need:
                    program.low[-1] = 1
                terms = [(k, -filling[i]) for k, filling in enumerate(patterns) if i in filling]
                program.at_most([*terms, (missing[-1], -need)], -need)
            program.at_most([(j, 1) for j in missing], below)
        return program


def packing_share(case: ProofCase) -> list[CheckedLevel]:
    """Check the largest least dominant share of the requesting users; then, of placements whose
    lower shares are no less, the largest next one.

    If there is no room for so many VMs of each that all shares are above some share (or somebody
    does not want as many), that is a bound ("share"). Or a tree shows that nothing is better than
    the answer at a level ("propagation").
    """
    given = Packing(case)
    shares, levels = Shares(given), list[CheckedLevel]()
    for level in range(len(case.steps)):
        levels.append(CheckedLevel(shares.order[level] if given.answered else None))
        kinds = {"propagation": "tree|leaves cuts"} | ({} if level else {"share": "above|prices"})
        for kind, step in case.each(level, **kinds):
            if kind == "propagation":
                refuse_if(not given.answered, "a tree is about an answer, and there is none")
                shares.program(level).impossible(step)
                levels[-1].at_most(shares.order[level])
                continue
            share, unit = rational(step["above"], "above"), shares.unit
            charge(20 * len(unit))
            owed = [int(share // u) + 1 if i in shares.users else 0 for i, u in enumerate(unit)]
            bound, wanted = None, zip(owed, given.request, strict=True)
            if not any(most is not None and most < number for number, most in wanted):
                hint = step_of(step.get("prices"), prices=Priced.kind)[1]
                bound = Priced(given, owed, given.cost, hint).bound()
            if share < 0 or bound is not None:
                raise Refused("it is not shown that nothing gives everybody more")
            levels[-1].at_most(share)
    return levels


def packing_utilization(case: ProofCase) -> list[CheckedLevel]:
    """Check the most utilization: mean over resources of the used part, initial use included.

    A VM of type i adds w_i to it. Let prices y and rents r be 0 or more, and no filling of a server
    of a class c be worth more than r_c. An answer with s_i <= cap_i VMs of each type adds
    w.s <= y.s + sum of max(0, w_i - y_i) cap_i, and y.s <= sum of r_c n_c; what is not capped must
    have y_i >= w_i. What VMs add is a whole number of times what divides all w.
    """
    given, level = Packing(case), CheckedLevel()
    servers, _, sums = given.cluster()
    there = [j for j, space in enumerate(sums[0]) if space]
    once = common([sums[0][j] for j in there])
    rows = [[row[j] * (once // sums[0][j]) for j in there] for row in [sums[1], *given.size]]
    free, *weight = map(sum, rows)
    shared = math.gcd(once * len(there), *weight)
    unit, weight = once * len(there) // shared, [w // shared for w in weight]
    begin = 1 - Fraction(free, once * len(there))
    if given.answered:
        used = sum(n * w for n, w in zip(given.total, weight, strict=True))
        level.value = begin + Fraction(used, unit)
    for _, step in case.each(0, prices="prices over rents weights"):
        over = whole(step["over"], "over", 1, MOST_PRICE)
        prices = wholes(step["prices"], "prices", len(weight), 0, MOST_PRICE)
        class_prices = wholes(step["rents"], "rents", len(servers), 0, MOST_PRICE)
        caps = [MOST_PRICE if cap is None else cap for cap in given.request]
        items = [item for item in zip(prices, caps, given.size, strict=True) if item[0] and item[1]]
        for c, row in enumerate(listed(step["weights"], "weights", len(servers))):
            weights = wholes(row, "weights", None, 0, MOST_PRICE)
            rent = class_prices[c]
            dearer = server_patterns(given, c, items, weights, rent + 1)
            if any(worth > rent for worth, _ in dearer):
                raise Refused(f"a filling of class {c} is worth more than its rent")
        most = sum(r * n for r, n in zip(class_prices, servers, strict=True))
        for price, w, cap in zip(prices, weight, given.request, strict=True):
            refuse_if(
                cap is None and price < w * over, "a price without a cap is below what VMs add"
            )
            most += max(0, w * over - price) * (cap or 0)
        shared = math.gcd(*weight)
        level.at_most(begin + Fraction(most // (over * shared) * shared, unit))
    return [level]


LEVELS = "dominant_share_min max" + ", dominant_share max" * 999
METHODS: Methods = {
    "max-min-share": ("", LEVELS, packing_share),
    "max-utilization": ("", "utilization max", packing_utilization),
}
