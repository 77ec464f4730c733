"""Linear programs solved in fractions: slow, tiny, and right to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = Sequence[Fraction]


def least(cost: Row, rows: Sequence[Row], right: Row) -> tuple[Fraction, list[Fraction]] | None:
    """The minimum of cost x such that rows x = right and x >= 0, and where; None if there is no
    such x.

    The simplex method in two phases with Bland's rule, which never cycles. The minimum must exist.
    """
    number, width = len(rows), len(cost)
    table = []
    for row, value in zip(rows, right, strict=True):
        sign = -1 if value < 0 else 1
        table.append([sign * entry for entry in row] + [Fraction(0)] * number + [sign * value])
    for place in range(number):
        table[place][width + place] = Fraction(1)
    basis = list(range(width, width + number))
    _pivot_to_the_end(table, basis, [Fraction(0)] * width + [Fraction(1)] * number, width + number)
    if sum((table[place][-1] for place in range(number) if basis[place] >= width), Fraction(0)) > 0:
        return None
    for place in range(number):  # artificial columns leave, or their row is a copy of others
        if basis[place] >= width:
            entering = next((column for column in range(width) if table[place][column]), None)
            if entering is not None:
                _pivot(table, basis, place, entering)
    _pivot_to_the_end(table, basis, [*cost, *[Fraction(0)] * number], width)
    point = [Fraction(0)] * width
    for place, column in enumerate(basis):
        if column < width:
            point[column] = table[place][-1]
    return sum(
        (price * value for price, value in zip(cost, point, strict=True)), Fraction(0)
    ), point


def _pivot_to_the_end(table: list[list[Fraction]], basis: list[int], cost: Row, width: int) -> None:
    while True:
        for entering in range(width):
            reduced = cost[entering] - sum(
                (cost[basis[place]] * row[entering] for place, row in enumerate(table)), Fraction(0)
            )
            if reduced < 0:
                break
        else:
            return
        ratios = [
            (row[-1] / row[entering], basis[place], place)
            for place, row in enumerate(table)
            if row[entering] > 0
        ]
        assert ratios, "the minimum does not exist"
        _pivot(table, basis, min(ratios)[2], entering)


def _pivot(table: list[list[Fraction]], basis: list[int], place: int, entering: int) -> None:
    scale = table[place][entering]
    table[place] = [entry / scale for entry in table[place]]
    for other, row in enumerate(table):
        if other != place and row[entering]:
            factor = row[entering]
            table[other] = [
                entry - factor * pivot for entry, pivot in zip(row, table[place], strict=True)
            ]
    basis[place] = entering
