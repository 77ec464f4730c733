"""Readers of foreign formats: penalty and slowdown matrices, run times, pairs.

Penalties are taken as they are written; those that a reader works out are rounded to 12 decimals
(`computed_penalty`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from ..problem.errors import InvalidFile, spelled
from ..problem.frames import places
from ..problem.gavel import gavel_table, read_gavel
from ..problem.option_types import AtLeast, validate_options
from ..problem.settings import with_settings
from ..problem.tables import AMOUNT, CsvTable, PathLike, in_a_line, name_of, read_matrix
from .generators import Machines
from .instance import Colocation, Floats
from .missing import (
    FORBIDDEN,
    UNKNOWN,
    Missing,
    completed,
    computed_penalty,
    look_like_slowdowns,
    throughput_loss,
)


@validate_options
@dataclass(frozen=True)
class Population:
    """Options that turn a table of measured pairs into an instance: numbers of jobs and machines.

    Attributes
    ----------
    copies : agents of each type.
    machines : processors, see Colocation ("inf" for as many as needed).
    bandwidth : path of a CSV file with two columns, name and bandwidth [GB/s], header first.
    missing : what to do with pairs that were not measured, such as empty cells, see
        `missing.Missing`.
    """

    copies: Annotated[int, AtLeast(1, "the number of agents of each type")] = 1
    machines: Machines | None = None
    bandwidth: str | None = None
    missing: Missing = None

    def of(self, path: PathLike, names: tuple[str, ...], penalty: Floats, what: str) -> Colocation:
        """Build the instance of a penalty matrix; `what` describes the matrix's source."""
        count = np.full(len(names), self.copies)
        penalty, filled = completed(os.fspath(path), names, penalty, count, self.missing)
        return Colocation(
            penalty=penalty,
            count=count,
            bandwidth=None if self.bandwidth is None else _bandwidths(self.bandwidth, names),
            names=names,
            machines=self.machines,
            name=name_of(path) + (f"-x{self.copies}" if self.copies > 1 else ""),
            source=f"{what} of {Path(path).name}" + (f"; {filled}" if filled else ""),
        )


ONE_OF_EACH = Population()


@validate_options
@with_settings()
def penalty_csv(path: PathLike, *, given: Population = ONE_OF_EACH) -> Colocation:
    """Read a square CSV matrix with named rows and columns: entry [x, y] is x's throughput loss
    beside y, at most 1.

    Parameters
    ----------
    given : see `Population`.

    Notes
    -----
    "forbidden" or "inf" in a cell forbids the pair; an empty one is missing, which is refused
    unless `missing` says what to do.
    """
    names, matrix, _ = _square(path)
    finite = matrix[np.isfinite(matrix)]
    if look_like_slowdowns(finite):
        raise InvalidFile(
            f"{os.fspath(path)} holds numbers from {finite.min():g} to {finite.max():g}; expected "
            "shares of throughput lost, at most 1. Slowdowns are read by "
            f"{spelled('--from slowdown-csv', 'slowdown_csv')}; divide percent by 100"
        )
    return given.of(path, names, matrix, "penalty matrix")


@validate_options
@with_settings()
def slowdown_csv(path: PathLike, *, given: Population = ONE_OF_EACH) -> Colocation:
    """Read a square CSV matrix of slowdowns (co-run time over time alone, above 0), as
    `penalty_csv` does: penalty = 1 - 1/slowdown.

    Parameters
    ----------
    given : see `Population`.
    """
    names, matrix, _ = _square(path)
    cure = f". Penalties are read by {spelled('--from penalty-csv', 'penalty_csv')}"
    _all_positive(path, names, matrix, "slowdown", cure)
    finite = matrix[np.isfinite(matrix)]
    if finite.size and (finite < 1).all():
        raise InvalidFile(
            f"{os.fspath(path)} holds numbers from {finite.min():g} to {finite.max():g}; expected "
            f"slowdowns, run times beside another over those alone{cure}"
        )
    loss = throughput_loss(matrix)
    return given.of(path, names, loss, "slowdown matrix")


