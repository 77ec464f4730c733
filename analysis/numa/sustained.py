"""Sustained throughput of a policy: from an empty system, and from a backlog.

A refusal policy can have two states at one arrival rate: a good one, in which arriving tasks find
idle cores near their data, and a bad one, in which a long queue hands every core a task from
anywhere, which is slow, which keeps the queue long. The rates sustained from an empty start and
from a saturated one are then two numbers, and the band between them is metastable: fine until a
burst. The thesis (section 4.5.1) has the first number only.

In the band the good state is left by chance alone, sooner or later: what is "sustained from empty"
shrinks as one looks longer (IB on K-means: 4625 to 4775 tasks/s in single runs of a million tasks,
4525 to 4600 in runs of three million), so several runs must go well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ...instances.numa.feasible import reach
from ...instances.numa.instance import POLICIES, Floats, Flow, Numa
from ...instances.problem.errors import EngineError, InvalidOption, UnknownName
from ...instances.problem.option_types import AtLeast, Between, Range, validate_options
from ...solvers.numa.engine import simulate
from ...solvers.numa.fluid import fluid, mix_shares
from ...solvers.numa.random_inputs import Draws, draw
from ...solvers.numa.simulation import MOST_TASKS

Start = Literal["empty", "saturated"]
Count = Annotated[int, Between(1, MOST_TASKS, "a number of tasks")]
MIXES = ("mix", "mix-by-memory")
SIGHT = 10
"""A run must be so many times longer than the queue that ends it, to show a tenth too much."""

MOST_RUNS = 100


@dataclass(frozen=True)
class Sustained:
    """Result of the bisection: highest rate at which all runs were stable, and lowest rate at which
    one was not [tasks/s].
    """

    policy: str
    start: str
    rate: float
    failed: float


@validate_options
def sustained(
    instance: Numa,
    policy: str,
    start: Start = "empty",
    *,
    tasks: Count = 1_000_000,
    backlog: Count = 3000,
    drained: int = 300,
    runs: Annotated[int, Between(1, MOST_RUNS, "a number of runs that must all go well")] = 3,
    tolerance: Annotated[float, Range(above=0, below=1, what="a fraction")] = 0.005,
    seed: Annotated[int, AtLeast(0)] = 0,
) -> Sustained:
    """Find the highest arrival rate that a policy sustains, by bisection.

    From an empty start a rate is sustained when fewer than `backlog` tasks ever wait; from a
    saturated one when a queue of `backlog` tasks with independent data, beside busy cores and with
    arrivals going on, falls below `drained`; both within `tasks` arrivals, in each of `runs`
    independent runs. The same draws are used at every rate, scaled in time.

    Parameters
    ----------
    instance : its rate is not looked at.
    policy : "Local", "IP-1", "IP-2", "IB", "mix" (the fluid program's by class) or "mix-by-memory".
    tolerance : width of the bracket, relative to what all cores can do with local data.

    Raises
    ------
    InvalidOption, UnknownName
        An option out of range, an unknown policy.
    """
    if policy not in (*POLICIES, *MIXES):
        raise UnknownName("policy", policy, (*POLICIES, *MIXES))
    if not 1 <= drained <= backlog:
        raise InvalidOption(
            f"drained is {drained}; expected a number of waiting tasks, from 1 to the backlog "
            f"of {backlog}"
        )
    if tasks < SIGHT * backlog:
        raise InvalidOption(
            f"tasks is {tasks}; expected at least {SIGHT} times the backlog of {backlog}: "
            "with fewer tasks a queue that grows without end looks like others"
        )
    most = instance.all_cores / instance.mean_service
    first = instance.all_cores + backlog if start == "saturated" else 0
    reaches = _reaches(instance, policy)
    streams = np.random.default_rng(seed).spawn(runs)
    all_draws = [
        draw(instance, tasks + first, reaches, stream, rate=1.0, backlog=first)
        for stream in streams
    ]
    low, high = 0.0, most  # at `most` no policy can keep up
    while high - low > tolerance * most:
        rate = (low + high) / 2
        if all(
            _goes_well(instance, scaled, start, first, backlog, drained)
            for scaled in (draws._replace(arrival=draws.arrival / rate) for draws in all_draws)
        ):
            low = rate
        else:
            high = rate
    return Sustained(policy, start, low, high)


@validate_options
def sustained_pair(instance: Numa, policy: str, **settings: Any) -> tuple[Sustained, Sustained]:
    """Rates [tasks/s] that a policy sustains from an empty and from a saturated system; between the
    two the system is metastable.

    The settings are those of `sustained`.
    """
    return sustained(instance, policy, "empty", **settings), sustained(
        instance, policy, "saturated", **settings
    )


def _goes_well(
    instance: Numa, draws: Draws, start: str, first: int, backlog: int, drained: int
) -> bool:
    if start == "empty":
        return not simulate(instance, draws, stop_above=backlog).reached
    return simulate(instance, draws, stop_below=drained, watch_from=first).reached


def _reaches(instance: Numa, policy: str) -> int | Floats:
    if policy in POLICIES:
        return reach(instance, policy)
    flow = fluid(instance).solution
    if not isinstance(flow, Flow):
        raise EngineError("the fluid program was not solved, so there is no mix")
    return mix_shares(instance, flow, "class" if policy == "mix" else "memory")
