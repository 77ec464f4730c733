"""Logs in the Standard Workload Format, their windows, and mappings of users to organizations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.measured import DATA
from support.messages import approved, refused

import cotenant
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption
from cotenant.instances.scheduling.formats import read_swf, swf
from cotenant.instances.scheduling.log import Settings, read_mapping, window


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
    path = tmp_path / "small.swf"
    path.write_text("\n".join(LINES) + "\n")
    return path


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
    path = tmp_path / "none.swf"
    path.write_text(line(1, 0, 5, 20, used=0, asked=4))
    assert read_swf(path).processors.tolist() == [4]


def test_swf_window_splits_parallel_jobs_into_sequential_copies(trace: Path) -> None:
    found = window(read_swf(trace), Settings(begin=4, length=16, organizations=1))
    assert found.instance.release.tolist() == [0, 8, 8, 8]
    assert found.instance.processing.tolist() == [10, 8, 8, 8]
    assert found.instance.horizon == 16
    # job 2 starts at 34, after the end; job 4 at a time not known
    assert found.start.tolist() == [-1, -1, -1, -1]
    assert found.instance.total_machines == 6


def test_warm_window_begins_with_running_then_waiting_jobs(trace: Path) -> None:
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
    table = tmp_path / "map.csv"
    table.write_text("user,organization\n7,physics\n8,biology\n9,physics\n")
    instance = swf(trace, length=30, mapping=str(table), split="4,2")
    assert instance.names == ("biology", "physics")
    assert instance.organization.tolist() == [1, 0, 1, 1, 1, 1, 1]
    assert instance.machines.tolist() == [4, 2]


def test_mapping_without_some_users_is_refused_by_name(trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "map.csv"
    table.write_text("user,organization\n7,physics\n")
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
    path = tmp_path / "map.csv"
    path.write_text(text)
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
    path = tmp_path / "bad.swf"
    path.write_text("\n".join([*LINES[:3], bad, *LINES[4:]]))
    with refused(InvalidFile):
        read_swf(path)


def test_logs_without_jobs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.swf"
    path.write_text("; MaxProcs: 3\n")
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
    path = tmp_path / "plain.swf"
    path.write_text(line(1, 0, 0, 5))
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
