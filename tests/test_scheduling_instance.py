"""Schedules: utilities, greediness, machines of organizations, and generators."""

from __future__ import annotations

import numpy as np
import pytest

import cotenant
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidOption
from cotenant.instances.scheduling import (
    UTILITIES,
    Schedule,
    Scheduling,
    assign_machines,
    is_greedy,
    psi,
    utilities,
)
from cotenant.instances.scheduling.generators import (
    figure_2,
    figure_2_schedule,
    not_supermodular,
    subset_sum,
    unit_jobs,
    workload,
)
from cotenant.instances.scheduling.split import machine_split
from cotenant.solvers.scheduling import simulate


def small(**changes: object) -> Scheduling:
    """Two organizations with a machine each, three jobs: 0 has jobs of 3 and 2 at time 0, 1 one of
    4 at time 1.
    """
    fields: dict[str, object] = {
        "machines": [1, 1], "organization": [0, 0, 1], "release": [0, 0, 1],
        "processing": [3, 2, 4], "horizon": 8,
    }  # fmt: skip
    return Scheduling(**(fields | changes))  # type: ignore[arg-type]


def unit_parts(start: int, processing: int, t: int) -> int:
    """psi_sp as the sum over unit parts: one done in [i, i + 1) is worth t - i."""
    return sum(t - i for i in range(start, min(start + processing, t)))


def test_psi_equals_sum_over_unit_parts() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        start, processing, t = (int(rng.integers(low, 30)) for low in (0, 1, 0))
        expected = unit_parts(start, processing, t)
        assert int(psi([start], [processing], t)[0]) == expected
        assert UTILITIES["throughput"]([(start, processing, 0)], t) == expected


def flow_time(instance: Scheduling, start: np.ndarray) -> int:
    """The flow time of organization 0 at time 14."""
    mine = instance.organization == 0
    rows = zip(start[mine].tolist(), instance.processing[mine].tolist(), strict=True)
    return -UTILITIES["flow-time"]([(s, p, 0) for s, p in rows if s >= 0], 14)


def test_figure_2_utilities_equal_published_numbers() -> None:
    instance = figure_2()
    schedule = figure_2_schedule(instance)
    cotenant.check(instance, schedule)
    assert utilities(instance, schedule, 13)[0] == 262
    assert utilities(instance, schedule, 14)[0] == 297
    assert flow_time(instance, schedule.start) == 70


@pytest.mark.parametrize(
    ("job", "start", "utility", "flow"), [(8, 9, +4, -1), (5, 5, -6, +1), (8, -1, -10, -14)],
    ids=["J9 at 9", "J6 one later", "J9 not at all"],
)  # fmt: skip
def test_figure_2_utility_changes_equal_published_numbers(
    job: int, start: int, utility: int, flow: int
) -> None:
    instance = figure_2()
    before = figure_2_schedule(instance)
    starts = before.start.copy()
    starts[job] = start
    mine = instance.organization == 0
    changed = psi(starts, instance.processing, 14)[mine].sum()
    assert changed - utilities(instance, before, 14)[0] == utility
    assert flow_time(instance, starts) - flow_time(instance, before.start) == flow


def test_scheduling_utilities_count_only_past_time() -> None:
    jobs = [(2, 3, 0), (4, 10, 1)]
    assert UTILITIES["utilization"](jobs, 6) == 3 + 2
    assert UTILITIES["flow-time"](jobs, 6) == -5
    assert UTILITIES["tardiness"](jobs, 6) == 0
    assert UTILITIES["tardiness"]([(9, 3, 0)], 12) == -6


def test_assign_machines_takes_lowest_free() -> None:
    instance = small(horizon=20)
    assert assign_machines(instance, [0, 3, 1]).tolist() == [0, 0, 1]
    assert assign_machines(instance, [0, -1, 5]).tolist() == [0, -1, 0]


def test_schedule_with_idle_machine_beside_waiting_job_is_not_greedy() -> None:
    assert not is_greedy(small(), Schedule([0, 5, 1], [0, 0, 1]))


@pytest.mark.slow
def test_is_greedy_equals_check_at_every_time() -> None:
    rng = np.random.default_rng(8)
    found = []
    for _ in range(200):
        instance = workload(organizations=2, machines=2, jobs=5, horizon=12, batch=1, rng=rng)
        start = simulate(instance, "random", draws=rng.random(10)).start.copy()
        job = int(rng.integers(5))
        delay = int(rng.integers(0, 3))
        start[job] += delay * (start[job] >= 0)
        try:
            schedule = Schedule(start, assign_machines(instance, start))
            cotenant.check(instance, schedule)
        except InfeasibleSolution:
            continue
        time = np.arange(12)[:, None]
        started = (start >= 0) & (start <= time)
        running = (started & (time < start + instance.processing)).sum(axis=1)
        waiting = ((instance.release <= time) & ~started).sum(axis=1)
        found.append(is_greedy(instance, schedule))
        assert found[-1] == ((running == 2) | (waiting == 0)).all()
    assert 20 < sum(found) < len(found) - 20


def test_machines_are_split_by_zipf_uniformly_or_as_given() -> None:
    assert machine_split(70, 5, "zipf").tolist() == [31, 15, 10, 8, 6]
    assert machine_split(7, 3, "uniform").tolist() == [3, 2, 2]
    assert machine_split(0, 3, "4,0,1").tolist() == [4, 0, 1]
    assert machine_split(1, 3, "zipf").sum() == 1
    wrong = ((6, 2, "4,1"), (5, 2, "some"), (0, 2, "zipf"), (5, 0, "zipf"), (5, 2, "1,x"))
    for arguments in (*wrong, (5, 3, "4,0")):
        with pytest.raises(InvalidOption):
            machine_split(*arguments)


def test_scheduling_generators_follow_their_options() -> None:
    rng = np.random.default_rng(0)
    instance = workload(organizations=3, machines=10, jobs=40, horizon=1000, load=2.0, rng=rng)
    assert (instance.jobs, instance.organizations, instance.total_machines) == (40, 3, 10)
    assert abs(instance.processing.sum() / (10 * 1000) - 2.0) < 0.01
    assert (unit_jobs(rng=rng).processing == 1).all()
    assert not_supermodular().organizations == 3
    for gadget in ({"values": "2,x"}, {"target": 0}, {"target": 99}, {"unit_jobs": 1}):
        with pytest.raises(InvalidOption):
            subset_sum(**gadget)
