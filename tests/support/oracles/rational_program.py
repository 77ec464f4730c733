"""Linear programs solved in fractions: slow, tiny, and right to the last digit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import count

Row = Sequence[Fraction]

STEEPEST = 100
"""Steps with the column of least reduced cost, of which fewer are needed, before Bland's rule."""


def least(cost: Row, rows: Sequence[Row], right: Row) -> tuple[Fraction, list[Fraction]] | None:
    """Minimum of cost x such that rows x = right and x >= 0, with its point; None if infeasible.

    The simplex method in two phases, after some steps with Bland's rule, which never cycles. The
    minimum must exist.
    """
    table, width = _Table(rows, right), len(cost)
    table.minimize([0] * width + [1] * len(rows), width + len(rows))
    if any(row[-1] for row, column in zip(table.rows, table.basis, strict=True) if column >= width):
        return None
    for index, column in enumerate(table.basis):  # artificial columns leave, or their row is a copy
        row = table.rows[index]
        entering = next((j for j in range(width) if row[j]), None)
        if column >= width and entering is not None:
            table.pivot(index, entering)
    unit = math.lcm(*(price.denominator for price in cost))
    table.minimize([int(price * unit) for price in cost] + [0] * len(rows), width)
    point = [Fraction(0)] * width
    for index, column in enumerate(table.basis):
        if column < width:
            point[column] = Fraction(table.rows[index][-1], table.over)
    return sum(
        (price * value for price, value in zip(cost, point, strict=True)), Fraction(0)
    ), point


class _Table:
    """Simplex tableau of integers over one common denominator (Edmonds), so that divisions are
    exact.
    """

    def __init__(self, rows: Sequence[Row], right: Row) -> None:
        self.over, number = 1, len(rows)
        self.rows: list[list[int]] = []
        for index, (row, value) in enumerate(zip(rows, right, strict=True)):
            unit = math.lcm(value.denominator, *(entry.denominator for entry in row))
            unit = -unit if value < 0 else unit
            own = [int(other == index) for other in range(number)]
            self.rows.append([*(int(entry * unit) for entry in row), *own, int(value * unit)])
        width = len(self.rows[0]) - 1 - number if rows else 0
        self.basis = list(range(width, width + number))

    def minimize(self, cost: list[int], width: int) -> None:
        """Pivot until no reduced cost of the first columns is negative."""
        reduced = [price * self.over for price in [*cost, 0]]
        for row, column in zip(self.rows, self.basis, strict=True):
            if price := cost[column]:
                reduced = [r - price * entry for r, entry in zip(reduced, row, strict=True)]
        self.rows.append(reduced)  # pivots keep it as it should be
        for step in count():
            reduced = self.rows[-1]
            if step < STEEPEST:
                entering = min(range(width), key=reduced.__getitem__, default=0)
            else:
                entering = next((column for column in range(width) if reduced[column] < 0), 0)
            if reduced[entering] >= 0:
                self.rows.pop()
                return
            ratios = [
                (Fraction(row[-1], row[entering]), self.basis[index], index)
                for index, row in enumerate(self.rows[:-1])
                if row[entering] > 0
            ]
            assert ratios, "the minimum does not exist"
            self.pivot(min(ratios)[2], entering)

    def pivot(self, place: int, entering: int) -> None:
        """Make a column basic in a row."""
        if self.rows[place][entering] < 0:
            self.rows[place] = [-entry for entry in self.rows[place]]
        chosen, over = self.rows[place], self.over
        scale = chosen[entering]
        for other, row in enumerate(self.rows):
            if other != place:
                factor = row[entering]
                self.rows[other] = [
                    (entry * scale - factor * own) // over
                    for entry, own in zip(row, chosen, strict=True)
                ]
        self.basis[place], self.over = entering, scale
