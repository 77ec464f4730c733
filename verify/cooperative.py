"""Cooperative games: the value of all players together is divided, by the values of coalitions (bit
masks of players).

A coalition's excess is its value less what a division gives its members. The nucleolus makes the
largest excess as small as can be; then, where there is a choice left, the next one, and so on.
"""

import math
from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .reading import (
    MOST_PRICE,
    charge,
    fields,
    listed,
    product,
    rationals,
    refuse_if,
    scaled,
    wholes,
)

MOST_PLAYERS = 16
LEVELS = "largest_excess min, nucleolus_distance min"


def all_changes(players: int) -> list[list[int]]:
    """Basis of the changes of a division by player: all changes are sums of multiples of these."""
    return [[-1, *(int(i == j) for j in range(1, players))] for i in range(1, players)]


def change(y: list[int], mask: int) -> int:
    """Increase of the payment of a coalition by a change of the division."""
    return sum(part for i, part in enumerate(y) if mask >> i & 1)


def settled(free: list[list[int]], mask: int) -> list[list[int]]:
    """Basis of the free changes of a division that keep the payment of a coalition."""
    by = [change(y, mask) for y in free]
    lost = next((k for k, amount in enumerate(by) if amount), None)
    if lost is None:
        return free
    rest = [(free[k], amount) for k, amount in enumerate(by) if k != lost]
    free = [[by[lost] * a - amount * b for a, b in zip(y, free[lost], strict=True)]
            for y, amount in rest]  # fmt: skip
    return [[part // math.gcd(*y) for part in y] for y in free]


def nucleolus_levels(
    case: ProofCase, values: list[int], over: int, alone: bool
) -> list[CheckedLevel]:
    """Check that an answer is the nucleolus: its largest excess, and its distance from the
    nucleolus, 0.

    `values` over a denominator. `alone`: no division counts that gives a player less than it earns
    alone; without it this is the prenucleolus.

    Theorem (Kohlberg 1971). Let another division differ by y and be no worse: where the sorted
    excesses first differ, its own is smaller. A coalition is settled if such y never change what it
    has. If all of larger excess than e are settled, no other has more than e there, so those of
    excess e have y(S) >= 0, as have players who get just what they earn alone. If such coalitions,
    with weights above 0, have a weighted sum of y(S) that is 0 for every y which leaves the settled
    ones what they have, all of them are settled. If all coalitions are, y = 0.
    """
    players, last = len(values).bit_length() - 1, len(values) - 1
    refuse_if(not 2 <= players <= MOST_PLAYERS or last + 1 != 1 << players, "no 2^k values, k 2-16")
    answer = fields(case.witness, "division", what="the answer")
    shares, under = rationals(answer["division"], "division", players)
    bits = sum(max(map(int.bit_length, numbers)) for numbers in (values, shares, [over], [under]))
    charge((last + 1) * (50 + product(bits, bits)))
    excess = [0]
    for share in shares:
        excess += [total - share * over for total in excess]
    excess = [value * under + total for value, total in zip(values, excess, strict=True)]
    refuse_if(excess[0] or excess[last], "the division is not of what all earn")
    refuse_if(alone and max(excess[1 << i] for i in range(players)) > 0, "a player gets too little")
    order = sorted(range(1, last), key=lambda mask: -excess[mask])
    free, done = all_changes(players), 0
    for _, step in case.each(0, balanced="coalitions weights"):
        masks = wholes(step["coalitions"], "coalitions", None, 1, last - 1)
        weights = wholes(step["weights"], "weights", len(masks), 1, MOST_PRICE)
        charge(players * players * (10 + 3 * len(masks)))
        for mask in masks:
            own = alone and mask.bit_count() == 1 and not excess[mask]
            refuse_if(excess[mask] < excess[order[done]] and not own, "a coalition is too early")
        for y in free:
            total = sum(w * change(y, mask) for w, mask in zip(weights, masks, strict=True))
            refuse_if(total, "the coalitions are not balanced")
        for mask in masks:
            free = settled(free, mask)
        while free and not any(change(y, order[done]) for y in free):
            charge(2 + players * len(free))
            done += 1
    refuse_if(free or any(case.steps[1:]), "a coalition is not settled, or there are more steps")
    worst = Fraction(excess[order[0]], over * under)
    return [CheckedLevel(worst, worst), CheckedLevel(Fraction(0), Fraction(0))]


def game(case: ProofCase, alone: bool) -> list[CheckedLevel]:
    """Check the nucleolus of a game given by values, or by costs: minus the values, as payments are
    minus the costs.
    """
    kind, sign = ("costs", -1) if "costs" in case.document else ("values", 1)
    given = listed(fields(case.document, kind, "names", "the instance")[kind], kind)
    refuse_if(None in given or len(given) > 1 << MOST_PLAYERS, "no values, or too many")
    values, over = scaled(given, kind)
    return nucleolus_levels(case, [sign * (value or 0) for value in values], over, alone)


METHODS: Methods = {
    "nucleolus": ("", LEVELS, lambda case: game(case, True)),
    "prenucleolus": ("", LEVELS, lambda case: game(case, False)),
}
