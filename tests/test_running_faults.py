"""A real queue on this computer: whoever is killed, every job is done once or reported, no row is
lost or wrong, and no process stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine
from support.processes import (
    PATIENCE,
    carrying,
    cotenant_process,
    lenient_settings,
    needs_two_cpus,
    until,
    write_queue,
)
from support.terminal import run

from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measure import measure
from cotenant.cluster.measure.store import opened
from cotenant.cluster.run.queue_store import QueueStore

psutil = pytest.importorskip("psutil", reason="python -m pip install '.[measure]'")
pytestmark = needs_two_cpus

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
