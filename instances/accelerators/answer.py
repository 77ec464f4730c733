"""What an answer is: TimeShares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..problem.base import Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import set_array

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class TimeShares(Solution):
    """For which part of the time which jobs run where.

    A row says how many jobs of type `first`, on average over time, run on devices of a kind beside
    a job of type `second`, or alone. Equal jobs have equal parts: of a type with n jobs, each is in
    a row 1/n of the row's time, or 2/n where both of the pair are of the type.

    Parameters
    ----------
    first, second : (k,) types; `second` is -1 for jobs alone.
    device : (k,) kinds of device.
    share : (k,) how many of these jobs, or pairs, run at a time, on average; 2.5 may be three pairs
        half of the time and two the other half.
    price : (D,) of all the time of a device of each kind, where the shares were bought; else None.
    """

    problem: ClassVar[str] = "accelerators"

    first: Integers
    second: Integers
    device: Integers
    share: Floats
    price: Floats | None = None

    def __post_init__(self) -> None:
        set_array(self, "share", float)
        if not (np.isfinite(self.share).all() and (self.share >= 0).all()):
            raise InvalidInstance("share", "negative or no number", "numbers of 0 or more")
        for name in ("first", "second", "device"):
            set_array(self, name, np.int64, length=len(self.share), per="one per share")
        if self.price is not None:
            set_array(self, "price", float)
            if not (np.isfinite(self.price).all() and (self.price >= 0).all()):
                raise InvalidInstance("price", "negative or no number", "numbers of 0 or more")

    def document(self) -> dict[str, Any]:
        """The fields as plain JSON values; without prices where there are none."""
        content = super().document()
        if self.price is None:
            del content["price"]
        return content
