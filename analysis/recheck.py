"""A stored result judged again: what of it its instance and its answer do not bear out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..instances.problem.base import Instance
from ..instances.problem.errors import InfeasibleSolution, InvalidFile
from ..instances.problem.options import accepts
from ..instances.problem.registry import check
from ..solvers.outcome import AGREE, Status
from .result import Result, allowed, fingerprint


def recheck(
    instance: Instance,
    result: Result,
    metrics: Callable[..., dict[str, float]],
    senses: Mapping[str, str],
    certificate: Callable[..., list[str]] | None = None,
) -> list[str]:
    """What of a stored result is not borne out when its answer is checked and measured again; empty when all is.

    Feasibility, every metric, the objective, the levels' values, and that bounds and statuses fit the values are recomputed
    from the instance and the solution alone. That a bound is a bound is not proved again.

    Parameters
    ----------
    metrics : of the problem.
    senses : name of each metric -> "min", "max" or "".
    certificate : of the problem, when it can check more: f(instance, solution, certificate, **options) -> claims.
    """
    if result.problem != instance.problem:
        raise InvalidFile(f"the result answers a {result.problem} instance; this is a {instance.problem} instance")
    if result.fingerprint and result.fingerprint != fingerprint(instance):
        return [f"the result is of another instance: {result.instance!r} with content {result.fingerprint}"]
    impossible = result.status is Status.INFEASIBLE
    if result.solution is None:
        return [] if impossible or result.status is Status.UNKNOWN else [f"status {result.status.value} without a solution"]
    if impossible:
        return ["status infeasible, with a solution"]
    try:
        check(instance, result.solution)
    except InfeasibleSolution as error:
        return [str(error)]
    shared = {name: value for name, value in result.options.items() if accepts(metrics, name)}
    measured = metrics(instance, result.solution, **shared)
    if "unmeasured" in result.certificate and not result.metrics:  # interrupted: it claims no values
        objective = measured.get(result.objective_name or "")
        result = replace(result, metrics=measured, objective=objective)
    claims = [
        f"{name} is {measured.get(name)}, not {result.metrics.get(name)} as claimed"
        for name in dict.fromkeys([*measured, *result.metrics])
        if not _agree(measured.get(name), result.metrics.get(name))
    ]
    objective = None if result.objective_name is None else measured.get(result.objective_name)
    if not _agree(objective, result.objective):
        claims.append(f"objective is {objective}, not {result.objective} as claimed")
    first = {"objective": result.objective_name, "value": result.objective, "bound": result.bound, "status": result.status}
    claims += _level_claims(first, measured, senses, result.outcome.tolerance)
    for level in result.certificate.get("levels", []):
        claims += _level_claims(level, measured, senses)
    if certificate is not None:
        claims += certificate(instance, result.solution, result.certificate, **shared)
    return claims


def _agree(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= AGREE * max(1.0, abs(one))


def _level_claims(
    level: Mapping[str, Any], measured: Mapping[str, float], senses: Mapping[str, str], tolerance: float | None = None
) -> list[str]:
    """What is wrong with one level's value, bound and status."""
    name, claimed, bound = level["objective"], level["value"], level["bound"]
    optimal = level["status"] == Status.OPTIMAL
    if name is None:
        return ["claimed optimal without an objective"] if optimal else []
    value = measured.get(name)
    if value is None:  # a level that is no metric of this answer cannot be measured again
        return []
    claims = [] if _agree(value, claimed) else [f"level {name} is {value}, not {claimed} as claimed"]
    if bound is None:
        return [*claims, f"claimed optimal in {name} without a bound"] if optimal else claims
    within = allowed(value, tolerance)
    passed = {"min": bound - value, "max": value - bound}.get(senses.get(name, ""), 0.0)
    if passed > within:
        claims.append(f"the bound {bound} on {name} contradicts the value {value}")
    elif optimal and abs(value - bound) > within:
        claims.append(f"claimed optimal in {name}, but the bound is {bound} and the answer is worth {value}")
    return claims
