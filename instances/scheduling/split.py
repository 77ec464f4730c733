"""Division of machines among organizations: by Zipf's law, evenly, or as given."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from math import lcm
from numbers import Integral
from typing import Annotated

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import Between, validate_options
from ..problem.quantities import proportional
from .instance import MOST_MACHINES, Integers

MOST_UNITS = 1_000_000
"""Machines of the game at most; where there would be more, amounts are rounded up to a coarser
grain, and shares to one.
"""

Organizations = Annotated[int, Between(1, MOST_MACHINES // 10)]


@validate_options
def machine_split(total: int, organizations: Organizations, split: str = "zipf") -> Integers:
    """Number of machines (k,) of each organization.

    Parameters
    ----------
    total : machines in all, at least 1.
    organizations : k, at least 1.
    split : "zipf": shares proportional to 1, 1/2, 1/3, ... (paper, section 7.2), the first
        organization largest; "uniform": as even as can be; or the numbers themselves, such as
        "31,15,10,8,6". Remainders go to the largest fractions, ties to the lowest organization; an
        organization may end with 0.
    """
    if "," in split or split.isdigit():
        return _given(split, total, organizations)
    if not isinstance(total, Integral) or not 1 <= total <= MOST_MACHINES:
        raise InvalidOption(f"machines is {total}; expected a whole number, 1 to {MOST_MACHINES}")
    if split not in ("zipf", "uniform"):
        raise InvalidOption(
            f"split is {split!r}; expected zipf, uniform, or one number per organization such "
            "as 3,2,1"
        )
    weight = 1.0 / np.arange(1, organizations + 1) if split == "zipf" else np.ones(organizations)
    return proportional(total, weight)


def cuts(total: int, shares: Collection[Fraction], most: int) -> int:
    """Number of parts into which each machine is divided such that shares are integers of parts; at
    least one.

    Parameters
    ----------
    total : machines in all.
    shares : in proportion to which they are divided; one of them above 0.
    most : parts of all machines, and at most MOST_UNITS; where shares take more, as many as there
        may be.
    """
    whole = sum(shares)
    most = min(most, MOST_UNITS)
    exact = lcm(*((total * share / whole).denominator for share in shares))
    return exact if total * exact <= most else max(1, most // total)


def _given(split: str, total: int, organizations: int) -> Integers:
    try:
        machines = np.array([int(part) for part in split.split(",")], dtype=np.int64)
    except (ValueError, OverflowError):
        raise InvalidOption(
            f"split is {split!r}; expected whole numbers with commas between them"
        ) from None
    if len(machines) != organizations or (machines < 0).any():
        raise InvalidOption(
            f"split is {split!r}; expected {organizations} numbers of machines, each 0 or more"
        )
    if total not in (0, machines.sum()):
        raise InvalidOption(
            f"split is {split!r}, {machines.sum()} machines; machines is {total}. Leave out "
            "one of the two"
        )
    return machines
