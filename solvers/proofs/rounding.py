"""From floats to whole numbers and fractions: where every multiplier of a proof comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt


def on_grid(values: npt.ArrayLike, over: int) -> list[int]:
    """The whole numbers nearest to the values times `over`, of any size; NaN and infinity become
    0.
    """
    return [
        round(Fraction(value) * over) if np.isfinite(value) else 0
        for value in np.asarray(values, float).ravel().tolist()
    ]


def as_written(value: float) -> Fraction:
    """The decimal that a float prints as, which is what people and files mean by it."""
    return Fraction(Decimal(repr(float(value))))


def option(value: float | Fraction) -> int | str:
    """An option's number as a proof holds it: a whole number or a text such as "1/20"."""
    exact = value if isinstance(value, Fraction) else as_written(value)
    return exact.numerator if exact.denominator == 1 else f"{exact.numerator}/{exact.denominator}"


def over_common(parts: Iterable[Fraction]) -> tuple[list[int], int]:
    """Fractions as whole numbers over the least denominator that all of them have in common."""
    parts = list(parts)
    over = math.lcm(*(part.denominator for part in parts))
    return [int(part * over) for part in parts], over
