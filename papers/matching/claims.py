"""Claims of section III.B.3 and 4, each measured or refuted by a counter-example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from ...analysis.admission.completion import least_computation
from ...analysis.admission.frontier import price_frontiers
from ...baselines.admission import proposed
from ...catalog import functions
from ...instances.admission import Admission, blocking_pairs, job_speeds
from ...instances.admission.generators import uniform
from ...instances.admission.instance import Floats, Integers
from ...instances.admission.rules import SCHEMES, job_ranking, speed_on
from ...instances.problem.option_types import AtLeast
from ...solvers.admission.partial_assignment import Draft
from ..experiment import Finding, Parts, addition, compare
from . import PAPER

COMPLETION = Admission(
    cores=np.array([[1, 0], [0, 1]]),
    threads=np.array([2, 1]),
    speed=np.array([[10.1, 10.0], [100.0, 1.0]]),
    length=np.array([2000.0, 99.0]),
    name="completion-counter-example",
    source="the longest job has the most threads, as section III.B.4 asks, and takes longest "
    "on any cores",
)
"""Two one-core VMs: the long job gets the core where the short is 100 times faster."""

APART = COMPLETION.replace(speed=np.array([[10.1, 10.0], [1.0, 100.0]]))
"""The same, but that the short job is fastest on the other core."""

UTILIZATION = Admission(
    cores=np.array([[4], [3]]),
    threads=np.array([3, 2, 2]),
    speed=np.array([[1.0], [1.0], [1.0]]),
    name="utilization-counter-example",
    source="the condition of section III.B.4 holds in every iteration",
)
"""VMs of 4 and 3 cores, jobs of 3, 2 and 2 threads: `proposed` uses 6 cores, all 7 can be used."""

STABLE_NOT_UNIQUE = Admission(
    cores=np.array([[1, 1]]),
    threads=np.array([1, 1]),
    speed=np.array([[3.0, 2.0], [9.0, 1.0]]),
    name="two-stable-assignments",
    source="one VM that may hand out its cores either way",
)
"""One VM: giving the first job its slower core blocks nothing, no other VM offering it more."""


@PAPER.experiment("claims", "section III.B.3-4")
def claims(
    *, seed: Annotated[int, AtLeast(0)] = 0, instances: Annotated[int, AtLeast(1)] = 300
) -> Parts:
    """Stability, utilization, completion time, proportional fairness.

    Parameters
    ----------
    seed : of the instances drawn.
    instances : how many small ones are drawn to look for blocking pairs.
    """
    # 1. Stability.
    found = unstable(seed, instances)
    other = price_frontiers(STABLE_NOT_UNIQUE)[0].points[0]
    ours = float(job_speeds(STABLE_NOT_UNIQUE, proposed(STABLE_NOT_UNIQUE)).sum())
    yield compare("III.B.3: the proposed matching is stable", "stable",
        f"{found['proposed']} of {instances} with a blocking pair", found["proposed"] == 0,
        "holds by a theorem, since every VM ranks the jobs alike")  # fmt: skip
    text = ", ".join(f"{name} {number}" for name, number in found.items())
    yield addition("instances with a blocking pair", f"of {instances}: {text}",
        "1-4 VMs, 1-6 jobs")  # fmt: skip
    yield addition("most total speed without a blocking pair",
        f"{other.value:g}, proposed {ours:g}",
        "one VM, two jobs: a VM that chooses which cores a job gets has other stable "
        "assignments")  # fmt: skip
    # 2. Utilization.
    drawn = [uses_most(one) for one in _drawn(seed, instances)]
    under_condition, most = (sum(column) for column in zip(*drawn, strict=True))
    yield compare("III.B.4: utilization is maximal in every iteration under its condition",
        "maximal", f"in {most} of {under_condition} iterations under the condition",
        most == under_condition, "the maximum is over the VMs of that iteration's job")  # fmt: skip
    used, (conditions, _) = int(proposed(UTILIZATION).cores.sum()), uses_most(UTILIZATION)
    yield addition("the same, all iterations together", f"{used} of 7 cores, 7 are possible",
        f"the condition holds in {conditions} of 3 iterations: VMs of 4 and 3 cores, jobs of 3, 2, "
        "2 threads")  # fmt: skip
    # 3. Completion time.
    (total, best), (apart, least) = (
        (float(_time(one).sum()), least_computation(one)) for one in (COMPLETION, APART)
    )
    cause = "both jobs are fastest on the same core, and the one with more threads chooses first"
    cause += ": where each job is fastest on a core of its own, proposed takes "
    cause += f"{apart:.4g}, best {least:.4g}"
    yield compare("III.B.4: least total completion time when jobs with more threads take longer",
        "least", f"proposed {total:.4f}, best {best:.4f}", total <= best * (1 + 1e-9),
        "two one-core VMs; lengths 2000 (2 threads, speeds 10.1 and 10) and 99 (1 thread, speeds "
        "100 and 1)", cause if apart <= least * (1 + 1e-9) else "")  # fmt: skip
    yield from _fairness(seed)


def unstable(seed: int, instances: int) -> dict[str, int]:
    """Number of drawn instances (1-4 VMs, 1-6 jobs, 1-3 types) in which each scheme is blocked."""
    found = dict.fromkeys(SCHEMES, 0)
    for one in _drawn(seed, instances):
        for name, policy in functions("admission", *SCHEMES).items():
            found[name] += blocking_pairs(one, policy(one)).count > 0
    return found


def uses_most(instance: Admission) -> tuple[int, int]:
    """Number of iterations of `proposed` in which the condition on utilization holds, and of those
    in which the maximum is used.

    The condition: the VM the job prefers has at least as many free cores as the job can use, or as
    any other VM has.
    """
    draft = Draft(instance)
    under_condition = used_most = 0
    for j in job_ranking(instance.threads).tolist():
        there = draft.speed(j)
        if there.max() <= 0:
            continue
        v, free = int(there.argmax()), draft.free.sum(axis=1)
        wanted = int(instance.threads[j])
        if free[v] >= wanted or free[v] == free.max():
            under_condition += 1
            draft.place(j, v)
            used = int(free.sum() - draft.free.sum())
            used_most += used == min(wanted, int(free.max()))
        else:
            draft.place(j, v)
    return under_condition, used_most


def _time(instance: Admission) -> Floats:
    """Completion times (J,) of the proposed assignment."""
    assert instance.length is not None
    times: Floats = instance.length / job_speeds(instance, proposed(instance))
    return times


def _fairness(seed: int) -> Iterator[Finding]:
    rng = np.random.default_rng(seed)
    long, factor = rng.uniform(1, 100, 1000), rng.uniform(1.01, 10, 1000)
    short = long * rng.uniform(0.01, 0.99, 1000)
    gain_long, gain_short = long - long / factor, short - short / factor
    back = float(np.abs(gain_long / (1 - 1 / factor) - long).max())
    printed = float(np.abs(gain_long * (1 - 1 / factor) - long).max())
    length = COMPLETION.length
    assert length is not None
    time, apart = _time(COMPLETION), _time(APART)
    alone = length / np.array([_alone(j, COMPLETION.cores) for j in range(COMPLETION.jobs)])
    yield compare("III.B.4: the longer job gains more from a factor f", "always",
        f"in {int((gain_long > gain_short).sum())} of 1000",
        bool((gain_long > gain_short).all()))  # fmt: skip
    yield compare("III.B.4: tau = dtau (1 - 1/f)", "as printed", f"off by up to {printed:.1f}",
        printed < 1e-6, "the next line of the paper divides, which is correct",
        f"the formula must divide: dtau / (1 - 1/f) is off by {back:.0g}")  # fmt: skip
    yield compare("III.B.4: shorter jobs will not take very long",
        "a fair amount of processing power",
        f"the short job takes {time[1]:g}, alone {alone[1]:g}; the long one {time[0]:.1f}, alone "
        f"{alone[0]:.1f}", float(time[1] / alone[1]) < 2,
        "on the instance of the completion time the short job takes 100 times as long as alone",
        "both jobs are fastest on the same core: where each job is fastest on a core of its own, "
        f"the short one takes {apart[1]:g}")  # fmt: skip


def _alone(j: int, free: Integers) -> float:
    order = np.argsort(-COMPLETION.speed[j], kind="stable")
    return float(speed_on(free, COMPLETION.speed[j], order, int(COMPLETION.threads[j])).max())


def _drawn(seed: int, instances: int) -> Iterator[Admission]:
    for k in range(instances):
        rng = np.random.default_rng([seed, k])
        machines, jobs, types = (int(rng.integers(1, most + 1)) for most in (4, 6, 3))
        yield uniform(
            machines=machines, jobs=jobs, types=types, cores=3, threads=4, speed=10.0, rng=rng
        )
