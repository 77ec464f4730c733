"""A real queue on real workers: whoever is killed, every job is done once or reported, no row is lost
or wrong, and no process stays.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
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
    needs_two_cpus,
    sleeping,
    until,
    write_queue,
)
from support.terminal import run

from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measure import measure
from cotenant.cluster.measure.profiles import profile_of, profiles
from cotenant.cluster.measure.store import opened
from cotenant.cluster.run.queue_store import QueueStore
from cotenant.cluster.run.worker_runtime import _started

psutil = pytest.importorskip("psutil", reason="python -m pip install '.[measure]'")
pytest.importorskip("distributed", reason="python -m pip install '.[cluster]'")
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
    write_queue(
        folder,
        (
            (
                name,
                str(place % 2),
                ("sh", "-c", f"echo {name} >> begun; {text}; echo {name} >> ended"),
                rerun,
            )
            for place, (name, text, rerun) in enumerate(jobs)
        ),
    )


def started(folder: Path, *options: str, other: str = "--other-machine") -> subprocess.Popen[bytes]:
    """`cotenant run` as a process of its own."""
    words = ["run", "queue.toml", "--store", "lab.db", *filter(None, [other]), "--pressure", "1"]
    words += ["--epoch", "0.1", "-m", "GR", "-o", "references=never"]
    words += options if "--dask" in options else ("--local", "2", "--overlap", *options)
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


def test_a_queue_is_done_on_a_local_worker_and_its_store_tells_of_it(lab: Path) -> None:
    queue(lab, [(f"job-{place}", "sleep 0.1", "yes") for place in range(3)])
    before = looks(lab)
    words = ["run", str(lab / "queue.toml"), "--store", str(lab / "lab.db"), "--local", "1"]
    words += ["--other-machine", "--pressure", "1", "--epoch", "0.1", "-m", "GR", "--json"]
    done = run(*words, "--report", str(lab / "run.html"), TMPDIR=str(lab), **{MARK: str(lab)})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["states"] == {"done": 3}
    assert lines(lab, "ended") == {f"job-{place}": 1 for place in range(3)}
    assert looks(lab) == before + 2
    assert "predicted and measured" in (lab / "run.html").read_text()
    until(lambda: all(process.pid == os.getpid() for process in marked(lab)))
    again = run(*words)  # nothing is left to do
    assert (json.loads(again.stdout)["epochs"], looks(lab)) == (0, before + 2)


@pytest.mark.slow
def test_a_killed_job_is_begun_again_and_its_partner_goes_on(lab: Path) -> None:
    kill = "test -e once || { touch once; kill -9 $$; }; sleep 0.2"
    queue(lab, [("victim", kill, "yes"), ("other", "sleep 0.5", "no")])
    with started(lab) as process:
        _, err = finished(process)
    assert "victim waiting: signal 9; it waits again" in err
    assert states(lab) == {"victim": "done", "other": "done"}
    assert lines(lab, "begun") == {"victim": 2, "other": 1}
    with opened(lab / "lab.db") as rows:
        assert [look.kind for look in rows.produced(2)] in (["alone"], [])
    nothing_stays(lab)


@pytest.mark.slow
def test_a_killed_worker_takes_its_group_along_and_another_takes_its_place(lab: Path) -> None:
    slow = "test -e go || sleep 600 & wait; sleep 0.1"
    queue(lab, [("a", slow, "yes"), ("b", slow, "no"), ("c", slow, "yes"), ("d", slow, "yes")])
    with started(lab) as process:
        until(lambda: len(lines(lab, "begun")) == 4)
        before = [one for one in marked(lab) if "sleep" in one.name()]
        workers = [
            one for one in marked(lab) if "cotenant.cluster.run.worker" in " ".join(one.cmdline())
        ]
        assert len(workers) == 2
        (lab / "go").touch()
        for worker in workers:
            worker.kill()
        _, err = finished(process, code=1)
    assert "was lost; it may not be begun again" in err
    assert states(lab) == {"a": "done", "b": "lost", "c": "done", "d": "done"}
    assert lines(lab, "begun") == {"a": 2, "b": 1, "c": 2, "d": 2}
    assert not any(one.is_running() and one.status() != "zombie" for one in before)
    nothing_stays(lab)


@pytest.mark.slow
def test_a_killed_coordinator_leaves_no_process_and_is_gone_on_with(lab: Path) -> None:
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
def test_ctrl_c_waits_for_what_runs_and_a_second_one_kills_it(lab: Path) -> None:
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


@pytest.mark.slow
def test_on_a_scheduler_a_killed_coordinators_groups_go_on_and_are_taken_over(lab: Path) -> None:
    from test_cluster import started as cluster

    queue(lab, [("a", "until test -e go; do sleep 0.05; done", "no"), ("b", "sleep 0.1", "no")])
    with cluster(lab, 1, TMPDIR=str(lab), **{MARK: str(lab)}) as found:
        path, good = lab / "queue.toml", (lab / "queue.toml").read_text()
        for text, other, says in (
            ("no-such-program", "--other-machine", "has no program no-such-program in"),
            ("sh", "", "was measured on machines of another kind than"),
        ):
            path.write_text(good.replace('"sh"', f'"{text}"'))
            with started(lab, "--dask", found.address, other=other) as process:
                _, err = finished(process, code=2)
            assert says in err
            assert states(lab) == {}
        path.write_text(good)
        with started(lab, "--dask", found.address) as process:
            until(lambda: {"a", "b"} <= set(lines(lab, "begun")))
            with started(lab, "--dask", found.address) as second:
                _, err = finished(second, code=2)
            assert "is being written by process" in err
            process.kill()
            process.wait()
        with started(lab, "--dask", found.address) as process:
            time.sleep(1.0)
            (lab / "go").touch()
            finished(process)
        assert states(lab) == {"a": "done", "b": "done"}
        assert lines(lab, "begun") == {"a": 1, "b": 1}
        queue(lab, [("c", "sleep 600", "no"), ("d", "sleep 600", "yes")])
        with started(lab, "--dask", found.address) as process:
            until(lambda: {"c", "d"} <= set(lines(lab, "begun")))
            os.killpg(found.processes["scheduler"].pid, signal.SIGKILL)
            _, err = finished(process, code=2)
        assert "the connection to the scheduler is lost" in err
        assert "Traceback" not in err
    nothing_stays(lab)


def test_what_dead_workers_left_is_killed_before_a_machine_registers(tmp_path: Path) -> None:
    from cotenant.cluster.measure.command import TOKEN
    from cotenant.cluster.run.worker_runtime import _take_over

    words = [sys.executable, "-c", "import time; time.sleep(600)"]
    with (
        subprocess.Popen(words, env={**os.environ, TOKEN: "dead"}) as left,
        subprocess.Popen(words, env={**os.environ, TOKEN: "alive"}) as other,
        subprocess.Popen(words) as gone,
    ):
        gone.kill()
        gone.wait()
        (tmp_path / f"{gone.pid}.17.dead").touch()
        (tmp_path / f"{os.getpid()}.{_started(os.getpid())}.alive").touch()
        try:
            until(lambda: TOKEN in psutil.Process(left.pid).environ())
            assert _take_over(tmp_path, "mine") == 1
            assert left.wait(PATIENCE) == -signal.SIGKILL
            assert other.poll() is None
        finally:
            other.kill()
            left.kill()
    names = {file.name.split(".")[2] for file in tmp_path.iterdir()}
    assert names == {"alive", "mine"}


def known_and_new(folder: Path) -> None:
    """A store of one type, measured on this computer, and a queue with a job of another."""
    jobs = [Job("0", ("sleep", "0.1"), directory=folder)]
    measure(jobs, folder / "lab.db", time="wall", pressure=1.0, half_width=0.5, control=False)
    write_queue(folder, ((f"job-{kind}", kind, ("sleep", "0.1"), "yes") for kind in "01"))


@pytest.mark.slow
def test_a_type_that_is_not_known_is_measured_first_where_that_is_asked_for(tmp_path: Path) -> None:
    known_and_new(tmp_path)
    with started(tmp_path, "--unknown", "measure") as process:
        finished(process)
    assert states(tmp_path) == {"job-0": "done", "job-1": "done"}
    with opened(tmp_path / "lab.db") as rows:
        assert profile_of(rows).estimates.known.all()
    nothing_stays(tmp_path)


@pytest.mark.slow
def test_on_a_scheduler_it_is_measured_on_the_worker_that_is_the_measured_machine(
    tmp_path: Path,
) -> None:
    from test_cluster import started as cluster

    known_and_new(tmp_path)
    with cluster(tmp_path, 1, TMPDIR=str(tmp_path), **{MARK: str(tmp_path)}) as found:
        words = ("--dask", found.address, "--unknown", "measure", "--seats", "3", "--overlap")
        with sqlite3.connect(tmp_path / "lab.db") as rows:
            (facts,) = rows.execute("SELECT facts FROM machine").fetchone()
            rows.execute("UPDATE machine SET facts = ?", (facts.replace("seats", "chairs"),))
        with started(tmp_path, *words, other="") as process:
            _, err = finished(process, code=2)
        assert "measured on a machine that is none of the Dask workers" in err
        with sqlite3.connect(tmp_path / "lab.db") as rows:
            rows.execute("UPDATE machine SET facts = ?", (facts,))
        with started(tmp_path, *words, other="") as process:
            finished(process)
    assert states(tmp_path) == {"job-0": "done", "job-1": "done"}
    with opened(tmp_path / "lab.db") as rows:
        assert profile_of(rows).estimates.known.all()
        assert rows.rows("SELECT COUNT(DISTINCT machine) FROM visit WHERE round > 0") == [(1,)]
    nothing_stays(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif("SLURM_CONF" not in os.environ, reason="needs a Slurm to try on")
def test_workers_that_a_real_slurm_starts_are_machines(lab: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="python -m pip install dask-jobqueue")
    queue(lab, [(f"job-{place}", "sleep 0.1", "yes") for place in range(4)])
    (lab / "cluster.py").write_text(
        "import os, sys, time\n"
        "from dask_jobqueue import SLURMCluster\n"
        "path = f'export PYTHONPATH={os.pathsep.join(filter(None, sys.path))}'\n"
        "if __name__ == '__main__':\n"
        "    with SLURMCluster(cores=1, processes=1, memory='1GB', walltime='00:10:00',\n"
        "        scheduler_options={'host': '127.0.0.1', 'dashboard_address': '127.0.0.1:0'},\n"
        "        python=sys.executable, job_extra_directives=['--nodes=1'],\n"
        "        job_script_prologue=[path]) as cluster:\n"
        "        cluster.scale(jobs=2)\n"
        "        cluster.wait_for_workers(2)\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        sys.stdin.read()\n"
    )
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with subprocess.Popen(
        [sys.executable, "cluster.py"], cwd=lab, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as cluster:  # fmt: skip
        assert cluster.stdout is not None
        assert cluster.stdin is not None
        address = cluster.stdout.readline().decode().strip()
        with started(lab, "--dask", address, "--overlap") as process:
            finished(process)
        cluster.stdin.close()
    assert lines(lab, "ended") == {f"job-{place}": 1 for place in range(4)}


@pytest.mark.slow
def test_known_penalties_of_sleeping_jobs_come_back_from_production(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    jobs = [sleeping("a", 0.5, there, 1, b=0.3), sleeping("b", 0.6, there, 1, a=0.1)]
    settings: dict[str, Any] = {"time": "wall", "pressure": 1.0, "control": False}
    measure(jobs, tmp_path / "lab.db", half_width=0.5, **settings)
    before = profiles(tmp_path / "lab.db").estimates.estimates
    names = [(f"{job.name}-{number}", job.name, job.command) for number in range(4) for job in jobs]
    path = write_queue(there, ((*job, "yes") for job in names))
    words = ["run", path, "--store", str(tmp_path / "lab.db")]
    words += ["--local", "1", "--pressure", "1", "--other-machine", "-m", "GR", "--json"]
    done = run(*words, TMPDIR=str(tmp_path))
    assert json.loads(done.stdout)["states"] == {"done": 8}, done.stderr
    after = profiles(tmp_path / "lab.db").estimates.estimates
    for entry, true in (((0, 1), 0.3), ((1, 0), 0.1)):
        guess = after[entry]
        assert guess.samples > before[entry].samples
        assert abs(guess.mid - true) <= max(0.05, guess.half), (entry, guess)
