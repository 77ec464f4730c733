"""Instance (Scheduling) and solution (Schedule) of scheduling."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import NO_CONTENT_WHEN_ABSENT, Instance, Solution
from ..problem.errors import InvalidInstance
from ..problem.fields import (
    Axes,
    Index,
    Json,
    Names,
    raise_first_invalid,
    require_length,
    set_array,
    set_field,
    set_fields,
)
from ..problem.frames import columns_of, from_labels, labels_of, places
from ..problem.option_types import AtLeast, Range, validate_options

if TYPE_CHECKING:
    import pandas

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

MOST_MACHINES = 10_000_000
"""Machines are numbered one by one; organizations are at most a tenth of that."""

LARGEST = 2**62
"""Twice the utility of all machines at work stays below this: int64 holds every utility."""


@dataclass(frozen=True, eq=False, repr=False)
class Scheduling(Instance["Schedule"]):
    """Organizations that pool their machines and send jobs to the pool, in whole units of time.

    Time runs from 0 to `horizon`; only work done before the horizon counts. A job runs on any one
    machine for its processing time without interruption. Jobs of one organization start in the
    order of their release, those of one release in the order in which they are listed.

    With `processors` jobs are parallel and rigid: a job takes so many machines at once, any of
    them, for its processing time; that is as many units of work per unit of time. With `speed`
    machines are related: a job takes one machine, and a machine of speed v does up to v units of
    its work, `processing`, in a unit of time, so that it runs for processing / v, rounded up.

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
    processors : (j,) whole numbers, at least 1, optional
        Machines each job takes at once; at most as many as there are. All 1 is the same as not
        given, and stored so.
    backfilling : bool
        Whether parallel jobs may pass one that does not fit: of the organizations whose first
        waiting job fits into the idle machines, a rule then serves the one it puts first.
        Otherwise the one that it puts first of all who wait is served or waited for, and machines
        idle until its job fits. Decisions are taken when a job is released or ends. A coalition
        leaves out jobs of more processors than its machines. Without parallel jobs it changes
        nothing, and is stored as False.
    speed : (machines,) whole numbers, at least 1, optional
        Units of work each machine does in a unit of time, in the order in which machines are
        numbered. All 1 is the same as not given, and stored so. Not together with `processors`.
    """

    problem: ClassVar[str] = "scheduling"

    counted: ClassVar[Mapping[str, str]] = {"organizations": "organization", "jobs": "job"}

    machines: Annotated[Integers, Axes("organizations"), AtLeast(0, "a number of machines")]
    organization: Annotated[Integers, Axes("jobs"), Index("organizations"), Json(under="job")]
    release: Annotated[Integers, Axes("jobs"), AtLeast(0, "a time"), Json(under="job")]
    processing: Annotated[
        Integers,
        Axes("jobs"),
        AtLeast(1, "a length of time", cure="Leave out jobs that did not run"),
        Json(under="job"),
    ]
    horizon: Annotated[int, AtLeast(1, "the time up to which work counts")]
    names: Annotated[tuple[str, ...], Names("organizations", filled=True)] = ()
    processors: Annotated[
        Integers | None,
        Axes("jobs"),
        AtLeast(1, "a number of machines"),
        Json(under="job", null="absent"),
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)
    backfilling: bool = field(default=False, metadata=NO_CONTENT_WHEN_ABSENT)
    speed: Annotated[
        Integers | None,
        Axes("machines"),
        Range(
            least=1,
            below=2**31,
            what="a speed, a whole number",
            cure="Measure work in a smaller unit: twice the processing makes speeds 1, 1.5 into "
            "2, 3",
        ),
        Json(null="absent"),
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)

    def __post_init__(self) -> None:
        if isinstance(self.organization, Sized) and len(self.organization) == 0:
            raise InvalidInstance(
                "organization",
                "empty",
                "at least one job",
                "Choose a window in which jobs are submitted",
            )
        set_fields(self)
        machines = self.machines
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
        self._set_processors()
        self._set_speed()
        busy = self.busy
        if (
            busy * self.horizon * (self.horizon + 1) >= LARGEST
            or float((self.processing * self.width.astype(float)).max()) >= LARGEST // 2
        ):
            what = "machines can be busy until then"
            if self.speed is not None:
                what = "units of work can be done in each unit of time until then"
            raise InvalidInstance(
                "horizon", self.horizon,
                f"utilities below 2**61 ({busy} {what})",
                "Measure time in a coarser unit",
            )  # fmt: skip

    def _set_processors(self) -> None:
        if self.processors is not None:
            raise_first_invalid(
                "processors",
                self.processors,
                self.processors > self.total_machines,
                f"at most {self.total_machines}, the machines of all organizations",
                "Leave the job out, or give an organization more machines",
            )
            if (self.processors == 1).all():
                set_field(self, "processors", None)
        set_field(self, "backfilling", self.backfilling and self.processors is not None)

    def _set_speed(self) -> None:
        if self.speed is None:
            return
        require_length("speed", self.speed, self.total_machines, "one per machine, by organization")
        if (self.speed == 1).all():
            set_field(self, "speed", None)
        elif self.processors is not None:
            raise InvalidInstance(
                "speed", "given together with processors",
                "jobs of one processor each when machines differ in speed, since the speed of a "
                "wider job is not defined",
                "Leave out speed if run times were measured, and processors if not",
            )  # fmt: skip

    @classmethod
    @validate_options
    def from_frame(
        cls, jobs: pandas.DataFrame, *, machines: pandas.Series, horizon: int, **fields: Any
    ) -> Self:
        """Scheduling instance from a DataFrame; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        jobs : a row a job, with columns organization, release and processing, and processors where
            jobs are parallel.
        machines : how many machines each organization has.
        horizon : the end of time.
        **fields : the other fields, as the class takes them.
        """
        owner, release, processing = columns_of(
            jobs, ("organization", "release", "processing"), "jobs"
        )
        organizations = labels_of(getattr(machines, "index", machines), "machines")
        if "processors" in jobs.columns:
            fields = {"processors": columns_of(jobs, ("processors",), "jobs")[0]} | fields
        labels = {"organizations": organizations, "jobs": list(jobs.index)}
        given = {
            "machines": machines,
            "organization": places(owner, organizations, "jobs.organization"),
            "release": release,
            "processing": processing,
        }
        return from_labels(cls, labels, given, {"horizon": horizon, **fields})

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
        """Estimated steps of a policy: forty for each job."""
        return 40 * self.jobs

    @property
    def total_machines(self) -> int:
        """Number of machines of all organizations."""
        return int(self.machines.sum())

    @property
    def sequential(self) -> bool:
        """Whether jobs take one machine each, and machines are alike: the model of the paper."""
        return self.processors is None and self.speed is None

    @property
    def beyond_proofs(self) -> str:
        """Features that the verifier of proofs does not support."""
        if self.sequential:
            return ""
        what = "machines of different speeds" if self.processors is None else "parallel jobs"
        return f"the checker of proofs knows sequential jobs on like machines only, no {what}"

    @cached_property
    def width(self) -> Integers:
        """Number of machines (j,) that each job takes at once."""
        return np.ones(self.jobs, dtype=np.int64) if self.processors is None else self.processors

    @cached_property
    def work(self) -> Integers:
        """Units of work (j,) of each job: its processing time on all of its machines."""
        return self.processing if self.processors is None else self.processing * self.processors

    @cached_property
    def pace(self) -> Integers:
        """Units of work (machines,) that each machine does in a unit of time."""
        return np.ones(self.total_machines, dtype=np.int64) if self.speed is None else self.speed

    @property
    def capacity(self) -> int:
        """Units of work that all machines do in a unit of time: their number, or summed speed."""
        return self.total_machines if self.speed is None else int(self.speed.sum())

    @cached_property
    def busy(self) -> int:
        """Maximum units of work in a unit of time: all machines', or fewer where jobs are few."""
        if self.speed is None:
            return min(self.total_machines, int(self.width.sum()))
        return int(np.sort(self.speed)[::-1][: self.jobs].sum())

    @cached_property
    def owner(self) -> Integers:
        """Organization (machines,) to which each machine belongs."""
        return np.repeat(np.arange(self.organizations), self.machines)

    @cached_property
    def order(self) -> Integers:
        """Jobs (j,) by organization, then in the order in which they must start: by release, then
        as listed.
        """
        return np.lexsort((np.arange(self.jobs), self.release, self.organization))

    @cached_property
    def most_utility(self) -> int:
        """Lower of two upper bounds on a coalition's utility: no job waits, or no machine idles."""
        shortest = -(-self.processing // int(self.pace.max()))
        ends = np.minimum(self.release + np.minimum(shortest, self.horizon), self.horizon)
        units = np.maximum(ends - self.release, 0)
        each = (units * (2 * self.horizon - self.release - ends + 1)).tolist()
        rate = np.minimum(self.width * int(self.pace.max()), self.work).tolist()
        alone = sum(twice * most for twice, most in zip(each, rate, strict=True)) // 2
        return int(min(alone, self.busy * self.horizon * (self.horizon + 1) // 2))

    def summary(self) -> dict[str, object]:
        """Facts about the instance for `cotenant show`: size, load, and the split of machines and
        jobs.
        """
        left = np.maximum(self.horizon - self.release, 0)
        rate = self.width * int(self.pace.max())
        work = float(np.minimum(self.work, left * rate.astype(float)).sum())
        facts: dict[str, object] = {}
        if self.processors is not None:
            facts["processors"] = (
                f"jobs of 1 to {self.processors.max()} at once, "
                f"{'with' if self.backfilling else 'without'} backfilling"
            )
        if self.speed is not None:
            facts["speed"] = f"from {self.speed.min()} to {self.speed.max()} units of work"
        return {
            **super().summary(),
            "organizations": self.organizations,
            "machines": f"{self.total_machines} ({', '.join(map(str, self.machines.tolist()))})",
            "jobs": self.jobs,
            "horizon": self.horizon,
            "jobs of each": ", ".join(
                map(str, np.bincount(self.organization, minlength=self.organizations).tolist())
            ),
            **facts,
            "load": f"{work / (self.capacity * self.horizon):.3f} of the machine "
            "time until the horizon",
        }


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Solution):
    """Start time and machines of each job.

    Parameters
    ----------
    start : (j,) start time of each job, -1 when it is not started before the horizon.
    machine : (j,) its machine, the first of them where it takes several; -1 when it is not started.
    greedy : whether the schedule claims to be greedy, see `feasibility.is_greedy`; `check` does.
    others : (n,) the further machines of parallel jobs: of each started job in turn, one fewer than
        its processors.
    """

    start: Integers
    machine: Integers
    greedy: bool = False
    others: Integers | tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        set_array(self, "start", np.int64)
        set_array(self, "machine", np.int64, 1, len(self.start), "as start has")
        set_array(self, "others", np.int64)
        if not isinstance(self.greedy, bool):
            raise InvalidInstance("greedy", repr(self.greedy), "true or false")

    def document(self) -> dict[str, Any]:
        """Fields of the schedule as plain JSON values, without `others` where it is empty."""
        found = super().document()
        if not found["others"]:
            del found["others"]
        return found

    @property
    def started(self) -> Booleans:
        """Whether each job (j,) was started."""
        return self.start >= 0
