"""The reader of plain tables: jobs of organizations, and the machines that each brings."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.errors import InvalidOption, spelled
from ..problem.option_types import AtLeast, validate_options
from ..problem.tables import CsvTable, PathLike, name_of, tables_of
from .instance import MOST_MACHINES, Scheduling


@validate_options
def organizations_csv(
    path: PathLike,
    *,
    organizations: str | None = None,
    horizon: Annotated[int, AtLeast(1, "the end of time")] | None = None,
    backfilling: bool = False,
) -> Scheduling:
    """Jobs as `organization,release,processing`, one row each, and organizations as
    `organization,machines`; times in whole units. Jobs may have a column `processors`, machines
    taken at once, and organizations a column `speed`, of each of their machines.

    Parameters
    ----------
    path : the table of jobs, or a folder that holds `jobs.csv` and `organizations.csv`.
    organizations : path of the table of organizations; one without jobs only lends its machines.
    horizon : the end of time: only work done before it counts.
    backfilling : whether jobs of several processors may pass one that does not fit.

    Raises
    ------
    InvalidOption
        No table of organizations, or no horizon.
    InvalidFile
        A table that cannot be read, with its line; an organization that no table names.
    """
    main, others = tables_of(path, "jobs.csv", organizations=organizations)
    table = CsvTable(main, "organization", "release", "processing", lower=True)
    if "organizations" not in others:
        raise InvalidOption(
            f"{main} has jobs only; expected organizations as well: write "
            f"{spelled('-o organizations=PATH')} of a table organization,machines"
        )
    lenders = CsvTable(others["organizations"], "organization", "machines", lower=True)
    rows = lenders.by_name("organization")
    known = {name: index for index, name in enumerate(rows)}
    machines = [row.whole("machines") for row in rows.values()]
    fast = "speed" in lenders.columns
    speeds = [row.whole("speed") for row in rows.values()] if fast else []
    jobs = []
    for row in table:
        if (owner := row.word("organization")) not in known:
            raise row.wrong("organization", f"an organization of {others['organizations']}")
        processors = row.whole("processors") if "processors" in table.columns else 1
        jobs.append((known[owner], row.whole("release"), row.whole("processing"), processors))
    owner_of, release, processing, width = np.array(jobs, dtype=np.int64).T
    if horizon is None:
        enough = int(release.max()) + sum(processing.tolist())
        raise InvalidOption(
            f"horizon is not given; expected the end of time, before which work counts: write "
            f"{spelled(f'-o horizon={enough}')}, by which all jobs are done whatever the order"
        )
    remarks = [f"jobs of {main.name}, machines of {others['organizations'].name}", table.written]
    return Scheduling(
        machines=np.array(machines),
        organization=owner_of,
        release=release,
        processing=processing,
        horizon=horizon,
        names=tuple(known),
        processors=width,
        backfilling=backfilling,
        # too many machines are refused by name before their speeds would be listed
        speed=np.repeat(speeds, machines)
        if speeds and 0 < sum(machines) <= MOST_MACHINES
        else None,
        name=name_of(path),
        source="; ".join(filter(None, remarks)),
    )
