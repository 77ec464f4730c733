"""The reader of a plain table: classes of tasks on a blade server."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.errors import InvalidFile
from ..problem.option_types import Above, AtLeast, validate_options
from ..problem.tables import AMOUNT, CsvTable, PathLike, name_of, tables_of
from .instance import Law, Numa, Queues

Size = Annotated[int, AtLeast(1)]


@validate_options
def classes_csv(
    path: PathLike,
    *,
    rate: Annotated[float, Above(0, "tasks a second")],
    memories: str | None = None,
    blades: Size = 4,
    rows: Size = 2,
    columns: Size = 2,
    cores: Size = 16,
    refusal_limit: Annotated[float, AtLeast(0, infinite=True)] = 100.0,
    law: Law = "exponential",
    scv: Annotated[float, AtLeast(0)] | None = None,
    queues: Queues = "one",
) -> Numa:
    """Read classes of tasks as `class,share,service_mean,ht1,pcie,bandwidth` (see Numa), and
    perhaps where their data lies as `memory,share`.

    Shares are taken in proportion; a memory without a row holds no data, and without a table all
    hold as much.

    Parameters
    ----------
    path : the table of classes, or a folder that holds `classes.csv` and perhaps `memories.csv`.
    rate : tasks a second that arrive.
    memories : path of the table of memories, numbered from 0 like processors.
    blades, rows, columns, cores : of the server: blades, processors of a blade's mesh, cores of a
        processor.
    refusal_limit : offers a task declines at most ("inf" for no limit).
    law, scv : of the service times: its name, and its squared coefficient of variation.
    queues : one queue, or one per processor.

    Raises
    ------
    InvalidFile
        A table that cannot be read, with its line.
    """
    main, others = tables_of(path, "classes.csv", memories=memories)
    amounts = ("share", "service_mean", "ht1", "pcie", "bandwidth")
    table = CsvTable(main, "class", *amounts, lower=True)
    found = [(row.word("class"), *(row.number(name, AMOUNT) for name in amounts)) for row in table]
    names, share, service, ht1, pcie, bandwidth = zip(*found, strict=True)
    located = np.ones(blades * rows * columns)
    if "memories" in others:
        located[:] = 0.0
        for row in CsvTable(others["memories"], "memory", "share", lower=True):
            place = row.whole("memory")
            if place >= len(located):
                raise row.wrong("memory", f"a memory from 0 to {len(located) - 1}")
            located[place] += row.number("share", AMOUNT)
    for where, values in ((main, share), (others.get("memories"), located)):
        if sum(values) == 0:
            raise InvalidFile(f"{where}: the shares are all 0; expected some above 0")
    written = f"; {table.written}" if table.written else ""
    return Numa(
        blades=blades, rows=rows, columns=columns, cores=cores,
        location_share=located / located.sum(),
        class_share=np.array(share) / sum(share),
        service_mean=np.array(service), ht1=np.array(ht1), pcie=np.array(pcie),
        bandwidth=np.array(bandwidth),
        rate=rate, refusal_limit=refusal_limit, law=law, scv=scv, queues=queues,
        names=names,
        name=name_of(path),
        source=f"classes of {main.name}{written}",
    )  # fmt: skip
