"""The refusal policies of thesis section 4.3.2, simulated: Local, IP-1, IP-2, IB.

Each is `method(instance, *, rng=None, time_limit=None, **options) -> Outcome` with a Simulation.
They differ only in how far from its data a task accepts a core; the rules they share are those of
`solvers.numa.engine.simulate`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..instances.numa.feasible import reach
from ..instances.numa.instance import Numa
from ..instances.problem.option_types import validate_options
from ..solvers.numa.simulation import Placement, Tasks, Warmup, simulate_policy
from ..solvers.outcome import Outcome, Report

TASKS = 500_000
"""Tasks a policy is measured on unless given otherwise: about half a second."""


def _policy(function: str, name: str, sentence: str, p95: float) -> Callable[..., Outcome]:
    """Make the method of one refusal policy, with `sentence` and an example as its docstring."""

    @validate_options
    def policy(
        instance: Numa,
        *,
        rng: np.random.Generator | None = None,
        time_limit: float | None = None,
        report: Report | None = None,
        tasks: Tasks = TASKS,
        warmup: Warmup | None = None,
        placement: Placement = "nearest",
    ) -> Outcome:
        return simulate_policy(
            instance, name, reach(instance, name), rng=rng, time_limit=time_limit, report=report,
            tasks=tasks, warmup=warmup, placement=placement,
        )  # fmt: skip

    # what it is called here, so that it can be pickled
    policy.__name__ = policy.__qualname__ = function
    policy.__doc__ = f"{sentence}{_COMMON.format(name=name, p95=p95)}"
    return policy


_COMMON = """

    Parameters
    ----------
    instance : the server, its tasks and the refusal limit.
    rng : draws arrivals, services, data and ties; `default_rng(0)` when not given.
    time_limit : seconds; the tasks simulated until then are measured, a warm-up not given shortened
        in proportion.
    report : progress, see `cotenant.solve`.
    tasks : tasks that are measured.
    warmup : tasks before them, and after them, that are not measured; a tenth of `tasks` when not
        given.
    placement : an arriving task takes the "nearest" idle core it accepts, or any of them at
        "random".

    Returns
    -------
    Outcome
        A Simulation; the certificate says whether the load was stable, and the confidence intervals
        (`solvers.numa.confidence`).

    Raises
    ------
    InvalidOption
        An option out of range.

    Notes
    -----
    O(log cores + log n) a task. Source: thesis section 4.3.2. There the "retrial queue" goes before
    new arrivals and tasks keep the order of arrival: both queues together are one, in order of
    arrival. What an arriving task does when several cores are idle, and whether it counts refusals
    then, the thesis does not say; see `solvers.numa.engine.simulate`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("numa/tiny"), "{name}", tasks=10_000)
    >>> print(result.status, round(result.objective, 3))
    feasible {p95}
    """

local = _policy(
    "local",
    "Local",
    "Local: a task accepts only the processor its data is on, until its refusals reach the limit.",
    0.205,
)
one_hop = _policy(
    "one_hop",
    "IP-1",
    "IP-1: a task accepts its data's processor and those one link away, until its refusals "
    "reach the limit.",
    0.186,
)
two_hop = _policy(
    "two_hop",
    "IP-2",
    "IP-2: a task accepts every processor of its data's blade, until its refusals reach the limit.",
    0.186,
)
any_blade = _policy(
    "any_blade",
    "IB",
    "IB: a task accepts every core, the nearest idle one when it arrives and any that frees "
    "when it waits.",
    0.433,
)
