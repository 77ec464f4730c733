"""Quanta: users with changing demands share equal slices of a resource, quantum after quantum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from .problem.answer_table import AnswerTable
from .problem.base import Instance, Solution
from .problem.errors import InfeasibleSolution, InvalidFile, InvalidInstance
from .problem.fields import Axes, Names, set_array, set_fields
from .problem.option_types import AtLeast, Between, validate_options
from .problem.reading import read_text
from .problem.registry import Problem
from .problem.tables import CsvTable, PathLike, read_matrix
from .problem.text import shortened

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST = 10**9
"""Slices that a user may have or want in a quantum, at most."""

ROUNDING = 1e-9
"""A demand or a quantum may be exceeded by this fraction of it: the rounding of sums of floats."""


@dataclass(frozen=True, eq=False, repr=False)
class Quanta(Instance["Slices"]):
    """n users with equal rights share equal slices of a resource in each of T quanta of time.

    Cores, cards or cache: the model of Karma (Vuppalapati and others, OSDI 2023, section 2).

    Parameters
    ----------
    demand : (n, T) slices that each user can use in each quantum, whole numbers, 0 or more; all are
        worth the same to it.
    share : fair share, the slices that each user brings, a whole number of 1 or more.
    names : (n,) strings, optional.
    """

    problem: ClassVar[str] = "quanta"
    counted: ClassVar[Mapping[str, str]] = {"users": "user", "quanta": "quantum"}

    demand: Annotated[Integers, Axes("users quanta"), Between(0, MOST, "a number of slices")]
    share: Annotated[int, Between(1, MOST, "the slices of a user")]
    names: Annotated[tuple[str, ...], Names("users", filled=True)] = ()

    def __post_init__(self) -> None:
        set_fields(self)
        if not self.demand.any():
            raise InvalidInstance("demand", "0 everywhere", "a user who wants a slice")
        if self.demand.size * self.capacity >= 2**62:
            users = f"{self.share} of {len(self.demand)} users"
            raise InvalidInstance("share", users, "less", "Count in larger slices")

    @property
    def capacity(self) -> int:
        """Number of slices in each quantum."""
        return len(self.demand) * self.share

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Whether each user (n,) ever wants a slice; objectives leave out users who never do."""
        return np.asarray(self.demand.any(axis=1))

    @property
    def most_useful(self) -> int:
        """Maximum number of slices that can be of use in all quanta together."""
        return int(np.minimum(self.demand.sum(axis=0), self.capacity).sum())

    def summary(self) -> dict[str, object]:
        """Facts for `cotenant show`: users, quanta, slices, and the ratio of demand to slices."""
        users, quanta = self.demand.shape
        wanted = self.demand.sum() / (self.capacity * quanta)
        return {
            **super().summary(), "users": users, "quanta": quanta,
            "slices": f"{self.capacity} a quantum, {self.share} a user",
            "demand": f"{wanted:.0%} of the slices, up to {self.demand.max()} of a user",
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Solution):
    """Number of slices of each user in each quantum.

    Parameters
    ----------
    slices : (n, T) at most the demand, fractions allowed: a slice may change hands in a quantum.
    """

    slices: Floats

    def __post_init__(self) -> None:
        set_array(self, "slices", float, 2)

    def exact(self) -> list[list[Fraction]]:
        """Convert the slices to fractions of denominators up to n users, as an optimum has."""
        known, place = np.unique(self.slices, return_inverse=True)
        parts = [Fraction(x).limit_denominator(len(self.slices)) for x in known.tolist()]
        rows: Any = place.reshape(self.slices.shape).tolist()
        return [[parts[k] for k in row] for row in rows]


@validate_options
def check(instance: Quanta, solution: Slices) -> None:
    """Raise InfeasibleSolution, naming the first broken constraint, unless every user gets between
    0 and its demand in each quantum, and all users together at most the slices.
    """
    slices, demand = solution.slices, instance.demand
    if slices.shape != demand.shape:
        raise InfeasibleSolution(f"slices has shape {slices.shape}; expected {demand.shape}")
    for user, quantum in np.argwhere(~((slices >= 0) & (slices <= demand * (1 + ROUNDING)))):
        raise InfeasibleSolution(
            f"user {user} gets {slices[user, quantum]:.12g} slices in quantum {quantum}; expected "
            f"0 to its demand, {demand[user, quantum]}"
        )
    given = slices.sum(axis=0)
    for quantum in np.flatnonzero(given > instance.capacity * (1 + ROUNDING)):
        raise InfeasibleSolution(
            f"quantum {quantum} gives {given[quantum]:.12g} slices; there are {instance.capacity}"
        )


def scale(instance: Quanta, objective: str, **options: object) -> float:
    """Largest possible mean number of slices of a user, by which an objective is judged."""
    return instance.most_useful / int(instance.active.sum())


@validate_options
def bursty(
    *,
    users: Annotated[int, AtLeast(1)] = 20,
    quanta: Annotated[int, AtLeast(1)] = 50,
    share: Annotated[int, AtLeast(1)] = 10,
    rng: np.random.Generator,
) -> Quanta:
    """Draw users who want their fair share on average, some at all times and some in rare bursts.

    Parameters
    ----------
    users, quanta : how many. A user is active in a part of the quanta, drawn from a tenth to all.
    share : the slices that each user brings; it wants this over its part where it is active.
    """
    part = rng.uniform(0.1, 1.0, (users, 1))
    busy = rng.random((users, quanta)) < part
    busy[np.arange(users), rng.integers(quanta, size=users)] = True  # everybody wants something
    name, source = f"bursty-{users}-{quanta}", f"synthetic: {users} bursty users"
    return Quanta(busy * np.rint(share / part).astype(int), share, name=name, source=source)


@validate_options
def quanta_csv(path: PathLike, *, share: Annotated[int, AtLeast(1)]) -> Quanta:
    """Read a CSV table `user, <quantum>, <quantum>, ...`: the slices that each user wants in each.

    Parameters
    ----------
    path : the table, headers first, of which the first is `user`.
    share : the slices that each user brings; it is not in the table.
    """
    text, place = read_text(path), Path(path)
    first = CsvTable(path, alike=True, text=text).columns[0]
    if first.lower() != "user":
        raise InvalidFile(
            f"{path}, line 1: the first header is {shortened(first)}; expected user, then the "
            "quanta. Write the line user,1,2,... above a table without headers; a row is a user"
        )
    names, _, demand = read_matrix(path, text=text)
    source = f"CSV table {place.name}"
    return Quanta(demand, share, tuple(names), name=place.stem, source=source)  # type: ignore[arg-type]


def answer_table(instance: Quanta, solution: Slices, most: int | None = None) -> AnswerTable:
    """Table of the slices that users get: a row for each user and quantum in which it wants any."""
    total = np.where(instance.active, solution.slices.sum(axis=1), np.inf)
    poor, wants = int(total.argmin()), np.argwhere(instance.demand.T)
    rows = tuple(
        (t, instance.names[i], float(solution.slices[i, t]), int(instance.demand[i, t]))
        for t, i in wants[:most].tolist()
    )
    sentence = f"the fewest slices in all, {total[poor]:.6g}, are those of {instance.names[poor]}"
    return AnswerTable(sentence, ("quantum", "user", "slices", "wanted"), rows, len(wants))


PROBLEM = Problem(
    title="slices of a resource to users whose demands change with time",
    instance=Quanta,
    solutions=(Slices,),
    check=check,
    generators={"bursty": "instances.quanta:bursty"},
    formats={"quanta-csv": "instances.quanta:quanta_csv"},
    answer_table=answer_table,
    scale=scale,
)
