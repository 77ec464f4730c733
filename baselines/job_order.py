"""Order in which policies place jobs one by one, in runs of one type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

Order = Literal["index", "random"]


def job_order(count: Integers, order: Order, rng: np.random.Generator | None) -> Integers:
    """Types (n,) of the jobs in the order of placement, from their numbers (T,): type by type, or
    mixed.
    """
    types = np.repeat(np.arange(len(count)), count)
    return types if order == "index" else (rng or np.random.default_rng(0)).permutation(types)


def runs(types: Integers) -> Iterator[tuple[int, int]]:
    """Pairs (type, run length) along a sequence of jobs."""
    if len(types):
        starts = np.concatenate([[0], np.flatnonzero(np.diff(types)) + 1, [len(types)]])
        yield from zip(types[starts[:-1]].tolist(), np.diff(starts).tolist(), strict=True)
