"""Real commands and a real queue: pinned, failing, killed; no row is lost, no process stays."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine
from support.messages import approved
from support.processes import (
    PATIENCE,
    carrying,
    cotenant_process,
    lenient_settings,
    needs_two_cpus,
    sleeping,
    until,
    write_queue,
)
from support.terminal import run

from cotenant.cluster.measure.command import TOKEN, Computer
from cotenant.cluster.measure.jobs import Job, read_jobs
from cotenant.cluster.measure.measure import measure
from cotenant.cluster.measure.measurement import Measurement, MeasurementRequest
from cotenant.cluster.measure.profiles import profiles
from cotenant.cluster.measure.store import opened
from cotenant.cluster.measure.topology import Seats
from cotenant.cluster.run.queue_store import QueueStore

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


MARK = "COTENANT_TEST"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Path]:
    """A folder with a store of two types; what was started from it is killed at the end."""
    jobs = [Job(name, ("true",)) for name in "01"]
    machine = SimulatedMachine(np.array([[0.1, 0.3], [0.0, 0.2]]), [5.0, 5.0])
    measure(jobs, tmp_path / "lab.db", machine=machine, half_width=0.5)
    yield tmp_path
    for process in marked(tmp_path):
        with contextlib.suppress(psutil.Error):
            process.kill()


def marked(folder: Path) -> list[Any]:
    """The processes that were started from a test, at whatever remove."""
    return carrying(MARK, str(folder))


def queue(folder: Path, jobs: Sequence[tuple[str, str, str]]) -> None:
    """A queue of jobs of the two types in turn: name, shell text, rerun. Each notes its start."""
    noting = "echo {0} >> begun; {1}; echo {0} >> ended"
    write_queue(
        folder,
        (
            (name, str(n % 2), ("sh", "-c", noting.format(name, text)), rerun)
            for n, (name, text, rerun) in enumerate(jobs)
        ),
    )


def started(folder: Path, *options: str, other: str = "--other-machine") -> subprocess.Popen[bytes]:
    """`cotenant run queue` as a process of its own."""
    words = ["run", "queue", "queue.toml", "--store", "lab.db", *filter(None, [other])]
    words += ["--settings", lenient_settings(folder, 0.1), "-m", "GR"]
    words += ["--local", "2", *options]
    variables = {MARK: str(folder), "TMPDIR": str(folder)}
    return cotenant_process(folder, *words, start_new_session=True, **variables)


def lines(folder: Path, name: str) -> Counter[str]:
    path = folder / name
    return Counter(path.read_text().split() if path.exists() else [])


def states(folder: Path) -> dict[str, str]:
    with opened(folder / "lab.db") as rows:
        return {entry.name: entry.state for entry in QueueStore(rows).entries()}


def looks(folder: Path) -> int:
    with opened(folder / "lab.db") as rows:
        return len(rows.looks(1)) + int(
            rows.rows("SELECT COUNT(*) FROM visit WHERE round < 0")[0][0]
        )


def finished(process: subprocess.Popen[bytes], code: int | None = 0) -> tuple[str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    assert code is None or process.returncode == code, (out, err)
    return out.decode(), err.decode()


def nothing_stays(folder: Path) -> None:
    until(lambda: not marked(folder))


@pytest.mark.slow
def test_queue_runs_on_local_worker_and_fills_store(lab: Path) -> None:
    queue(lab, [(f"job-{place}", "sleep 0.1", "yes") for place in range(3)])
    before = looks(lab)
    words = ["run", "queue", str(lab / "queue.toml"), "--store", str(lab / "lab.db")]
    words += ["--local", "1", "--other-machine", "--settings", lenient_settings(lab, 0.1)]
    done = run(*words, "-m", "GR", "--json", TMPDIR=str(lab), **{MARK: str(lab)})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["states"] == {"done": 3}
    assert lines(lab, "ended") == {f"job-{place}": 1 for place in range(3)}
    assert looks(lab) == before + 2
    until(lambda: all(process.pid == os.getpid() for process in marked(lab)))
    again = run(*words)
    assert "finished: nothing was left to run" in again.stdout
    assert looks(lab) == before + 2


@pytest.mark.slow
def test_killed_supervisor_ends_its_group_and_is_replaced(lab: Path) -> None:
    slow = "test -e go || sleep 600 & wait; sleep 0.1"
    queue(lab, [("a", slow, "yes"), ("b", slow, "no"), ("c", slow, "yes"), ("d", slow, "yes")])
    with started(lab) as process:
        until(lambda: len(lines(lab, "begun")) == 4)
        before = [one for one in marked(lab) if "sleep" in one.name()]
        assert len(before) == 4
        supervisors = [one for one in marked(lab) if "supervisor.py" in " ".join(one.cmdline())]
        assert len(supervisors) == 2
        (lab / "go").touch()
        for supervisor in supervisors:
            supervisor.kill()
        _, err = finished(process, code=1)
    assert "the supervisor ended; it may not be begun again" in err
    assert states(lab) == {"a": "done", "b": "lost", "c": "done", "d": "done"}
    assert lines(lab, "begun") == {"a": 2, "b": 1, "c": 2, "d": 2}
    assert not any(one.is_running() and one.status() != "zombie" for one in before)
    nothing_stays(lab)


@pytest.mark.slow
def test_next_command_kills_leftover_processes(lab: Path) -> None:
    queue(lab, [("a", "setsid sleep 600 & echo; sleep 600", "yes")])
    with started(lab) as process:
        until(lambda: len([one for one in marked(lab) if one.name() == "sleep"]) == 2)
        left = [one for one in marked(lab) if one.name() == "sleep"]
        for one in [*marked(lab)]:
            if "python" in one.name():
                one.suspend()  # a supervisor that cannot see its end any more
        supervisors = [one for one in marked(lab) if "supervisor.py" in " ".join(one.cmdline())]
        process.kill()
        for supervisor in supervisors:
            supervisor.kill()
        process.wait()
    assert any(one.is_running() and one.status() != "zombie" for one in left)
    path = lab / "queue.toml"
    path.write_text(path.read_text().replace("sleep 600", "true"))
    with started(lab) as process:
        finished(process, code=2)  # no longer the job that was begun
    nothing_stays(lab)


@pytest.mark.slow
def test_killed_coordinator_leaves_no_process_and_queue_continues(lab: Path) -> None:
    slow = "test -e go || sleep 600 & wait; sleep 0.1"
    queue(lab, [("a", slow, "yes"), ("b", slow, "no"), ("c", "sleep 0.1", "yes")])
    with started(lab) as process:
        until(lambda: {"a", "b"} <= set(lines(lab, "begun")))
        process.kill()
        process.wait()
    nothing_stays(lab)
    before = looks(lab)
    (lab / "go").touch()
    with started(lab) as process:
        finished(process, code=1)
    assert states(lab) == {"a": "done", "b": "lost", "c": "done"}
    assert {"a": 2, "b": 1}.items() <= lines(lab, "begun").items()
    assert looks(lab) >= before + 1
    nothing_stays(lab)


@pytest.mark.slow
def test_ctrl_c_waits_for_running_jobs_and_second_one_kills(lab: Path) -> None:
    queue(lab, [("a", "sleep 1", "yes"), ("b", "sleep 1", "no")] + [
        (f"c{place}", "sleep 1", "yes") for place in range(4)
    ])  # fmt: skip
    with started(lab) as process:
        until(lambda: len(lines(lab, "begun")) == 4)
        os.killpg(process.pid, signal.SIGINT)
        finished(process, code=130)
    assert Counter(states(lab).values()) == {"done": 4, "waiting": 2}
    nothing_stays(lab)
    queue(lab, [("e", "sleep 600", "yes"), ("f", "sleep 600", "no")])
    with started(lab) as process:
        until(lambda: {"e", "f"} <= set(lines(lab, "begun")))
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(1.0)
        os.killpg(process.pid, signal.SIGINT)
        finished(process, code=130)
    found = states(lab)
    assert (found["e"], found["f"]) == ("waiting", "lost")
    nothing_stays(lab)
