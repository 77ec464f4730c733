"""Sweeps over cluster sizes and alphas: rows of metrics by method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict

import numpy as np

from ...catalog import find, methods
from ...instances.packing import Packing, Placement, check
from ...instances.packing.generators import vm_types
from ...instances.problem.errors import CotenantError, UnknownName
from ...instances.problem.options import accepted
from ...solvers.outcome import Clock
from ..run.question import outcome_of
from .metrics import metrics

Policy = str | Callable[..., Any]


class SweepRow(TypedDict, total=False):
    """Metrics of one policy at one point of a sweep (`machines` or `alpha`), or its `error`."""

    machines: int
    alpha: float
    method: str
    seconds: float
    metrics: dict[str, float]
    error: str


def policy_named(policy: Policy) -> Callable[..., Any]:
    """Function of the named policy; raises UnknownName with similar names."""
    if callable(policy):
        return policy
    shared = [
        method.name
        for method in methods("packing")
        if method.precondition.endswith(":shared_servers")
    ]
    if policy not in shared:
        raise UnknownName("policy for fixed servers", policy, shared)
    return find("packing", policy).resolve()


def share(
    instance: Packing,
    policy: Policy,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> Placement | None:
    """Checked placement of a policy with those options that it takes; None without one."""
    function = policy_named(policy)
    house = {"rng": np.random.default_rng(seed), "time_limit": time_limit}
    answer = function(instance, **accepted(function, house | options))
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", "own")
    placement: Placement | None = outcome_of(answer, (Placement,), name).solution
    if placement is not None:
        check(instance, placement)
    return placement


def size_sweep(
    policies: Sequence[Policy] = ("first-fit", "FUGA", "FUGA-algorithm-1"),
    *,
    sizes: Iterable[int] = (50, 100, 200, 300, 400, 450, 500, 600, 700),
    cluster: Callable[[int], Packing] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> list[SweepRow]:
    """Metrics of each policy on clusters of growing size (figure 6: 50 to 700 servers).

    Parameters
    ----------
    cluster : number of servers -> instance; when not given, clusters in the proportion of the
        paper's, CPU and memory, users of Tiny, Medium and Large VMs.
    """
    make = cluster or (
        lambda machines: vm_types(machines=machines, resources=2, rng=np.random.default_rng(seed))
    )
    rows: list[SweepRow] = []
    for size in sizes:
        instance = make(size)
        rows += [
            {"machines": size, **_row(instance, policy, seed, time_limit, options)}
            for policy in policies
        ]
    return rows


def _row(
    instance: Packing, policy: Policy, seed: int, time_limit: float | None, options: dict[str, Any]
) -> SweepRow:
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", "policy")
    clock = Clock()
    try:
        placement = share(instance, policy, seed=seed, time_limit=time_limit, **options)
    except CotenantError as error:
        return {"method": name, "metrics": {}, "error": str(error), "seconds": clock.seconds}
    seconds = clock.seconds
    measured = (
        {} if placement is None else metrics(instance, placement, alpha=options.get("alpha", 2.0))
    )
    return {"method": name, "metrics": measured, "seconds": seconds}
