"""Static mix of policies with the shares of the fluid program, simulated."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.numa.instance import Numa
from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Outcome, Report, Status, Stop
from .fluid import fluid, mix_shares
from .simulation import Placement, Tasks, Warmup, simulate_policy

By = Literal["class", "memory"]


@validate_options
def mix(
    instance: Numa,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    by: By = "class",
    tasks: Tasks = 500_000,
    warmup: Warmup | None = None,
    placement: Placement = "nearest",
) -> Outcome:
    """Simulate tasks that each draw a policy with the shares of the fluid program's flow of maximum
    throughput, by class.

    A task that the flow runs locally is Local, one it runs one hop away IP-1, and so on: the
    optimal static mix.

    Parameters
    ----------
    rng : draws everything; `default_rng(0)` when not given.
    time_limit : seconds, for the program and the simulation together.
    by : shares by "class" of the task, or by class and "memory" its data is in (of use when some
        memory is hot).
    tasks : tasks that are measured.
    warmup : tasks before them, and after them, that are not measured; a tenth of `tasks` when not
        given.
    placement : an arriving task takes the "nearest" idle core it accepts, or any of them at
        "random".

    Returns
    -------
    Outcome
        A Simulation; the certificate holds the program's most throughput and, per class, the mix.

    Raises
    ------
    InvalidOption
        An option out of range.

    Notes
    -----
    The mix is optimal for the flow, in the long run and without queueing; the refusal rule bends it
    (an IB task that finds a local core idle runs there), so what it sustains is measured, not
    promised.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("numa/tiny"), "mix", tasks=10_000)
    >>> print(result.status, round(result.objective, 3))
    feasible 0.205
    """
    clock = Clock(time_limit)
    answer = fluid(instance, time_limit=time_limit)
    flow, left = answer.solution, clock.left
    if clock.expired or answer.stop is Stop.INTERRUPTED:
        stop = Stop.TIME_LIMIT if answer.stop is Stop.FINISHED else answer.stop
        return Outcome(None, None, Status.UNKNOWN, stop, dict(answer.certificate))
    shares = mix_shares(instance, flow, by)  # type: ignore[arg-type]
    certificate = {
        "most throughput of any placement": answer.bound,
        "mix": answer.certificate["mix"],
    }
    if answer.status is not Status.OPTIMAL:
        certificate["program"] = f"{answer.status.value}: the mix is not proved to be the best"
    return simulate_policy(
        instance, "mix", shares, rng=rng, time_limit=left, report=report,
        tasks=tasks, warmup=warmup, placement=placement, certificate=certificate,
    )  # fmt: skip
