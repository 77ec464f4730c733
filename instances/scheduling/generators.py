"""Generators: synthetic workloads that look like a shared cluster's, unit jobs, and the paper's own
instances: figures 2 and 7, the game that is not supermodular, and the reduction from SUBSETSUM.

The paper's take `rng` as every generator does, and draw nothing.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Annotated

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import Above, AtLeast, Between, Range, validate_options
from .feasibility import assign_machines
from .instance import Schedule, Scheduling
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


Horizon = Annotated[int, AtLeast(1)]


@validate_options
def figure_2(*, horizon: Horizon = 14, rng: np.random.Generator | None = None) -> Scheduling:
    """Figure 2: nine jobs of one organization and one of another on three machines.

    The processing times are not printed; these give every number of the figure's caption.
    `figure_2_schedule` has its schedule.

    Parameters
    ----------
    horizon : units of time until utilities are counted.
    """
    return Scheduling(
        machines=np.array([3, 0]),
        organization=np.array([0] * 9 + [1]),
        release=np.zeros(10, dtype=np.int64),
        processing=np.array([3, 4, 3, 3, 6, 6, 3, 3, 4, 5]),
        horizon=horizon,
        name="figure-2",
        source="Skowron and Rzadca fig. 2, processing times rebuilt from its caption",
    )


@validate_options
def figure_2_schedule(instance: Scheduling) -> Schedule:
    """Schedule that figure 2 of the paper shows, for the instance `figure_2`."""
    start = np.array([0, 0, 0, 3, 3, 4, 6, 9, 10, 9])
    return Schedule(start, assign_machines(instance, start))


@validate_options
def figure_7(*, horizon: Horizon = 6, rng: np.random.Generator | None = None) -> Scheduling:
    """Figure 7: four jobs of 3 and two of 6 units on four machines; a greedy rule can waste a
    quarter of the machines.

    Parameters
    ----------
    horizon : units of time until utilities are counted.
    """
    return Scheduling(
        machines=np.array([2, 2]),
        organization=np.array([0, 0, 0, 0, 1, 1]),
        release=np.zeros(6, dtype=np.int64),
        processing=np.array([3, 3, 3, 3, 6, 6]),
        horizon=horizon,
        name="figure-7",
        source="Skowron and Rzadca fig. 7, with the 4 machines its 100 % and 75 % need",
    )


@validate_options
def not_supermodular(*, horizon: Horizon = 2, rng: np.random.Generator | None = None) -> Scheduling:
    """Proposition 5.5: three machines, two unit jobs of a and of b; v(abc) + v(c) = 7 < v(ac) +
    v(bc) = 8 at time 2.

    Parameters
    ----------
    horizon : units of time until utilities are counted.
    """
    return Scheduling(
        machines=np.array([1, 1, 1]),
        organization=np.array([0, 0, 1, 1]),
        release=np.zeros(4, dtype=np.int64),
        processing=np.ones(4, dtype=np.int64),
        horizon=horizon,
        names=("a", "b", "c"),
        name="not-supermodular",
        source="Skowron and Rzadca proposition 5.5",
    )


@validate_options
def subset_sum(
    *,
    values: str = "2,3,4",
    target: Annotated[int, AtLeast(1)] = 5,
    unit_jobs: Annotated[int, AtLeast(2)] = 16,
    rng: np.random.Generator | None = None,
) -> Scheduling:
    """Theorem 5.1: organizations for the numbers of a SUBSETSUM problem, then a (a machine, no
    jobs) and b (a huge job).

    The contribution of a is meant to tell how many subsets sum to less than the target:
    `subset_sum_count` is floor((|S| + 2)! phi(a) / L) with L from `subset_sum_size`.

    Parameters
    ----------
    values : the numbers of S, at least 1 each, with commas between them.
    target : x, from 1 to the sum of S.
    unit_jobs : jobs of one unit each organization of S has at time 0, at least 2. The proof has 2
        and says that they earn b, whose machine helps with them, priority over all of S. From two
        numbers on they may not: the organization whose unit jobs came last can have the larger
        claim, is served before b, and the count is wrong (in 66 of 90 random cases with two to four
        numbers by figure 3). More unit jobs, with all later times moved by as much, give b the
        claim the proof needs: with 16 the count was right in 240 of 240.
    """
    numbers = _numbers(values)
    if target > sum(numbers):
        raise InvalidOption(f"target is {target}; expected 1 to {sum(numbers)}")
    total = sum(numbers) + unit_jobs
    later = unit_jobs - 2
    size = subset_sum_size(values, unit_jobs)
    owner, release, processing = [], [], []
    for index, number in enumerate(numbers):
        owner += [index] * (unit_jobs + 2)
        release += [0] * unit_jobs + [3 + later, 4 + later]
        processing += [1] * unit_jobs + [2 * total, 2 * number]
    b = len(numbers) + 1
    owner += [b, b]
    release += [2 + later, 2 * target + 3 + later]
    processing += [2 * target + 2, size]
    return Scheduling(
        machines=np.ones(len(numbers) + 2, dtype=np.int64),
        organization=np.array(owner),
        release=np.array(release),
        processing=np.array(processing),
        horizon=max(release) + sum(processing),
        names=(*(f"x{index + 1}={number}" for index, number in enumerate(numbers)), "a", "b"),
        name=f"subset-sum-{'-'.join(map(str, numbers))}-{target}",
        source=f"Skowron and Rzadca theorem 5.1: S = {{{values}}}, x = {target}, {unit_jobs} "
        f"unit jobs each",
    )


@validate_options
def subset_sum_size(values: str, unit_jobs: int = 16) -> int:
    """L of theorem 5.1, the length of b's huge job: 4 |S| x_tot^2 (|S| + 2)! + 1, x_tot the sum of
    S and the unit jobs.
    """
    numbers = _numbers(values)
    return 4 * len(numbers) * (sum(numbers) + unit_jobs) ** 2 * factorial(len(numbers) + 2) + 1


@validate_options
def subset_sum_count(values: str, target: int) -> int:
    """Number of orders in which b and numbers with a sum below `target`, and no others, precede a.

    It is n_{<x}(S) of theorem 5.1, with x the target, by enumeration.
    """
    numbers = _numbers(values)
    size = len(numbers)
    chosen = (members for size_of in range(size + 1) for members in combinations(numbers, size_of))
    return sum(
        factorial(len(members) + 1) * factorial(size - len(members))
        for members in chosen
        if sum(members) < target
    )


def _numbers(values: str) -> list[int]:
    try:
        numbers = [int(part) for part in values.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or len(numbers) > 6:
        raise InvalidOption(
            f"values is {values!r}; expected one to six whole numbers, each at least 1, such "
            "as 2,3,4"
        )
    return numbers
