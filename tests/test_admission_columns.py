"""Column generation over sets of jobs: its bounds and the sets it lists, against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.small_cases import most_total_speed

from cotenant.instances.admission import Admission, Assignment, total_speed
from cotenant.solvers.admission.columns import LIMITS, ColumnGeneration, ColumnLimits
from cotenant.solvers.admission.local_search import start_assignment
from cotenant.solvers.admission.optimal import optimal
from cotenant.solvers.admission.search import (
    AdmissionLimits,
    Search,
    find_prices,
    generate_columns,
    list_sets,
)
from cotenant.solvers.engines import EngineAnswer, solve_program
from cotenant.solvers.outcome import Clock, Status, Stop

CLOSE = 1e-6


def given(seed: int) -> Admission:
    """Small, contested, often with VMs of equal cores."""
    rng = np.random.default_rng([57, seed])
    machines, types = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    cores = rng.integers(0, 3, (machines, types))
    cores[0] = np.maximum(cores[0], 1)
    if machines == 1:
        cores += 2  # room for everybody on the one VM, which leaves the list no room to spare
    if seed % 2:
        cores[:] = cores[0]
    return Admission(cores, rng.integers(1, 4, 5), rng.uniform(1, 9, (5, types)))


# Few trials of a job for each search: as many as are needed, next to none, or none at all.
EFFORTS = {
    "whole": LIMITS,
    "three": ColumnLimits(effort=(3, 3), listing=3),
    "none": ColumnLimits(effort=(0, 0), listing=0),
}


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", ["prices", "no prices"])
def test_admission_columns_prove_optimum_or_valid_bound(effort: str, name: str) -> None:
    short = 0
    for seed in range(12):
        instance = given(seed)
        best = most_total_speed(instance)
        limits = AdmissionLimits(columns=EFFORTS[effort])
        search = Search(instance, Clock(), start_assignment(instance, None), limits)
        for route in (find_prices, generate_columns, list_sets)[name == "no prices" :]:
            route(search)
        assert search.bound >= best * (1 - CLOSE)
        assert search.value <= best * (1 + CLOSE)
        assert effort != "whole" or search.value == pytest.approx(best, rel=CLOSE)
        short += search.value < best * (1 - CLOSE)
    assert effort == "whole" or short  # there was something to claim wrongly


@pytest.mark.parametrize("share", [0.6, 0.9, 1 - 1e-6])
def test_sets_listed_below_a_value_contain_the_admission_optimum(share: float) -> None:
    for seed in range(12):
        instance = given(seed)
        best = most_total_speed(instance)
        program = ColumnGeneration(instance, np.zeros(instance.cores.shape), np.inf)
        assert program.list_all(Clock(), share * best)
        _, found = program.solve(Assignment.nobody(instance), None)
        assert total_speed(instance, found) == pytest.approx(best, rel=CLOSE)


def test_second_level_at_time_limit_has_engine_bound(engines: Callable[..., None]) -> None:
    # As fast with both jobs as with job 0 alone, which takes both cores of either VM.
    instance = Admission([[2]], [2, 2], [[1.0], [1.0]])  # type: ignore[arg-type]
    start = Assignment([0, -1], [[2], [0]])  # type: ignore[arg-type]

    def cut(program: Any, **asked: Any) -> EngineAnswer:
        """It has proved that no more than 2 are served, and found one."""
        done = solve_program(program, **asked)
        return replace(
            done, point=None, objective=None, status=Status.FEASIBLE, stop=Stop.TIME_LIMIT
        )

    engines(solve_program=cut)
    outcome = optimal(instance, start=start, then="jobs")
    first, second = outcome.certificate["levels"]
    assert first["status"] == "optimal"
    assert (second["value"], second["bound"], second["status"]) == (0.5, 1.0, "feasible")
