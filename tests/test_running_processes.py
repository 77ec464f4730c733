"""Real commands: pinned, restarted, failing, killed; whoever dies, no row is wrong and no process
stays.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from support.messages import approved
from support.processes import PATIENCE, carrying, cotenant_process, needs_two_cpus, sleeping, until

from cotenant.cluster.measure.command import TOKEN, Computer
from cotenant.cluster.measure.jobs import Job, read_jobs
from cotenant.cluster.measure.measure import measure
from cotenant.cluster.measure.measurement import Measurement, MeasurementRequest
from cotenant.cluster.measure.profiles import profiles
from cotenant.cluster.measure.store import opened
from cotenant.cluster.measure.topology import Seats

psutil = pytest.importorskip("psutil", reason="python -m pip install '.[measure]'")
pytestmark = needs_two_cpus


def seats() -> Seats:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    return Seats(((first,), (second,)), "L3")


@pytest.fixture
def computer() -> Iterator[Computer]:
    with Computer(seats()) as made:
        yield made


def shell(text: str, folder: Path, name: str = "a") -> Job:
    return Job(name, ("sh", "-c", text), directory=folder)


def visited(machine: Computer, *members: Job | None, limit: float = 60.0) -> Measurement:
    """What comes of running jobs at the same time; None is the control."""
    limits = [limit, *(60.0 for _ in members[1:])]
    return machine.visit(MeasurementRequest(members, limits, keep_errors=True))


@pytest.mark.slow
def test_run_is_pinned_and_timed_with_its_children(computer: Computer, tmp_path: Path) -> None:
    text = "import os; open('cpus', 'w').write(str(os.sched_getaffinity(0)))\nsum(range(4*10**6))"
    job = shell(f'{sys.executable} -c "{text}"', tmp_path)
    for swapped, cpus in ((False, seats().parts[0]), (True, seats().parts[1])):
        visit = computer.visit(MeasurementRequest([job], [60.0], swapped=swapped))
        assert visit.error == ""
        assert (tmp_path / "cpus").read_text() == str(set(cpus))
        (run,) = visit.members[0].runs
        assert run.wall > 0.02
        assert run.cpu > 0.02  # of the shell's child
        assert abs(run.begin - time.time()) < PATIENCE


@pytest.mark.slow
def test_shorter_job_restarts_until_longer_ends(computer: Computer, tmp_path: Path) -> None:
    short = shell("echo >> starts; sleep 0.2", tmp_path)
    long = shell("sleep 1", tmp_path, "b")
    visit = visited(computer, short, long)
    one, other = visit.members
    assert visit.error == ""
    assert 1 <= len(one.runs) < (tmp_path / "starts").read_text().count("\n") + 1 <= 7
    assert len(other.runs) == 1
    assert 0.5 < other.runs[0].covered <= 1
    assert one.runs[0].covered > 0.8
    assert not carrying(TOKEN, computer._token)
    (run,), control = (each.runs for each in visited(computer, long, None).members)
    assert (run.covered > 0.8, control) == (True, ())  # the control spins and is not measured


@pytest.mark.parametrize(
    ("text", "limit", "says"),
    [
        ("echo no such input >&2; exit 3", 60.0, "exit 3: no such input"),
        ("kill -9 $$", 60.0, "signal 9"),
        ("kill -SEGV $$", 60.0, "signal 11"),
        ("sleep 60", 0.3, "timeout after 0.3 s"),
        ("sleep 60 & exit 0", 60.0, "left 1 processes running"),
        ("setsid sh -c 'sleep 60 & sleep 60' & sleep 0.1", 60.0, "left 1 processes running"),
    ],
)
def test_failed_run_voids_both_jobs_and_leaves_no_process(
    computer: Computer, tmp_path: Path, text: str, limit: float, says: str
) -> None:
    job, other = shell(text, tmp_path), shell("sleep 2", tmp_path, "b")
    visit = visited(computer, job, other, limit=limit)
    assert visit.error.startswith(says)
    assert visit.members[0].runs == ()
    assert not carrying(TOKEN, computer._token)


def test_unstartable_command_is_reported(computer: Computer, tmp_path: Path) -> None:
    gone = visited(computer, Job("a", ("./gone",), directory=tmp_path))
    approved(gone.error)
    elsewhere = visited(computer, Job("a", ("true",), directory=tmp_path / "gone"))
    approved(elsewhere.error)
    with Computer(Seats(((4000,), (4001,)), "L3")) as other:
        error = visited(other, shell("", tmp_path)).error
        approved(error)


def test_job_with_pipe_as_output_is_not_started(computer: Computer, tmp_path: Path) -> None:
    """A pipe waits for a reader, without end."""
    os.mkfifo(tmp_path / "pipe")
    rest = shell("echo done; echo more >&2", tmp_path, "b")
    jobs = [shell("touch begun", tmp_path), rest]
    try:
        found = in_time(lambda: computer.visit(MeasurementRequest.once(jobs, ["pipe", "log"])))
    finally:
        os.close(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))  # lets who waits go on
    approved(found.members[0].error)
    assert not (tmp_path / "begun").exists()
    assert (found.members[1].error, (tmp_path / "log").read_text()) == ("", "done\nmore\n")
    assert computer.visit(MeasurementRequest.once([rest], ["/dev/null"])).error == ""


def test_process_left_by_one_job_of_a_queue_is_killed_and_the_other_job_goes_on(
    computer: Computer, tmp_path: Path
) -> None:
    jobs = [shell("setsid sleep 77 &", tmp_path), shell("sleep 1; echo done", tmp_path, "b")]
    visit = computer.visit(MeasurementRequest.once(jobs, ["", "log"]))
    assert [(each.error, each.left) for each in visit.members] == [("", 1), ("", 0)]
    assert (tmp_path / "log").read_text() == "done\n"


def in_time(work: Callable[[], Measurement]) -> Measurement:
    """What comes of work that might not end."""
    found: list[Measurement] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "it does not end"
    return found[0]


@pytest.mark.slow
def test_killed_supervisor_ends_its_jobs_and_next_visit_works(
    computer: Computer, tmp_path: Path
) -> None:
    kill = "kill -9 $PPID; sleep 60 & setsid sleep 60 & sleep 60"
    assert visited(computer, shell(kill, tmp_path)).error.startswith("the supervisor ended")
    until(lambda: not carrying(TOKEN, computer._token))
    assert visited(computer, shell("sleep 0.1", tmp_path)).error == ""


def harness(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """A `cotenant measure` of its own, of jobs that have children."""
    (folder / "jobs.toml").write_text(
        '[[job]]\nname = "a"\ncommand = ["sh", "-c", "sleep 0.12; true"]\n'
        '[[job]]\nname = "b"\ncommand = ["sh", "-c", "echo >> started; sleep 0.15; true"]\n'
    )
    words = ("measure", "jobs.toml", "--store", "lab.db", "--time", "wall", "--pressure", "1")
    return cotenant_process(folder, *words, *options)


def rows_of(store: Path) -> int:
    if not store.exists():
        return 0
    with opened(store) as rows:
        return len(rows.looks(1))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_measurement_loses_one_run_and_continues(
    tmp_path: Path, number: signal.Signals
) -> None:
    store = tmp_path / "lab.db"
    with harness(tmp_path, "--half-width", "0.5") as first:
        started = tmp_path / "started"
        until(lambda: started.exists() and started.read_text().count("\n") >= 4)
        with opened(store) as rows:
            token = rows.token
        supervisor = psutil.Process(first.pid).children()
        first.send_signal(number)
        first.wait(PATIENCE)
        until(lambda: not carrying(TOKEN, token))
        until(lambda: not any(process.is_running() for process in supervisor))
    before = rows_of(store)
    assert before > 0
    if number == signal.SIGINT:
        assert first.returncode == 130
    calls: list[object] = []

    def stop(status: object) -> None:
        calls.append(status)
        if len(calls) == 8:
            raise KeyboardInterrupt

    jobs = read_jobs(tmp_path / "jobs.toml")
    again = measure(jobs, store, half_width=0.5, time="wall", pressure=1.0, progress=stop)
    assert (again.stop, again.failed, again.visits) == ("interrupted", 0, 7)
    assert rows_of(store) == before + 5
    with opened(store) as rows:
        assert all(run[1] > 0.1 for look in rows.looks(1) for run in look.runs)  # no cut run


@pytest.mark.slow
def test_measured_estimates_recover_known_penalties(tmp_path: Path) -> None:
    """Within two points, or as near as the interval says where this machine is too loaded."""
    (tmp_path / "there").mkdir()
    truth = np.array([[0.1, 0.3, 0.02], [0.05, 0.2, 0.01], [0.0, 0.15, 0.05]])
    jobs = [
        sleeping(name, seconds, tmp_path / "there", 2, **dict(zip("abc", row, strict=True)))
        for name, seconds, row in zip("abc", (0.7, 0.8, 0.9), truth.tolist(), strict=True)
    ]
    store = tmp_path / "lab.db"
    measure(jobs, store, time="wall", pressure=1.0, control=False, half_width=0.5)
    found = profiles(store).estimates
    assert (found.samples[:, :3] > 0).all()
    assert (abs(found.mid[:, :3] - truth) <= np.maximum(0.02, found.half[:, :3])).all(), found
