"""Exact sign of a sum of real radicals: rational coefficients times rational powers of positive
rationals.

Positive real radicals no two of which have a rational ratio are linearly independent over the
rationals: let sum c_i r_i = 0 and divide by r_1; a real radical x that is not rational has trace 0
over the rationals (its minimal polynomial divides X^n - x^n, so its constant term is, up to a root
of unity, a power x^d, which is therefore rational, and it is X^d - x^d with d > 1), so the trace of
the sum leaves c_1 = 0. Hence a sum is 0 only if the coefficients of every class of radicals with
rational ratios add up to 0, and otherwise intervals, refined until 0 is outside, tell its sign.
Source: C. L. Siegel, "Algebraische Abhaengigkeit von Wurzeln", Acta Arithmetica 21 (1972).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

FIRST_DIGITS = 40
"""Digits to which a sum is worked out before its algebra is looked at."""

MOST_DIGITS = 1000
"""Digits to which a sum is worked out where its algebra cannot say whether it is 0."""

MOST_BITS = 1_000_000
"""Powers longer than this are not written out."""


class TooLong(Exception):
    """Raised for a power of more than `MOST_BITS` bits."""


@dataclass(frozen=True)
class Radical:
    """Radical coefficient * base ** exponent, with positive base and exponent."""

    coefficient: Fraction
    base: Fraction
    exponent: Fraction


def sign(terms: Sequence[Radical]) -> int | None:
    """Sign of a sum of radicals (-1, 0 or 1); None if powers are too long for exact algebra and the
    first `MOST_DIGITS` digits are 0.
    """
    return refined(lambda digits: enclosed(terms, digits), lambda: not merged(terms))


def refined(
    enclosure: Callable[[int], tuple[Decimal, Decimal]], is_zero: Callable[[], bool]
) -> int | None:
    """Sign of a number given by enclosures (digits -> value and error) and an exact test for 0
    (which may raise TooLong).

    None when the test does not apply and the number is below the error at `MOST_DIGITS` digits.
    """
    digits, limit = FIRST_DIGITS, math.inf
    while True:
        value, error = enclosure(digits)
        if value.copy_abs() > error:
            return 1 if value > 0 else -1
        if digits == FIRST_DIGITS:
            try:
                if is_zero():
                    return 0
            except TooLong:
                limit = MOST_DIGITS
        if digits >= limit:
            return None
        digits = int(min(3 * digits, limit))


def merged(terms: Iterable[Radical]) -> list[Radical]:
    """Combine radicals whose ratios are rational into one term each, and drop terms whose
    coefficients cancel.

    Raises
    ------
    TooLong
        Ratios cannot be decided with numbers of a million bits.
    """
    classes: list[Radical] = []
    for term in terms:
        for index, other in enumerate(classes):
            times = ratio(term, other)
            if times is not None:
                total = other.coefficient + term.coefficient * times
                classes[index] = Radical(total, other.base, other.exponent)
                break
        else:
            classes.append(term)
    return [term for term in classes if term.coefficient]


def ratio(one: Radical, two: Radical) -> Fraction | None:
    """Quotient of two radicals (coefficients left out) if rational, else None; raises TooLong."""
    if (
        one.exponent == two.exponent
    ):  # (a / b) ** (m / d) with m and d coprime: rational where a / b is a d-th power
        low = root(one.base / two.base, one.exponent.denominator)
        return None if low is None else power(low, one.exponent.numerator)
    index = math.lcm(one.exponent.denominator, two.exponent.denominator)
    high = power(one.base, int(one.exponent * index)) / power(two.base, int(two.exponent * index))
    return root(high, index)


def power(base: Fraction, exponent: int) -> Fraction:
    """Rational power with integer exponent; raises TooLong."""
    if (
        base != 1
        and exponent * max(base.numerator.bit_length(), base.denominator.bit_length()) > MOST_BITS
    ):
        raise TooLong
    return base**exponent


def root(number: Fraction, index: int) -> Fraction | None:
    """Rational root of a positive rational if it is rational, else None."""
    above, below = _whole_root(number.numerator, index), _whole_root(number.denominator, index)
    return None if above is None or below is None else Fraction(above, below)


def _whole_root(number: int, index: int) -> int | None:
    """Integer root of a positive integer if it is an integer, else None, by Newton's method from
    above.
    """
    if number == 1 or index == 1:
        return number
    if index >= number.bit_length():
        return None
    if index == 2:
        guess = math.isqrt(number)
        return guess if guess * guess == number else None
    guess = 1 << -(-number.bit_length() // index)
    while True:
        lower = ((index - 1) * guess + number // guess ** (index - 1)) // index
        if lower >= guess:
            return guess if guess**index == number else None
        guess = lower


def enclosed(terms: Iterable[Radical], digits: int) -> tuple[Decimal, Decimal]:
    """Decimal value of a sum of radicals with an error bound, each term to the given number of
    digits.
    """
    with precision(digits):
        total = size = Decimal(0)
        for term in terms:
            part = quotient(term.coefficient) * raised(term.base, term.exponent, digits)
            total += part
            size += abs(part)
        return total, size.scaleb(2 - digits)


def raised(base: Fraction | Decimal, exponent: Fraction, digits: int) -> Decimal:
    """Decimal value of base ** exponent with at least the given number of significant digits."""
    if exponent == Fraction(1, 2):
        with precision(digits):
            return (base if isinstance(base, Decimal) else quotient(base)).sqrt()
    with precision(digits):  # how many digits the logarithm takes before its point
        size = abs(quotient(exponent)) * (1 + sum(abs(part) for part in _logarithms(base)))
    with precision(digits + max(0, size.adjusted()) + 1):
        above, below = _logarithms(base)
        return (quotient(exponent) * (above - below)).exp()


def _logarithms(base: Fraction | Decimal) -> tuple[Decimal, Decimal]:
    """Logarithms of the numerator and denominator of a rational."""
    if isinstance(base, Decimal):
        return base.ln(), Decimal(0)
    return Decimal(base.numerator).ln(), Decimal(base.denominator).ln()


def quotient(number: Fraction) -> Decimal:
    """Decimal value of a rational at the current precision."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def precision(digits: int) -> AbstractContextManager[decimal.Context]:
    """Decimal context with ten digits more than `digits`, and the largest range of exponents."""
    return decimal.localcontext(
        decimal.Context(prec=digits + 10, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    )
