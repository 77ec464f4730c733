"""`cotenant advise pairs`: jobs of another dispatcher's queue, paired by what is known of their types,
and the lines that a real Slurm takes.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine, simulated_jobs
from support.messages import approved, refused
from support.terminal import run

from cotenant.cluster.measure.measure import measure
from cotenant.cluster.run.pairs import advise_pairs, emit_pairs, hostnames
from cotenant.instances.problem.errors import InvalidFile, InvalidOption

SLOWDOWNS = ",x264,vips,dedup\nx264,1.1,1.3,1.02\nvips,1.05,1.25,1.01\ndedup,1.0,1.18,1.05\n"
JOBS = """JOBID|NAME|STATE|NODES
101|x264-a|PENDING|1
102|vips|PENDING|1
103|dedup_3|PENDING|1
104|dedup|RUNNING|1
105|blender|PENDING|1
106_[1-9]|vips|PENDING|1
107_2|vips.2|PENDING|1
108|x264|PENDING|2
109|x264|PENDING|1
"""


@pytest.fixture
def slowdowns(tmp_path: Path) -> str:
    path = tmp_path / "slowdowns.csv"
    path.write_text(SLOWDOWNS)
    return str(path)


def listed(folder: Path, text: str = JOBS, name: str = "squeue.txt") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_oldest_jobs_are_paired_by_their_ids_and_the_others_told_of(
    slowdowns: str, tmp_path: Path
) -> None:
    found = advise_pairs(slowdowns, jobs=listed(tmp_path), nodes="n[1-2]", method="optimal")
    assert [(one.node, one.jobs) for one in found.placed] == [
        ("n1", ("101", "103")), ("n2", ("102", "107_2")),
    ]  # fmt: skip
    assert found.later == 1
    approved(str(dict(found.left)))
    assert found.penalty == pytest.approx((1 - 1 / 1.02 + 0.2 + 0.2) / 4)
    rows = list(csv.DictReader(io.StringIO(emit_pairs(found, "csv"))))
    assert [row["job"] for row in rows] == ["101", "103", "102", "107_2"]
    assert rows[0] == {
        "node": "n1", "job": "101", "type": "x264", "beside": "103", "beside_type": "dedup",
    }  # fmt: skip
    commands = [line for line in emit_pairs(found, "slurm").splitlines() if line[0] != "#"]
    approved(commands[0])
    assert len(commands) == 4


def test_no_type_s_name_is_an_option_a_command_or_a_formula(tmp_path: Path) -> None:
    names = ["--wrap=touch owned;#", "=1+1"]
    path = tmp_path / "slowdowns.csv"
    path.write_text(f",{','.join(names)}\n{names[0]},1.1,1.3\n{names[1]},1.05,1.25\n")
    found = advise_pairs(str(path), nodes="n[1-2]", method="optimal")
    commands = [
        shlex.split(line) for line in emit_pairs(found, "slurm").splitlines() if line[0] != "#"
    ]
    assert {tuple(words[2:]) for words in commands} == {
        (f"--job-name={names[0]}", f"./{names[0]}.sh"), (f"--job-name={names[1]}", f"{names[1]}.sh"),
    }  # fmt: skip
    assert all(words[:1] == ["sbatch"] and len(words) == 4 for words in commands)
    rows = list(csv.reader(io.StringIO(emit_pairs(found, "csv"))))
    assert {cell for row in rows[1:] for cell in (row[2], row[4])} == {f"'{name}" for name in names}
    path.write_text(",/tmp/x,b\n/tmp/x,1.1,1.3\nb,1.05,1.25\n")
    elsewhere = advise_pairs(str(path), nodes="n[1-2]", method="optimal")
    with refused(InvalidOption):
        emit_pairs(elsewhere, "slurm")


def test_json_of_squeue_says_the_same(slowdowns: str, tmp_path: Path) -> None:
    jobs: list[dict[str, object]] = []
    for line in JOBS.splitlines()[1:]:
        number, name, state, nodes = line.split("|")
        array = number.partition("_[")
        numbers = {"number": int(nodes), "set": True} if len(jobs) % 2 else int(nodes)
        jobs.append({
            "job_id": int(array[0].partition("_")[0]), "name": name, "node_count": numbers,
            "job_state": [state] if len(jobs) % 2 else state,
            "array_job_id": int(array[0]) if array[1] else 0,
            "array_task_string": array[2].rstrip("]"),
        })  # fmt: skip
    text = listed(tmp_path, json.dumps({"jobs": jobs}), "squeue.json")
    plain = advise_pairs(slowdowns, jobs=listed(tmp_path), method="optimal")
    found = advise_pairs(slowdowns, jobs=text, method="optimal")
    assert found.left == plain.left
    assert [one.kinds for one in found.placed] == [one.kinds for one in plain.placed]


def test_a_store_gives_its_own_types_and_intervals(tmp_path: Path) -> None:
    truth = np.array([[0.1, 0.3], [0.1, 0.05]])
    machine = SimulatedMachine(truth, [5.0, 5.0], noise=0.01)
    measure(simulated_jobs(2), tmp_path / "lab.db", machine=machine, half_width=0.05)
    found = advise_pairs(str(tmp_path / "lab.db"), method="optimal")
    assert [one.kinds for one in found.placed] == [(0, 0), (1, 1)]
    assert "hold together" in found.tables()[0].notes[1]
    assert found.agents.possible >= found.agents.certain == 0
    with refused(InvalidOption):
        emit_pairs(found, "slurm")


def test_nodes_are_read_as_slurm_writes_them() -> None:
    assert hostnames("n[1-3,07],big1") == ["n1", "n2", "n3", "n07", "big1"]
    assert hostnames("r[09-11]x") == ["r09x", "r10x", "r11x"]
    for text in ("", "n[1-]", "n[a]", "a;b", "n1,n1", "n[1-9999999]", "$(x)", "n[3-1]"):
        with refused(InvalidOption):
            hostnames(text)


def test_what_is_wrong_is_told_in_one_line(slowdowns: str, tmp_path: Path) -> None:
    jobs = listed(tmp_path)
    for arguments, says in (
        ([str(tmp_path / "gone.csv")], "gone.csv"),
        (
            [slowdowns, "--jobs", listed(tmp_path, "JOBID NAME\n1 x264\n", "plain")],
            "squeue -t PEND",
        ),
        ([slowdowns, "--jobs", listed(tmp_path, "JOBID|USER\n1|a\n", "few")], "no column 'NAME'"),
        ([slowdowns, "--jobs", listed(tmp_path, "{}", "none.json")], "has no list of jobs"),
        ([slowdowns, "--jobs", listed(tmp_path, "JOBID|NAME\n1|x\n", "x")], "of a known type"),
        ([slowdowns, "--jobs", jobs, "--emit", "pbs"], "expected slurm or csv"),
        ([slowdowns, "--jobs", jobs, "-o", "alpha=-1"], "alpha is -1"),
        (["colocation/tiny", "-m", "nothing"], "no colocation method"),
        (["packing/tiny"], "expected colocation"),
    ):
        done = run("advise", "pairs", *arguments)
        assert done.returncode == 2, arguments
        assert says in done.stderr
        assert done.stdout == ""
    with pytest.raises(InvalidFile):
        advise_pairs(slowdowns, jobs=listed(tmp_path, "JOBID|NAME|STATE\n1|x264|RUNNING\n", "r"))


def test_people_read_who_sits_beside_whom_in_80_columns(slowdowns: str, tmp_path: Path) -> None:
    done = run(
        "advise", "pairs", slowdowns, "--jobs", listed(tmp_path), "--nodes", "n[1-2]", "-m", "GR",
        COLUMNS="80",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for words in ("n1", "101", "left as it is: 105", "points are lost in the mean"):
        assert words in done.stdout


def answered(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.skipif(
    "SLURM_CONF" not in os.environ or shutil.which("scontrol") is None,
    reason="needs a Slurm to try on: SLURM_CONF names its configuration",
)
def test_a_real_slurm_takes_the_lines(slowdowns: str, tmp_path: Path) -> None:
    nodes = answered("sinfo", "-h", "-N", "-o", "%N").split()[:2]
    numbers = []
    try:
        for kind in ("x264", "vips", "dedup", "vips"):
            said = answered(
                "sbatch", "--parsable", "-H", "-n1", "-N1", "-o", "/dev/null", "-J", kind,
                "--wrap", "sleep 1",
            )  # fmt: skip
            numbers.append(said.strip().partition(";")[0])
        text = answered(
            "squeue", "-t", "PENDING", "-S", "-p,i", "-j", ",".join(numbers), "-o", "%i|%j|%T|%D"
        )
        of_json = answered("squeue", "--json")
        found = advise_pairs(
            slowdowns, jobs=listed(tmp_path, text), nodes=",".join(nodes), method="optimal"
        )
        again = advise_pairs(
            slowdowns, jobs=listed(tmp_path, of_json, "j"), nodes=",".join(nodes), method="optimal"
        )
        assert {one.jobs for one in found.placed} <= {one.jobs for one in again.placed}
        answered("sh", "-ec", emit_pairs(found, "slurm"))
        for one in found.placed:
            for job in one.jobs:
                assert f"ReqNodeList={one.node} " in answered("scontrol", "show", "job", job)
        types = emit_pairs(advise_pairs(slowdowns, nodes="n[1-3]", method="optimal"), "slurm")
        for kind in ("x264", "vips", "dedup"):
            (tmp_path / f"{kind}.sh").write_text("#!/bin/sh\nsleep 1\n")
        tried = types.replace("sbatch ", f"sbatch --test-only -n1 -D {tmp_path} ")
        subprocess.run(["sh", "-ec", tried], check=True, cwd=tmp_path, timeout=60)
    finally:
        if numbers:
            answered("scancel", *numbers)
