"""Dominant shares and utilizations are compared as rationals, also where floats or an engine cannot
tell them apart.
"""

# mypy: disable-error-code="union-attr,index,arg-type"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.messages import refused

from cotenant import solve
from cotenant.instances.packing import Packing, check
from cotenant.instances.packing.game import FairShare
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.engines import EngineAnswer, solve_program
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.packing.dominant_shares import (
    max_min_share,
    max_utilization,
    vms_owed,
)


def shares(instance: Packing, placement: Any) -> list[Fraction]:
    unit = FairShare.of(instance).unit
    return sorted(
        n * u for n, u in zip(placement.totals(instance.types).tolist(), unit, strict=True)
    )


def test_max_min_share_keeps_best_second_level_despite_rounding() -> None:
    """6 x .075 is .44999999999999996 in floats, below 9 x .05, and both are .45."""
    instance = Packing(
        capacity=[[20, 80, 20]],
        initial=[[20, 83, 21]],
        servers=[2.0],
        demand=[[2, 0, 1], [3, 2, 1]],
    )
    outcome = max_min_share(instance)
    assert shares(instance, outcome.solution) == [Fraction(9, 20), Fraction(11, 20)]
    assert outcome.status is Status.OPTIMAL


@pytest.mark.slow
@pytest.mark.parametrize("unit", [10**5, 10**7, 10**9])
def test_share_leximin_of_nearly_equal_vms_equals_enumeration(brute, unit: int) -> None:
    rng = np.random.default_rng(unit)
    for _ in range(12):
        small = brute.random_cluster(rng, most=2)
        demand = small.demand * unit + rng.integers(0, 2, small.demand.shape) * (small.demand > 0)
        demand = np.minimum(demand, small.capacity[0] * unit)
        instance = Packing(capacity=small.capacity * unit, demand=demand, servers=small.servers)
        outcome = max_min_share(instance)
        assert shares(instance, outcome.solution) == brute.leximin(instance)
        assert outcome.status is Status.OPTIMAL
        assert outcome.certificate["leximin"]


@pytest.mark.parametrize("mistaken", [False, True])
def test_utilizations_closer_than_engine_tolerance_are_compared_exactly(
    mistaken: bool, engines: Callable[..., None]
) -> None:
    instance = Packing(
        capacity=[[3 * 10**9, 3 * 10**9 + 1]],
        demand=[[2 * 10**9, 2 * 10**9], [10**9, 3 * 10**9 + 1]],
        servers=[1.0],
    )

    def other(program: Any, **given: Any) -> Any:
        """The worse of the two, with the bound of the better one."""
        answer = solve_program(program, **given)
        assert answer.point is not None
        point = answer.point.copy()
        point[:2] = point[:2][::-1]
        return answer if given.get("engine") == "cp-sat" else replace(answer, point=point)

    if mistaken:
        engines(solve_program=other)
    outcome = max_utilization(instance)
    assert outcome.solution.totals(2).tolist() == [0, 1]
    assert outcome.status is Status.OPTIMAL
    assert outcome.bound == float(Fraction(2, 3))


def test_vms_needed_for_a_share_tolerate_rounding_of_the_share() -> None:
    tenths = Packing(capacity=[[10]], demand=[[1]], servers=[1.0])
    assert [
        int(vms_owed(tenths, share)[0]) for share in (0.0, 0.1, 0.3, 0.30000001, 0.7, 1.0, 1.1)
    ] == [0, 1, 3, 4, 7, 10, 11]
    sevenths = Packing(capacity=[[7]], demand=[[1]], servers=[1.0])
    assert [int(vms_owed(sevenths, vms / 7)[0]) for vms in range(8)] == list(range(8))


MANY = Packing(
    capacity=[[1_000_005, 1_000_000], [1_000_000, 1_000_007]],
    demand=[[3, 1], [1, 2], [100_000, 100_001]],
    request=[30_000, 50_000, np.inf],
    partial=True,
    servers=[2, 1],
)
"""A server holds 10**10 combinations of VMs, and 20,000 to which none can be added."""


