"""Statistics that several problems use: weighted quantiles, and how two rankings agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def quantile(value: NDArray[np.floating], number: NDArray[np.integer], share: float) -> float:
    """Quantile of values, each of which counts as often as `number` says at its index. It is linear
    between neighbors, as numpy does, without repeating values (a million agents, few entries).
    """
    order = np.argsort(value, kind="stable")
    upto = np.cumsum(number[order])
    position = share * (upto[-1] - 1)
    below, above = np.floor(position), np.ceil(position)
    low, high = (
        value[order][np.searchsorted(upto, place, side="right")] for place in (below, above)
    )
    return float(low + (high - low) * (position - below))


def rank_correlation(
    one: Sequence[float] | Floats, other: Sequence[float] | Floats
) -> float | None:
    """Spearman's coefficient; None where either is constant."""
    from scipy.stats import rankdata

    left, right = rankdata(one), rankdata(other)
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    return float(np.corrcoef(left, right)[0, 1])
