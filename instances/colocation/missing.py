"""Penalties that nobody measured: missing is not forbidden, and no number is made up unasked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ..problem.errors import InvalidFile
from .instance import Floats, Integers, computed_penalty

Missing = Callable[[Floats], Floats] | Literal["forbid"] | None
"""What to do with missing pairs: a function from (T, T) penalties, NaN where missing and inf where
forbidden, to predictions of all; "forbid" them; or None, which refuses them.
"""

UNKNOWN = {word: np.nan for word in ("", "na", "nan", "null", "none")}
"""Cells that say nothing of a pair."""

FORBIDDEN = {"forbidden": np.inf, "inf": np.inf}
"""Cells that forbid a pair."""


def completed(
    path: str, names: Sequence[str], penalty: Floats, count: Integers, missing: Missing
) -> tuple[Floats, str]:
    """Penalties without NaN, and what was done about those that were missing, in words.

    Parameters
    ----------
    path : of the file, for the message.
    penalty : (T, T) NaN where nothing is known.
    count : (T,) jobs of each type: a pair that cannot come about is not missing.

    Raises
    ------
    InvalidFile
        A pair is missing and nothing is to be done about that.
    """
    needed = np.outer(count > 0, count > 0)
    needed[np.diag_indices(len(count))] = count >= 2
    impossible = np.isposinf(penalty) | np.isposinf(penalty.T) | ~needed
    lacking = np.isnan(penalty) & ~impossible
    known = np.where(impossible & np.isnan(penalty), np.inf, penalty)
    if not lacking.any():
        return known, ""
    places = np.argwhere(lacking)
    verb = "are" if len(places) > 1 else "is"
    remark = f"{len(places)} of {int((~impossible).sum())} pairs {verb} missing"
    if missing is None:
        named = ", ".join(f"{names[x]!r} beside {names[y]!r}" for x, y in places[:3].tolist())
        raise InvalidFile(
            f"{path}: {remark} ({named}{', ...' if len(places) > 3 else ''}); expected a number "
            "for each, or forbidden. Measure them, or say what they are with --fill predict (by a "
            "filter, from the others) or --fill forbid"
        )
    if missing == "forbid":
        return np.where(lacking, np.inf, known), f"{remark} and forbidden"
    guess = computed_penalty(np.minimum(missing(known), 1.0))
    return np.where(lacking, guess, known), f"{remark} and predicted from the others"
