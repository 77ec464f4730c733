"""Fair attribution on instances that are large for their time: parts paired anew, the relaxation,
limits that hold.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.fakes import call_here
from support.small_cases import colocations, crowd

from cotenant import solve
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import Colocation, check
from cotenant.instances.colocation.objective import attribution_slack
from cotenant.solvers.colocation import fair, feasible_pairing
from cotenant.solvers.colocation.common import ProgramLimits
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.outcome import Status, Stop

LARGE = FairLimits(programs=ProgramLimits(keeps_time=0))
"""As if no program were small enough to keep its time limit."""


def tiny(reference: ModuleType, seeds: range) -> list[tuple[Colocation, Any]]:
    """Random instances of at most 8 agents that have bandwidths and a pairing, with what
    enumeration finds.
    """
    every = [(instance, reference.best(instance)) for instance in colocations(seeds)]
    paired = [
        (instance, expected) for instance, expected in every if expected.least_slack is not None
    ]
    assert len(paired) > 10
    return paired


@pytest.mark.slow
def test_fair_at_time_limit_keeps_incumbent(
    engines: Callable[..., None],
) -> None:
    limits = []

    def deaf(
        *given: Any, hard_limit: float, **asked: Any
    ) -> None:  # an engine that never looks at its clock
        limits.append(hard_limit)
        assert asked["time_limit"] < hard_limit

    instance = crowd(12, 5)
    engines(call_in_subprocess=deaf)
    found = fair(instance, time_limit=1.0, limits=LARGE)
    assert limits
    assert max(limits) <= 1.0
    check(instance, found.solution)
    value = attribution_slack(instance, found.solution)
    assert value < attribution_slack(instance, feasible_pairing(instance))
    assert 0 <= found.bound <= value


def test_fair_at_time_limit_zero_returns_quickly(engines: Callable[..., None]) -> None:
    instance = crowd(60, 4)
    begin = feasible_pairing(instance)
    engines(WarmStartedProgram=None, solve_program=None, call_in_subprocess=None)
    found = fair(instance, time_limit=1e-9)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert attribution_slack(instance, found.solution) == attribution_slack(instance, begin)


def test_fair_skips_program_too_large_for_time_limit() -> None:
    instance = crowd(8, 4)
    limits = FairLimits(programs=ProgramLimits(most_pairs=10))
    found = fair(instance, time_limit=1.0, limits=limits)
    assert found.stop is Stop.TIME_LIMIT
    assert found.bound == 0.0
    assert attribution_slack(instance, found.solution) < attribution_slack(
        instance, feasible_pairing(instance)
    )
    assert "columns" not in found.certificate
    second = found.certificate["levels"][1]
    assert second["bound"] is None or second["bound"] <= second["value"]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 600.0])
def test_fair_integer_program_equals_enumeration(
    limit: float | None, reference: ModuleType, engines: Callable[..., None]
) -> None:
    engines(call_in_subprocess=call_here)
    for instance, expected in tiny(reference, range(500, 520)):
        found = fair(instance, time_limit=limit, limits=LARGE)
        assert (found.status, found.stop) == (Status.OPTIMAL, Stop.FINISHED), instance.name
        first, second = found.certificate["levels"]
        assert first["value"] == pytest.approx(expected.least_slack, abs=1e-8), instance.name
        assert second["value"] == pytest.approx(
            expected.penalty_at_slack(first["value"]), abs=1e-8
        ), instance.name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("penalty", "count", "bandwidth"),
    # slacks of 0 and of 1e-10 are not the same: 1.0 is the least penalty at slack 0, .46 at 1e-10
    [
        ([[0.6, 0.2, 0.1999999999, 0.1, 0.2999999999], [0.4999999998, 0.4999999998, 0.5999999999, -1e-10, -1e-10],
          [np.inf, 0.0, 0.4, 0.4, 0.5999999998], [0.5, 0.1999999998, 0.3, np.inf, 0.0999999999],
          [0.2999999999, 0.3999999998, 0.3999999998, 0.0999999998, 0.0]], [1, 1, 1, 1, 1], [1.0, 3.0, 3.0, 0.5, 2.0]),
        # HiGHS calls this second level infeasible, and its bound at a slack of 2e-10 is above an
        # answer
        ([[0.1, 0.2999999999, 0.1], [0.2, 0.1999999999, 0.0999999998], [0.0999999999, 0.0999999998, 0.2999999998]],
         [1, 1, 2], [1.0, 2.0, 2.0]),
    ],
)  # fmt: skip
def test_fair_distinguishes_slacks_within_tolerance(
    penalty: list[list[float]], count: list[int], bandwidth: list[float], reference: ModuleType
) -> None:
    instance = Colocation(penalty, count, bandwidth, unpaired=1.0)
    expected, found = reference.best(instance), fair(instance)
    first, second = found.certificate["levels"]
    assert first["value"] == pytest.approx(expected.least_slack, abs=1e-9)
    least = expected.penalty_at_slack(attribution_slack(instance, found.solution))
    assert second["value"] >= least - 1e-12
    assert second["bound"] is None or second["bound"] <= least + 1e-12
    assert second["status"] == "feasible" or second["value"] == pytest.approx(least, abs=1e-9)
    assert not recheck(instance, solve(instance, "fair")).broken
