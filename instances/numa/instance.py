"""What is given: a blade server, its tasks, where their data lies and how they arrive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, set_field, to_json_value
from ..problem.errors import InvalidInstance
from ..problem.fields import as_number, names_of, raise_first_invalid, set_array
from ..problem.frames import by_label, columns_of, labels_of, names
from ..problem.option_types import validate_options
from .technology import EXTRA_HOP

if TYPE_CHECKING:
    import pandas

    from .answer import Flow, Simulation  # noqa: F401  named in the text below


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

Law = Literal["deterministic", "exponential", "gamma", "lognormal"]
Queues = Literal["one", "per-processor"]
LAWS: tuple[str, ...] = ("deterministic", "exponential", "gamma", "lognormal")
QUEUES: tuple[str, ...] = ("one", "per-processor")
_FIXED_SCV = {"deterministic": 0.0, "exponential": 1.0}

MOST_CORES, MOST_PROCESSORS = 100_000, 2000
"""More than any blade server has; beyond them a size is a slip of the pen, and distances would fill
the memory.
"""


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

    Raises
    ------
    InvalidInstance
        Naming the field, the value seen, and the cure.

    Notes
    -----
    Thesis section 4.2 and 4.3. Table 4.2 has no two-hop penalty; it follows from 130 ns against 100
    ns (Table 4.3).
    """

    problem: ClassVar[str] = "numa"

    blades: int
    rows: int
    columns: int
    cores: int
    location_share: Floats
    class_share: Floats
    service_mean: Floats
    ht1: Floats
    pcie: Floats
    bandwidth: Floats
    rate: float
    refusal_limit: float = 100.0
    law: Law = "exponential"
    scv: float | None = None
    queues: Queues = "one"
    arrival_law: Law = "exponential"
    arrival_scv: float | None = None
    names: tuple[str, ...] = ()

    distance: Integers = field(init=False, repr=False, compare=False)
    """(L, P) from memory to processor: hops, or `blade_distance` when they are on different
    blades.
    """
    slowdown: Floats = field(init=False, repr=False, compare=False)
    """(K, D) service time at each distance over the local one."""

    def __post_init__(self) -> None:
        for name in ("blades", "rows", "columns", "cores"):
            set_field(self, name, whole_size(name, getattr(self, name)))
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
        _set_shares(
            self,
            "location_share",
            self.processors,
            "one memory per processor: blades x rows x columns",
        )
        if len(set_array(self, "class_share", float)) == 0:
            raise InvalidInstance("class_share", "empty", "at least one class of tasks")
        _set_shares(self, "class_share", self.classes, "one per class")
        self._set_per_class("service_mean", "seconds, above 0", above=0.0)
        for name in ("ht1", "pcie"):
            cure = "A penalty of 1 means that distance costs nothing"
            self._set_per_class(
                name, "a service time over the local one, at least 1", least=1.0, cure=cure
            )
        self._set_per_class("bandwidth", "a number of MB/s, 0 or more", least=0.0)
        set_field(self, "rate", _above_zero("rate", self.rate, "tasks a second, above 0"))
        set_field(self, "refusal_limit", _limit(self.refusal_limit))
        for prefix in ("", "arrival_"):
            law, scv = getattr(self, f"{prefix}law"), getattr(self, f"{prefix}scv")
            set_field(self, f"{prefix}scv", _valid_law(f"{prefix}law", law, f"{prefix}scv", scv))
        if self.queues not in QUEUES:
            raise InvalidInstance("queues", repr(self.queues), " or ".join(QUEUES))
        set_field(self, "names", names_of("names", self.names, self.classes, "class"))
        set_field(self, "distance", _locked(mesh_distance(self.blades, self.rows, self.columns)))
        set_field(self, "slowdown", _locked(self._slowdown()))

    @classmethod
    @validate_options
    def from_frame(cls, classes: pandas.DataFrame, **fields: Any) -> Self:
        """An instance from labeled pandas.

        Parameters
        ----------
        classes : a row a class of tasks, with columns class_share, service_mean, ht1, pcie and
            bandwidth.
        **fields : the other fields (blades, rows, columns, cores, location_share, rate, ...), as
            the class takes them.

        Raises
        ------
        InvalidInstance
            A column is missing, or a value is wrong.
        """
        wanted = ("class_share", "service_mean", "ht1", "pcie", "bandwidth")
        values = dict(zip(wanted, columns_of(classes, wanted, "classes"), strict=True))
        labels = labels_of(classes.index, "classes.index")
        with by_label(**{name: [labels] for name in wanted}):
            return cls(**values, names=names(labels), **fields)

    @property
    def processors(self) -> int:
        """P = L, the number of processors and of memories."""
        return self.blades * self.rows * self.columns

    @property
    def all_cores(self) -> int:
        """Cores of the whole server."""
        return self.processors * self.cores

    @property
    def classes(self) -> int:
        """K, the number of task classes."""
        return len(self.class_share)

    @property
    def blade_distance(self) -> int:
        """The number that stands for "another blade": one more than the most hops within a
        blade.
        """
        return self.rows + self.columns - 1

    @property
    def size(self) -> int:
        """The number of cores."""
        return self.all_cores

    @property
    def mean_service(self) -> float:
        """Mean service time of a task whose data is local [s]."""
        return float(self.class_share @ self.service_mean)

    @property
    def load(self) -> float:
        """Work that arrives over what all cores can do, were every task local."""
        return self.rate * self.mean_service / self.all_cores

    @property
    def overloaded(self) -> bool:
        """Whether no policy can keep up: more work than the cores can do, or as much and anything
        random in it.
        """
        clockwork = self.law == self.arrival_law == "deterministic" and self.classes == 1
        return self.load > 1 or (self.load == 1 and not clockwork)

    def summary(self) -> dict[str, object]:
        """Facts for people: size, load, data."""
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

    def document(self) -> dict[str, Any]:
        """The fields as JSON values; no refusal limit is null, and `scv` is absent where the law
        fixes it.
        """
        names = (
            "blades",
            "rows",
            "columns",
            "cores",
            "location_share",
            "class_share",
            "service_mean",
            "ht1",
            "pcie",
        )
        content = {
            name: to_json_value(getattr(self, name))
            for name in (*names, "bandwidth", "rate", "refusal_limit")
        }
        for prefix in ("", "arrival_"):
            content[f"{prefix}law"] = getattr(self, f"{prefix}law")
            if getattr(self, f"{prefix}scv") is not None:
                content[f"{prefix}scv"] = getattr(self, f"{prefix}scv")
        return {**content, "queues": self.queues, "names": list(self.names)}

    def _slowdown(self) -> Floats:
        hops = np.arange(1, self.blade_distance)
        within = 1 + (self.ht1[:, None] - 1) * (1 + EXTRA_HOP * (hops - 1))
        return np.hstack([np.ones((self.classes, 1)), within, self.pcie[:, None]])

    def _set_per_class(
        self,
        name: str,
        expected: str,
        least: float = -np.inf,
        above: float = -np.inf,
        cure: str = "",
    ) -> None:
        values = set_array(self, name, float, 1, self.classes, "one per class")
        raise_first_invalid(
            name,
            values,
            ~(np.isfinite(values) & (values >= least) & (values > above)),
            expected,
            cure,
        )


