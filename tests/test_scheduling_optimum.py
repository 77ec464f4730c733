"""The optima: brute force, two engines, bounds, and what greedy schedules lose against them."""

from __future__ import annotations

import numpy as np
import pytest
from support.scheduling_cases import best_of_all, small_instance

import cotenant
from cotenant.instances.scheduling.generators import workload
from cotenant.models.scheduling import fluid_bound, interval_model, time_indexed
from cotenant.solvers.outcome import Status
from cotenant.solvers.scheduling import simulate
from cotenant.solvers.scheduling.optimum import max_utility, max_utilization, worth_of

METHODS = {"utilization": max_utilization, "utility": max_utility}


@pytest.mark.slow
@pytest.mark.parametrize("objective", METHODS)
def test_optimum_of_middle_instances_is_equal_for_both_engines(objective: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(6):
        instance = workload(
            organizations=3, machines=3, jobs=14, horizon=25, batch=2, load=1.3, rng=rng
        )
        found = [
            METHODS[objective](instance, engine=engine, time_limit=60)
            for engine in ("cp-sat", "highs")
        ]
        assert {outcome.status for outcome in found} == {Status.OPTIMAL}
        assert len({worth_of(instance, outcome.solution, objective) for outcome in found}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("objective", METHODS)
def test_scheduling_models_have_brute_force_optimum(objective: str) -> None:
    # Without the start and the fluid bound of `_optimum`, which could hide a model that is too
    # tight or too loose.
    from cotenant.solvers.engines import solve_cp_sat, solve_program

    rng = np.random.default_rng(7)
    for _ in range(25):
        instance = small_instance(rng, tiny=True)
        if (instance.release >= instance.horizon).all():
            continue
        expected = best_of_all(instance, objective)
        intervals = solve_cp_sat(interval_model(instance, objective).model)
        program = solve_program(time_indexed(instance, objective).program)
        assert intervals.objective == expected * (2 if objective == "utility" else 1)
        assert -program.objective == pytest.approx(expected)


def test_scheduling_fluid_bound_equals_sum_over_time_units() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        instance = small_instance(rng, tiny=True)
        waiting = work = utility = 0
        for t in range(instance.horizon):
            new = instance.release == t
            waiting += int(
                np.minimum(instance.processing, instance.horizon - instance.release)[new].sum()
            )
            done = min(waiting, instance.total_machines)
            waiting -= done
            work += done
            utility += done * (instance.horizon - t)
        assert fluid_bound(instance, "utilization") == work
        assert fluid_bound(instance, "utility") == utility


@pytest.mark.slow
def test_no_greedy_schedule_falls_below_three_quarters() -> None:
    # Theorem 6.2, against the proved optimum.
    rng = np.random.default_rng(9)
    for _ in range(60):
        instance = small_instance(rng, tiny=True)
        optimum = best_of_all(instance, "utilization")
        for rule in ("FIFO", "ROUNDROBIN", "FAIRSHARE"):
            assert 4 * worth_of(instance, simulate(instance, rule).schedule, "utilization") >= (
                3 * optimum
            )


def test_cp_sat_stopped_before_first_point_gives_no_bound() -> None:
    # CP-SAT then reports the bound 0, below every schedule that does any work.
    from cotenant.solvers.engines import solve_cp_sat

    answer = solve_cp_sat(
        interval_model(cotenant.read("scheduling/lpc-like"), "utility").model, time_limit=0.001
    )
    assert answer.values is not None or answer.bound is None
