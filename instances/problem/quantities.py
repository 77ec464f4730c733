"""Exact values of Kubernetes quantities (500m, 2, 1.5Gi, 1e3, 12E) and of floats as written,
and division of an integer in proportion to weights.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Rational
from typing import cast

import numpy as np
import numpy.typing as npt

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40}))(?:([eE][+-]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]))?"
)

_SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
    "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    **{f"{letter}i": Fraction(2 ** (10 * power)) for power, letter in enumerate("KMGTPE", 1)},
}  # fmt: skip


@lru_cache(maxsize=4096)
def quantity(text: str) -> Fraction:
    """Parse a Kubernetes quantity exactly, such as "500m" or "2Gi".

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> quantity("1500m"), quantity("1Ki"), quantity("2e3")
    (Fraction(3, 2), Fraction(1024, 1), Fraction(2000, 1))
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = found.groups()
    value = Fraction(number.rstrip(".") if number.endswith(".") else number)
    if exponent:
        value *= Fraction(10) ** int(exponent[1:])
    return value * _SUFFIXES[suffix] if suffix else value


def measured(text: str) -> Fraction | None:
    """Parse a nonnegative Kubernetes quantity exactly; None if the text is no quantity."""
    try:
        value = quantity(text)
    except ValueError:
        return None
    return value if value >= 0 else None


def amount(value: Fraction, resource: str) -> int:
    """Convert a Kubernetes quantity to the scheduler's integer unit, rounded up: thousandths of a
    CPU, or single units (bytes, devices) of other resources.
    """
    return -((-value * (1000 if resource == "cpu" else 1)) // 1)


@lru_cache(maxsize=1 << 16, typed=True)  # 0.1 equals a Fraction that is no tenth
def as_written(number: float | Fraction) -> Fraction:
    """Rational number of a float's shortest decimal: 0.1 is a tenth, not the nearest float."""
    if isinstance(number, Integral):
        return Fraction(int(number))
    return Fraction(number) if isinstance(number, Rational) else Fraction(repr(float(number)))


def proportional(total: int, weight: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Divide an integer in proportion to weights (k,), at least one of which is above 0; remainders
    go to the largest fractions, ties to the lowest index.
    """
    share = np.asarray(weight, dtype=float)
    exact = total * share / share.sum()
    parts = np.floor(exact + 1e-9).astype(np.int64)
    left = total - int(parts.sum())
    parts[np.argsort(-(exact - parts), kind="stable")[:left]] += 1
    return cast("npt.NDArray[np.int64]", parts)
