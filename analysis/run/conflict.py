"""Reasons for infeasibility: a small set of requests and rules of an instance that conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...instances.problem.base import Instance
from ...instances.problem.option_types import validate_options
from ...solvers.outcome import Clock, Status
from ..registry import analysis_of
from .result import Result
from .solve import solve


@dataclass(frozen=True)
class Conflict:
    """Requests, limits and rules of an instance that are proved to conflict.

    Attributes
    ----------
    parts : each in words, with the names of the instance; without any other of its requests and
        rules the instance is still infeasible.
    minimal : whether without any one of them it is feasible.
    """

    parts: tuple[str, ...]
    minimal: bool

    def __str__(self) -> str:
        if not self.parts:
            return "no conflict is known"
        least = "; the rest can without any one" if self.minimal else ""
        return f"these cannot hold together: {'; '.join(self.parts)}{least}"


@validate_options
def conflict(instance: Instance, result: Result, *, time_limit: float | None = 60.0) -> Conflict:
    """Find conflicting parts of an infeasible instance by a deletion filter: a part is removed if
    the method still proves the others infeasible, first half of the parts at once, then ever fewer.

    Parameters
    ----------
    instance, result : what was given, and the result of an exact method that says infeasible.
    time_limit : seconds; the parts that are left by then are returned.

    Returns
    -------
    The parts: none where the result is not infeasible, or its problem has no parts.

    Notes
    -----
    With k parts in the conflict of n, about k log n runs of the method (Junker, AAAI 2004).

    Examples
    --------
    >>> import cotenant
    >>> vms = cotenant.Packing([[4]], [[3], [1]], request=[3, 1], servers=[2], names=["db", "web"])
    >>> print(cotenant.conflict(vms, cotenant.solve(vms, "min-servers")))
    these cannot hold together: 3 VMs of 'db'; 2 servers of class 0; the rest can without any one
    """
    parts: Any = analysis_of(instance.problem).parts
    if result.status is not Status.INFEASIBLE or parts is None:
        return Conflict((), False)
    labels, keep = parts(instance)
    clock, unknown = Clock(time_limit), False

    def infeasible(kept: list[int]) -> bool:
        nonlocal unknown
        if (rest := keep(kept)) is None:
            return False
        answer = solve(rest, result.method, time_limit=clock.left, **result.options)
        unknown |= answer.status is Status.UNKNOWN
        return answer.status is Status.INFEASIBLE

    kept, step = list(range(len(labels))), max(1, len(labels) // 2)
    while True:
        for begin in range(0, len(kept), step)[::-1]:
            if clock.expired:
                return Conflict(tuple(labels[part] for part in kept), False)
            others = kept[:begin] + kept[begin + step :]
            kept = others if infeasible(others) else kept
        if step == 1:
            return Conflict(tuple(labels[part] for part in kept), not unknown)
        step = max(1, min(step // 2, len(kept) // 2))
