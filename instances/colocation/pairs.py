"""The reader of measured pairs in long form: one row for each run of a job beside another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from ..problem.base import repeated
from ..problem.errors import InvalidFile
from ..problem.plain import name_of, tables_of
from ..problem.rules import AtLeast, checked
from ..problem.tables import AMOUNT, CsvTable, PathLike
from .generators import Machines
from .instance import Colocation, Floats, Integers, computed_penalty
from .missing import FORBIDDEN, UNKNOWN, Missing, completed

CONFIDENCE = 0.95
"""Of the interval around a mean of repeats."""


@dataclass(frozen=True)
class Measured:
    """Runs of services beside each other, summed up.

    Attributes
    ----------
    names : (T,) the services.
    what : "slowdown" (run time beside the other over run time alone) or "penalty" (throughput
        lost).
    mean : (T, T) of the runs of the row's service beside the column's; NaN without a run, inf where
        the pair is forbidden.
    half : (T, T) half width of the 95 % interval of the mean (Student's t); NaN below two runs.
    runs : (T, T) how many there are.
    written : how the table is written where that is unusual, see `CsvTable.written`.
    """

    names: tuple[str, ...]
    what: str
    mean: Floats
    half: Floats
    runs: Integers
    written: str = ""

    @property
    def penalty(self) -> Floats:
        """(T, T) throughput lost, of the mean."""
        if self.what == "penalty":
            return self.mean
        return computed_penalty(np.where(np.isinf(self.mean), np.inf, 1 - 1 / self.mean))

    def repeats(self) -> str:
        """What the repeats say, in words; "" where no pair was run twice."""
        if np.isnan(self.half).all():
            return ""
        x, y = (int(i) for i in np.unravel_index(np.nanargmax(self.half), self.half.shape))
        return (
            f"means of up to {self.runs.max()} runs, 95 % intervals up to +-{self.half[x, y]:.3g} "
            f"({self.names[x]} beside {self.names[y]})"
        )


@checked
def pairs_csv(
    path: PathLike,
    *,
    services: str | None = None,
    copies: Annotated[int, AtLeast(1, "the number of jobs of each service")] = 1,
    machines: Machines | None = None,
    missing: Missing = None,
) -> Colocation:
    """Measured pairs in long form: `service,beside,slowdown` or `service,beside,penalty`, one row a
    run; and perhaps a table `service,count` with `bandwidth` [GB/s].

    Runs of one pair become their mean. `forbidden` in place of the number forbids the pair; a pair
    without a row is missing, which is refused unless `missing` says what to do.

    Parameters
    ----------
    path : the table of pairs, or a folder that holds `pairs.csv` and perhaps `services.csv`.
    services : path of the table of services; their order is kept.
    copies : jobs of each service, when no table has a column `count`.
    machines : processors, see Colocation ("inf" for as many as needed).
    missing : what to do with pairs that were not measured, see `missing.Missing`.

    Raises
    ------
    InvalidFile
        A table that cannot be read, with its line; pairs are missing.
    """
    main, others = tables_of(path, "pairs.csv", services=services)
    names, count, bandwidth = None, None, None
    if "services" in others:
        names, count, bandwidth = _services(others["services"])
    found = read_pairs(main, names)
    number = np.full(len(found.names), copies) if count is None else count
    penalty, filled = completed(os.fspath(main), found.names, found.penalty, number, missing)
    said = [f"{found.what}s of {main.name}", found.repeats(), filled, found.written]
    return Colocation(
        penalty=penalty,
        count=number,
        bandwidth=bandwidth,
        names=found.names,
        machines=machines,
        name=name_of(path),
        source="; ".join(words for words in said if words),
    )


def read_pairs(path: PathLike, names: tuple[str, ...] | None = None) -> Measured:
    """The runs of a table of pairs, see `pairs_csv`.

    Parameters
    ----------
    names : the services there are, in their order; those of the table, as they appear, when not
        given.

    Raises
    ------
    InvalidFile
        Naming the line that is wrong: a number that is none, a service that is not known, a pair
        both forbidden and measured.
    """
    table = CsvTable(path, "service", "beside", lower=True)
    given = [name for name in ("slowdown", "penalty") if name in table.places]
    if len(given) != 1:
        raise InvalidFile(
            f"{table.path}, line 1: the columns are {', '.join(table.columns)}; expected service, "
            "beside, and either slowdown (run time beside it over run time alone) or penalty "
            "(throughput lost)"
        )
    (what,) = given
    place = {name: number for number, name in enumerate(names or ())}
    runs: dict[tuple[int, int], list[float]] = {}
    for row in table:
        pair = []
        for column in ("service", "beside"):
            name = row.word(column)
            if names is not None and name not in place:
                raise row.wrong(column, "a service of the table of services")
            pair.append(place.setdefault(name, len(place)))
        value = row.number(what, None, UNKNOWN | FORBIDDEN, "Write forbidden to forbid the pair")
        if what == "slowdown" and value <= 0:
            raise row.wrong(what, "a number above 0: run time beside it over run time alone")
        if what == "penalty" and 1 < value < np.inf:
            cure = "A slowdown stands in a column of that name"
            raise row.wrong(what, "a share of throughput lost, at most 1", cure)
        if value != value:  # a row that says nothing; the services it names are there
            continue
        earlier = runs.setdefault((pair[0], pair[1]), [])
        if earlier and np.isinf(earlier[0]) != np.isinf(value):
            raise row.error(": this pair is forbidden in one row and measured in another")
        earlier.append(value)
    types = len(place)
    mean, half = np.full((types, types), np.nan), np.full((types, types), np.nan)
    number = np.zeros((types, types), dtype=np.int64)
    for where, values in runs.items():
        number[where], mean[where] = len(values), np.mean(values)
        if len(values) > 1 and np.isfinite(values).all():
            half[where] = _half_width(np.array(values))
    return Measured(tuple(place), what, mean, half, number, table.written)


def _services(path: Path) -> tuple[tuple[str, ...], Integers | None, Floats | None]:
    """Names, counts and bandwidths of a table of services, None where it has no such column."""
    table = CsvTable(path, "service", lower=True)
    if unknown := [name for name in table.columns if name not in ("service", "count", "bandwidth")]:
        raise InvalidFile(
            f"{table.path}, line 1: unknown column {unknown[0]!r}; expected service, and perhaps "
            "count and bandwidth"
        )
    rows = list(table)
    names = tuple(row.word("service") for row in rows)
    if (twice := repeated(names)) is not None:
        raise InvalidFile(f"{table.path} names the service {twice!r} twice")
    count = [row.whole("count") for row in rows] if "count" in table.places else None
    bandwidth = (
        [row.number("bandwidth", AMOUNT) for row in rows] if "bandwidth" in table.places else None
    )
    return (
        names,
        None if count is None else np.array(count, dtype=np.int64),
        None if bandwidth is None else np.array(bandwidth),
    )


def _half_width(values: Floats) -> float:
    """Half of the width of the 95 % interval of a mean, by Student's t."""
    from scipy.special import stdtrit

    quantile = stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))
