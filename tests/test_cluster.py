"""The cells of a comparison on a real Dask cluster: a scheduler and two workers on loopback."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad
from support.messages import approved, refused

import cotenant
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.workers import dask_executor
from cotenant.instances.problem import InvalidOption

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed; python -m pip install '.[cluster]'"
)

TINY = cotenant.read("colocation/tiny")


@pytest.fixture(scope="module")
def two_workers() -> Iterator[str]:
    """Address of a scheduler whose two workers are processes, begun again when they are killed."""
    settings: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **settings) as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
def test_rows_of_dask_workers_equal_rows_of_this_process(two_workers: str, tmp_path: Path) -> None:
    methods = ["optimal", "stable", "SMR", "threshold", bad.in_order]
    settings: dict[str, Any] = {"seeds": range(2), "options": {"alpha": 0.01}}
    instances = [TINY, TINY.replace(penalty=TINY.penalty / 2)]
    seen: list[tuple[int, int]] = []
    out = tmp_path / "rows.jsonl"
    with dask_executor(two_workers) as executor:
        there = cotenant.compare(
            instances, [*methods, bad.leaves], executor=executor, out=out,
            progress=lambda *now: seen.append(now[:2]), **settings
        )  # fmt: skip
    here = cotenant.compare(instances, methods, **settings)
    done = [row for row in there.rows if row["method"] != "leaves"]
    assert bad.without_seconds(done) == bad.without_seconds(here.rows)
    approved(str(row["error"]) for row in there.rows if row["method"] == "leaves")
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


def test_missing_dask_is_refused_with_command_to_install(not_installed: Any) -> None:
    not_installed("distributed")
    with refused(InvalidOption), dask_executor("tcp://127.0.0.1:8786"):
        pass


@pytest.mark.slow
def test_killed_dask_worker_loses_no_cell(two_workers: str, tmp_path: Path) -> None:
    note = tmp_path / "note"

    def kill() -> None:
        """Kill the worker that runs the cell of the first note; only then does a cell end."""
        while not (notes := [path for path in tmp_path.glob("note-*") if path.suffix == ""]):
            time.sleep(0.01)
        os.kill(int(notes[0].read_text()), signal.SIGKILL)
        bad.said(f"{note}.killed", notes[0].name)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    settings: dict[str, Any] = {"seeds": range(4), "options": {"note": str(note)}}
    with dask_executor(two_workers) as executor:
        there = cotenant.compare([TINY], [bad.waits_for_a_loss], executor=executor, **settings)
    killer.join(timeout=600)
    assert [row.get("error") for row in there.rows] == [None] * 4
    assert len(list(tmp_path.glob("note-*"))) > 4, "the cell of the killed worker was begun again"
    here = cotenant.compare([TINY], [bad.in_order], seeds=range(4))
    assert [row["metrics"] for row in there.rows] == [row["metrics"] for row in here.rows]
