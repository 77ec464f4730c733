"""Exact packing by the plain declarative model on CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.packing.assignment import AssignmentModel, assignment_model
from ..engines import CpSatAnswer, solve_cp_sat
from ..incumbent import conclude
from ..outcome import Clock, Outcome, Report, Status, Stop
from .bounds import best_bound
from .fitting import decreasing, fit, trimmed
from .presolve import Counts, Reduced, presolve


@dataclass(frozen=True)
class ModelLimits:
    """Parameters of `cp_sat`.

    Attributes
    ----------
    counts : larger models (servers x types) are refused.
    seconds_per_count : what a count takes in the making of the model, in which nothing looks at the
        clock.
    """

    counts: int = 300_000
    seconds_per_count: float = 3e-5


LIMITS = ModelLimits()


@validate_options
def cp_sat(
    instance: Packing,
    *,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    limits: ModelLimits = LIMITS,
) -> Outcome:
    """Find the fewest servers by the plain declarative model: the number of VMs of each type on
    each server, and whether each server is used.

    Symmetry is broken: servers of a class are used in order, and in order of their VMs of the
    largest type.

    Parameters
    ----------
    time_limit : seconds. Where making the model alone would take longer, the answer is the start or
        the greedy one, with the bound of `bounds.best_bound`.
    start : an answer to begin from.
    limits : the numbers that steer it.

    Raises
    ------
    InvalidInstance
        A request is elastic or may be served in part.
    InvalidOption
        The model would have more than 300,000 counts.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "cp-sat")
    >>> print(result.status, round(result.objective, 3))
    optimal 4.0
    """
    # 1. the servers that an answer better than a greedy one could use
    clock = Clock(time_limit)
    problem = presolve(instance)
    greedy = fit(problem, decreasing(problem))
    kind = _servers(problem, greedy, start)
    if len(kind) * problem.types > limits.counts:
        raise InvalidOption(
            f"cp-sat would need {len(kind)} servers x {problem.types} types = "
            f"{len(kind) * problem.types} counts, more than"
            f" {limits.counts}; use min-servers"
        )
    # 2. make the model and run it, if there is time to
    floor, _ = best_bound(problem)
    built: AssignmentModel | None = None
    message = "none: making the model would take longer than there was time"
    answer = CpSatAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, None, None, None, message)
    if clock.left is None or clock.left > len(kind) * problem.types * limits.seconds_per_count:
        built = assignment_model(problem, kind)
        hints = _hints(problem, built, kind, greedy)
        answer = solve_cp_sat(
            built.model, time_limit=clock.time_slice(), report=report, hints=hints
        )
    by = "CP-SAT" if built is not None else "bounds"
    certificate = {"engine": answer.message, "bound_by": by}
    if answer.status is Status.INFEASIBLE:
        return Outcome(None, None, Status.INFEASIBLE, answer.stop, certificate, answer.trace)
    # 3. the best answer there is, and whether bounds and CP-SAT together prove it
    candidates = [] if start is None else [start]
    if greedy is not None:
        candidates.append(problem.placement(*greedy))
    if built is not None and answer.values is not None:
        candidates.append(
            problem.placement(*trimmed(built.counts(answer.values), kind, problem.request))
        )
    if not candidates:
        return Outcome(None, None, Status.UNKNOWN, answer.stop, certificate, answer.trace)
    best = min(candidates, key=lambda placement: placement.servers)
    bound = float(max(floor, answer.integer_bound or 0))
    clock.trace.extend(answer.trace)
    return conclude(best, float(best.servers), bound, answer.stop, certificate, clock)


def _servers(problem: Reduced, greedy: Counts | None, start: Placement | None) -> Integers:
    """Class of each server in the CP-SAT model, shape (n,): of every class as many servers as the
    smallest known answer uses in all.
    """
    known = [
        entry
        for entry in (
            None if greedy is None else len(greedy[1]),
            None if start is None else start.servers,
        )
        if entry
    ]
    most = min(known, default=problem.vms)
    return np.repeat(np.arange(len(problem.price)), np.minimum(problem.limit, most))


def _hints(
    problem: Reduced, built: AssignmentModel, kind: Integers, greedy: Counts | None
) -> dict[int, int] | None:
    """CP-SAT hints (variable index -> value) of the greedy answer; None without one."""
    if greedy is None:
        return None
    count = np.zeros((len(kind), problem.types), dtype=np.int64)
    for c in range(len(problem.price)):
        servers, rows = np.flatnonzero(kind == c), greedy[0][greedy[1] == c]
        if len(rows) > len(servers):
            return None
        count[servers[: len(rows)]] = rows[np.argsort(-rows[:, 0], kind="stable")]
    index = np.concatenate([built.used, built.count[built.count >= 0]])
    value = np.concatenate([count.any(axis=1), count[built.count >= 0]])
    return dict(zip(index.tolist(), value.tolist(), strict=True))


__all__ = ["cp_sat"]
