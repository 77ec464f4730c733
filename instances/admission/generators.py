"""Generators: the paper's three comparisons (Table I), and instances of a given size."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import Between, Range, validate_options
from .instance import LARGEST, LARGEST_COUNT, Admission

LARGEST_TABLE = 10**8
"""Entries of the table of cores, or of speeds, at most."""

Comparison = Literal["I", "II", "III"]
Count = Annotated[int, Range(least=1, below=LARGEST_COUNT)]


class Ranges(NamedTuple):
    """Maxima of the random parameters in one column of Table I; every range starts at 1."""

    simulations: int
    machines: int
    jobs: int
    types: int
    cores: int
    threads: int
    speed: float


TABLE_I: dict[str, Ranges] = {
    "I": Ranges(500, 20, 50, 5, 25, 50, 100.0),
    "II": Ranges(100, 50, 100, 10, 50, 200, 200.0),
    "III": Ranges(100, 20, 100, 5, 50, 50, 200.0),
}
"""The ranges of the three comparisons, and how many simulations the paper ran of each."""


@validate_options
def table_i(
    *, comparison: Comparison = "I", lengths: bool = False, rng: np.random.Generator
) -> Admission:
    """Draw an admission instance from the ranges of one column of the paper's Table I.

    The numbers of VMs, jobs and core types are uniform on 1..max; so are cores[v, c] and
    threads[j], entry by entry; speeds are uniform reals on [1, max]. (The paper does not say
    whether "max. number of cores per type" is drawn once a simulation or bounds every entry; read
    directly, the speeds of its Table IV come out.)

    Parameters
    ----------
    comparison : column of Table I.
    lengths : give jobs lengths too, uniform on [1, 1000] (not in the paper).
    rng : source of the draw.
    """
    ranges = TABLE_I[comparison]
    machines, jobs, types = (
        int(rng.integers(1, most + 1)) for most in (ranges.machines, ranges.jobs, ranges.types)
    )
    found = uniform(
        machines=machines, jobs=jobs, types=types, cores=ranges.cores, threads=ranges.threads,
        speed=ranges.speed, lengths=lengths, rng=rng,
    )  # fmt: skip
    source = f"synthetic: Table I, comparison {comparison}, of Hines and Romano"
    return found.replace(name=f"hines-romano-{comparison}", source=source)


@validate_options
def uniform(
    *,
    machines: Count = 20,
    jobs: Count = 50,
    types: Count = 5,
    cores: Count = 25,
    threads: Count = 50,
    speed: Annotated[float, Between(1, LARGEST, "the largest speed")] = 100.0,
    lengths: bool = False,
    rng: np.random.Generator,
) -> Admission:
    """Draw an admission instance of a given size: cores and threads uniform on 1..max, speeds
    uniform reals on [1, max].

    Parameters
    ----------
    machines, jobs, types : how many VMs, jobs and core types.
    cores : most cores of a type on a VM.
    threads : most threads of a job.
    speed : largest speed.
    lengths : give jobs lengths too, uniform on [1, 1000].
    rng : source of the draw.
    """
    if max(machines, jobs) * types > LARGEST_TABLE:
        raise InvalidOption(
            f"max(machines, jobs) x types is {max(machines, jobs) * types}; expected "
            f"{LARGEST_TABLE} or less"
        )
    return Admission(
        cores=rng.integers(1, cores + 1, (machines, types)),
        threads=rng.integers(1, threads + 1, jobs),
        speed=rng.uniform(1.0, speed, (jobs, types)),
        length=rng.uniform(1.0, 1000.0, jobs) if lengths else None,
        name=f"uniform-{jobs}x{machines}x{types}",
        source=f"synthetic: uniform, {jobs} jobs, {machines} VMs, {types} core types",
    )