def mesh_distance(blades: int, rows: int, columns: int) -> Integers:
    """(P, P) hops between the processors of a mesh, rows + columns - 1 between blades."""
    place = np.arange(blades * rows * columns)
    blade, row, column = place // (rows * columns), place // columns % rows, place % columns
    hops = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    return np.where(blade[:, None] == blade, hops, rows + columns - 1)


def whole_size(name: str, given: object) -> int:
    """A validated count of blades, rows, columns or cores; raises InvalidInstance."""
    cure = "A blade is a mesh of rows x columns processors; a row of them is rows 1"
    value = as_number(name, given, "a whole number, at least 1", cure)
    if value % 1 or not 1 <= value <= MOST_CORES:
        raise InvalidInstance(name, f"{value:g}", f"a whole number from 1 to {MOST_CORES}", cure)
    return int(value)


def _set_shares(instance: Numa, name: str, length: int, what: str) -> None:
    values = set_array(instance, name, float, 1, length, what)
    raise_first_invalid(name, values, ~(np.isfinite(values) & (values >= 0)), "a share, 0 or more")
    if abs(values.sum() - 1) > 1e-9:
        raise InvalidInstance(
            name, f"of sum {values.sum():.12g}", "shares that sum to 1", "Divide each by their sum"
        )


def _above_zero(name: str, value: object, expected: str) -> float:
    found = as_number(name, value, expected)
    if not 0 < found < np.inf:
        raise InvalidInstance(name, repr(value), expected)
    return found


def _limit(value: object) -> float:
    expected = "a whole number of refusals, 0 or more, or infinity (null) for no limit"
    limit = as_number("refusal_limit", value, expected)
    if not (limit == np.inf or (limit >= 0 and limit % 1 == 0)):
        raise InvalidInstance("refusal_limit", repr(value), expected)
    return limit


def _valid_law(name: str, law: object, scv_name: str, scv: object) -> float | None:
    """The variance to keep: None where the law fixes it, so that `replace` may change the law
    alone.
    """
    if law not in LAWS:
        raise InvalidInstance(name, repr(law), f"one of {', '.join(LAWS)}")
    fixed = _FIXED_SCV.get(str(law))
    if fixed is not None:
        if scv is not None and as_number(scv_name, scv) != fixed:
            raise InvalidInstance(
                scv_name,
                repr(scv),
                f"{fixed:g} or nothing beside the law {law}",
                "Use gamma or lognormal for another variance",
            )
        return None
    if scv is None:
        raise InvalidInstance(
            scv_name,
            "missing",
            f"a squared coefficient of variation, above 0, beside the law {law}",
        )
    return _above_zero(
        scv_name, scv, f"a squared coefficient of variation, above 0, beside the law {law}"
    )


def _law_text(law: str, scv: float | None) -> str:
    return law if scv is None else f"{law}, squared coefficient of variation {scv:g}"


def _locked(array: Any) -> Any:
    array.flags.writeable = False
    return array
