"""Answers of a numa instance: a simulated run of a policy (Simulation), or fluid flows (Flow)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..problem.base import Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import as_number, set_array, set_field

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LEVELS = (0.50, 0.95, 0.99)
"""The quantiles of the response time that a simulation reports."""

CURVE = (
    0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995,
    0.999,
)  # fmt: skip
"""The quantiles of the response time that a simulation's curve is made of."""

POLICIES: tuple[str, ...] = ("Local", "IP-1", "IP-2", "IB")
"""The four refusal policies of thesis section 4.3.2, least tolerant first."""


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Solution):
    """Result of a policy in a window of simulated time, with intervals of its response times.

    Parameters
    ----------
    policy : "Local", "IP-1", "IP-2", "IB", or "mix" (a policy drawn for each task).
    window : length of the window [s].
    arrived : (K,) tasks of each class that arrived in it.
    served : (K, D) tasks that finished in it, by class and distance of their data (0 hops, 1 hop,
        ..., another blade).
    waiting, running : (2,) tasks in the queue, and on cores, at the window's begin and end.
    refused : offers declined, in all, by the tasks that finished in the window.
    busy : (cores,) seconds each core was busy in the window.
    stable : whether the queue did not grow through the window; else there is no response time.
    growth : trend of the number of waiting tasks [1/s].
    response, response_error : (3,) median, 95th and 99th percentile of the response time [s] of the
        tasks that arrived in the window, and half the width of their 95 % confidence intervals; inf
        (JSON null) where the window is too short to say anything.
    mean_response, mean_response_error, mean_wait, mean_wait_error : the same for the means [s].
    curve : quantiles of the response time [s] at the levels of `CURVE`; empty if not kept.
    """

    problem: ClassVar[str] = "numa"

    policy: str
    window: float
    arrived: Integers
    served: Integers
    waiting: Integers
    running: Integers
    refused: int
    busy: Floats
    stable: bool
    growth: float
    response: Floats
    response_error: Floats
    mean_response: float
    mean_response_error: float
    mean_wait: float
    mean_wait_error: float
    curve: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        for name in ("arrived", "waiting", "running"):
            set_array(self, name, np.int64)
        set_array(self, "served", np.int64, 2)
        for name in ("busy", "response", "response_error", "curve"):
            set_array(self, name, float)
        for name in (
            "window",
            "growth",
            "mean_response",
            "mean_response_error",
            "mean_wait",
            "mean_wait_error",
        ):
            given, error = getattr(self, name), name.endswith("_error")
            value = as_number(name, np.inf if given is None and error else given)
            if not (np.isfinite(value) or (value == np.inf and error)):
                raise InvalidInstance(name, repr(given), "a number")
            set_field(self, name, value)
        set_field(self, "refused", int(self.refused))
        set_field(self, "stable", bool(self.stable))


@dataclass(frozen=True, eq=False, repr=False)
class Flow(Solution):
    """Long-run rates of tasks per second of each class from their data's memory to each processor.

    Parameters
    ----------
    throughput : tasks a second in all.
    flow : (K, L, P) tasks a second.
    """

    problem: ClassVar[str] = "numa"

    throughput: float
    flow: Floats

    def __post_init__(self) -> None:
        set_array(self, "flow", float, 3)
        set_field(self, "throughput", float(self.throughput))
