"""Bounds by multipliers on the cost of every pairing of agents of T types, at most two together."""

from .reading import Refused, Step, beyond, charge, listed, product, whole, wholes


class PairCosts:
    """Number of agents of each type, and penalties of pairs as integers over `unit`.

    `penalty[a][b]` is what an a-agent beside a b-agent loses, None where they may not share. At
    most `alone` agents may be without a co-runner, at the penalty `single`.
    """

    count: list[int]
    penalty: list[list[int | None]]
    size: int
    alone: int
    single: int
    unit: int


def pairing_bound(given: PairCosts, step: Step, weight: list[int]) -> int:
    """Lower bound by multipliers on the sum over agents of weight[type] x penalty.

    Let x[a,b] pairs of types a and b be formed and s[a] agents of type a stay alone. Every a-agent
    is placed once: sum over b of x[a,b] (1 + [a = b]) + s[a] = count[a]. All s together are at most
    `alone`. And of a set S of types with an odd number of agents at least one is alone or shares
    with a type outside, as pairs within S take an even number: x(leaving S) + s(S) >= 1. Take these
    rows times prices u[a] of any sign, rent >= 0 and p[S] >= 0, and subtract them from the cost:
        cost >= u . count - rent alone + sum of p + sum of (reduced cost of a column) (the column).
    A column is at least 0 and at most `most`, so it adds no less than min(0, reduced cost) most.
    At last the cost is a whole number of units, so the bound may be rounded up to one.
    """
    over, rent = whole(step["over"], "over", 1), whole(step["rent"], "rent", 0)
    prices, size = wholes(step["prices"], "prices", given.size), given.size
    total = sum(u * n for u, n in zip(prices, given.count, strict=True)) - rent * given.alone
    sets_of: list[dict[int, int]] = [{} for _ in range(size)]
    for k, entry in enumerate(listed(step["sets"], "sets")):
        price, *members = wholes(entry, "a set", None, 0)
        if members != sorted(set(members)) or sum(given.count[a] for a in members) % 2 == 0:
            raise Refused(f"the set {k} names a type twice, or has an even number of agents")
        total += price
        for a in members:
            prices[a] += price  # for every column of a; taken back below where both are inside
            sets_of[a][k] = price
    columns = list(zip(*given.penalty, strict=True))
    weight = [over * times for times in weight]
    bits = max(map(int.bit_length, [*prices, *weight]))
    each = product(beyond([1 << bits]), given.unit.bit_length())
    for a, (u, times) in enumerate(zip(prices, weight, strict=True)):
        if given.alone:
            total += min(0, given.single * times - u + rent) * given.count[a]
        charge((size - a) * (3 + len(sets_of[a]) + each))
        row = zip(given.penalty[a][a:], columns[a][a:], weight[a:], prices[a:], strict=True)
        for b, (one, other, w, v) in enumerate(row, a):
            if one is not None and other is not None and one * times + other * w < u + v:
                both = sum(price for k, price in sets_of[a].items() if k in sets_of[b])
                most = given.count[a] // 2 if a == b else min(given.count[a], given.count[b])
                total += min(0, one * times + other * w - u - v + 2 * both) * most
    return -(-total // over)
