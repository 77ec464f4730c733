"""Elastic jobs: each chooses how many accelerators it runs on, and of which kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from .problem.answer_table import AnswerTable
from .problem.base import Instance, Solution
from .problem.errors import InfeasibleSolution, InvalidInstance
from .problem.fields import Axes, Index, Names, set_array, set_fields
from .problem.gavel import DEVICES, numbers_of_devices
from .problem.option_types import Above, AtLeast, Between, validate_options
from .problem.registry import CsvForm, Problem
from .problem.tables import AMOUNT, CsvTable, PathLike

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST = 10**9
"""Jobs and devices at most, as in `accelerators`."""

MOST_UTILITY = 1e12

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Devices of the configurations that a speed-up curve is read at."""


@dataclass(frozen=True, eq=False, repr=False)
class Elastic(Instance["Configured"]):
    """Elastic jobs of n types, each of which runs in at most one of C configurations: a number of
    devices of one kind.

    The allocation of a round in Sia (Jayaram Subramanya et al., SOSP 2023, section 3.3), without
    the cost of moving a job; COpter (SOSP 2025) solves the same program from round to round.

    Parameters
    ----------
    utility : (n, C) of a job of each type in each configuration, 0 or more; 0 where it cannot run.
        A job without devices has the utility 0.
    kind : (C,) the kind of device of each configuration, an index into `devices`.
    workers : (C,) its devices, 1 or more and no more than there are; no kind and size twice.
    devices : (D,) devices of each kind.
    count : (n,) jobs of each type; 1 when not given.
    names, device_names : (n,) and (D,) strings.
    """

    problem: ClassVar[str] = "elastic"
    counted: ClassVar[Mapping[str, str]] = {
        "types": "type",
        "configurations": "configuration",
        "kinds": "kind of device",
    }

    utility: Annotated[Floats, Axes("types configurations"), Between(0, MOST_UTILITY, "a utility")]
    devices: Annotated[Integers, Axes("kinds"), Between(0, MOST, "a number of devices")]
    kind: Annotated[Integers, Axes("configurations"), Index("kinds")]
    workers: Annotated[Integers, Axes("configurations"), Between(1, MOST, "a number of devices")]
    count: Annotated[Integers, Axes("types", fill=1), Between(0, MOST, "a number of jobs")] = None  # type: ignore[assignment]
    names: Annotated[tuple[str, ...], Names("types", filled=True)] = ()
    device_names: Annotated[tuple[str, ...], Names("kinds", filled=True)] = ()

    def __post_init__(self) -> None:
        set_fields(self)
        if not self.count.any():
            raise InvalidInstance("count", "all 0", "at least one job")
        there = self.devices[self.kind]
        for c in np.flatnonzero(self.workers > there)[:1].tolist():
            name = self.device_names[self.kind[c]]
            raise InvalidInstance(
                f"workers[{c}]", f"{self.workers[c]}",
                f"at most the {there[c]} devices of kind {name!r}", "Leave the configuration out",
            )  # fmt: skip
        pairs = np.stack([self.kind, self.workers], axis=1)
        _, first, number = np.unique(pairs, axis=0, return_index=True, return_counts=True)
        for c in first[number > 1][:1].tolist():
            name = self.device_names[self.kind[c]]
            raise InvalidInstance(
                f"workers[{c}]", f"{self.workers[c]} of kind {name!r} twice",
                "each configuration once", "Give each type its utility in one column",
            )  # fmt: skip

    @property
    def size(self) -> int:
        """Number of entries in the table of utilities."""
        return int(self.utility.size)

    @property
    def jobs(self) -> int:
        """The number of jobs."""
        return int(self.count.sum())

    def summary(self) -> dict[str, object]:
        """Return the facts that `cotenant show` prints: jobs, configurations, devices."""
        kinds = zip(self.devices.tolist(), self.device_names, strict=True)
        return {
            **super().summary(), "jobs": f"{self.jobs} of {len(self.count)} types",
            "configurations": f"{len(self.workers)}, of up to {self.workers.max()} devices",
            "devices": ", ".join(f"{number} {name}" for number, name in list(kinds)[:6]),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Configured(Solution):
    """Number of jobs of each type in each configuration; the remaining jobs are idle.

    Parameters
    ----------
    job, configuration : (k,) indices of a type and of a configuration, no pair twice.
    number : (k,) jobs, 1 or more.
    """

    job: Integers
    configuration: Integers
    number: Integers

    def __post_init__(self) -> None:
        jobs = len(set_array(self, "job", np.int64))
        for name in ("configuration", "number"):
            set_array(self, name, np.int64, length=jobs, per="one per job")

    @classmethod
    def of(cls, number: Integers) -> Configured:
        """Answer from the number of jobs of each type in each configuration, shape (n, C)."""
        job, configuration = np.nonzero(number)
        return cls(job, configuration, number[job, configuration])


@validate_options
def check(instance: Elastic, solution: Configured) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless every row of an answer names a
    type, a configuration and at least one job, no type has more jobs in configurations than there
    are, and no kind of device is used beyond its number.
    """
    job, configuration, number = solution.job, solution.configuration, solution.number
    for name, index, length in (
        ("type", job, len(instance.count)),
        ("configuration", configuration, len(instance.workers)),
    ):
        for row in np.flatnonzero((index < 0) | (index >= length))[:1].tolist():
            raise InfeasibleSolution(
                f"row {row} has the {name} {index[row]}; expected 0 to {length - 1}"
            )
    for row in np.flatnonzero((number < 1) | (number > MOST))[:1].tolist():
        raise InfeasibleSolution(f"row {row} has {number[row]} jobs; expected 1 or more")
    pairs, times = np.unique(np.stack([job, configuration]), axis=1, return_counts=True)
    for place in np.flatnonzero(times > 1)[:1].tolist():
        kind, where = pairs[:, place].tolist()
        raise InfeasibleSolution(f"type {kind} and configuration {where} are in two rows")
    for what, index, amount, most in (
        ("jobs of type", job, number, instance.count),
        (
            "devices of kind",
            instance.kind[configuration],
            number * instance.workers[configuration],
            instance.devices,
        ),
    ):
        used = np.zeros(len(most), dtype=object)  # a number of jobs times a size may pass int64
        np.add.at(used, index, amount.astype(object))
        for place in np.flatnonzero(used > most)[:1].tolist():
            raise InfeasibleSolution(
                f"{used[place]} {what} {place} are in use; there are {most[place]}"
            )


def same_configurations(one: Elastic, other: Elastic) -> bool:
    """Return whether two instances have the same kinds of devices and configurations in the same
    order.
    """
    return one.device_names == other.device_names and all(
        np.array_equal(*pair) for pair in ((one.kind, other.kind), (one.workers, other.workers))
    )


def carried(old: Elastic, new: Elastic, answer: Configured) -> Configured:
    """Translate the answer of an earlier round to a new instance: jobs of the same name keep their
    configuration while there are enough jobs and devices; the others are idle.
    """
    types = {name: row for row, name in enumerate(new.names)}
    kinds = [new.device_names[kind] for kind in new.kind.tolist()]
    places = {pair: c for c, pair in enumerate(zip(kinds, new.workers.tolist(), strict=True))}
    left, idle, rows = new.devices.tolist(), new.count.tolist(), list[tuple[int, int, int]]()
    each = zip(
        *(x.tolist() for x in (answer.job, answer.configuration, answer.number)), strict=True
    )
    for job, configuration, number in each:
        size = int(old.workers[configuration])
        row = types.get(old.names[job], -1)
        place = places.get((old.device_names[old.kind[configuration]], size), -1)
        stay = min(number, idle[row], left[new.kind[place]] // size) if min(row, place) >= 0 else 0
        if stay:
            rows.append((row, place, stay))
            idle[row] -= stay
            left[new.kind[place]] -= stay * size
    return Configured(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _total(instance: Elastic, solution: Configured) -> float:
    return float(instance.utility[solution.job, solution.configuration] @ solution.number)


def _least(instance: Elastic, solution: Configured) -> float:
    """Least utility of a job in an answer; 0 if a job is idle."""
    least = np.where(instance.count > 0, np.inf, 0.0)
    np.minimum.at(least, solution.job, instance.utility[solution.job, solution.configuration])
    running = np.bincount(solution.job, solution.number, len(least))
    least[running < instance.count] = 0.0
    return float(least[instance.count > 0].min())


def _used(instance: Elastic, solution: Configured) -> float:
    return float(
        instance.workers[solution.configuration] @ solution.number / instance.devices.sum()
    )


MEASURES: Mapping[str, Callable[[Elastic, Configured], float]] = {
    "total_utility": _total,
    "least_utility": _least,
    "idle_jobs": lambda instance, solution: float(instance.jobs - solution.number.sum()),
    "devices_used": _used,
}
"""What is measured of an answer: utilities, jobs without devices, the part of devices in use."""


def scale(instance: Elastic, objective: str, **options: object) -> float:
    """Upper bound on an objective: the utility of all jobs, or of the worst-off job, in their best
    configurations; 1 for counts of jobs.
    """
    best = instance.utility.max(axis=1)[instance.count > 0]
    if objective == "total_utility":
        return float(best @ instance.count[instance.count > 0])
    return float(best.min()) if objective == "least_utility" else 1.0


@validate_options
def random(
    *,
    jobs: Annotated[int, AtLeast(1, "jobs")] = 30,
    kinds: Annotated[int, AtLeast(1, "kinds of devices")] = 3,
    share: Annotated[float, Above(0, "devices a job")] = 2.0,
    largest: Annotated[int, Between(1, 1024, "devices")] = 64,
    rng: np.random.Generator,
) -> Elastic:
    """Draw an instance of jobs that gain ever less from further devices (synthetic).

    A job's speed on k devices of a kind is that on one device times a power of k. Its utility is a
    root of its speed, relative to one device of the first kind.

    Parameters
    ----------
    jobs, kinds : how many; a job's speed on a kind is log-normal, its mean larger for each further
        kind, and its efficiency, the exponent, from .3 to .98.
    share : devices of all kinds together, over the jobs.
    largest : configurations have 1, 2, 4, ... devices up to this and to what there is.
    """
    devices = np.maximum(1, np.rint(share * jobs / kinds * np.ones(kinds))).astype(int)
    pairs = [(d, k) for d in range(kinds) for k in SIZES if k <= min(largest, devices[d])]
    kind, size = np.array(pairs).T
    speed = rng.lognormal(0, 0.5, (jobs, kinds)) * np.arange(1, kinds + 1)
    curve = speed[:, kind] * size ** rng.uniform(0.3, 0.98, (jobs, 1))
    utility = (np.sqrt(curve / speed[:, [0]]) + 1.1).round(4)
    return Elastic(
        utility, devices, kind, size, name=f"random-{jobs}",
        source=f"synthetic: {jobs} jobs with log-normal speeds",
    )  # fmt: skip


@validate_options
def elastic_csv(path: PathLike, *, devices: str) -> Elastic:
    """Read the utilities of jobs on numbers of devices from a CSV table.

    Either `job,kind,devices,utility`, a row for each configuration in which a job can run; or
    `job,kind,alone,efficiency`, for a utility of `alone` k^`efficiency` on k = 1, 2, 4, ..., 64
    devices. A column `count` says how many jobs are alike.

    Parameters
    ----------
    path : the table.
    devices : kinds of device and how many there are of each, such as "a100:64,v100:128".
    """
    number = numbers_of_devices(devices)
    table = CsvTable(path, "job", "kind", lower=True)
    curves = "efficiency" in table.places
    table.require(*(("alone", "efficiency") if curves else ("devices", "utility")))
    found, count = dict[tuple[str, str, int], float](), dict[str, int]()  # utilities; jobs
    for row in table:
        job, kind = row.word("job"), row.word("kind")
        if kind not in number:
            raise row.wrong("kind", f"one of {', '.join(number)}", f"Give {DEVICES} as devices")
        if "count" in table.places:
            jobs = row.whole("count")
            if count.setdefault(job, jobs) != jobs:
                raise row.wrong("count", f"{count[job]} as above, one number of jobs a job")
        if curves:
            alone, power = row.number("alone", AMOUNT), row.number("efficiency", Between(0, 1))
            each = {k: alone * k**power for k in SIZES if k <= number[kind]}
        else:
            size = row.whole("devices")
            if not 1 <= size <= number[kind]:
                raise row.wrong("devices", f"1 to {number[kind]}, the devices of kind {kind}")
            each = {size: row.number("utility", AMOUNT)}
        for size, value in each.items():
            if (job, kind, size) in found:
                raise row.error(f": job {job!r} on {size} of {kind} twice; expected each once")
            found[job, kind, size] = value
    names, kinds = list(dict.fromkeys(job for job, *_ in found)), list(number)
    pairs = sorted({(kinds.index(kind), size) for _, kind, size in found})
    utility = np.zeros((len(names), len(pairs)))
    types = {name: index for index, name in enumerate(names)}
    places = {pair: index for index, pair in enumerate(pairs)}
    for (job, kind, size), value in found.items():
        utility[types[job], places[kinds.index(kind), size]] = value
    kind, size = np.array(pairs).T
    return Elastic(
        utility, list(number.values()), kind, size,  # type: ignore[arg-type]
        [count.get(name, 1) for name in names],  # type: ignore[arg-type]
        names=tuple(names), device_names=tuple(kinds),
        name=Path(path).stem, source=f"CSV table {Path(path).name}",
    )  # fmt: skip


def answer_table(instance: Elastic, solution: Configured, most: int | None = None) -> AnswerTable:
    """Table with a row for each type and configuration that it runs in, the largest first."""
    size, kind = instance.workers[solution.configuration], instance.kind[solution.configuration]
    order = np.argsort(-size, kind="stable")[:most].tolist()
    utility = instance.utility[solution.job, solution.configuration]
    rows = tuple(
        (
            instance.names[solution.job[row]], instance.device_names[kind[row]], int(size[row]),
            int(solution.number[row]), float(utility[row]),
        )
        for row in order
    )  # fmt: skip
    used, running = int(size @ solution.number), int(solution.number.sum())
    sentence = f"{running} of {instance.jobs} jobs run, "
    sentence += f"on {used} of {instance.devices.sum()} devices"
    return AnswerTable(
        sentence, ("job", "kind", "devices", "jobs", "utility"), rows, len(solution.job)
    )


PROBLEM = Problem(
    title="jobs that choose how many accelerators they run on",
    instance=Elastic,
    solutions=(Configured,),
    check=check,
    generators={"random": "instances.elastic:random"},
    formats={"elastic-csv": "instances.elastic:elastic_csv"},
    csv_form=CsvForm(
        "elastic-csv", "configurations.csv", ("job", "kind", "devices", "utility"),
        "job,kind,devices,utility[,count] or job,kind,alone,efficiency[,count]",
    ),
    answer_table=answer_table,
    scale=scale,
)  # fmt: skip
