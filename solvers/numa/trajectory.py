"""History of every task of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...instances.numa.instance import Floats, Integers, Numa
from .random_inputs import Draws


@dataclass(frozen=True, eq=False)
class Trajectory:
    """History of n tasks.

    Attributes
    ----------
    start : (n,) when each began [s]; -1 if it has not.
    core : (n,) where; -1 if it has not begun.
    refusals : (n,) offers it declined.
    arrived : how many of the n have arrived.
    reached : whether a threshold on the queue stopped the run.
    interrupted : whether Ctrl-C did.
    """

    start: Floats
    core: npt.NDArray[np.int32]
    refusals: npt.NDArray[np.int32]
    arrived: int
    reached: bool = False
    interrupted: bool = False

    def distance(self, instance: Numa, draws: Draws) -> Integers:
        """Distance from each task's data to its core, shape (n,); -1 if it has not started."""
        away = instance.distance[draws.location, self.core // instance.cores]
        return np.where(self.core >= 0, away, -1)

    def finish(self, instance: Numa, draws: Draws) -> Floats:
        """Completion time of each task [s], shape (n,); infinite if it has not started."""
        away = self.distance(instance, draws)
        return np.where(
            away >= 0, self.start + draws.service * instance.slowdown[draws.kind, away], np.inf
        )