@pytest.mark.parametrize("method", [max_min_share, max_utilization])
@pytest.mark.parametrize("stop", [Stop.TIME_LIMIT, Stop.INTERRUPTED])
def test_share_methods_have_answer_before_enumeration(
    stop: Stop, method: Any, interrupt_at: Any
) -> None:
    if stop is Stop.INTERRUPTED:
        interrupt_at("cotenant.solvers.packing.dominant_shares.combinations")
    outcome = method(MANY, time_limit=60.0 if stop is Stop.INTERRUPTED else 1e-9)
    check(MANY, outcome.solution)
    assert outcome.solution.totals(3).tolist() == [30_000, 50_000, 27]
    assert outcome.stop is stop
    assert outcome.bound is not None


def test_shares_with_too_many_combinations_stop_at_iteration_limit() -> None:
    wide = Packing(capacity=[[10**6] * 2], demand=[[3, 1], [1, 2], [2, 2]], servers=[1])
    for method in (max_min_share, max_utilization):
        outcome = method(wide)
        check(wide, outcome.solution)
        assert outcome.stop is Stop.ITERATION_LIMIT
        assert outcome.bound is not None


@pytest.mark.parametrize("method", [max_min_share, max_utilization])
def test_large_share_program_runs_in_killable_process(
    method: Any, engines: Callable[..., None]
) -> None:
    apart = Mock(return_value=EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT))
    engines(solve_in_subprocess=apart)
    outcome = method(MANY, time_limit=60.0)
    assert apart.called
    check(MANY, outcome.solution)
    # the answer in hand is the best there is, which a tree of cases shows
    proved = method is max_utilization
    assert outcome.stop is (Stop.FINISHED if proved else Stop.TIME_LIMIT)


@pytest.mark.parametrize("policy", ["first-fit", "best-fit", "random-fit", "DRF", "fair-slots"])
def test_more_vms_than_can_be_placed_one_by_one_in_time_are_refused(policy: str) -> None:
    endless = Packing(capacity=[[10**12] * 2], demand=[[1, 2], [3, 1]], servers=[3])
    for limit in (3.0, None):
        with refused(InvalidOption):
            solve(endless, policy, time_limit=limit)
    assert solve(MANY.replace(request=[30, 50, 1]), policy, time_limit=3.0).status == "feasible"


@pytest.mark.parametrize("policy", ["dot", "L2", "random-fit"])
def test_packing_policies_refuse_more_requests_than_the_time_limit_allows(policy: str) -> None:
    many = Packing(capacity=[[10**12] * 2], demand=[[1, 2]], request=[10**11])
    with refused(InvalidOption):
        solve(many, policy, time_limit=3.0)
    assert solve(many, "min-servers").status == "optimal"


@pytest.mark.parametrize("method", [max_utilization, max_min_share])
@pytest.mark.parametrize("factor", [0.5, 2.0, None])
def test_share_methods_keep_proved_bound_if_highs_bounds_are_wrong(
    factor: float | None, method: Any, engines: Callable[..., None]
) -> None:
    instance = Packing(capacity=[[5, 9]], demand=[[3, 3], [3, 1]], servers=[3])
    best = method(instance)
    assert best.status is Status.OPTIMAL

    def wrong(program: Any, **given: Any) -> Any:  # a bound of half or twice the truth, or none
        found = solve_program(program, **given)
        if given.get("engine") == "cp-sat":
            return found
        if factor is None:
            return EngineAnswer(Status.INFEASIBLE, Stop.FINISHED)
        return replace(found, bound=None if found.bound is None else factor * found.bound)

    engines(solve_program=wrong)
    outcome = method(instance)
    assert outcome.bound >= best.bound
    assert outcome.status is not Status.OPTIMAL or outcome.bound == best.bound
