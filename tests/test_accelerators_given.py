"""Instances of accelerators from files of others and from tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.messages import refused
from typer.testing import CliRunner

import cotenant
from cotenant.cli.commands import app
from cotenant.instances.accelerators import Accelerators
from cotenant.instances.accelerators.formats import gavel
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption

A, B, TWO = "('A', 1)", "('B', 1)", "('A', 2)"
FAST = {
    A: {"null": 4.0, A: [3.0, 3.0], B: [2.5, 1.0]},
    B: {"null": 2.0, A: [1.0, 2.5], B: [0.0, 0.0]},
    TWO: {"null": 7.0},
}
SLOW = {A: {"null": 1.0, A: [0.5, 0.5], B: [0.5, 0.5]}, B: {"null": 1.0, A: [0.5, 0.5]}}


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def throughputs(folder: Path) -> Path:
    return put(folder, "t.json", json.dumps({"fast": FAST, "slow": SLOW}))


def test_gavel_throughputs_with_job_list_are_read(tmp_path: Path) -> None:
    jobs = put(tmp_path, "jobs.json", json.dumps({"jobs": ["B", ["A", 1], "B"]}))
    found = gavel(throughputs(tmp_path), jobs=str(jobs), devices="fast:3,slow:2", copies=2)
    assert found.names == ("A", "B")
    assert found.count.tolist() == [2, 4]
    assert found.devices.tolist() == [3, 2]
    assert found.device_names == ("fast", "slow")
    assert found.throughput.tolist() == [[4, 1], [2, 1]]
    assert found.together is not None
    assert found.together[:, :, 0].tolist() == [[3, 2.5], [1, np.inf]]  # 0 does not fit
    assert found.together[:, :, 1].tolist() == [[0.5, 0.5], [0.5, np.inf]]  # nor what is missing
    jobs = put(tmp_path, "jobs.json", json.dumps([["A", 2], "A"]))
    found = gavel(throughputs(tmp_path), jobs=str(jobs), devices="fast:3", pairs=False)
    assert (found.names, found.workers.tolist(), found.together) == (("A x1", "A x2"), [1, 2], None)


@pytest.mark.parametrize(
    ("jobs", "devices"),
    [
        *(("[]", devices) for devices in ("fast", "fast:1,fast:2", "")),
        *((jobs, "fast:1") for jobs in ('{"jobs": []}', '[["A", 0]]', '["C"]', '"A"')),
    ],
)
def test_gavel_reader_refuses_invalid_jobs_and_devices(
    tmp_path: Path, jobs: str, devices: str
) -> None:
    with refused((InvalidFile, InvalidOption)):
        gavel(throughputs(tmp_path), jobs=str(put(tmp_path, "jobs.json", jobs)), devices=devices)


def test_gavel_reader_options_choose_the_problem(tmp_path: Path) -> None:
    source = put(tmp_path, "t.json", json.dumps({"v100": FAST}))
    for option, problem in (("copies=2", "colocation"), ("devices=v100:2", "accelerators")):
        out = tmp_path / f"{problem}.json"
        done = CliRunner().invoke(
            app, ["convert", str(source), "--from", "gavel", "-o", option, "--out", str(out)]
        )
        assert done.exit_code == 0, done.output
        assert cotenant.read(out).problem == problem


def test_from_frame_matches_labels_in_any_order() -> None:
    import pandas

    frame = pandas.DataFrame({"new": [8.0, 3.0], "old": [2.0, 0.0]}, index=["vision", "text"])
    pairs = pandas.DataFrame(
        [("text", "vision", "new", 1.0), ("vision", "text", "new", 5.0)],
        columns=["job", "beside", "device", "throughput"],
    )
    found = Accelerators.from_frame(
        frame, devices={"old": 2, "new": 1}, count=pandas.Series({"text": 3, "vision": 2}),
        pairs=pairs, weight={"text": 1, "vision": 2},
    )  # fmt: skip
    assert found.names == ("vision", "text")
    assert (found.devices.tolist(), found.count.tolist()) == ([1, 2], [2, 3])
    assert found.weight.tolist() == [2, 1]
    assert found.together is not None
    assert found.together[0, 1].tolist() == [5, np.inf]
    for wrong in ({"count": {"vision": 2}}, {"pairs": pairs.replace("new", "newest")}):
        with refused(InvalidInstance):
            Accelerators.from_frame(frame, **({"devices": 1, "pairs": pairs} | wrong))


def test_gavel_trace_gives_steps_and_weights(tmp_path: Path) -> None:
    rows = [
        "B\tcd b\tpy\t-n\t0\t{}\t1\t1\t-1.0\t0.0", "A\tpy\t-n\t1\t500\t2\t2.5\t-1.0\t7.5",
        "B\tpy\t-n\t0\t10\t1\t1\t-1.0\t9", "B\tcd b\tpy\t-n\t0\t10\t1\t1\t-1.0\t11.25",
    ]  # fmt: skip
    jobs = put(tmp_path, "jobs.trace", "\n".join(rows).format(30) + "\n")
    found = gavel(throughputs(tmp_path), jobs=str(jobs), devices="fast:3")
    assert found.names == ("A", "B #1", "B #2")
    assert found.workers.tolist() == [2, 1, 1]
    assert found.count.tolist() == [1, 2, 1]
    assert found.steps is not None
    assert found.steps.tolist() == [500, 10, 30]
    assert found.weight.tolist() == [2.5, 1, 1]
    assert "SLOs" in found.source
    put(tmp_path, "bad.trace", "\n".join(rows))
    for wrong in (
        lambda: gavel(throughputs(tmp_path), jobs=str(tmp_path / "bad.trace"), devices="fast:3"),
        lambda: gavel(jobs, devices="fast:3"),
    ):
        with refused(InvalidFile):
            wrong()
