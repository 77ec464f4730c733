"""Nucleoli by other routes: programs whose fixed coalitions are tried one by one, and the rules of
claims and runways that it is known to follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from support.oracles.rational_program import least


def sums(shares: Sequence[Fraction], players: int) -> list[Fraction]:
    """Total share of each coalition's members."""
    return [
        sum((shares[i] for i in range(players) if mask >> i & 1), Fraction(0))
        for mask in range(1 << players)
    ]


def nucleolus_by_programs(
    values: Sequence[int], *, rational: bool
) -> tuple[list[Fraction], list[Fraction]]:
    """The division and the distinct excesses settled (Kopelowitz's sequence): after each program a
    coalition is fixed if a further program shows that it cannot have more.
    """
    players = len(values).bit_length() - 1
    fixed: dict[int, Fraction] = {len(values) - 1: Fraction(values[-1])}
    levels: list[Fraction] = []

    def program(goal: dict[int, int], epsilon: Fraction | None) -> tuple[Fraction, list[Fraction]]:
        """Optimum of the program whose fixed coalitions have the excesses of `goal`, and its
        division.
        """
        rows, right = [], []
        free = [mask for mask in range(1, len(values) - 1) if mask not in fixed]
        bounds = [(mask, 1) for mask in free]
        bounds += [(1 << i, 0) for i in range(players) if rational]
        width = 2 * players + 2 + len(bounds)
        for index, (mask, has) in enumerate(bounds):
            row = [Fraction(0)] * width
            for i in range(players):
                row[2 * i], row[2 * i + 1] = Fraction(mask >> i & 1), -Fraction(mask >> i & 1)
            row[2 * players], row[2 * players + 1] = Fraction(has), -Fraction(has)
            row[2 * players + 2 + index] = Fraction(-1)
            rows.append(row)
            right.append(Fraction(values[mask]))
        for mask, share in fixed.items():
            row = [Fraction(0)] * width
            for i in range(players):
                row[2 * i], row[2 * i + 1] = Fraction(mask >> i & 1), -Fraction(mask >> i & 1)
            rows.append(row)
            right.append(share)
        if epsilon is not None:
            row = [Fraction(0)] * width
            row[2 * players], row[2 * players + 1] = Fraction(1), Fraction(-1)
            rows.append(row)
            right.append(epsilon)
        cost = [Fraction(0)] * width
        for column, price in goal.items():
            cost[2 * column], cost[2 * column + 1] = Fraction(price), -Fraction(price)
        found = least(cost, rows, right)
        assert found is not None
        value, point = found
        return value, [point[2 * i] - point[2 * i + 1] for i in range(players)]

    while len(fixed) < len(values) - 1:
        epsilon, division = program({players: 1}, None)
        levels.append(epsilon)
        has = sums(division, players)
        tight = [
            mask
            for mask in range(1, len(values) - 1)
            if mask not in fixed and values[mask] - has[mask] == epsilon
        ]
        new = {}
        for mask in tight:
            members = {i: -1 for i in range(players) if mask >> i & 1}
            if -program(members, epsilon)[0] == has[mask]:
                new[mask] = has[mask]
        assert new
        fixed.update(new)
    return [fixed[1 << i] for i in range(players)], levels


def talmud(estate: Fraction, claims: Sequence[int]) -> list[Fraction]:
    """Aumann and Maschler 1985: equal awards up to half of each claim, then equal losses."""

    def equal_awards(amount: Fraction, caps: Sequence[Fraction]) -> list[Fraction]:
        awards, left = [Fraction(0)] * len(caps), amount
        order = sorted(range(len(caps)), key=caps.__getitem__)
        for index, i in enumerate(order):
            awards[i] = min(caps[i], left / (len(caps) - index))
            left -= awards[i]
        return awards

    half = [Fraction(claim, 2) for claim in claims]
    if estate <= sum(half):
        return equal_awards(estate, half)
    losses = equal_awards(sum(claims) - estate, half)
    return [claim - loss for claim, loss in zip(claims, losses, strict=True)]


def runway(costs: Sequence[int]) -> list[Fraction]:
    """Share of each landing in the cost of a runway, with ascending costs: the nucleolus of the
    airport game (Littlechild 1974).
    """
    players, paid = len(costs), [Fraction(0)] * len(costs)
    first, before = 0, Fraction(0)  # paid for by those before `first`
    while first < players:
        # each so far at most the least equal part of a stretch, one more sharing but at the end
        options = []
        for end in range(first, players):
            number = end - first + 1
            sharing = number + (end < players - 1)
            options.append(((costs[end] - before) / Fraction(sharing), end))
        part, end = min(options, key=lambda option: (option[0], -option[1]))
        for i in range(first, end + 1):
            paid[i] = part
        before += part * (end - first + 1)
        first = end + 1
    return paid
