"""Generators: populations of a few types, penalties that add, follow pressure, or are measured."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.option_types import AtLeast, validate_options
from .instance import Floats, Groups, Integers
from .penalties import groups_listed, rising, units

Types = Annotated[int, AtLeast(1)]
Jobs = Annotated[int, AtLeast(1)]
Seats = Annotated[int, AtLeast(1)]
Machines = Annotated[float, AtLeast(1, "machines", infinite=True)]
Noise = Annotated[float, AtLeast(0, "a standard deviation of penalties")]


@validate_options
def additive(
    *,
    types: Types = 20,
    jobs: Jobs = 1000,
    seats: Seats = 4,
    machines: Machines | None = None,
    noise: Noise = 0.01,
    rng: np.random.Generator,
) -> Groups:
    """Draw an instance whose penalties add up over co-runners: sensitivity x pressure, and noise.

    Sensitivities are uniform on (0, .3) and pressures on (0, 1); each pair's product gets normal
    noise, is cut to (-.05, .99) and rounded to four decimals.

    Parameters
    ----------
    types, jobs, seats : how many; each job's type is drawn at random.
    machines : how many there are; just enough when not given.
    noise : standard deviation of a pair's noise.
    rng : source of the draw.
    """
    sensitivity, pressure, count = _drawn(types, jobs, rng)
    pairs = np.outer(sensitivity, pressure) + noise * rng.standard_normal((types, types))
    return Groups(
        count=count,
        seats=[seats],  # type: ignore[arg-type]
        machines=machines,  # type: ignore[arg-type]
        penalty=np.clip(pairs, -0.05, 0.99).round(4),
        pressure=pressure,
        name=f"additive-{types}-{seats}-seats-{jobs}",
        source="synthetic: sensitivity x pressure + noise, added up",
    )


@validate_options
def pressure(
    *,
    types: Types = 20,
    jobs: Jobs = 1000,
    seats: Seats = 4,
    machines: Machines | None = None,
    rng: np.random.Generator,
) -> Groups:
    """Draw an instance whose penalties are curves of the total pressure of co-runners, as bubbles
    measure them (Mars et al., MICRO 2011).

    A curve rises like 1 - exp(-2 x / S), x the pressure beside and S the seats, to a height uniform
    on (0, .6), times a little noise a knot, made to rise again.

    Parameters
    ----------
    types, jobs, seats : how many; each job's type is drawn at random.
    machines : how many there are; just enough when not given.
    rng : source of the draw.
    """
    height, load, count = _drawn(types, jobs, rng)
    knots = np.round(np.linspace(0, max(1, seats - 1), 9), 4)
    curve = 2 * height[:, None] * (1 - np.exp(-2 * knots / seats))
    noisy = curve * (1 + 0.05 * rng.standard_normal((types, len(knots))))
    return Groups(
        count=count,
        seats=[seats],  # type: ignore[arg-type]
        machines=machines,  # type: ignore[arg-type]
        pressure=load,
        knots=knots,
        sensitivity=np.round(rising(np.clip(noisy, 0, 0.99)), 4),
        name=f"pressure-{types}-{seats}-seats-{jobs}",
        source="synthetic: curves over the pressure beside a job",
    )


@validate_options
def table(
    *,
    types: Types = 5,
    jobs: Jobs = 30,
    seats: Seats = 3,
    noise: Noise = 0.02,
    rng: np.random.Generator,
) -> Groups:
    """Draw an instance with the penalties of all groups, as if measured: they nearly add up.

    Parameters
    ----------
    types, jobs, seats : how many; each job's type is drawn at random.
    noise : standard deviation of what a group of three or more deviates from the sum, a member.
    rng : source of the draw.
    """
    plain = additive(types=types, jobs=jobs, seats=seats, machines=np.inf, rng=rng)
    rows: Integers = groups_listed(plain, 0)
    lost = units(plain, 0, rows) / 1e12
    own = noise * rng.standard_normal((len(rows), types))
    large = ((rows >= 0).sum(axis=1) > 2)[:, None]
    lost = np.where(large, lost + np.take_along_axis(own, np.maximum(rows, 0), 1), lost)
    return Groups(
        count=plain.count,
        seats=[seats],  # type: ignore[arg-type]
        members=rows,
        losses=np.where(rows >= 0, np.round(np.clip(lost, -0.5, 0.99), 4), 0.0),
        pressure=plain.pressure,
        name=f"table-{types}-{seats}-seats-{jobs}",
        source="synthetic: sums of pairs, and noise for groups of three and more",
    )


def _drawn(types: int, jobs: int, rng: np.random.Generator) -> tuple[Floats, Floats, Integers]:
    """Random sensitivities, pressures, and number of jobs of each type."""
    sensitivity, load = 0.3 * rng.random(types), np.round(rng.random(types), 4)
    return sensitivity, load, np.bincount(rng.integers(types, size=jobs), minlength=types)
