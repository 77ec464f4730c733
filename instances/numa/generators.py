"""Generators: the thesis's blade server under any of its benchmarks, with uniform or hot data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ..problem.errors import InvalidInstance, InvalidOption, suggest
from ..problem.option_types import Above, AtLeast, Between, validate_options
from ..problem.settings import with_settings
from .bounds import Throughput
from .instance import MOST_PROCESSORS, Floats, Law, Numa, Queues
from .technology import BENCHMARKS, THESIS, Benchmark

Data = Literal["uniform", "hot-memory", "hot-blade"]
Count = Annotated[int, AtLeast(1)]


@validate_options
@dataclass(frozen=True)
class Traffic:
    """Settings of the arrivals, service times and queues of generated tasks.

    Attributes
    ----------
    law : of service times.
    scv : their squared coefficient of variation, for the laws that leave it open.
    queues : "one" of waiting tasks, or one "per-processor" (thesis section 4.3.2).
    service_mean : mean service time beside local data [s]; 100 million instructions at 2.5 GHz
        (thesis section 4.5.1).
    arrival_law : of the times between arrivals.
    arrival_scv : their squared coefficient of variation, for the laws that leave it open.
    """

    law: Law = "exponential"
    scv: Annotated[float, AtLeast(0)] | None = None
    queues: Queues = "one"
    service_mean: Annotated[float, Above(0, "seconds")] = THESIS.service_mean
    arrival_law: Law = "exponential"
    arrival_scv: Annotated[float, AtLeast(0)] | None = None


THESIS_TRAFFIC = Traffic()
"""One queue, exponential times, and the thesis's mean."""


@validate_options
@with_settings()
def blade_server(
    *,
    benchmark: str = "S6",
    rate: Throughput = 4000.0,
    data: Data = "uniform",
    hot: Annotated[
        float, Between(0, 1, "the share of tasks with data in the hot memory or blade")
    ] = 0.25,
    blades: Count = 4,
    rows: Count = 2,
    columns: Count = 2,
    cores: Count = 16,
    refusal_limit: Annotated[float, AtLeast(0, "offers", infinite=True)] | None = 100.0,
    traffic: Traffic = THESIS_TRAFFIC,
    rng: np.random.Generator | None = None,
) -> Numa:
    """A blade server (the thesis's by default) whose tasks are drawn equally from benchmarks of
    Table 4.2.

    Parameters
    ----------
    benchmark : keys of Table 4.2 joined by commas ("S6", "S6,M10"), "MI", "CI" or "all".
    rate : arrivals [tasks/s]; 6400 is the most the server can do.
    data : "uniform" over the memories, "hot-memory" (a share `hot` of the tasks has its data in
        memory 0), or "hot-blade" (in blade 0, evenly); the rest is even over the other memories.
    hot : that share, from 0 to 1.
    refusal_limit : offers a task declines at most; None for no limit.
    blades, rows, columns : blades, and the rows and columns of processors on each, every one with a
        memory.
    cores : of each processor.
    traffic : see `Traffic`.
    rng : not needed; nothing is drawn.

    Raises
    ------
    InvalidOption, InvalidInstance
        Naming what is out of range.
    """
    chosen = chosen_benchmarks(benchmark)
    blades, rows, columns = int(blades), int(rows), int(columns)
    if blades * rows * columns > MOST_PROCESSORS:
        raise InvalidInstance(
            "blades",
            f"{blades * rows * columns} processors in all",
            f"at most {MOST_PROCESSORS} in all",
        )
    number = len(chosen)
    return Numa(
        blades=blades,
        rows=rows,
        columns=columns,
        cores=cores,
        location_share=location_share(data, hot, blades, rows, columns),
        class_share=np.full(number, 1 / number),
        service_mean=np.full(number, traffic.service_mean),
        ht1=np.array([entry.ht1 for entry in chosen]),
        pcie=np.array([entry.pcie for entry in chosen]),
        bandwidth=np.array([entry.bandwidth for entry in chosen]),
        rate=rate,
        refusal_limit=np.inf if refusal_limit is None else refusal_limit,
        law=traffic.law,
        scv=traffic.scv,
        queues=traffic.queues,
        arrival_law=traffic.arrival_law,
        arrival_scv=traffic.arrival_scv,
        names=tuple(entry.name for entry in chosen),
        name=f"{benchmark}-{data}-{rate:g}",
        source="synthetic arrivals; server of thesis fig. 4.2, classes of Table 4.2, two hops "
        "from Table 4.3",
    )


def chosen_benchmarks(text: str) -> list[Benchmark]:
    """Rows of Table 4.2 named by a text such as "S6,M10", "MI", "CI" or "all"."""
    table = {entry.key: entry for entry in BENCHMARKS}
    if text == "all":
        return list(BENCHMARKS)
    if text in ("MI", "CI", "EMI"):
        return [entry for entry in BENCHMARKS if entry.intensity == text]
    keys = [part.strip().upper() for part in text.split(",")]
    for key in keys:
        if key not in table:
            raise InvalidOption(
                f"benchmark {key!r} is not in Table 4.2; "
                f"{suggest(key, [*table, 'MI', 'CI', 'all'])}"
            )
    return [table[key] for key in dict.fromkeys(keys)]


@validate_options
def location_share(data: Data, hot: float, blades: int, rows: int, columns: int) -> Floats:
    """(L,) share of the tasks whose data is in each memory."""
    memories = blades * rows * columns
    within = {"uniform": memories, "hot-memory": 1, "hot-blade": rows * columns}
    first = min(within[data], memories)
    if first == memories:
        return np.full(memories, 1 / memories)
    share = np.full(memories, (1 - hot) / (memories - first))
    share[:first] = hot / first
    return share
