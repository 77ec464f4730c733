"""Conversion of floats to the integers and fractions of proofs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...instances.problem.quantities import as_written


def on_grid(values: npt.ArrayLike, over: int) -> list[int]:
    """Nearest integers to the values times `over`, of any size; NaN and infinity become 0."""
    return [
        round(Fraction(value) * over) if np.isfinite(value) else 0
        for value in np.asarray(values, float).ravel().tolist()
    ]


def option(value: float | Fraction) -> int | str:
    """Write a number as proofs do: an integer or a text such as "1/20"."""
    exact = as_written(value)
    return exact.numerator if exact.denominator == 1 else f"{exact.numerator}/{exact.denominator}"


def over_common(parts: Iterable[Fraction]) -> tuple[list[int], int]:
    """Fractions as integers over their least common denominator."""
    parts = list(parts)
    over = math.lcm(*(part.denominator for part in parts))
    return [int(part * over) for part in parts], over
