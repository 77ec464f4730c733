"""Profiles: measured run times of workloads by core count and data size, and their parallel
fractions.

Thesis section 3.2: with T(c) seconds on c cores, the speedup s_c = T(1) / T(c) gives a parallel
fraction for every c > 1,

    F_c = (1 - 1 / s_c) / (1 - 1 / c)    (eq. 3.2, Karp and Flatt)

whose mean over core counts is the estimate, and whose variance says how well Amdahl's law fits.

Names and suites of the twenty-two workloads are those of thesis Table 3.2. Their fractions were
only ever a picture (fig. 3.4); the text says that they range from 0.55 to 0.99, that graph
processing, k-means on a small data set, canneal and dedup scale worst, and nothing more. The
synthetic fractions below are ours: the named poor ones spread evenly over (.55, .77), the rest over
(.80, .99), in the table's order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidFile, InvalidOption
from ..problem.option_types import Between, validate_options
from ..problem.tables import CsvTable, PathLike, in_a_line
from .instance import Booleans, Floats

FRACTION = Between(0, 1, "a fraction")
MEASURED = Between(1e-12, 1e15, "a number")

_ALIASES = {
    "workload": ("workload", "benchmark", "application"),
    "size": ("size", "dataset_size", "dataset size"),
    "cores": ("cores", "threads"),
    "seconds": ("seconds", "time"),
    "speedup": ("speedup",),
}


@dataclass(frozen=True, eq=False)
class Profile:
    """Measured run times of workloads over core counts, one row per measurement.

    Attributes
    ----------
    workload : (r,) names.
    size : (r,) size of the data set in any unit; all 1 when the file does not say.
    cores : (r,) cores used.
    seconds : (r,) run time; in units of the sequential run when the file gives speedups.
    """

    workload: tuple[str, ...]
    size: Floats
    cores: Floats
    seconds: Floats

    @property
    def workloads(self) -> tuple[str, ...]:
        """Distinct names of the workloads of a profile, in order of appearance."""
        return tuple(dict.fromkeys(self.workload))

    def rows(self, workload: str, size: float | None = None) -> Booleans:
        """Whether each row is of a workload (and of a data size, if given), shape (r,)."""
        chosen = np.array([name == workload for name in self.workload])
        return chosen if size is None else chosen & (self.size == size)

    def only(self, rows: Booleans) -> Profile:
        """Profile of measured run times restricted to some rows."""
        names = tuple(name for name, kept in zip(self.workload, rows.tolist(), strict=True) if kept)
        return Profile(names, self.size[rows], self.cores[rows], self.seconds[rows])


def karp_flatt(cores: npt.ArrayLike, speedup: npt.ArrayLike) -> Floats:
    """Parallel fraction F_c of thesis equation 3.2 for each core count above 1; NaN at one core.

    Not cut to [0, 1]: above 1 is a superlinear speedup, below 0 a slowdown.
    """
    count, gain = np.asarray(cores, dtype=float), np.asarray(speedup, dtype=float)
    result: Floats = np.divide(
        1 - 1 / gain, 1 - 1 / count, out=np.full(count.shape, np.nan), where=count != 1
    )
    return result


@dataclass(frozen=True)
class Fraction:
    """Estimated parallel fraction of a workload at one data size: mean and variance of F_c over
    core counts.
    """

    workload: str
    size: float
    mean: float
    variance: float
    counts: int


@validate_options
def fractions(profile: Profile, most_cores: float | None = None) -> list[Fraction]:
    """Karp-Flatt estimates for each workload and data size (thesis figures 3.4 and 3.5).

    Parameters
    ----------
    most_cores : leave out rows with more cores (threads beyond the physical cores, say).

    Raises
    ------
    InvalidOption
        A workload and size without a row at one core, or without one at more.
    """
    found = []
    for name in profile.workloads:
        for size in np.unique(profile.size[profile.rows(name)]).tolist():
            rows = profile.rows(name, size)
            cores, seconds = profile.cores[rows], profile.seconds[rows]
            alone = cores == 1
            more = (cores > 1) & (cores <= (np.inf if most_cores is None else most_cores))
            if not alone.any() or not more.any():
                lacking = "1 core" if not alone.any() else "more than 1 core"
                raise InvalidOption(
                    f"the profile has no row of {name!r} at size {size:g} on {lacking}; "
                    "expected both"
                )
            values = karp_flatt(cores[more], seconds[alone].mean() / seconds[more])
            found.append(
                Fraction(name, size, float(values.mean()), float(values.var()), int(more.sum()))
            )
    return found


@validate_options
def read_profile(path: PathLike, where: str | None = None) -> Profile:
    """Read a profile of measured run times from CSV.

    The header names the columns: workload (or benchmark), cores (or threads), seconds, or speedup
    in its place, and perhaps size (or dataset_size). Others are not looked at, except by `where`.

    Parameters
    ----------
    where : keep only rows with these values, as in "platform=xeon_server,implementation=Pthreads".

    Raises
    ------
    InvalidFile
        A column that is missing, or a row that cannot be read, with its line number.
    """
    table = CsvTable(path, lower=True)
    named = {key: name for key, names in _ALIASES.items() for name in names if name in table.places}
    table.require(*(named.get(key, key) for key in ("workload", "cores")))
    if "seconds" not in named and "speedup" not in named:
        raise InvalidFile(
            f"{table.path}, line 1: no column 'seconds' or 'speedup'; the columns are "
            f"{in_a_line(table.columns)}"
        )
    wanted = _conditions(where, table)
    names: list[str] = []
    numbers: list[tuple[float, float, float]] = []
    for row in table:
        if any(row[name] != value for name, value in wanted):
            continue
        names.append(row[named["workload"]])
        found = {
            key: row.number(name, MEASURED) for key, name in named.items() if key != "workload"
        }
        numbers.append(
            (
                found.get("size", 1.0),
                found["cores"],
                found["seconds"] if "seconds" in found else 1 / found["speedup"],
            )
        )
    if not names:
        raise InvalidFile(f"{table.path} has no rows where {where}; expected measured run times")
    return Profile(tuple(names), *np.array(numbers).T)


def _conditions(where: str | None, table: CsvTable) -> list[tuple[str, str]]:
    wanted = []
    for part in [] if where is None else where.split(","):
        name, equals, value = part.partition("=")
        column = name.strip().lower()
        if not equals or column not in table.columns:
            raise InvalidOption(
                f"where is {where!r}; expected column=value with a column among "
                f"{', '.join(table.columns)}"
            )
        wanted.append((column, value.strip()))
    return wanted


WORKLOADS: tuple[tuple[str, str], ...] = (
    ("correlation", "Spark"),
    ("decision-tree", "Spark"),
    ("fpgrowth", "Spark"),
    ("gradient-descent", "Spark"),
    ("kmeans", "Spark"),
    ("linear-regression", "Spark"),
    ("movie", "Spark"),
    ("naive-bayesian", "Spark"),
    ("svm", "Spark"),
    ("page-rank", "Spark"),
    ("connected", "Spark"),
    ("triangle-counting", "Spark"),
    ("blackscholes", "PARSEC"),
    ("bodytrack", "PARSEC"),
    ("canneal", "PARSEC"),
    ("dedup", "PARSEC"),
    ("ferret", "PARSEC"),
    ("raytrace", "PARSEC"),
    ("streamcluster", "PARSEC"),
    ("swaptions", "PARSEC"),
    ("vips", "PARSEC"),
    ("x264", "PARSEC"),
)
"""Name and suite: thesis Table 3.2."""

_POOR = ("kmeans", "page-rank", "connected", "triangle-counting", "canneal", "dedup")


def synthetic_fractions() -> dict[str, float]:
    """Synthetic parallel fraction of each named workload, two decimals."""
    names = [name for name, _ in WORKLOADS]
    rich = [name for name in names if name not in _POOR]
    low = dict(zip(_POOR, np.round(np.linspace(0.55, 0.77, len(_POOR)), 2).tolist(), strict=True))
    high = dict(zip(rich, np.round(np.linspace(0.80, 0.99, len(rich)), 2).tolist(), strict=True))
    return {name: (low | high)[name] for name in names}


PROFILED = (1, 2, 4, 8, 12, 24, 48)
"""Core counts of a synthetic profile; the thesis's server has 24 cores (Table 3.1)."""

_OVERHEAD = 0.015
"""Share of the sequential run time that a poor workload loses with every doubling of its cores."""
_NOISE = 0.01


def synthetic_profile(rng: np.random.Generator) -> Profile:
    """Run times of the named workloads that obey Amdahl's law but for noise and, for the poor ones,
    an overhead that grows.

    seconds(c) = 100 (1 - f + f / c + overhead log2 c) times lognormal noise. f is that of
    `synthetic_fractions`, and a little more for a poor workload, so that the mean of what Karp and
    Flatt's formula gives comes out near it. This stands in for the thesis's measured run times, of
    which the text gives none: what holds on it holds by construction.

    Parameters
    ----------
    rng : draws the noise.
    """
    names, cores, seconds = [], [], []
    for name, fraction in synthetic_fractions().items():
        overhead = _OVERHEAD if name in _POOR else 0.0
        whole = fraction + 4 * overhead
        for count in PROFILED:
            names.append(name)
            cores.append(float(count))
            seconds.append(
                100
                * (1 - whole + whole / count + overhead * np.log2(count))
                * rng.lognormal(0.0, _NOISE)
            )
    return Profile(tuple(names), np.ones(len(names)), np.array(cores), np.array(seconds))
