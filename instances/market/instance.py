"""What is given (Market), what an answer is (Allocation), and the checker of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution, to_json_value
from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import given_names, raise_first_invalid, require_length, set_array, set_names
from ..problem.frames import aligned, by_label, columns_of, labels_of, names, places
from ..problem.option_types import validate_options

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

LARGEST_CAPACITY = 1e15
"""Cores of a server at most (one core more or less is then still told), and the inverse at
least.
"""

LARGEST_WORTH = 1e50
"""Budgets and works at most, and the inverse at least (or 0): products and squares of them are then
finite floats.
"""

CAPACITY_TOLERANCE = 1e-9
"""A server may be overfilled by this fraction of its capacity: the rounding of sums of floats."""


def total_by(index: Integers, value: npt.ArrayLike, number: int) -> Floats:
    """(number,) the sums of `value` over the entries of each index; numpy's bincount, which counts
    in integers when empty.
    """
    return np.bincount(index, weights=value, minlength=number).astype(float, copy=False)


def ratio(above: npt.ArrayLike, below: npt.ArrayLike, otherwise: float = 0.0) -> Floats:
    """above / below element by element, `otherwise` where below is not positive."""
    bottom = np.asarray(below, dtype=float)
    positive = bottom > 0
    quotient: Floats = np.asarray(above, dtype=float) / np.where(positive, bottom, 1.0)
    return np.where(positive, quotient, otherwise)


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

    Raises
    ------
    InvalidInstance
        Naming the field, the value seen, and the cure.
    """

    problem: ClassVar[str] = "market"

    capacity: Floats
    budget: Floats
    user: Integers
    server: Integers
    parallel_fraction: Floats
    work: Floats
    names: tuple[str, ...] = ()
    server_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, expected in (("capacity", "cores of a server"), ("budget", "a user's money")):
            values = set_array(self, name, float)
            if len(values) == 0:
                raise InvalidInstance(name, "empty", "at least one entry")
            cure = f"Leave the {'server' if name == 'capacity' else 'user'} out"
            raise_first_invalid(
                name,
                values,
                ~((values > 0) & (values < np.inf)),
                f"{expected}, a number above 0",
                cure,
            )
        _set_index(self, "user", self.users, "users, one per budget")
        _set_index(self, "server", self.servers, "servers, one per capacity")
        fraction, work = set_array(self, "parallel_fraction", float), set_array(self, "work", float)
        if self.jobs == 0:
            raise InvalidInstance("user", "empty", "at least one job")
        for name in ("server", "parallel_fraction", "work"):
            require_length(name, getattr(self, name), self.jobs, "one per job as in user")
        raise_first_invalid(
            "parallel_fraction",
            fraction,
            ~((fraction >= 0) & (fraction <= 1)),
            "a fraction from 0 to 1",
        )
        raise_first_invalid(
            "work", work, ~((work >= 0) & (work < np.inf)), "a finite number, 0 or more"
        )
        _in_range("capacity", self.capacity, LARGEST_CAPACITY)
        _in_range("budget", self.budget, LARGEST_WORTH)
        _in_range("work", np.where(work > 0, work, 1.0), LARGEST_WORTH)
        set_names(self, "names", self.users, "user")
        set_names(self, "server_names", self.servers, "server")

    @classmethod
    @validate_options
    def from_frame(
        cls, jobs: pandas.DataFrame, *, capacity: pandas.Series, budget: Any = 1.0, **fields: Any
    ) -> Self:
        """An instance from labeled pandas.

        Parameters
        ----------
        jobs : a row a job, with columns user, server, parallel_fraction and work.
        capacity : cores by server.
        budget : a Series or a mapping by user, or a number for all users of the jobs.
        **fields : the other fields, as the class takes them.

        Raises
        ------
        InvalidInstance
            A label is missing or unknown, or a value is wrong.
        """
        user, server, fraction, work = columns_of(
            jobs, ("user", "server", "parallel_fraction", "work"), "jobs"
        )
        servers = labels_of(getattr(capacity, "index", capacity), "capacity")
        users = labels_of(getattr(budget, "index", dict.fromkeys(user)), "budget")
        rows = list(jobs.index)
        with by_label(capacity=[servers], budget=[users], parallel_fraction=[rows], work=[rows]):
            return cls(
                capacity=aligned(capacity, servers, "capacity"),  # type: ignore[arg-type]
                budget=aligned(budget, users, "budget"),  # type: ignore[arg-type]
                user=places(user, users, "jobs.user"),  # type: ignore[arg-type]
                server=places(server, servers, "jobs.server"),  # type: ignore[arg-type]
                parallel_fraction=fraction,
                work=work,
                names=names(users),
                server_names=names(servers),
                **fields,
            )

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
        """A hundred rounds over the jobs."""
        return 100 * self.jobs

    @property
    def useful(self) -> Booleans:
        """(k,) whether a job does any work at all; one of work 0 gets no cores and moves
        nothing.
        """
        return self.work > 0

    @property
    def active(self) -> Booleans:
        """(n,) whether a user has a useful job; others are left out of every index and spend
        nothing.
        """
        return np.bincount(self.user[self.useful], minlength=self.users) > 0

    def summary(self) -> dict[str, object]:
        """Facts for people: size, cores, and how parallel the jobs are."""
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

    def document(self) -> dict[str, Any]:
        """The fields as JSON values, the jobs' four lists under `job`."""
        jobs = {
            name: to_json_value(getattr(self, name))
            for name in ("user", "server", "parallel_fraction", "work")
        }
        content = {
            "capacity": to_json_value(self.capacity),
            "budget": to_json_value(self.budget),
            "job": jobs,
        }
        return content | given_names(self, "names", "server_names")


