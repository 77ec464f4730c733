"""The reader of three CSV tables: cores of the VMs, jobs, and speeds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..problem.errors import InvalidFile
from ..problem.frames import places
from ..problem.option_types import validate_options
from ..problem.tables import PathLike, read_matrix
from .instance import Admission


@validate_options
def admission_csv(
    path: PathLike, *, jobs: str | None = None, speed: str | None = None
) -> Admission:
    """Three CSV tables, headers first: the cores of each VM, the threads of each job, and the
    speeds.

    - cores: `vm, <type>, <type>, ...`: cores of each type on each VM;
    - jobs: `job, threads` and perhaps `length`;
    - speed: `job, <type>, <type>, ...`: speed of each job on one core of each type.

    Types and jobs are matched by name, in any order; the order of the cores' columns and of the
    jobs' rows is kept.

    Parameters
    ----------
    path : the table of cores, or a folder that holds `cores.csv`, `jobs.csv` and `speed.csv`.
    jobs, speed : paths of the other two tables; beside the first when not given.

    Raises
    ------
    InvalidFile
        A table is missing, a cell is no number, or names do not match.
    InvalidInstance
        A value breaks a rule of the problem.
    """
    first = Path(path) / "cores.csv" if os.path.isdir(path) else Path(path)
    second, third = (
        Path(given) if given else first.with_name(name)
        for given, name in ((jobs, "jobs.csv"), (speed, "speed.csv"))
    )
    machines, types, cores = read_matrix(first)
    names, columns, facts = read_matrix(second)
    if set(columns) not in ({"threads"}, {"threads", "length"}):
        raise InvalidFile(
            f"{second} has the columns {', '.join(columns)}; expected job, threads and "
            "perhaps length"
        )
    rows, speed_types, speeds = read_matrix(third)
    _same(third, "core types", speed_types, types, first)
    _same(third, "jobs", rows, names, second)
    folder = first.parent.resolve().name
    return Admission(
        cores=cores,  # type: ignore[arg-type]
        threads=facts[:, columns.index("threads")],  # type: ignore[arg-type]
        speed=speeds[np.ix_(places(names, rows, "jobs"), places(types, speed_types, "types"))],
        names=tuple(names),
        machine_names=tuple(machines),
        length=facts[:, columns.index("length")] if "length" in columns else None,
        name=folder if first.name == "cores.csv" else first.stem,
        source=f"CSV tables {first.name}, {second.name} and {third.name}",
    )


def _same(path: Path, what: str, given: list[str], expected: list[str], elsewhere: Path) -> None:
    if odd := sorted(set(given) ^ set(expected)):
        raise InvalidFile(
            f"{path} and {elsewhere} do not name the same {what}: {', '.join(odd[:4])} "
            f"{'is' if len(odd) == 1 else 'are'} in only one of them"
        )
