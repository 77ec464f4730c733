"""Bounds of clairvoyant schedules, and greedy schedules against their optima."""

from __future__ import annotations

import numpy as np
import pytest
from support.scheduling_cases import best_of_all, small_instance

import cotenant
from cotenant.models.scheduling import fluid_bound, interval_model
from cotenant.solvers.engines import solve_cp_sat
from cotenant.solvers.scheduling import simulate
from cotenant.solvers.scheduling.optimum import worth_of


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
def test_greedy_schedules_do_at_least_three_quarters_of_the_work() -> None:
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
    answer = solve_cp_sat(
        interval_model(cotenant.read("scheduling/lpc-like"), "utility").model, time_limit=0.001
    )
    assert answer.values is not None or answer.bound is None