@dataclass(frozen=True, eq=False, repr=False)
class Allocation(Solution):
    """How many cores each job gets, and the price of a core on each server if there are prices.

    Parameters
    ----------
    cores : (k,) cores of each job, fractions allowed.
    price : (m,) money for one core of each server, or None; 0 where nobody would pay.
    """

    problem: ClassVar[str] = "market"

    cores: Floats
    price: Floats | None = None

    def __post_init__(self) -> None:
        set_array(self, "cores", float)
        if self.price is not None:
            set_array(self, "price", float)


@validate_options
def check(instance: Market, allocation: Allocation) -> None:
    """Decide whether an allocation is feasible: cores of 0 or more, no server overfilled, prices of
    0 or more.

    Raises
    ------
    InfeasibleSolution
        Naming the first rule that is broken, where, and by how much.
    """
    cores = allocation.cores
    if len(cores) != instance.jobs:
        raise InfeasibleSolution(
            f"cores has {len(cores)} entries; the instance has {instance.jobs} jobs"
        )
    wrong = ~((cores >= 0) & (cores < np.inf))
    if wrong.any():
        job = int(np.argmax(wrong))
        raise InfeasibleSolution(
            f"job {job} gets {cores[job]} cores; expected a finite number, 0 or more"
        )
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
    wrong = ~((allocation.price >= 0) & (allocation.price < np.inf))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InfeasibleSolution(
            f"price[{place}] is {allocation.price[place]}; expected a finite number, 0 or more"
        )


def _in_range(name: str, values: Floats, most: float) -> None:
    wrong = (values > most) | (values < 1 / most)
    raise_first_invalid(
        name,
        values,
        wrong,
        f"a number from {1 / most:g} to {most:g}",
        "Use a unit in which the numbers are near 1",
    )


def _set_index(market: Market, name: str, number: int, what: str) -> None:
    values = set_array(market, name, np.int64)
    raise_first_invalid(
        name,
        values,
        (values < 0) | (values >= number),
        f"0 to {number - 1}, since there are {number} {what}",
    )
