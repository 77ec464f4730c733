"""Settings of a queue, from the file of `--settings`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...instances.problem.option_types import Above, AtLeast, Between, validate_options


@validate_options
@dataclass(frozen=True)
class Settings:
    """Rarely changed settings of a queue.

    Attributes
    ----------
    epoch : seconds from one decision to the next
    pressure : a run that waits more than this for a processor does not count; the store's when not
        given
    voids : forbid or predict pairs that failed twice when measured
    seed : seed of every random draw
    overlap : machines may share CPUs, for jobs that only wait
    """

    epoch: Annotated[float, Above(0, "seconds")] = 5.0
    pressure: Annotated[float | None, Between(0, 1, "a share of time")] = None
    voids: Literal["forbid", "predict"] | None = None
    seed: Annotated[int, AtLeast(0)] = 0
    overlap: bool = False
