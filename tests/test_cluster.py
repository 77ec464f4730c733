"""The same cells on a real Dask cluster: a scheduler and workers of their own on loopback."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad
from support.messages import approved, refused

import cotenant
from cotenant.analysis.run.dask_executor import dask_executor
from cotenant.analysis.run.rows import read_rows
from cotenant.instances.problem import EngineError, InvalidOption

pytest.importorskip(
    "distributed", reason="Dask is not installed; python -m pip install '.[cluster]'"
)

TINY = cotenant.read("colocation/tiny")
QUIET = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false"}


class Started:
    """A scheduler and its workers, each a process; all are ended on leaving."""

    def __init__(self, folder: Path, workers: int, **environment: str) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self.environment = {**os.environ, **QUIET, "PYTHONPATH": path, **environment}
        note = folder / "scheduler.json"
        try:
            words = f"scheduler --host 127.0.0.1 --port 0 --scheduler-file {note}"
            self.start("scheduler", words)
            self.address = json.loads(bad.waited_for(note, whole=json.loads))["address"]
            for number in range(workers):
                self.worker(f"worker-{number}")
        except BaseException:
            self.end()
            raise

    def start(self, name: str, words: str) -> None:
        words += " --no-dashboard --dashboard-address 127.0.0.1:0"
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [sys.executable, "-m", "dask", *words.split()]
            self.processes[name] = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
            )

    def worker(self, name: str) -> None:
        words = f"worker {self.address} --name {name} --nthreads 1 --no-nanny --host 127.0.0.1"
        self.start(name, words)

    def wait_for(self, workers: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=600)

    def end(self) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=600)


@contextmanager
def started(folder: Path, workers: int, **environment: str) -> Iterator[Started]:
    """A cluster whose workers are there."""
    found = Started(folder, workers, **environment)
    try:
        if workers:
            found.wait_for(workers)
        yield found
    finally:
        found.end()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    with started(tmp_path_factory.mktemp("cluster"), 2) as found:
        yield found


@pytest.mark.slow
def test_two_workers_give_the_same_rows_as_this_process(
    two_workers: Started, tmp_path: Path
) -> None:
    methods = ["optimal", "stable", "SMR", "threshold", bad.in_order, bad.leaves]
    settings: dict[str, Any] = {"seeds": range(2), "options": {"alpha": 0.01}}
    other = TINY.replace(penalty=TINY.penalty / 2)
    seen: list[tuple[int, int]] = []
    out = tmp_path / "rows.jsonl"
    with dask_executor(two_workers.address) as executor:
        there = cotenant.compare(
            [TINY, other], methods, executor=executor, out=out,
            progress=lambda *now: seen.append(now[:2]), **settings
        )  # fmt: skip
    here = cotenant.compare(
        [TINY, other], [name for name in methods if name is not bad.leaves], **settings
    )
    assert bad.without_seconds(
        row for row in there.rows if row["method"] != "leaves"
    ) == bad.without_seconds(here.rows)
    died = [row["error"] for row in there.rows if row["method"] == "leaves"]
    approved(map(str, died))
    assert seen == [(number, 18) for number in range(1, 19)]
    assert len(read_rows(out)) == 18


@pytest.mark.parametrize(
    "address",
    ["", "127.0.0.1", "http://127.0.0.1:80",
     pytest.param("tcp://127.0.0.1:1", marks=pytest.mark.slow)],
)  # fmt: skip
def test_dask_address_without_scheduler_is_refused(address: str) -> None:
    with refused(InvalidOption), dask_executor(address):
        pass


@pytest.mark.slow
def test_silent_server_and_worker_are_refused_as_schedulers(two_workers: Started) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with refused(InvalidOption), dask_executor(f"tcp://127.0.0.1:{silent.getsockname()[1]}"):
            pass
    from distributed import Client

    with Client(two_workers.address, set_as_default=False) as client:
        worker = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
    with refused(InvalidOption), dask_executor(worker):
        pass


@pytest.mark.slow
def test_a_cluster_without_workers_is_refused_before_any_work(tmp_path: Path) -> None:
    with started(tmp_path, 0) as found, refused(InvalidOption), dask_executor(found.address):
        pass


@pytest.mark.slow
def test_dask_connection_logs_are_not_printed(two_workers: Started) -> None:
    """Its client has a level of its own, and told of a scheduler that died in forty lines."""
    log = logging.getLogger("distributed.client")
    assert log.isEnabledFor(logging.ERROR)
    with dask_executor(two_workers.address):
        assert not log.isEnabledFor(logging.CRITICAL)
    assert log.isEnabledFor(logging.ERROR)


@pytest.mark.slow
def test_lost_dask_scheduler_keeps_finished_rows(tmp_path: Path) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    with started(tmp_path, 1) as found:

        def kill() -> None:
            bad.waited_for(out)  # a row that is not handed in yet would be lost
            bad.waited_for(note)
            found.processes["scheduler"].kill()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        with dask_executor(found.address) as executor, refused(EngineError):
            cotenant.compare(
                [TINY], ["GR", bad.sleeps], executor=executor, out=out, options={"note": str(note)}
            )
        killer.join()
    assert [row["method"] for row in read_rows(out)] == ["GR"]


def test_without_dask_the_error_names_what_to_install(not_installed: Any) -> None:
    not_installed("distributed")
    with refused(InvalidOption), dask_executor("tcp://127.0.0.1:8786"):
        pass


@pytest.mark.slow
def test_killed_dask_worker_loses_no_cell(two_workers: Started, tmp_path: Path) -> None:
    """The last test here: it leaves one worker."""
    note = tmp_path / "note"
    workers = {str(process.pid): process for process in two_workers.processes.values()}

    def kill() -> None:
        """Kill the worker that runs the cell of the first note; only then does a cell end."""
        while not (notes := [path for path in tmp_path.glob("note-*") if path.suffix == ""]):
            time.sleep(0.01)
        victim = workers[notes[0].read_text()]
        victim.kill()
        victim.wait()
        bad.said(f"{note}.killed", notes[0].name)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    settings: dict[str, Any] = {"seeds": range(4), "options": {"note": str(note)}}
    with dask_executor(two_workers.address) as executor:
        there = cotenant.compare([TINY], [bad.waits_for_a_loss], executor=executor, **settings)
    killer.join(timeout=600)
    assert (tmp_path / "note.killed").exists()
    assert not there.interrupted
    assert [row.get("error") for row in there.rows] == [None] * 4
    assert len(list(tmp_path.glob("note-*"))) > 4, "the cell that the victim ran was begun again"
    here = cotenant.compare([TINY], [bad.in_order], seeds=range(4))
    assert [row["metrics"] for row in there.rows] == [row["metrics"] for row in here.rows]
