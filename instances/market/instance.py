"""Instance (Market), answer (Allocation), feasibility, the answer as a table, and the refusal of
work that exceeds the available memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.base import Instance, Solution
from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import Axes, Index, Json, Names, raise_first_broken, set_array, set_fields
from ..problem.frames import columns_of, from_labels, labels_of
from ..problem.frames import places as places_of
from ..problem.option_types import Above, AtLeast, Between, validate_options

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

LARGEST_CAPACITY = 1e15
"""Cores of a server at most (one more or less still counts), and the inverse at least."""

LARGEST_WORTH = 1e50
"""Budgets and works at most, the inverse (or 0) at least: products are then finite."""

NEAR_ONE = "Use a unit in which the numbers are near 1"

CAPACITY_TOLERANCE = 1e-9
"""A server may be overfilled by this fraction of its capacity: the rounding of sums of floats."""


def total_by(index: Integers, value: npt.ArrayLike, number: int) -> Floats:
    """Sum values that have equal indices, shape (number,)."""
    return np.bincount(index, weights=value, minlength=number).astype(float, copy=False)


def ratio(above: npt.ArrayLike, below: npt.ArrayLike, otherwise: float = 0.0) -> Floats:
    """Divide `above` by `below` elementwise, with `otherwise` where `below` is not positive."""
    bottom = np.asarray(below, dtype=float)
    positive = bottom > 0
    every = bool(positive.all())
    quotient: Floats = np.asarray(above, dtype=float) / (
        bottom if every else np.where(positive, bottom, 1.0)
    )
    return quotient if every else np.where(positive, quotient, otherwise)


@dataclass(frozen=True, eq=False, repr=False)
class Market(Instance["Allocation"]):
    """Users whose k jobs are bound to servers, and the servers' cores (thesis section 3.3, after
    Amdahl's law).

    A job of parallel fraction f runs s(x) = x / (f + (1 - f) x) times as fast on x cores as on one,
    and is worth `work` times that; a user's utility is the sum over its jobs (thesis section
    3.3.1).

    Parameters
    ----------
    capacity : (m,) array
        Cores of each server, above 0 (1e-15 to 1e15), not necessarily whole.
    budget : (n,) array
        Money of each user, above 0 (1e-50 to 1e50); only ratios matter. Equal budgets mean equal
        entitlements.
    user, server : (k,) arrays of whole numbers
        Whose job it is and where it is bound. A user may have several jobs on a server, or none at
        all; a server may have no tenant.
    parallel_fraction : (k,) array
        f, from 0 (one core is all it can use) to 1 (twice the cores, twice the speed).
    work : (k,) array
        Work done per unit of time on one core, 0 or more (0, or 1e-50 to 1e50).
    names, server_names : strings, optional
        Names of the users and of the servers; all of them or none.
    """

    problem: ClassVar[str] = "market"

    counted: ClassVar[Mapping[str, str]] = {"servers": "server", "users": "user", "jobs": "job"}

    capacity: Annotated[
        Floats,
        Axes("servers"),
        Above(0, "cores of a server", cure="Leave the server out"),
        Between(1 / LARGEST_CAPACITY, LARGEST_CAPACITY, cure=NEAR_ONE),
    ]
    budget: Annotated[
        Floats,
        Axes("users"),
        Above(0, "a user's money", cure="Leave the user out"),
        Between(1 / LARGEST_WORTH, LARGEST_WORTH, cure=NEAR_ONE),
    ]
    user: Annotated[Integers, Axes("jobs"), Index("users"), Json(under="job")]
    server: Annotated[Integers, Axes("jobs"), Index("servers"), Json(under="job")]
    parallel_fraction: Annotated[
        Floats, Axes("jobs"), Between(0, 1, "a fraction"), Json(under="job")
    ]
    work: Annotated[
        Floats,
        Axes("jobs", where="any_work"),
        AtLeast(0, "work on one core"),
        Between(1 / LARGEST_WORTH, LARGEST_WORTH, "0, or a number", cure=NEAR_ONE),
        Json(under="job"),
    ]
    names: Annotated[tuple[str, ...], Names("users")] = ()
    server_names: Annotated[tuple[str, ...], Names("servers")] = ()

    def __post_init__(self) -> None:
        set_fields(self)

    @classmethod
    @validate_options
    def from_frame(
        cls, jobs: pandas.DataFrame, *, capacity: pandas.Series, budget: Any = 1.0, **fields: Any
    ) -> Self:
        """Market instance from a frame of jobs; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        jobs : a row a job, with columns user, server, parallel_fraction and work.
        capacity : cores by server.
        budget : a Series or a mapping by user, or a number for all users of the jobs.
        **fields : the other fields, as the class takes them.
        """
        user, server, fraction, work = columns_of(
            jobs, ("user", "server", "parallel_fraction", "work"), "jobs"
        )
        servers = labels_of(getattr(capacity, "index", capacity), "capacity")
        users = labels_of(getattr(budget, "index", dict.fromkeys(user)), "budget")
        labels = {"users": users, "servers": servers, "jobs": list(jobs.index)}
        given = {
            "capacity": capacity,
            "budget": budget,
            "user": places_of(user, users, "jobs.user"),
            "server": places_of(server, servers, "jobs.server"),
            "parallel_fraction": fraction,
            "work": work,
        }
        return from_labels(cls, labels, given, fields)

    @property
    def users(self) -> int:
        """n, the number of users."""
        return len(self.budget)

    @property
    def servers(self) -> int:
        """m, the number of servers."""
        return len(self.capacity)

    @property
    def jobs(self) -> int:
        """k, the number of jobs."""
        return len(self.user)

    @property
    def size(self) -> int:
        """Estimated steps of a policy: the number of jobs times a hundred rounds."""
        return 100 * self.jobs

    @cached_property
    def useful(self) -> Booleans:
        """Whether each job has positive work, shape (k,)."""
        return self.work > 0

    def any_work(self) -> Booleans:
        """Whether each job's work is nonzero, shape (k,)."""
        return cast("Booleans", self.work != 0)

    @cached_property
    def active(self) -> Booleans:
        """Whether each user has a useful job, shape (n,); fairness indices leave out the others."""
        return np.bincount(self.user[self.useful], minlength=self.users) > 0

    @cached_property
    def places(self) -> Places:
        """Pairs of a user and a server on which the user has useful jobs."""
        return Places.of(self.user, self.server, self.useful)

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: size, cores, and how parallel the jobs are."""
        fraction = self.parallel_fraction
        return {
            **super().summary(),
            "users": self.users,
            "servers": self.servers,
            "jobs": self.jobs,
            "cores": f"{self.capacity.sum():g} in all, {self.capacity.min():g} to "
            f"{self.capacity.max():g} a server",
            "parallel fraction": f"median {np.median(fraction):.3f}, from "
            f"{fraction.min():.3f} to {fraction.max():.3f}",
            "work": f"{self.work.min():g} to {self.work.max():g}",
            "budget": f"{self.budget.min():g} to {self.budget.max():g}",
        }


@dataclass(frozen=True, eq=False, repr=False)
class Allocation(Solution):
    """Cores of each job, and the price of a core on each server if there are prices.

    Parameters
    ----------
    cores : (k,) cores of each job, fractions allowed.
    price : (m,) money for one core of each server, or None; 0 where nobody would pay.
    """

    cores: Floats
    price: Floats | None = None

    def __post_init__(self) -> None:
        set_array(self, "cores", float)
        if self.price is not None:
            set_array(self, "price", float)


@validate_options
def check(instance: Market, allocation: Allocation) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless an allocation has
    cores and prices of 0 or more, and no server overfilled.
    """
    cores = allocation.cores
    if len(cores) != instance.jobs:
        raise InfeasibleSolution(
            f"cores has {len(cores)} entries; the instance has {instance.jobs} jobs"
        )
    raise_first_broken(~((cores >= 0) & (cores < np.inf)), lambda job: (
        f"job {job} gets {cores[job]} cores; expected a finite number, 0 or more"
    ))  # fmt: skip
    used = total_by(instance.server, cores, instance.servers)
    over = used > instance.capacity * (1 + CAPACITY_TOLERANCE)
    if over.any():
        place = int(np.argmax(used / instance.capacity))
        raise InfeasibleSolution(
            f"server {place} gives {used[place]:.12g} cores; it has {instance.capacity[place]:g}"
        )
    if allocation.price is None:
        return
    if len(allocation.price) != instance.servers:
        raise InfeasibleSolution(
            f"price has {len(allocation.price)} entries; the instance has {instance.servers} "
            "servers"
        )
    price = allocation.price
    raise_first_broken(~((price >= 0) & (price < np.inf)), lambda place: (
        f"price[{place}] is {price[place]}; expected a finite number, 0 or more"
    ))  # fmt: skip


