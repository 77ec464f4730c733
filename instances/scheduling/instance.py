"""What is given (Scheduling), and what an answer is (Schedule)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution, plain, set_field
from ..problem.errors import InvalidInstance
from ..problem.fields import as_number, names_of, refuse, set_array
from ..problem.frames import aligned, columns_of, labels_of, names, places

if TYPE_CHECKING:
    import pandas

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

MOST_MACHINES = 10_000_000
"""Machines are numbered one by one; organizations are at most a tenth of that."""

LARGEST = 2**62
"""Twice the utility of all machines busy until the horizon stays below this, so that int64 holds
every utility.
"""


@dataclass(frozen=True, eq=False, repr=False)
class Scheduling(Instance):
    """Organizations that pool their machines and send sequential jobs to the pool, in whole units
    of time.

    Time runs from 0 to `horizon`; only work done before the horizon counts. A job runs on any one
    machine for its processing time without interruption. Jobs of one organization start in the
    order of their release, those of one release in the order in which they are listed.

    Parameters
    ----------
    machines : (k,) whole numbers
        Machines each organization brings; 0 is allowed, all 0 is not. They are numbered
        organization by organization.
    organization : (j,) whole numbers
        Owner of each job. An organization without jobs is allowed: it only lends its machines.
    release : (j,) whole numbers, at least 0
        When the job becomes known and may start. One released at or after the horizon never starts.
    processing : (j,) whole numbers, at least 1
        How long it runs.
    horizon : whole number, at least 1
        The end of time, t_end.
    names : (k,) strings, optional
        Names of the organizations; "0", "1", ... when not given.

    Raises
    ------
    InvalidInstance
        Naming the field, the value seen, and the cure.
    """

    problem: ClassVar[str] = "scheduling"

    machines: Integers
    organization: Integers
    release: Integers
    processing: Integers
    horizon: int
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        machines = set_array(self, "machines", np.int64)
        if len(machines) == 0:
            raise InvalidInstance("machines", "empty", "one entry per organization, at least one")
        _at_least("machines", machines, 0, "a number of machines")
        if (
            not 0 < float(machines.astype(float).sum()) <= MOST_MACHINES
            or len(machines) > MOST_MACHINES // 10
        ):
            seen = (
                "all zero"
                if not machines.any()
                else f"{machines.astype(float).sum():g} in all, of {len(machines)} organizations"
            )
            raise InvalidInstance(
                "machines", seen,
                f"at least one machine, at most {MOST_MACHINES}, and a tenth as many organizations",
                "Give some organization a machine" if not machines.any()
                else "Count in racks, or merge organizations",
            )  # fmt: skip
        for name in ("organization", "release", "processing"):
            set_array(
                self,
                name,
                np.int64,
                1,
                None if name == "organization" else len(self.organization),
                "one per job",
            )
        if self.jobs == 0:
            raise InvalidInstance(
                "job", "empty", "at least one job", "Choose a window in which jobs are submitted"
            )
        outside = (self.organization < 0) | (self.organization >= len(machines))
        refuse(
            "organization", self.organization, outside, f"an index from 0 to {len(machines) - 1}"
        )
        _at_least("release", self.release, 0, "a time")
        _at_least(
            "processing", self.processing, 1, "a length of time", "Leave out jobs that did not run"
        )
        if as_number("horizon", self.horizon, "a whole number") % 1 != 0:
            raise InvalidInstance("horizon", repr(self.horizon), "a whole number")
        set_field(self, "horizon", int(self.horizon))
        if self.horizon < 1:
            raise InvalidInstance(
                "horizon", self.horizon, "the end of time, a whole number of at least 1"
            )
        busy = min(int(machines.sum()), self.jobs)
        if (
            busy * self.horizon * (self.horizon + 1) >= LARGEST
            or int(self.processing.max()) >= LARGEST // 2
        ):
            raise InvalidInstance(
                "horizon", self.horizon,
                f"utilities below 2**61 ({busy} machines can be busy until then)",
                "Measure time in a coarser unit",
            )  # fmt: skip
        set_field(self, "names", names_of("names", self.names, len(machines), "organization"))

    @classmethod
    def from_frame(
        cls, jobs: pandas.DataFrame, *, machines: pandas.Series, horizon: int, **fields: Any
    ) -> Self:
        """An instance from labeled pandas.

        Parameters
        ----------
        jobs : a row a job, with columns organization, release and processing.
        machines : how many machines each organization has.
        horizon : the end of time.
        **fields : the other fields, as the class takes them.

        Raises
        ------
        InvalidInstance
            A label is missing or unknown, or a value is wrong.
        """
        owner, release, processing = columns_of(
            jobs, ("organization", "release", "processing"), "jobs"
        )
        organizations = labels_of(getattr(machines, "index", machines), "machines")
        return cls(
            machines=aligned(machines, organizations, "machines"),  # type: ignore[arg-type]
            organization=places(owner, organizations, "jobs.organization"),  # type: ignore[arg-type]
            release=release,
            processing=processing,
            horizon=horizon,
            names=names(organizations),
            **fields,
        )

    @property
    def organizations(self) -> int:
        """k, the number of organizations."""
        return len(self.machines)

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.release)

    @property
    def size(self) -> int:
        """The number of jobs."""
        return self.jobs

    @property
    def total_machines(self) -> int:
        """Machines of all organizations."""
        return int(self.machines.sum())

    @cached_property
    def owner(self) -> Integers:
        """(machines,) the organization each machine belongs to."""
        return np.repeat(np.arange(self.organizations), self.machines)

    @cached_property
    def order(self) -> Integers:
        """(j,) jobs by organization, then in the order in which they must start: by release, then
        as listed.
        """
        return np.lexsort((np.arange(self.jobs), self.release, self.organization))

    @cached_property
    def most_utility(self) -> int:
        """No coalition's total utility at the horizon exceeds this: every job at its release, or
        every machine busy.
        """
        ends = np.minimum(self.release + np.minimum(self.processing, self.horizon), self.horizon)
        units = np.maximum(ends - self.release, 0)
        alone = sum((units * (2 * self.horizon - self.release - ends + 1)).tolist()) // 2
        busy = min(self.total_machines, self.jobs) * self.horizon * (self.horizon + 1) // 2
        return int(min(alone, busy))

    def summary(self) -> dict[str, object]:
        """Facts for people: size, load and the split of machines and jobs."""
        work = np.minimum(self.processing, np.maximum(self.horizon - self.release, 0))
        return {
            **super().summary(),
            "organizations": self.organizations,
            "machines": f"{self.total_machines} ({', '.join(map(str, self.machines.tolist()))})",
            "jobs": self.jobs,
            "horizon": self.horizon,
            "jobs of each": ", ".join(
                map(str, np.bincount(self.organization, minlength=self.organizations).tolist())
            ),
            "load": f"{work.sum() / (self.total_machines * self.horizon):.3f} of the machine "
            "time until the horizon",
        }

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        job = {
            name: plain(getattr(self, name)) for name in ("organization", "release", "processing")
        }
        return {
            "machines": plain(self.machines),
            "job": job,
            "horizon": self.horizon,
            "names": list(self.names),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Solution):
    """When and where each job starts.

    Parameters
    ----------
    start : (j,) start time of each job, -1 when it is not started before the horizon.
    machine : (j,) its machine, -1 when it is not started.
    greedy : whether the schedule claims never to leave a machine idle while a job waits; `check`
        holds it to that.
    """

    problem: ClassVar[str] = "scheduling"

    start: Integers
    machine: Integers
    greedy: bool = False

    def __post_init__(self) -> None:
        set_array(self, "start", np.int64)
        set_array(self, "machine", np.int64, 1, len(self.start), "as start has")
        if not isinstance(self.greedy, bool):
            raise InvalidInstance("greedy", repr(self.greedy), "true or false")

    @property
    def started(self) -> Booleans:
        """(j,) whether a job was started."""
        return self.start >= 0


def _at_least(field: str, values: Integers, least: int, what: str, cure: str = "") -> None:
    refuse(field, values, values < least, f"{what}, at least {least}", cure)
