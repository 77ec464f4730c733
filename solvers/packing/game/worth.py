"""Exact comparison of outcomes of the game: floats decide where values are far apart, integers
where they are close.

With D the common denominator of all deviations of eq. 5 and x_ij = D |n_i r_ij / C_j - lambda
d_ij|, whole numbers, fairness variance is v = (S / D^(alpha-1))^(1/alpha), S = sum x_ij^(alpha-1);
skewness is the root of a rational q. So -v - ske is a sum of radicals. For whole alpha S is a whole
number and the sign of every difference is decided (`radicals`). For other alpha S is itself a sum
of radicals, whose order is decided; so is the order of utilities, except where the larger S goes
with the smaller q and one of the S is no single radical: such utilities that agree to a thousand
digits count as equal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ....instances.packing.game import FairShare
from ....instances.packing.instance import Floats, Integers
from ....instances.problem.errors import InvalidOption
from ....instances.problem.quantities import as_written
from .radicals import (
    MOST_BITS,
    Radical,
    TooLong,
    enclosed,
    merged,
    power,
    precision,
    raised,
    refined,
    sign,
)

MOST_AMOUNTS = 3_000_000
"""VMs times resources whose deviations are tabulated."""

MOST_DIGITS = 16_000_000
"""Digits (in base 2**32) of the tables of whole numbers that compiled comparisons use; beyond it
they are left to Python.
"""

LONGEST = 20_000
"""Bits of the numbers in these tables."""


@dataclass(frozen=True, eq=False)
class Worths:
    """Tables of the users' deviations, and exact comparison of disutilities.

    Attributes
    ----------
    alpha : of eq. 14, as written.
    scale, unit, owed : D, and (s, k) whole numbers: x_ij = |n_i unit_ij - owed_ij|.
    most : (s,) the most VMs of each user.
    stride, radix : of the keys of counts.
    deviation, first : the users' parts of eq. 5 by number of VMs, one user after the other, and
        where each begins.
    digits : the same parts as whole numbers in base 2**32, lowest digit first (digits, entries);
        without rows where alpha is not whole or they are too long.
    slack, floor : floats of disutilities that differ by more than slack x the value + floor are in
        the right order.
    unsettled : pairs of disutilities that counted as equal because a thousand digits did not tell
        them apart.
    """

    alpha: Fraction
    scale: int
    unit: tuple[tuple[int, ...], ...]
    owed: tuple[tuple[int, ...], ...]
    most: tuple[int, ...]
    stride: Integers
    radix: Integers
    deviation: Floats
    first: Integers
    digits: npt.NDArray[np.uint32]
    slack: float
    floor: float
    unsettled: set[tuple[object, ...]] = field(default_factory=set)
    known: dict[tuple[object, ...], int] = field(default_factory=dict)

    @classmethod
    def of(cls, fair: FairShare, largest: Integers, alpha: float, players: int) -> Worths:
        """Tables of the users' deviations for up to `largest` (s,) VMs of each and a number of
        players. Raises InvalidOption if they are too large.
        """
        # 1. indices of total counts
        most = tuple(int(number) for number in largest)
        if sum(most) * len(fair.total) > MOST_AMOUNTS:
            raise InvalidOption(
                f"up to {sum(most)} VMs could be chosen, too many for a table; use DRF or "
                "fewer servers"
            )
        radix = [number + 1 for number in most]
        stride = [1] * len(radix)
        for i in range(len(radix) - 2, -1, -1):
            stride[i] = stride[i + 1] * radix[i + 1]
        if stride[0] * radix[0] >= 2**62:
            raise InvalidOption(
                "the total counts of this game do not fit 62 bits; use fewer VM types, "
                "servers, or DRF"
            )
        # 2. shares as integers over one scale, and tables of their powers
        total = fair.total.tolist()
        resources = np.flatnonzero(fair.total).tolist()
        unit = [[Fraction(int(row[j]), total[j]) for j in resources] for row in fair.request]
        owed = [[row[j] for j in resources] for row in fair.due]
        scale = math.lcm(
            *(part.denominator for rows in (unit, owed) for row in rows for part in row)
        )
        units = tuple(tuple(int(part * scale) for part in row) for row in unit)
        dues = tuple(tuple(int(part * scale) for part in row) for row in owed)
        inside = as_written(alpha) - 1
        parts, wholes = _tables(scale, units, dues, most, inside)
        first = np.cumsum([0, *(len(part) for part in parts[:-1])]).astype(np.int64)
        deviation = np.concatenate(parts)
        # 3. how much rounding may change
        terms = len(most) * len(resources)
        least = min(
            (x for row in zip(units, dues, most, strict=True) for x in _smallest(*row)),
            default=scale,
        )
        underflows = float(inside) * math.log10(max(least / scale, 1e-300)) < -280
        return cls(
            as_written(alpha), scale, units, dues, most, np.array(stride), np.array(radix),
            deviation, first,
            _in_digits(wholes), max(2.0**-40, (terms + players + 64) * 2.0**-50),
            4 * players * (terms * 1e-280) ** (1 / float(alpha)) if underflows else 0.0,
        )  # fmt: skip

    def keys(self, counts: Integers) -> Integers:
        """Integer keys (n,) that stand for total counts (n, s)."""
        result: Integers = counts @ self.stride
        return result

    def counts(self, key: int) -> tuple[int, ...]:
        """Number of VMs of each user in a choice or total, from its integer key."""
        return tuple(
            int(key) // int(stride) % int(radix)
            for stride, radix in zip(self.stride, self.radix, strict=True)
        )

    def variance(self, keys: Integers) -> Floats:
        """Unfairness (n,) of the total counts of VMs that n keys encode. Rounding changes it by
        less than half of what `slack` (relative) and `floor` allow.
        """
        total = np.zeros(len(keys))
        for first, stride, radix in zip(self.first, self.stride, self.radix, strict=True):
            total += self.deviation[first + keys // stride % radix]
        result: Floats = total ** (1.0 / float(self.alpha))
        return result

    def best(
        self,
        value: Floats,
        ends: Sequence[int] | Integers,
        uneven: Floats,
        squared: Sequence[Fraction],
    ) -> int:
        """Index of the first outcome with the least fairness variance plus skewness: by floats and,
        where these are close, by exact values of keys and squared skewnesses.
        """
        worth = value + uneven
        least = float(worth.min())
        near = np.flatnonzero(worth <= least + self.slack * least + self.floor).tolist()
        best = near[0]
        for place in near[1:]:
            given = int(ends[place]), squared[place], int(ends[best]), squared[best]
            if self.order(*given) < 0:
                best = place
        return int(best)

    def order(self, one: int, uneven: Fraction, two: int, other: Fraction) -> int:
        """Sign of the difference of two disutilities, given their keys and squared skewnesses."""
        question = (one, uneven, two, other)
        if question not in self.known:
            found = self._order(self.counts(one), self.counts(two), uneven, other)
            if found is None:
                self.unsettled.add(question)
            self.known[question] = found or 0
        return self.known[question]

    def _order(
        self, one: tuple[int, ...], two: tuple[int, ...], uneven: Fraction, other: Fraction
    ) -> int | None:
        parts, others = self._parts(one), self._parts(two)
        signed = [(uneven, 1), (other, -1)] if uneven != other else []
        roots = [
            Radical(Fraction(number), square, Fraction(1, 2)) for square, number in signed if square
        ]
        in_variance, in_skewness = self._variance_order(parts - others, others - parts), sign(roots)
        if in_variance is None or in_skewness is None:
            return in_variance or in_skewness or None
        if in_variance * in_skewness >= 0:
            return in_variance or in_skewness
        inside, outside = self.alpha - 1, 1 / self.alpha

        def variance(amounts: Counter[int], digits: int) -> tuple[Decimal, Decimal]:
            total, error = enclosed(
                [Radical(Fraction(n), Fraction(x, self.scale), inside) for x, n in amounts.items()],
                digits,
            )
            with precision(digits):
                value = raised(total, outside, digits) if total else total
                return value, value * error / total if total else total

        def enclosure(digits: int) -> tuple[Decimal, Decimal]:
            (first, wrong), (second, off) = variance(parts, digits), variance(others, digits)
            rest, error = enclosed(roots, digits)
            with precision(digits):
                size = first + second
                return first - second + rest, 2 * (wrong + off) + error + size.scaleb(3 - digits)

        def is_zero() -> bool:
            return not merged([*self._single(parts, 1), *self._single(others, -1), *roots])

        return refined(enclosure, is_zero)

    def _parts(self, counts: tuple[int, ...]) -> Counter[int]:
        """Count the nonzero deviations from fair shares, times the scale, at total counts."""
        return Counter(
            amount
            for user, number in enumerate(counts)
            for unit, owed in zip(self.unit[user], self.owed[user], strict=True)
            if (amount := abs(number * unit - owed))
        )

    def _variance_order(self, more: Counter[int], less: Counter[int]) -> int | None:
        """Sign of the difference of two variances, given their multisets of deviations."""
        if not more or not less:
            return bool(more) - bool(less)
        inside = self.alpha - 1
        longest = max(max(more), max(less)).bit_length()
        if inside.denominator == 1 and inside * longest <= MOST_BITS:
            exponent = inside.numerator
            difference: int = sum(n * x**exponent for x, n in more.items()) - sum(
                n * x**exponent for x, n in less.items()
            )
            return (difference > 0) - (difference < 0)
        signed = [(x, n) for x, n in more.items()] + [(x, -n) for x, n in less.items()]
        return sign([Radical(Fraction(n), Fraction(x), inside) for x, n in signed])

    def _single(self, amounts: Counter[int], side: int) -> list[Radical]:
        """Fairness variance times `side` (1 or -1) as a list of one radical, empty if it is 0;
        raises TooLong if the variance has several terms or is too long.
        """
        terms = merged(
            [
                Radical(Fraction(n), Fraction(x, self.scale), self.alpha - 1)
                for x, n in amounts.items()
            ]
        )
        if len(terms) > 1:
            raise TooLong
        inside = self.alpha - 1
        index = inside.numerator + inside.denominator  # (c b^(m/d))^(d/(m+d)) = (c^d b^m)^(1/(m+d))
        return [
            Radical(
                Fraction(side),
                power(term.coefficient, inside.denominator) * power(term.base, inside.numerator),
                Fraction(1, index),
            )
            for term in terms
        ]


def _tables(
    scale: int,
    unit: tuple[tuple[int, ...], ...],
    owed: tuple[tuple[int, ...], ...],
    most: tuple[int, ...],
    inside: Fraction,
) -> tuple[list[Floats], list[npt.NDArray[np.object_]]]:
    """Deviation of each user from fair shares by its number of VMs (equation 5 of Xu and Yu). In
    floats; also scaled by D^(alpha-1), if those are integers of bounded length.
    """
    exact = inside.denominator == 1 and inside * scale.bit_length() <= LONGEST
    floats, wholes = [], []
    for row, dues, top in zip(unit, owed, most, strict=True):
        number = np.arange(top + 1).astype(object)
        amounts = [abs(number * each - due) for each, due in zip(row, dues, strict=True)]
        if exact:
            whole = np.sum([amount**inside.numerator for amount in amounts], axis=0)
            wholes.append(whole)
            floats.append((whole / scale**inside.numerator).astype(float))
        else:
            floats.append(
                np.sum(
                    [(amount / scale).astype(float) ** float(inside) for amount in amounts], axis=0
                )
            )
    return floats, wholes


def _smallest(unit: tuple[int, ...], owed: tuple[int, ...], most: int) -> list[int]:
    """Nonzero deviations |n unit - owed| of a user at numbers n of VMs near its fair share."""
    found = []
    for each, due in zip(unit, owed, strict=True):
        middle = due // each if each else 0
        numbers = {min(max(n, 0), most) for n in (middle - 1, middle, middle + 1, middle + 2)}
        found += [amount for n in numbers if (amount := abs(n * each - due))]
    return found


def _in_digits(wholes: list[npt.NDArray[np.object_]]) -> npt.NDArray[np.uint32]:
    """Integers in base 2**32, one a column, lowest digit first; empty if there are too many
    digits.
    """
    numbers = [number for part in wholes for number in part.tolist()]
    divisor = math.gcd(*numbers) or 1
    length = -(-(max(numbers, default=0) // divisor).bit_length() // 32)
    if not numbers or length * len(numbers) > MOST_DIGITS:
        return np.zeros((0, len(numbers)), dtype=np.uint32)
    content = b"".join((number // divisor).to_bytes(4 * length, "little") for number in numbers)
    table: npt.NDArray[np.uint32] = (
        np.frombuffer(content, dtype="<u4").astype(np.uint32).reshape(len(numbers), length).T
    )
    return np.ascontiguousarray(table)
