"""The refusal policies of thesis section 4.3.2, simulated: Local, IP-1, IP-2, IB.

Each is `method(instance, *, rng=None, time_limit=None, **options) -> Outcome` with a Simulation. They differ only in how
far from its data a task accepts a core; the rules they share are those of `solvers.numa.engine.simulate`.
"""

from __future__ import annotations

import numpy as np

from ..instances.numa.answer import reach
from ..instances.numa.instance import Numa
from ..solvers.numa.simulation import Engine, Placement, simulate_policy
from ..solvers.outcome import Outcome, Report

TASKS = 500_000


def local(
    instance: Numa,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tasks: int = TASKS,
    warmup: int | None = None,
    placement: Placement = "nearest",
    engine: Engine = "compiled",
) -> Outcome:
    """Local: a task accepts only the processor its data is on, until its refusals reach the limit.

    Parameters
    ----------
    rng : draws arrivals, services, data and ties; `default_rng(0)` when not given.
    time_limit : seconds; the tasks simulated until then are measured.
    tasks : tasks that are measured.
    warmup : tasks before them that are not, and as many after; a tenth of `tasks` when not given.
    placement : an arriving task takes the "nearest" idle core it accepts, or any of them at "random".
    engine : "compiled", or "python" for the plain twin (slow; ignores the time limit).

    Returns
    -------
    Outcome
        A Simulation; the certificate says whether the load was stable, and the confidence intervals (batch means).

    Raises
    ------
    InvalidOption
        An option out of range.

    Notes
    -----
    Source: thesis section 4.3.2. There the "retrial queue" has priority over new arrivals and tasks keep the order of
    arrival: both queues together are one, in order of arrival. What an arriving task does when several cores are idle,
    and whether it counts refusals then, the thesis does not say; see `solvers.numa.engine.simulate`.
    """
    return simulate_policy(
        instance, "Local", reach(instance, "Local"), rng=rng, time_limit=time_limit, report=report,
        tasks=tasks, warmup=warmup, placement=placement, engine=engine,
    )  # fmt: skip


def one_hop(
    instance: Numa,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tasks: int = TASKS,
    warmup: int | None = None,
    placement: Placement = "nearest",
    engine: Engine = "compiled",
) -> Outcome:
    """IP-1: a task accepts its data's processor and those one link away, until its refusals reach the limit.

    Parameters, result and source as of `local`.
    """
    return simulate_policy(
        instance, "IP-1", reach(instance, "IP-1"), rng=rng, time_limit=time_limit, report=report,
        tasks=tasks, warmup=warmup, placement=placement, engine=engine,
    )  # fmt: skip


def two_hop(
    instance: Numa,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tasks: int = TASKS,
    warmup: int | None = None,
    placement: Placement = "nearest",
    engine: Engine = "compiled",
) -> Outcome:
    """IP-2: a task accepts every processor of its data's blade, until its refusals reach the limit.

    Parameters, result and source as of `local`.
    """
    return simulate_policy(
        instance, "IP-2", reach(instance, "IP-2"), rng=rng, time_limit=time_limit, report=report,
        tasks=tasks, warmup=warmup, placement=placement, engine=engine,
    )  # fmt: skip


def any_blade(
    instance: Numa,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tasks: int = TASKS,
    warmup: int | None = None,
    placement: Placement = "nearest",
    engine: Engine = "compiled",
) -> Outcome:
    """IB: a task accepts every core, the nearest idle one when it arrives and any that frees when it waits.

    Parameters, result and source as of `local`.
    """
    return simulate_policy(
        instance, "IB", reach(instance, "IB"), rng=rng, time_limit=time_limit, report=report,
        tasks=tasks, warmup=warmup, placement=placement, engine=engine,
    )  # fmt: skip


FUNCTIONS = {"Local": local, "IP-1": one_hop, "IP-2": two_hop, "IB": any_blade}
"""The policies by the thesis's names, least tolerant first."""
