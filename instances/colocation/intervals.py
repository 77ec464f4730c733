"""Intervals around measured penalties: the fields that hold them, and what is refused.

A box is every matrix of penalties whose entries lie between `low` and `high`, both included. One
entry is one number for all agents of its two types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..problem.base import frozen_array
from ..problem.errors import InvalidInstance
from ..problem.fields import as_number

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


def valid_intervals(
    penalty: Floats, low: Any, high: Any, count: Integers, allowed: Booleans, least: float
) -> tuple[Floats | None, Floats | None]:
    """The ends of the intervals as read-only arrays, or None twice where none are given.

    Parameters
    ----------
    penalty : (T, T) the measured penalties.
    low, high : (T, T) the ends, as given.
    count : (T,) agents of each type.
    allowed : (T, T) where they are looked at; elsewhere what is not finite becomes inf.
    least : the lowest penalty there is.

    Raises
    ------
    InvalidInstance
        One end without the other, a shape or a value that is wrong, a penalty outside its interval.
    """
    if low is None and high is None:
        return None, None
    if low is None or high is None:
        given, missing = ("high", "low") if low is None else ("low", "high")
        raise InvalidInstance(
            missing, f"absent beside {given}", "both ends of the intervals",
            f"Give {missing} too, or leave out {given}",
        )  # fmt: skip
    ends = {
        "low": _matrix("low", low, float, penalty),
        "high": _matrix("high", high, float, penalty),
    }
    for name, end in ends.items():
        wrong = allowed & ~(np.isfinite(end) & (end >= least) & (end <= 1))
        if wrong.any():
            x, y = _first(wrong)
            raise InvalidInstance(
                f"{name}[{x}, {y}]", f"{end[x, y]:g}", f"a penalty from {least:g} to 1",
                "Every allowed pair has both ends; an entry known exactly has low = high = penalty",
            )  # fmt: skip
    below, above = ends["low"], ends["high"]
    looked_at = ~np.diag(count < 2)
    wrong = looked_at & ~np.isfinite(penalty) & (np.isfinite(below) | np.isfinite(above))
    if wrong.any():
        x, y = _first(wrong)
        raise InvalidInstance(
            f"low[{x}, {y}]",
            f"{below[x, y]:.12g}, with high {above[x, y]:.12g} and no penalty",
            "a penalty inside the interval",
            "Give the penalty, or null (inf) for both ends of a pair that is forbidden",
        )
    for wrong, expected in (
        (allowed & (below > above), "low at most high"),
        (allowed & ((penalty < below) | (penalty > above)), "the penalty inside its interval"),
    ):
        if wrong.any():
            x, y = _first(wrong)
            raise InvalidInstance(
                f"low[{x}, {y}]",
                f"{below[x, y]:.12g} with penalty {penalty[x, y]:.12g} and high {above[x, y]:.12g}",
                expected,
            )
    return _finite_or_inf(below), _finite_or_inf(above)


def valid_looks(looks: Any, penalty: Floats) -> Integers | None:
    """How often each entry was measured as a read-only array, or None."""
    if looks is None:
        return None
    found: Integers = _matrix("looks", looks, np.int64, penalty)
    if (found < 0).any():
        x, y = _first(found < 0)
        raise InvalidInstance(
            f"looks[{x}, {y}]", found[x, y], "how often the entry was measured, 0 or more"
        )
    return found


def valid_statement(confidence: Any, intervals: Any, given: bool) -> tuple[float | None, str]:
    """The level at which all intervals hold together, and how they were made."""
    if not isinstance(intervals, str):
        raise InvalidInstance("intervals", repr(intervals), "a text: how low and high were made")
    for name, value in (("confidence", confidence), ("intervals", intervals or None)):
        if value is not None and not given:
            raise InvalidInstance(
                name,
                f"{value!r} without low and high",
                "low and high as well, whose intervals it describes",
            )
    if confidence is None:
        return None, intervals
    level = as_number("confidence", confidence)
    if not 0 < level <= 1:
        raise InvalidInstance(
            "confidence", f"{level:g}", "a probability above 0 and at most 1",
            "0.95: all true penalties lie in their intervals together with 95 %",
        )  # fmt: skip
    return level, intervals


def _matrix(name: str, value: Any, dtype: Any, penalty: Floats) -> Any:
    found = frozen_array(name, value, dtype, 2)
    if found.shape != penalty.shape:
        raise InvalidInstance(
            name, f"of shape {found.shape}", f"shape {penalty.shape}, an entry for each penalty"
        )
    return found


def _finite_or_inf(end: Floats) -> Floats:
    """An end with inf for what is not finite: nobody looks there, and inf has a JSON form."""
    if not np.isfinite(end).all():
        end = np.where(np.isfinite(end), end, np.inf)
        end.flags.writeable = False
    return end


def _first(wrong: Booleans) -> tuple[int, int]:
    x, y = np.argwhere(wrong)[0]
    return int(x), int(y)
