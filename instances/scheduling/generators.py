"""Generators: synthetic workloads that look like a shared cluster's, and unit jobs."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.option_types import Above, AtLeast, Between, Range, validate_options
from .instance import Scheduling
from .split import Organizations, machine_split

Count = Annotated[int, Range(least=1, below=2**31)]
Machines = Annotated[int, AtLeast(0)]


@validate_options
def workload(
    *,
    organizations: Organizations = 5,
    machines: Machines = 70,
    split: str = "zipf",
    jobs: Count = 500,
    horizon: Count = 50_000,
    load: Annotated[float, Above(0, most=1e6)] = 1.0,
    batch: Annotated[float, Between(1, 1e9)] = 20.0,
    spread: Annotated[float, Between(0, 20)] = 1.5,
    widest: Annotated[int, AtLeast(1, "a number of processors")] = 1,
    backfilling: bool = False,
    fastest: Annotated[int, Range(least=1, below=2**31, what="a speed")] = 1,
    rng: np.random.Generator,
) -> Scheduling:
    """Draw jobs in batches with lognormal processing times, as users of a cluster send them.

    Parameters
    ----------
    organizations : how many.
    machines : in all.
    split : of the machines among organizations: "zipf", "uniform", or the numbers themselves, see
        `machine_split`.
    jobs : number of jobs.
    horizon : units of time; batches arrive uniformly in it.
    load : total processing time as a share of all machines' time until the horizon.
    batch : mean number of jobs in a batch (geometric), all of one organization, which is drawn
        uniformly.
    spread : standard deviation of the logarithm of the processing time.
    widest : processors a job may take at once; each takes a power of 2 up to that, all equally
        likely.
    backfilling : whether parallel jobs may pass one that does not fit.
    fastest : speeds of machines are drawn from 1 to this; not with widest.
    """
    size = rng.geometric(1 / batch, jobs)
    number = int(np.searchsorted(np.cumsum(size), jobs)) + 1
    which = np.repeat(np.arange(number), size[:number])[:jobs]
    time = rng.lognormal(0.0, spread, jobs)
    share = machine_split(machines, organizations, split)
    release = np.sort(rng.integers(0, horizon, number))[which]
    organization = rng.integers(0, organizations, number)[which]
    width, speed = None, None
    if widest > 1:
        width = 2 ** rng.integers(0, widest.bit_length(), jobs)
    if fastest > 1:
        speed = rng.integers(1, fastest + 1, int(share.sum()))
    capacity = int(share.sum()) if speed is None else int(speed.sum())
    time *= load * capacity * horizon / (time.sum() if width is None else (time * width).sum())
    return Scheduling(
        machines=share,
        organization=organization,
        release=release,
        processing=np.maximum(1, np.round(time)).astype(np.int64),
        horizon=horizon,
        processors=width,
        backfilling=backfilling,
        speed=speed,
        name=f"workload-{organizations}-{jobs}",
        source=f"synthetic: batches of lognormal jobs, load {load:g}",
    )


@validate_options
def unit_jobs(
    *,
    organizations: Organizations = 4,
    machines: Machines = 8,
    split: str = "zipf",
    jobs: Count = 100,
    horizon: Count = 20,
    rng: np.random.Generator,
) -> Scheduling:
    """Jobs of one unit of time, released uniformly before the horizon by organizations drawn
    uniformly (section 5.1).

    Parameters
    ----------
    organizations : how many.
    machines : in all.
    split : of the machines among organizations: "zipf", "uniform", or the numbers themselves, see
        `machine_split`.
    jobs : number of jobs.
    horizon : units of time; jobs are released in it.
    """
    return Scheduling(
        machines=machine_split(machines, organizations, split),
        organization=rng.integers(0, organizations, jobs),
        release=np.sort(rng.integers(0, horizon, jobs)),
        processing=np.ones(jobs, dtype=np.int64),
        horizon=horizon,
        name=f"unit-jobs-{organizations}-{jobs}",
        source="synthetic: unit jobs at uniform times",
    )