def answer_table(instance: Market, allocation: Allocation, most: int | None = None) -> AnswerTable:
    """Table of the cores of each user on each server, users in order."""
    key = instance.user * instance.servers + instance.server
    order = np.argsort(key, kind="stable")  # quick where jobs stand by user
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    jobs = np.diff(first, append=len(order))[:most]
    listed = order[: jobs.sum()]
    cores = total_by(np.repeat(np.arange(len(jobs)), jobs), allocation.cores[listed], len(jobs))
    named = max(int(instance.user[listed].max(initial=0)) + 1, MAX_IN_SENTENCE)
    users = labels("user", instance.names[:named], min(named, instance.users))
    servers = labels("server", instance.server_names, instance.servers)
    rows: list[tuple[object, ...]] = []
    for place, number, given in zip(
        key[order[first[:most]]].tolist(), jobs.tolist(), cores.tolist(), strict=True
    ):
        user, server = divmod(place, instance.servers)
        paid = () if allocation.price is None else (float(allocation.price[server] * given),)
        rows.append((users[user], servers[server], number, given, *paid))
    whole = total_by(instance.user, allocation.cores, instance.users)
    parts = [
        f"{name} {count:.4g} cores"
        for name, count in zip(users[:MAX_IN_SENTENCE], whole, strict=False)
    ]
    columns = ("user", "server", "jobs", "cores", *(() if allocation.price is None else ("pays",)))
    sentence = f"give {join_first(parts, instance.users, 'users')}"
    return AnswerTable(sentence, columns, tuple(rows), len(first))


