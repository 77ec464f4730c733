"""Schedules, utilities, generators, and logs in the Standard Workload Format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.files import text_file
from support.measured import DATA
from support.messages import approved, refused

import cotenant
from cotenant.instances.problem.errors import (
    InfeasibleSolution,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
)
from cotenant.instances.scheduling import (
    UTILITIES,
    Schedule,
    Scheduling,
    assign_machines,
    is_greedy,
    psi,
    utilities,
)
from cotenant.instances.scheduling.formats import read_swf, swf
from cotenant.instances.scheduling.generators import (
    figure_2,
    figure_2_schedule,
    not_supermodular,
    subset_sum,
    unit_jobs,
    workload,
)
from cotenant.instances.scheduling.log import Settings, read_mapping, window
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


def test_figure_2_utilities_equal_numbers_of_skowron_and_rzadca() -> None:
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
def test_figure_2_utility_changes_equal_numbers_of_skowron_and_rzadca(
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


def test_scheduling_utilities_ignore_time_after_the_given_moment() -> None:
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


def line(
    job: int,
    submit: int,
    wait: int,
    run: int,
    used: int = 1,
    asked: int = -1,
    user: int = 1,
    group: int = 1,
) -> str:
    return f"{job} {submit} {wait} {run} {used} -1 -1 {asked} -1 -1 1 {user} {group} -1 1 1 -1 -1"


LINES = [
    "; Computer: a test",
    "; MaxProcs: 6",
    ";  Acknowledge: nobody",
    line(1, 0, 5, 20, user=7),  # runs 5 to 25
    line(2, 4, 30, 10, user=8),  # runs 34 to 44
    line(3, 10, 0, 0, user=9),  # never ran
    line(4, 12, -1, 8, used=-1, asked=3, user=9),  # when it started is not known
    line(5, 20, 1, 5, used=2, user=7),  # runs 21 to 26
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return text_file(tmp_path, "\n".join(LINES) + "\n", "small.swf")


def traces() -> Path | None:
    """The folder of real traces, where there is one."""
    folder = DATA / "traces"
    return folder if folder.is_dir() else None


def test_swf_log_is_read_with_header_and_missing_values(trace: Path) -> None:
    log = read_swf(trace)
    assert log.submit.tolist() == [0, 4, 12, 20]
    assert log.wait.tolist() == [5, 30, -1, 1]
    assert log.processors.tolist() == [1, 1, 3, 2]
    assert [log.users[u] for u in log.user] == ["7", "8", "9", "7"]
    assert (log.machines, log.header["Computer"]) == (6, "a test")
    approved(str(log.dropped))


def test_swf_job_without_used_processors_has_requested_processors(tmp_path: Path) -> None:
    path = text_file(tmp_path, line(1, 0, 5, 20, used=0, asked=4), "none.swf")
    assert read_swf(path).processors.tolist() == [4]


def test_swf_window_splits_parallel_jobs_into_sequential_copies(trace: Path) -> None:
    found = window(read_swf(trace), Settings(begin=4, length=16, organizations=1))
    assert found.instance.release.tolist() == [0, 8, 8, 8]
    assert found.instance.processing.tolist() == [10, 8, 8, 8]
    assert found.instance.horizon == 16
    # job 2 starts at 34, after the end; job 4 at a time not known
    assert found.start.tolist() == [-1, -1, -1, -1]
    assert found.instance.total_machines == 6


def test_log_window_with_earlier_jobs_begins_with_running_then_waiting_jobs(trace: Path) -> None:
    found = window(read_swf(trace), Settings(begin=15, length=30, organizations=1, initial="warm"))
    # Job 1 has run 10 of its 20 s, job 2 waits since 4, job 4's start is not known, job 5 has two
    # processors.
    assert found.instance.release.tolist() == [0, 0, 5, 5]
    assert found.instance.processing.tolist() == [10, 10, 5, 5]
    assert found.start.tolist() == [0, 19, 6, 6]


def test_users_groups_or_jobs_are_assigned_to_organizations_by_seed(trace: Path) -> None:
    log = read_swf(trace)
    settings = Settings(length=30, organizations=3)
    for by in ("user", "group", "job"):
        one, two = (
            window(log, replace(settings, by=by, assignment_seed=4)).instance for _ in range(2)
        )
        assert one == two
    by_user = window(log, settings).instance.organization
    assert by_user[0] == by_user[-1]  # user 7 both times
    assert len({*window(log, replace(settings, by="group")).instance.organization.tolist()}) == 1


def test_mapping_file_gives_organizations(trace: Path, tmp_path: Path) -> None:
    table = text_file(tmp_path, "user,organization\n7,physics\n8,biology\n9,physics\n", "map.csv")
    instance = swf(trace, length=30, mapping=str(table), split="4,2")
    assert instance.names == ("biology", "physics")
    assert instance.organization.tolist() == [1, 0, 1, 1, 1, 1, 1]
    assert instance.machines.tolist() == [4, 2]


def test_mapping_without_some_users_is_refused_by_name(trace: Path, tmp_path: Path) -> None:
    table = text_file(tmp_path, "user,organization\n7,physics\n", "map.csv")
    with refused(InvalidInstance):
        swf(trace, length=30, mapping=str(table))


@pytest.mark.parametrize(
    "text",
    [
        "who,where\n1,2\n",
        "user,organization\n1\n",
        "user,organization\n1,a\n1,b\n",
        "user,organization\n",
        "",
    ],
)
def test_invalid_mapping_file_is_refused(text: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, text, "map.csv")
    with refused(InvalidFile):
        read_mapping(path)


@pytest.mark.parametrize(
    "bad",
    [
        "1 2 3",
        line(1, 0, 5, 20).replace("20", "x"),
        line(1, -1, 5, 20),
        line(1, 0, -7, 20),
        line(1, 0, 5, -3),
        line(1, 0, 5, 10**30),
    ],
)
def test_invalid_swf_line_is_named(bad: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, "\n".join([*LINES[:3], bad, *LINES[4:]]), "bad.swf")
    with refused(InvalidFile):
        read_swf(path)


def test_logs_without_jobs_are_refused(tmp_path: Path) -> None:
    path = text_file(tmp_path, "; MaxProcs: 3\n", "empty.swf")
    with refused(InvalidFile):
        read_swf(path)
    path.write_text(line(1, 0, 0, 0))
    with refused(InvalidFile):
        read_swf(path)
    with refused(InvalidFile):
        read_swf(tmp_path / "missing.swf")


def test_window_without_jobs_is_refused_with_span_of_log(trace: Path) -> None:
    with refused(InvalidInstance):
        swf(trace, begin=100, length=50)


@pytest.mark.parametrize("options", [{"split": "1,2,3"}, {"by": "job", "mapping": "x.csv"}])
def test_invalid_log_settings_are_refused(options: dict[str, object], trace: Path) -> None:
    with refused(InvalidOption):
        swf(trace, **options)


def test_window_without_number_of_machines_is_refused(tmp_path: Path) -> None:
    path = text_file(tmp_path, line(1, 0, 0, 5), "plain.swf")
    with refused(InvalidOption):
        swf(path)
    assert swf(path, split="1,1,1,1,0").total_machines == 4


@pytest.mark.slow
@pytest.mark.skipif(traces() is None, reason="the traces are not here")
def test_published_lpc_trace_equals_its_header() -> None:
    folder = traces()
    assert folder is not None
    log = read_swf(folder / "LPC-EGEE-2004-1.2-cln.swf.gz")
    assert (len(log.submit), len(log.users), log.machines) == (214_322, 56, 140)
    assert (log.processors == 1).all()
    assert log.dropped == {"no run time above 0": 20_567}
    instance = window(log, Settings(begin=log.begin + 10**6, length=50_000, machines=70)).instance
    assert instance.machines.tolist() == [31, 15, 10, 8, 6]
    assert np.all(np.diff(instance.release) >= 0)
    cotenant.check(instance, cotenant.solve(instance, "FAIRSHARE").solution)