@validate_options
@with_settings()
def fair_co2(path: PathLike, *, given: Population = ONE_OF_EACH) -> Colocation:
    """The run-time matrix of Fair-CO2 (ISCA 2025): co-run seconds, the last column being the run
    alone.

    penalty = 1 - alone / co-run, the loss of throughput of the row's job beside the column's.

    Parameters
    ----------
    given : see `Population`.
    """
    names, matrix, alone = _square(path, extra_columns=1)
    if not np.isfinite(alone).all():
        raise InvalidFile(
            f"{os.fspath(path)}, row of {names[int(np.argmin(np.isfinite(alone)))]!r}: the "
            "run alone is missing"
        )
    _all_positive(path, names, np.hstack([matrix, alone]), "run time")
    loss = throughput_loss(matrix, alone)
    return given.of(path, names, loss, "Fair-CO2 run times")


@validate_options
@with_settings(hide=["bandwidth"])
def gavel(
    path: PathLike, *, gpu: Literal["k80", "p100", "v100"] = "v100", given: Population = ONE_OF_EACH
) -> Colocation:
    """The pair table of Gavel (OSDI 2020): throughputs [steps/s] of training jobs alone and sharing
    one GPU.

    Reads the project's own throughput file (jobs of scale factor 1) or a table with `jobs`,
    `isolated_throughput` and `corun_throughput_of_row` under `gpus`. A zero is a pair that does not
    fit in memory: forbidden.

    Parameters
    ----------
    gpu : whose throughputs.
    given : see `Population`.
    """
    table = gavel_table(path, read_gavel(path), gpu)
    single = [place for place, (_, scale) in enumerate(table.jobs) if scale == 1]
    jobs = tuple(table.jobs[place][0] for place in single)
    alone, shared = table.alone[single], table.together[np.ix_(single, single)]
    if (alone <= 0).any():
        job = jobs[int(np.argmax(alone <= 0))]
        raise InvalidFile(f"{os.fspath(path)}: job {job!r} has no throughput alone on {gpu}")
    with np.errstate(all="ignore"):  # what comes of it is no penalty: refused
        penalty = computed_penalty(np.where(shared <= 0, np.inf, 1 - shared / alone[:, None]))
    return given.of(path, jobs, penalty, f"Gavel pair table, {gpu}")


def _square(path: PathLike, extra_columns: int = 0) -> tuple[tuple[str, ...], Floats, Floats]:
    """Read names, the square matrix with columns in the order of the rows, and extra columns."""
    rows, header, values = read_matrix(
        path, UNKNOWN | FORBIDDEN, "Write forbidden to forbid the pair", extra_columns
    )
    columns = header[: len(header) - extra_columns]
    if sorted(columns) != sorted(rows):
        odd = sorted(set(columns) ^ set(rows))
        raise InvalidFile(
            f"{os.fspath(path)} is not square: {len(rows)} rows, {len(columns)} columns; "
            f"unmatched: {in_a_line(odd[:4])}"
        )
    return tuple(rows), values[:, places(rows, columns, "the rows")], values[:, len(columns) :]


def _all_positive(
    path: PathLike, names: tuple[str, ...], matrix: Floats, what: str, cure: str = ""
) -> None:
    if (matrix <= 0).any():
        place = int(np.argwhere(matrix <= 0)[0][0])
        raise InvalidFile(
            f"{os.fspath(path)}, row of {names[place]!r}: a {what} is "
            f"{matrix[matrix <= 0][0]:g}; expected numbers above 0{cure}"
        )


def _bandwidths(path: str, names: tuple[str, ...]) -> Floats:
    rows = CsvTable(path, columns=("name", "bandwidth"))
    table = {row["name"]: row.number("bandwidth", AMOUNT) for row in rows}
    if missing := [name for name in names if name not in table]:
        raise InvalidFile(f"{path} gives no bandwidth for {in_a_line(missing[:4])}")
    return np.array([table[name] for name in names])
