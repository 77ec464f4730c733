"""Options of `cotenant measure`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...instances.problem.option_types import Above, AtLeast, Between, validate_options

Time = Literal["cpu", "wall"]


@validate_options
@dataclass(frozen=True, kw_only=True)
class RareSettings:
    """Rarely changed options of a measurement, set in the file of `--settings`.

    Attributes
    ----------
    control : also run every job beside one that only computes
    seed : seed of the order and of the first pairs
    """

    control: bool = True
    seed: Annotated[int, AtLeast(0)] = 0


@validate_options
@dataclass(frozen=True, kw_only=True)
class Settings(RareSettings):
    """Options of a measurement of jobs beside each other.

    Attributes
    ----------
    half_width : a pair is done when its interval is this narrow.
    budget : begin no new run after so many seconds.
    pairs : part of the pairs to measure, drawn at random; the others are predicted.
    time : measure work by processor seconds or by clock seconds.
    pressure : a machine that waits more than this for a processor is busy.
    confidence : probability with which all intervals hold together.
    """

    half_width: Annotated[float, Above(0, "a share of throughput", most=0.5), "SHARE"] = 0.01
    budget: Annotated[float | None, Above(0, "seconds")] = None
    pairs: Annotated[float, Above(0, "a share of the pairs", most=1), "SHARE"] = 1.0
    time: Annotated[Time, "--time"] = "cpu"
    pressure: Annotated[float, Between(0, 1, "a share of time"), "SHARE"] = 0.1
    confidence: Annotated[float, Above(0, "of all intervals together", most=0.9999), "P"] = 0.95