@dataclass(frozen=True, eq=False)
class Places:
    """Pairs of a user and a server on which the user has jobs, with those jobs.

    Attributes
    ----------
    user, server : (g,) sorted by server, then user.
    of_job : (k,) the place of each job, -1 for a job that was left out.
    job : the jobs that were not; those of a place stand together, in order.
    first, number : (g,) where a place's jobs begin in `job`, and how many they are.
    """

    user: Integers
    server: Integers
    of_job: Integers
    job: Integers
    first: Integers
    number: Integers

    @classmethod
    def of(cls, user: Integers, server: Integers, chosen: npt.NDArray[np.bool_]) -> Places:
        """Pairs of a user and a server from the users and servers (k,) of the chosen jobs."""
        job = np.flatnonzero(chosen)
        if (user[1:] < user[:-1]).any():
            job = job[np.argsort(user[job], kind="stable")]
        # numbers of 16 bits are sorted digit by digit
        short = server.astype(np.min_scalar_type(int(server.max(initial=0))))
        job = job[np.argsort(short[job], kind="stable")]
        user, server = user[job], server[job]
        begins = np.ones(len(job), dtype=np.bool_)
        begins[1:] = (user[1:] != user[:-1]) | (server[1:] != server[:-1])
        first = np.flatnonzero(begins)
        of_job = np.full(len(chosen), -1)
        of_job[job] = np.cumsum(begins) - 1
        return cls(user[first], server[first], of_job, job, first, np.diff(first, append=len(job)))


def available_memory() -> int | None:
    """Bytes of memory a new process could use now; None if the operating system does not say."""
    try:
        with open("/proc/meminfo") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def require_memory(needed: float, what: str) -> None:
    """Raise InvalidInstance if `needed` bytes exceed the available memory."""
    there = available_memory()
    if there is not None and needed > there:
        raise InvalidInstance(
            "jobs",
            f"too many for memory: {what} needs about {needed / 1e9:.1f} GB, "
            f"{there / 1e9:.1f} GB are free",
            "fewer jobs",
            "Use fewer users or jobs per user, or a machine with more memory",
        )
