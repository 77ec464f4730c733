"""Validation of intervals around measured penalties.

A box is every matrix of penalties whose entries lie between `low` and `high`, both included. One
entry is one number for all agents of its two types.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidInstance

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


def valid_intervals(
    penalty: Floats,
    low: Floats | None,
    high: Floats | None,
    count: Integers,
    allowed: Booleans,
    least: float,
) -> tuple[Floats, Floats]:
    """Validate the lower and upper ends of penalty intervals, and return them as read-only arrays.

    Parameters
    ----------
    penalty : (T, T) the measured penalties.
    low, high : (T, T) the ends, as given; not both None.
    count : (T,) agents of each type.
    allowed : (T, T) where they are looked at; elsewhere what is not finite becomes inf.
    least : the lowest penalty there is.

    Raises
    ------
    InvalidInstance
        One end without the other, a value that is wrong, a penalty outside its interval.
    """
    if low is None or high is None:
        given, missing = ("high", "low") if low is None else ("low", "high")
        raise InvalidInstance(
            missing, f"absent beside {given}", "both ends of the intervals",
            f"Give {missing} too, or leave out {given}",
        )  # fmt: skip
    for name, end in (("low", low), ("high", high)):
        good = np.isfinite(end) & (end >= least) & (end <= 1)
        for x, y in np.argwhere(allowed & ~good)[:1].tolist():
            raise InvalidInstance(
                f"{name}[{x}, {y}]", f"{end[x, y]:g}", f"a penalty from {least:g} to 1",
                "Every allowed pair has both ends; an entry known exactly has low = high = penalty",
            )  # fmt: skip
    looked_at = ~np.diag(count < 2)
    without = looked_at & ~np.isfinite(penalty) & (np.isfinite(low) | np.isfinite(high))
    for x, y in np.argwhere(without)[:1].tolist():
        raise InvalidInstance(
            f"low[{x}, {y}]", f"{low[x, y]:.12g}, with high {high[x, y]:.12g} and no penalty",
            "a penalty inside the interval",
            "Give the penalty, or null (inf) for both ends of a pair that is forbidden",
        )  # fmt: skip
    for wrong, expected in (
        (allowed & (low > high), "low at most high"),
        (allowed & ((penalty < low) | (penalty > high)), "the penalty inside its interval"),
    ):
        for x, y in np.argwhere(wrong)[:1].tolist():
            seen = f"{low[x, y]:.12g} with penalty {penalty[x, y]:.12g} and high {high[x, y]:.12g}"
            raise InvalidInstance(f"low[{x}, {y}]", seen, expected)
    return _finite_or_inf(low), _finite_or_inf(high)


def _finite_or_inf(end: Floats) -> Floats:
    """Replace entries of an interval's end that are not finite by infinity."""
    if not np.isfinite(end).all():
        end = np.where(np.isfinite(end), end, np.inf)
        end.flags.writeable = False
    return end
