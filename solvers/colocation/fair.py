"""Fair attribution: least slack, then least mean penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import attribution_slack, mean_penalty, scale
from ...instances.problem.base import Solution
from ...instances.problem.rules import checked
from ...models.colocation import fair_program
from ..engines import EngineName
from ..outcome import AGREE, Clock, Outcome, Report, Status, Stop, agree
from .common import NO_PAIRING, best_of, infeasible, outcome, require_bandwidth, run, size, starting_pairing

SECOND_LEVEL_SECONDS = 30.0
"""Time for the least penalty at the least slack when there is no time limit: it is far harder than the first level."""


@checked
def fair(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """The pairing of least slack, and among those the one of least mean penalty.

    Slack is the least s with mean penalty[x] <= mean penalty[y] + s whenever bandwidth[x] < bandwidth[y] strictly: 0
    means that who presses harder on memory loses at least as much (fair attribution, Cooper section II; thesis 2.1).
    It can be impossible, so the answer is never a bare "infeasible".

    Parameters
    ----------
    instance : with bandwidths.
    rng : not used; the method is deterministic.
    time_limit : seconds, more than 0. Without one the slack is proved however long it takes, and the mean penalty gets
        30 seconds after it.
    engine : "highs" or "cp-sat".
    start : a pairing to begin with; one that is not feasible is completed first.
    report : progress, in slack.

    Returns
    -------
    Outcome
        Objective and bound are the slack; the mean penalty stands in `certificate["levels"]`.

    Raises
    ------
    InvalidOption
        The instance has no bandwidths, or an option is out of range.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "fair")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.0
    """
    require_bandwidth(instance)
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, start)
    if begin is None:
        return infeasible(clock, NO_PAIRING)

    def slack_of(pairing: Pairing) -> float:
        return attribution_slack(instance, pairing)

    clock.note(slack_of(begin), 0.0, "start")
    try:
        program = fair_program(instance)
        answer = run(program, clock, engine=engine, start=begin)
    except KeyboardInterrupt:  # while the program is made
        levels = [
            {"objective": name, "value": value, "bound": bound, "status": Status.FEASIBLE.value}
            for name, value, bound in (("slack", slack_of(begin), 0.0), ("penalty", mean_penalty(instance, begin), None))
        ]
        told = {"proof": "no slack is below 0", "levels": levels}
        return outcome(instance, begin, slack_of(begin), 0.0, Stop.INTERRUPTED, told, clock, "slack")
    best = best_of(instance, program, answer, begin, slack_of) or begin
    bound = max(0.0, answer.bound) if answer.bound is not None else 0.0
    slack = slack_of(best)
    certificate: dict[str, Any] = {"proof": "integer program over types: least slack", **size(program, engine)}
    least, stop = slack <= bound or agree(slack, bound, scale(instance, "slack")), answer.stop
    second: dict[str, Any] = {"objective": "penalty", "value": mean_penalty(instance, best), "bound": None}
    second["status"] = Status.FEASIBLE.value
    if least and stop is not Stop.INTERRUPTED:
        best, stop, second = _cheapest(instance, best, slack, clock, engine)
    first = {"objective": "slack", "value": slack_of(best), "bound": min(bound, slack_of(best))}
    first["status"] = Status.OPTIMAL.value if least else Status.FEASIBLE.value
    certificate["levels"] = [first, second]
    found = outcome(instance, best, slack_of(best), bound, answer.stop, certificate, clock, "slack")
    if stop is not Stop.FINISHED and found.stop is Stop.FINISHED:  # the slack is proved, the second level ran out of time
        return Outcome(found.solution, found.bound, found.status, stop, found.certificate, found.trace)
    return found


def _cheapest(
    instance: Colocation, best: Pairing, slack: float, clock: Clock, engine: EngineName
) -> tuple[Pairing, Stop, dict[str, Any]]:
    """Least mean penalty with no more slack than was proved to be the least."""
    program = fair_program(instance, slack)
    limited = clock if clock.left is not None else Clock(SECOND_LEVEL_SECONDS)

    most = slack + AGREE * scale(instance, "slack")

    def tight(pairing: Pairing) -> float:  # a solver's tolerance must not buy penalty with slack
        return mean_penalty(instance, pairing) if attribution_slack(instance, pairing) <= most else np.inf

    answer = run(program, limited, engine=engine, scale=instance.agents, start=best)
    chosen = best_of(instance, program, answer, best, tight) or best
    value = mean_penalty(instance, chosen)
    bound = None if answer.bound is None else min(answer.bound / instance.agents, value)
    status = Status.OPTIMAL if bound is not None and agree(value, bound, scale(instance, "penalty")) else Status.FEASIBLE
    level = {"objective": "penalty", "value": value, "bound": bound, "status": status.value}
    return chosen, answer.stop, level
