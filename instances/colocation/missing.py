"""Missing penalties, which are predicted or forbidden only on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidFile, InvalidInstance, spelled
from ..problem.frames import aligned, table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Missing = Callable[[Floats], Floats] | Literal["forbid"] | None
"""What to do with missing pairs: a function from (T, T) penalties, NaN where missing and inf where
forbidden, to predictions of all; "forbid" them; or None, which refuses them.
"""

UNKNOWN = {word: np.nan for word in ("", "na", "nan", "null", "none")}
"""Cells that say nothing of a pair."""

FORBIDDEN = {"forbidden": np.inf, "inf": np.inf}
"""Cells that forbid a pair."""

_FILL = "--fill predict (by a filter, from the others) or --fill forbid", "missing='forbid'"


COMPUTED_DECIMALS = 12
"""Decimals of penalties that a reader or a generator computes."""


def computed_penalty(penalty: npt.ArrayLike) -> Floats:
    """Round computed penalties to 12 decimals, so that exact comparisons ignore numerical noise."""
    return cast("Floats", np.round(np.asarray(penalty, dtype=float), COMPUTED_DECIMALS))


def throughput_loss(together: Floats, alone: Floats | float = 1.0) -> Floats:
    """Throughput loss 1 - alone / together from run times; infinity and NaN are kept."""
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is no penalty: refused
        return computed_penalty(np.where(np.isposinf(together), np.inf, 1 - alone / together))


def completed(
    path: str, names: Sequence[str], penalty: Floats, count: Integers, missing: Missing
) -> tuple[Floats, str]:
    """Fill the missing (NaN) entries of a penalty matrix, and describe how they were filled.

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
            f"for each, or inf. Measure them, or say what they are with {spelled(*_FILL)}"
        )
    if missing == "forbid":
        return np.where(lacking, np.inf, known), f"{remark} and forbidden"
    guess = computed_penalty(np.minimum(missing(known), 1.0))
    return np.where(lacking, guess, known), f"{remark} and predicted from the others"


def look_like_slowdowns(values: Floats) -> bool:
    """Return whether values given as penalties look like slowdowns or percentages."""
    return bool(values.size and np.median(values) >= 1 and values.max() > 1)


def penalties_of_frame(
    frame: Any, labels: Sequence[Any], count: Any, slowdown: bool, missing: Missing
) -> Any:
    """Read a penalty matrix without NaN from a frame of penalties or slowdowns; see `completed`.

    A frame whose values are no numbers is returned as it is, for the class to refuse.
    """
    try:
        values = table(frame, labels, labels, "penalty").astype(float)
        jobs = np.array(aligned(count, labels, "count"), dtype=float)
    except (TypeError, ValueError):
        return frame
    known = values[np.isfinite(values)]
    if slowdown:
        for x, y in np.argwhere(values <= 0).tolist():
            field = f"penalty[{labels[x]!r}, {labels[y]!r}]"
            cure = "It is the run time beside the other over the run time alone"
            raise InvalidInstance(field, f"{values[x, y]:g}", "a slowdown, above 0", cure)
        values = throughput_loss(values)
    elif look_like_slowdowns(known):
        seen = f"numbers from {known.min():g} to {known.max():g}"
        cure = "Of slowdowns, give slowdown=True; divide percentages by 100"
        raise InvalidInstance("penalty", seen, "shares of throughput lost, at most 1", cure)
    try:
        values, _ = completed("penalty", list(map(str, labels)), values, jobs, missing)
    except InvalidFile as error:
        words, _, expected = str(error).removeprefix("penalty: ").partition("; expected ")
        raise InvalidInstance("penalty", f"incomplete: {words}", expected) from None
    return type(frame)(values, index=labels, columns=labels)
