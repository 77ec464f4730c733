"""`cotenant measure` and `cotenant profiles`, as a person or a script meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.cli.measuring import _seconds
from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measure import measure
from cotenant.instances.problem.errors import InvalidOption


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of eight jobs, of which one pair fails."""
    truth = np.random.default_rng(0).uniform(0, 0.3, (8, 8))

    def crash(number: int, members: list[int | None]) -> str:
        return "exit 139: no memory" if members in ([2, 5], [5, 2]) else ""

    machine = SimulatedMachine(truth, [5.0] * 8, noise=0.01, drift=0.02, error=crash)
    jobs = [Job(str(index), ("true",)) for index in range(8)]
    store = tmp_path_factory.mktemp("lab") / "lab.db"
    measure(jobs, store, machine=machine, half_width=0.03)
    return store


def test_profiles_table_with_intervals_and_failed_pairs_fits_80_columns(lab: Path) -> None:
    done = run("profiles", str(lab), COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in ("±", "control", "alone s", "looks", "void"):
        assert words in done.stdout
    whole = " ".join(done.stdout.split())
    assert "hold together with 95 % (Student's t, Bonferroni over 64 entries)" in whole
    assert "Failed twice: 2 beside 5: exit 139: no memory" in whole
    approved(whole)


def test_profiles_command_writes_instance_with_failed_pairs_only_with_voids_option(
    lab: Path,
) -> None:
    out = lab.with_name("jobs.json")
    done = run("profiles", str(lab), "--out", str(out))
    assert done.returncode == 2
    approved(done.stderr)
    assert not out.exists()
    done = run("profiles", str(lab), "--out", str(out), "--voids", "forbid", "--json")
    assert done.returncode == 0, done.stderr
    approved(json.loads(done.stdout)["voids"][0]["reason"])
    made = cotenant.read(out)
    assert not made.allowed[2, 5]
    assert made.confidence == 0.95
    assert "uncertainty=possible" in done.stderr
    wider = run("profiles", str(lab), "--confidence", "0.99", "--json")
    ends = [
        np.mean([entry["high"] - entry["low"] for entry in json.loads(text)["penalties"]])
        for text in (done.stdout, wider.stdout)
    ]
    assert ends[0] < ends[1]


def test_measure_refuses_invalid_options_in_one_line(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.toml"
    jobs.write_text('[[job]]\nname = "a"\ncommand = ["true"]\n')
    store = tmp_path / "lab.db"
    for options in (
        ["--cpus", "0"], ["--budget", "soon"], ["--half-width", "0"],
        ["--store", str(tmp_path / "no" / "lab.db")], ["--store", str(jobs)],
    ):  # fmt: skip
        done = run("measure", str(jobs), "--store", str(store), *options)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), options
        approved(done.stderr)
        assert not store.exists()
    done = run("measure", str(jobs), "--store", str(store))
    assert (done.returncode, "job 'a'" in done.stderr) == (2, True)  # too short to be measured


def test_durations_are_read_with_units() -> None:
    assert [_seconds(text) for text in ("90", "90s", "1.5 min", "2h", "1d")] == [
        90, 90, 90, 7200, 86400,
    ]  # fmt: skip
    for text in ("", "h", "-3", "0s", "2 weeks", "1h30"):
        with refused(InvalidOption):
            _seconds(text)
