"""The optima: brute force, two engines, bounds, and what greedy schedules lose against them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.scheduling import Schedule, Scheduling, psi
from cotenant.instances.scheduling.gadgets import figure_7
from cotenant.instances.scheduling.generators import workload
from cotenant.instances.scheduling.utility import units_done
from cotenant.models.scheduling import fluid_bound, interval_model, time_indexed
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.scheduling import simulate
from cotenant.solvers.scheduling.optimum import max_utility, max_utilization

METHODS = {"utilization": max_utilization, "utility": max_utility}


def brute_force(instance: Scheduling, objective: str) -> int:
    """The best over every schedule that keeps each organization's order, idling allowed."""
    queues = [
        [job for job in instance.order.tolist() if instance.organization[job] == u]
        for u in range(instance.organizations)
    ]
    horizon = instance.horizon

    def worth(start: int, processing: int) -> int:
        end = min(start + processing, horizon)
        return (
            end - start
            if objective == "utilization"
            else sum(horizon - i for i in range(start, end))
        )

    @cache
    def best(t: int, heads: tuple[int, ...], ends: tuple[int, ...]) -> int:
        if t >= horizon:
            return 0
        running = tuple(end for end in ends if end > t)
        most = best(t + 1, heads, running)
        if len(running) < instance.total_machines:
            for u, queue in enumerate(queues):
                if heads[u] < len(queue) and instance.release[queue[heads[u]]] <= t:
                    length = int(instance.processing[queue[heads[u]]])
                    after = tuple(head + (v == u) for v, head in enumerate(heads))
                    most = max(
                        most,
                        worth(t, length) + best(t, after, tuple(sorted((*running, t + length)))),
                    )
        return most

    return best(0, (0,) * len(queues), ())


def tiny_instance(rng: np.random.Generator) -> Scheduling:
    k, number, horizon = int(rng.integers(1, 4)), int(rng.integers(1, 8)), int(rng.integers(2, 12))
    machines = rng.integers(0, 2, k)
    machines[rng.integers(k)] += 1
    return Scheduling(
        machines, rng.integers(0, k, number), rng.integers(0, horizon + 2, number),
        rng.integers(1, 7, number), horizon
    )  # fmt: skip


def value(instance: Scheduling, schedule: Schedule, objective: str) -> int:
    measure = units_done if objective == "utilization" else psi
    return int(measure(schedule.start, instance.processing, instance.horizon).sum())


@pytest.mark.parametrize("objective", METHODS)
@pytest.mark.parametrize("engine", ["cp-sat", "highs"])
def test_both_engines_equal_brute_force(objective: str, engine: str) -> None:
    rng = np.random.default_rng(5)
    unit = 0.0
    for _ in range(40):
        instance = tiny_instance(rng)
        outcome = METHODS[objective](instance, engine=engine)
        expected = brute_force(instance, objective)
        cotenant.check(instance, outcome.solution)
        assert value(instance, outcome.solution, objective) == expected
        assert outcome.status is Status.OPTIMAL
        unit = (
            1 / (instance.total_machines * instance.horizon) if objective == "utilization" else 1.0
        )
        assert outcome.bound == pytest.approx(expected * unit, rel=1e-12)
        assert fluid_bound(instance, objective) >= expected


@pytest.mark.parametrize("objective", METHODS)
def test_both_engines_agree_on_middle_instances(objective: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(6):
        instance = workload(
            organizations=3, machines=3, jobs=14, horizon=25, batch=2, load=1.3, rng=rng
        )
        first, second = (
            METHODS[objective](instance, engine=engine, time_limit=60)
            for engine in ("cp-sat", "highs")
        )
        assert first.status is second.status is Status.OPTIMAL
        assert value(instance, first.solution, objective) == value(
            instance, second.solution, objective
        )


@pytest.mark.parametrize("objective", METHODS)
def test_the_models_alone_have_the_brute_force_optimum(objective: str) -> None:
    # Without the start and the fluid bound of `_optimum`, which could hide a model that is too
    # tight or too loose.
    from cotenant.solvers.engines import solve_cp_sat, solve_program

    rng = np.random.default_rng(7)
    for _ in range(25):
        instance = tiny_instance(rng)
        if (instance.release >= instance.horizon).all():
            continue
        expected = brute_force(instance, objective)
        intervals = solve_cp_sat(interval_model(instance, objective).model)
        program = solve_program(time_indexed(instance, objective).program)
        assert intervals.objective == expected * (2 if objective == "utility" else 1)
        assert -program.objective == pytest.approx(expected)


def test_the_fluid_bound_is_the_sum_over_moments() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        instance = tiny_instance(rng)
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


def test_no_greedy_schedule_falls_below_three_quarters() -> None:
    # Theorem 6.2, against the proved optimum.
    rng = np.random.default_rng(9)
    for _ in range(60):
        instance = tiny_instance(rng)
        optimum = brute_force(instance, "utilization")
        for rule in ("FIFO", "ROUNDROBIN", "FAIRSHARE"):
            work = int(
                units_done(
                    simulate(instance, rule).start, instance.processing, instance.horizon
                ).sum()
            )
            assert 4 * work >= 3 * optimum


def test_figure_7_s_optimum_uses_all_machines() -> None:
    result = cotenant.solve(figure_7(), "max-utilization")
    assert (result.objective, result.status) == (1.0, Status.OPTIMAL)


def test_an_engine_cut_before_its_first_point_claims_no_bound() -> None:
    # CP-SAT then reports the bound 0, below every schedule that does any work.
    from cotenant.solvers.engines import solve_cp_sat

    answer = solve_cp_sat(
        interval_model(cotenant.read("scheduling/lpc-like"), "utility").model, time_limit=0.001
    )
    assert answer.values is not None or answer.bound is None


def test_a_start_is_kept_when_time_is_up() -> None:
    instance = cotenant.read("scheduling/lpc-like")
    start = simulate(instance, "FAIRSHARE").schedule
    outcome = max_utility(instance, start=start, time_limit=0.05)
    cotenant.check(instance, outcome.solution)
    assert outcome.stop is Stop.TIME_LIMIT
    assert outcome.status is Status.FEASIBLE
    assert (
        value(instance, start, "utility")
        <= value(instance, outcome.solution, "utility")
        <= outcome.bound
    )


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "abacus"},
        {"time_limit": -1},
        {"start": Schedule([0], [0])},
        {"start": "now"},
    ],
)
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with refused(InvalidOption):
        max_utilization(figure_7(), **options)


def test_the_time_indexed_program_is_refused_when_it_is_too_large() -> None:
    with refused(InvalidOption):
        max_utilization(cotenant.read("scheduling/lpc-like"), engine="highs")
