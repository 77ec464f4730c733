"""Answer of an accelerators instance: TimeShares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..problem.base import Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import set_array

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class TimeShares(Solution):
    """Average number of jobs and of pairs of jobs that run on each kind of device at a time.

    A row says how many jobs of type `first`, on average over time, run on devices of a kind beside
    a job of type `second`, or alone. Equal jobs have equal parts: of a type with n jobs, each is in
    a row 1/n of the row's time, or 2/n where both of the pair are of the type.

    Parameters
    ----------
    first, second : (k,) types; `second` is -1 for jobs alone.
    device : (k,) kinds of device.
    share : (k,) how many of these jobs, or pairs, run at a time, on average; 2.5 may be three pairs
        half of the time and two the other half.
    """

    problem: ClassVar[str] = "accelerators"

    first: Integers
    second: Integers
    device: Integers
    share: Floats

    def __post_init__(self) -> None:
        set_array(self, "share", float)
        if not (np.isfinite(self.share).all() and (self.share >= 0).all()):
            raise InvalidInstance("share", "negative or no number", "numbers of 0 or more")
        for name in ("first", "second", "device"):
            set_array(self, name, np.int64, length=len(self.share), per="one per share")
