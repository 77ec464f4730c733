"""Instance of refusal scheduling (a blade server, its tasks, the location of their data, and their
arrivals), and its answers: a simulated run of a policy (Simulation), or fluid flows (Flow).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import (
    WHOLE,
    Axes,
    Json,
    Names,
    as_number,
    locked,
    require_length,
    set_array,
    set_field,
    set_fields,
)
from ..problem.frames import columns_of, from_labels, labels_of
from ..problem.option_types import Above, AtLeast, Between, validate_options
from .technology import EXTRA_HOP

if TYPE_CHECKING:
    import pandas


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

Law = Literal["deterministic", "exponential", "gamma", "lognormal"]
Queues = Literal["one", "per-processor"]
_FIXED_SCV = {"deterministic": 0.0, "exponential": 1.0}

MOST_CORES, MOST_PROCESSORS = 100_000, 2000
"""More than any blade server has: beyond, a size is a slip, and distances fill memory."""

A_SIZE = Between(
    1, MOST_CORES, cure="A blade is a mesh of rows x columns processors; a row of them is rows 1"
)
AN_EXTENSION = AtLeast(
    1, "a service time over the local one", cure="A penalty of 1 means that distance costs nothing"
)
A_VARIATION = "a squared coefficient of variation"


@dataclass(frozen=True, eq=False, repr=False)
class Numa(Instance["Simulation | Flow"]):
    """Tasks of K classes on a blade server: `blades` blades, each a mesh of `rows` x `columns`
    processors of `cores` cores.

    Processor p = (blade x rows + row) x columns + column has a memory of its own, and memories are
    numbered like processors. Within a blade, processor and memory are as many hops apart as the
    mesh says; a task whose data is h hops away takes 1 + (ht1 - 1)(1 + 0.3 (h - 1)) times its local
    service time, on another blade `pcie` times.

    Parameters
    ----------
    blades, rows, columns, cores : whole numbers, at least 1; the thesis's server is 4, 2, 2, 16.
    location_share : (L,) share of the tasks whose data lies in each memory, L = blades x rows x
        columns; sums to 1.
    class_share : (K,) share of each class among the tasks; sums to 1.
    service_mean : (K,) mean service time with local data [s].
    ht1, pcie : (K,) service time one hop away, and on another blade, over the local one; at least
        1.
    bandwidth : (K,) demand for memory [MB/s]; a task moves bandwidth x its local service time.
    rate : tasks a second that arrive.
    refusal_limit : offers a task declines at most; inf (JSON null) for no limit.
    law, scv : the service law, and its squared coefficient of variation (gamma and lognormal only:
        they meet any given mean and variance).
    queues : "one", or "per-processor" (thesis section 4.3.2).
    arrival_law, arrival_scv : the law of the times between arrivals.
    names : (K,) names of the classes.

    Notes
    -----
    Thesis section 4.2 and 4.3. Table 4.2 has no two-hop penalty; it follows from 130 ns against 100
    ns (Table 4.3).
    """

    problem: ClassVar[str] = "numa"

    counted: ClassVar[Mapping[str, str]] = {"memories": "memory", "classes": "class"}

    blades: Annotated[int, A_SIZE]
    rows: Annotated[int, A_SIZE]
    columns: Annotated[int, A_SIZE]
    cores: Annotated[int, A_SIZE]
    location_share: Annotated[Floats, Axes("memories"), AtLeast(0, "a share")]
    class_share: Annotated[Floats, Axes("classes"), AtLeast(0, "a share")]
    service_mean: Annotated[Floats, Axes("classes"), Above(0, "seconds")]
    ht1: Annotated[Floats, Axes("classes"), AN_EXTENSION]
    pcie: Annotated[Floats, Axes("classes"), AN_EXTENSION]
    bandwidth: Annotated[Floats, Axes("classes"), AtLeast(0, "a number of MB/s")]
    rate: Annotated[float, Above(0, "tasks a second")]
    refusal_limit: Annotated[
        float, WHOLE, AtLeast(0, "a whole number of refusals", infinite=True), Json(null="infinity")
    ] = 100.0
    law: Law = "exponential"
    scv: Annotated[float | None, AtLeast(0, A_VARIATION), Json(null="absent")] = None
    queues: Queues = "one"
    arrival_law: Law = "exponential"
    arrival_scv: Annotated[float | None, AtLeast(0, A_VARIATION), Json(null="absent")] = None
    names: Annotated[tuple[str, ...], Names("classes", filled=True)] = ()

    distance: Integers = field(init=False, repr=False, compare=False)
    """(L, P) from memory to processor: hops, or `blade_distance` on another blade."""
    slowdown: Floats = field(init=False, repr=False, compare=False)
    """(K, D) service time at each distance over the local one."""

    def __post_init__(self) -> None:
        set_fields(self)
        if self.processors * self.cores > MOST_CORES:
            raise InvalidInstance(
                "cores", f"{self.processors * self.cores} in all", f"at most {MOST_CORES} in all"
            )
        if self.processors > MOST_PROCESSORS:
            raise InvalidInstance(
                "blades",
                f"{self.processors} processors in all",
                f"at most {MOST_PROCESSORS} in all",
            )
        memories = "one memory per processor: blades x rows x columns"
        require_length("location_share", self.location_share, self.processors, memories)
        for name in ("location_share", "class_share"):
            total = getattr(self, name).sum()
            if abs(total - 1) > 1e-9:
                raise InvalidInstance(
                    name, f"of sum {total:.12g}", "shares that sum to 1", "Divide each by their sum"
                )
        for prefix in ("", "arrival_"):
            law, scv = getattr(self, f"{prefix}law"), getattr(self, f"{prefix}scv")
            set_field(self, f"{prefix}scv", _valid_scv(law, f"{prefix}scv", scv))
        set_field(self, "distance", locked(mesh_distance(self.blades, self.rows, self.columns)))
        set_field(self, "slowdown", locked(self._slowdown()))

    @classmethod
    @validate_options
    def from_frame(cls, classes: pandas.DataFrame, **fields: Any) -> Self:
        """NUMA instance from a frame of classes of tasks; a missing column raises InvalidInstance.

        Parameters
        ----------
        classes : a row a class of tasks, with columns class_share, service_mean, ht1, pcie and
            bandwidth.
        **fields : the other fields (blades, rows, columns, cores, location_share, rate, ...), as
            the class takes them.
        """
        wanted = ("class_share", "service_mean", "ht1", "pcie", "bandwidth")
        values = dict(zip(wanted, columns_of(classes, wanted, "classes"), strict=True))
        labels = {"classes": labels_of(classes.index, "classes.index")}
        return from_labels(cls, labels, values, fields)

    @property
    def processors(self) -> int:
        """P = L, the number of processors and of their memories."""
        return self.blades * self.rows * self.columns

    @property
    def all_cores(self) -> int:
        """Number of cores of the whole server."""
        return self.processors * self.cores

    @property
    def classes(self) -> int:
        """K, the number of task classes."""
        return len(self.class_share)

    @property
    def blade_distance(self) -> int:
        """Distance number of another blade: one more than the largest distance within a blade."""
        return self.rows + self.columns - 1

    @property
    def size(self) -> int:
        """Number of cores, to which a simulation's time is about proportional."""
        return self.all_cores

    @property
    def mean_service(self) -> float:
        """Mean service time of a task whose data is local [s]."""
        return float(self.class_share @ self.service_mean)

    @property
    def load(self) -> float:
        """Arriving work of tasks with local data over the capacity of all cores."""
        return self.rate * self.mean_service / self.all_cores

    @property
    def overloaded(self) -> bool:
        """Whether the load exceeds what any policy can sustain."""
        clockwork = self.law == self.arrival_law == "deterministic" and self.classes == 1
        return self.load > 1 or (self.load == 1 and not clockwork)

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: size, load, and where the data is."""
        spread = "uniform" if np.allclose(self.location_share, 1 / self.processors) else "uneven"
        limit = "none" if self.refusal_limit == np.inf else f"{self.refusal_limit:.0f}"
        return {
            **super().summary(),
            "cores": f"{self.all_cores} ({self.blades} blades x {self.rows} x {self.columns} "
            f"processors x {self.cores})",
            "rate [tasks/s]": f"{self.rate:g}",
            "load": f"{self.load:.3f} of the cores if every task were local",
            "classes": ", ".join(self.names) if self.classes <= 5 else self.classes,
            "data": f"{spread}, at most {self.location_share.max():.3f} of the tasks in one memory",
            "service": _law_text(self.law, self.scv),
            "arrivals": _law_text(self.arrival_law, self.arrival_scv),
            "refusal limit": limit,
            "queues": self.queues,
        }

    def _slowdown(self) -> Floats:
        hops = np.arange(1, self.blade_distance)
        within = 1 + (self.ht1[:, None] - 1) * (1 + EXTRA_HOP * (hops - 1))
        return np.hstack([np.ones((self.classes, 1)), within, self.pcie[:, None]])


def mesh_distance(blades: int, rows: int, columns: int) -> Integers:
    """(P, P) hops between the processors of a blade's mesh; rows + columns - 1 between blades."""
    place = np.arange(blades * rows * columns)
    blade, row, column = place // (rows * columns), place // columns % rows, place % columns
    hops = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    return np.where(blade[:, None] == blade, hops, rows + columns - 1)


def _valid_scv(law: str, name: str, scv: float | None) -> float | None:
    """Validate a squared coefficient of variation; None where its distribution determines it."""
    fixed = _FIXED_SCV.get(law)
    if fixed is not None and scv not in (None, fixed):
        raise InvalidInstance(
            name,
            repr(scv),
            f"{fixed:g} or nothing beside the law {law}",
            "Use gamma or lognormal for another variance",
        )
    if fixed is None and not scv:
        seen = "missing" if scv is None else repr(scv)
        raise InvalidInstance(name, seen, f"{A_VARIATION}, above 0, beside the law {law}")
    return None if fixed is not None else scv


def _law_text(law: str, scv: float | None) -> str:
    return law if scv is None else f"{law}, squared coefficient of variation {scv:g}"


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

    throughput: float
    flow: Floats

    def __post_init__(self) -> None:
        set_array(self, "flow", float, 3)
        set_field(self, "throughput", float(self.throughput))
