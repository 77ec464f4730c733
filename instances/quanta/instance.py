"""What is given (Quanta), what an answer is (Slices), and the checker of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, cast

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution
from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import Axes, Names, raise_first_broken, set_array, set_fields
from ..problem.option_types import Between, validate_options

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST = 10**9
"""Slices that a user may have or want in a quantum, at most."""

ROUNDING = 1e-9
"""A demand or a quantum may be exceeded by this fraction of it: the rounding of sums of floats."""


@dataclass(frozen=True, eq=False, repr=False)
class Quanta(Instance["Slices"]):
    """n users who share n x `share` equal slices of a resource (cores, cards, cache) in each of T
    quanta of time, all with the same right to them.

    A slice is of use to a user in the quanta in which it wants one, and worth the same in all.

    Parameters
    ----------
    demand : (n, T) slices that each user can use in each quantum, whole numbers, 0 or more.
    share : fair share, the slices that each user brings, a whole number of 1 or more.
    names : (n,) strings, optional.

    Notes
    -----
    The model of Karma (Vuppalapati and others, OSDI 2023, section 2).
    """

    problem: ClassVar[str] = "quanta"
    counted: ClassVar[Mapping[str, str]] = {"users": "user", "quanta": "quantum"}

    demand: Annotated[Integers, Axes("users quanta"), Between(0, MOST, "a number of slices")]
    share: Annotated[int, Between(1, MOST, "the slices of a user")]
    names: Annotated[tuple[str, ...], Names("users", filled=True)] = ()

    def __post_init__(self) -> None:
        """Raise InvalidInstance, naming the field, the value and what was expected."""
        set_fields(self)
        if not self.demand.any():
            raise InvalidInstance("demand", "0 everywhere", "a user who wants a slice")
        if self.demand.size * self.capacity >= 2**62:
            raise InvalidInstance(
                "share", f"{self.share} of {self.users} users", "less", "Count in larger slices"
            )

    @property
    def users(self) -> int:
        """n, the number of users."""
        return len(self.demand)

    @property
    def capacity(self) -> int:
        """The slices that there are in each quantum."""
        return self.users * self.share

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """(n,) whether a user ever wants a slice; no objective is about others."""
        return cast("npt.NDArray[np.bool_]", self.demand.any(axis=1))

    @property
    def most_useful(self) -> int:
        """The most slices that can be of use in all quanta together."""
        return int(np.minimum(self.demand.sum(axis=0), self.capacity).sum())

    @property
    def size(self) -> int:
        """A hundred looks at each demand."""
        return 100 * self.demand.size

    def summary(self) -> dict[str, object]:
        """Facts for people: users, quanta, slices, and how much of them is wanted."""
        wanted = self.demand.sum() / (self.capacity * self.demand.shape[1])
        return {
            **super().summary(),
            "users": self.users,
            "quanta": self.demand.shape[1],
            "slices": f"{self.capacity} a quantum, {self.share} a user",
            "demand": f"{wanted:.0%} of the slices, up to {self.demand.max()} of a user",
        }


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Solution):
    """How many slices each user gets in each quantum.

    Parameters
    ----------
    slices : (n, T) at most the demand, fractions allowed: a slice may change hands in a quantum.
    """

    problem: ClassVar[str] = "quanta"

    slices: Floats

    def __post_init__(self) -> None:
        set_array(self, "slices", float, 2)


@validate_options
def check(instance: Quanta, solution: Slices) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless every user has from 0 slices
    to its demand in each quantum, and all together no more than there are.
    """
    slices, demand = solution.slices, instance.demand
    if slices.shape != demand.shape:
        raise InfeasibleSolution(f"slices has shape {slices.shape}; expected {demand.shape}")
    wrong = ~((slices >= 0) & (slices <= demand * (1 + ROUNDING)))
    if wrong.any():
        user, quantum = (int(place) for place in np.argwhere(wrong)[0])
        raise InfeasibleSolution(
            f"user {user} gets {slices[user, quantum]:.12g} slices in quantum {quantum}; expected "
            f"0 to its demand, {demand[user, quantum]}"
        )
    given = slices.sum(axis=0)
    raise_first_broken(given > instance.capacity * (1 + ROUNDING), lambda quantum: (
        f"quantum {quantum} gives {given[quantum]:.12g} slices; there are {instance.capacity}"
    ))  # fmt: skip


def exact_rows(instance: Quanta, solution: Slices) -> list[list[Fraction]]:
    """The slices as fractions whose denominators are at most n, which those of an optimum have."""
    rows = solution.slices.tolist()
    return [[Fraction(x).limit_denominator(instance.users) for x in row] for row in rows]


def scale(instance: Quanta, objective: str, **options: object) -> float:
    """What a user can have on average."""
    return instance.most_useful / int(instance.active.sum())
