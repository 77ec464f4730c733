"""What `cotenant measure` is given: jobs, CPUs, a store; each wrong one refused before any run."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine, simulated_jobs
from support.messages import refused

from cotenant.cluster.measure import command
from cotenant.cluster.measure.jobs import Job, read_jobs
from cotenant.cluster.measure.measure import Summary
from cotenant.cluster.measure.measure import measure as run
from cotenant.cluster.measure.profiles import profiles
from cotenant.cluster.measure.store import opened
from cotenant.cluster.measure.topology import (
    Seats,
    Topology,
    choose_seats,
    cpu_list,
    cpu_text,
    divided_cpus,
    read_topology,
    require_pinning,
)
from cotenant.instances.problem.errors import CotenantError, InvalidFile, InvalidOption

GOOD = '[[job]]\nname = "a"\ncommand = ["true"]\n'
TWO = np.array([[0.1, 0.3], [0.05, 0.2]])


def written(folder: Path, text: str) -> Path:
    path = folder / "jobs.toml"
    path.write_text(text)
    return path


def test_job_fields_are_read_with_folder_relative_to_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = GOOD + (
        'directory = "in"\nenvironment = {LEVEL = "3"}\ntimeout = 20\ncount = 5\nbandwidth = 1.5\n'
    )
    (job,) = read_jobs(written(tmp_path, text))
    assert (job.name, job.command, job.directory) == ("a", ("true",), tmp_path / "in")
    assert (job.environment, job.timeout, job.count, job.bandwidth) == ({"LEVEL": "3"}, 20, 5, 1.5)
    assert job.variables["LEVEL"] == "3"
    (plain,) = read_jobs(written(tmp_path, GOOD))
    assert (plain.timeout, plain.count, plain.bandwidth) == (None, 2, None)


WRONG = (
    "timeut = 3", "timeout = true", "count = 0", "bandwidth = nan", 'directory = "nowhere"',
    "environment = {LEVEL = 3}", GOOD, 'bandwidth = 1\n[[job]]\nname = "b"\ncommand = ["true"]',
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "[[job]", "[other]\n", "job = 3", GOOD.replace('"a"', '"a\\u001b"'), GOOD.replace('"a"', '"--help"'),
        GOOD.replace('["true"]', '"true"'), GOOD.replace('["true"]', "[]"),
        GOOD.replace('"true"', '"no-such-program"'), *(GOOD + field for field in WRONG),
    ],
)  # fmt: skip
def test_invalid_job_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with refused(CotenantError) as error:
        read_jobs(written(tmp_path, text))
    assert "jobs.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_changed_program_or_input_changes_job_fingerprint(tmp_path: Path) -> None:
    program, data = tmp_path / "program", tmp_path / "data"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    data.write_text("1")

    def now(**fields: object) -> str:
        return Job("a", ("./program", "data"), directory=tmp_path, **fields).fingerprint

    first = now()
    assert now() == first
    assert now(count=7, timeout=3.0) == first
    assert now(environment={"LEVEL": "3"}) != first
    data.write_text("2")
    second = now()
    assert second != first
    program.write_text("#!/bin/sh\ntrue\n")
    assert now() not in (first, second)


def sysfs(folder: Path, packages: list[list[list[int]]]) -> Path:
    """A machine in sysfs: packages of cores of threads, an L2 a core, an L3 a package."""

    files = {"online": cpu_text([c for package in packages for core in package for c in core])}
    for number, package in enumerate(packages):
        for core in package:
            caches = [("Data", 1, core), ("Instruction", 1, core), ("Unified", 2, core)]
            caches.append(("Unified", 3, [cpu for each in package for cpu in each]))
            for cpu in core:
                files[f"cpu{cpu}/topology/thread_siblings_list"] = cpu_text(core)
                files[f"cpu{cpu}/topology/physical_package_id"] = str(number)
                for index, (kind, level, shared) in enumerate(caches):
                    at = f"cpu{cpu}/cache/index{index}"
                    files[f"{at}/level"], files[f"{at}/type"] = str(level), kind
                    files[f"{at}/shared_cpu_list"] = cpu_text(shared)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")
    return folder


TWO_SOCKETS = [[[0, 8], [1, 9], [2, 10], [3, 11]], [[4, 12], [5, 13], [6, 14], [7, 15]]]


@pytest.fixture(scope="module")
def two_sockets(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    folder = tmp_path_factory.mktemp("sysfs")
    return replace(read_topology(sysfs(folder, TWO_SOCKETS)), allowed=set(range(16)))


def test_seats_are_halves_of_one_cache_with_whole_cores(two_sockets: Topology) -> None:
    assert two_sockets.domains() == [(*range(4), *range(8, 12)), (*range(4, 8), *range(12, 16))]
    seats = choose_seats(two_sockets)
    assert (*seats.parts, seats.shared) == ((0, 1, 8, 9), (2, 3, 10, 11), "L3")
    asked = choose_seats(two_sockets, "5,6,7")
    assert asked.parts == ((5,), (6,))
    siblings = choose_seats(two_sockets, "3,11")
    assert (*siblings.parts, siblings.shared) == ((3,), (11,), "core")
    assert choose_seats(two_sockets, "0,4").shared == "memory"


def test_machine_without_cache_facts_is_divided_by_packages(tmp_path: Path) -> None:
    (tmp_path / "online").write_text("0-1\n")
    seats = choose_seats(replace(read_topology(tmp_path), allowed={0, 1}))
    assert (*seats.parts, seats.shared) == ((0,), (1,), "package")


@pytest.mark.parametrize(
    ("cpus", "allowed"),
    [*((cpus, range(16)) for cpus in ("0-99", "3", "a", "", "3-1")), ("0,5", [5]), (None, [5])],
)
def test_cpus_without_two_seats_are_refused(
    two_sockets: Topology, cpus: str | None, allowed: Iterable[int]
) -> None:
    with refused(InvalidOption):
        choose_seats(replace(two_sockets, allowed=set(allowed)), cpus)


def test_system_that_cannot_pin_is_refused() -> None:
    with refused(InvalidOption):
        require_pinning(Seats(((4000,), (4001,)), "L3"))


def test_computer_is_divided_by_cache_and_core() -> None:
    cores = {cpu: (cpu,) for cpu in range(4)}
    one = Topology(cores, {}, dict.fromkeys(cores, 0), set(cores))
    assert divided_cpus(one, 2) == ["0-1", "2-3"]
    with refused(InvalidOption):
        divided_cpus(replace(one, caches={3: dict(cores)}), 1)  # no two CPUs share a cache
    with refused(InvalidOption):
        divided_cpus(one, 4)
    assert len(divided_cpus(one, 4, overlap=True)) == 4


def test_cpu_lists_are_read_and_written() -> None:
    assert cpu_list("0-3, 8,10-11") == (0, 1, 2, 3, 8, 10, 11)
    assert cpu_text((8, 0, 1, 2, 3, 11, 10)) == "0-3,8,10-11"


def measured(store: Path, **options: object) -> Summary:
    machine = SimulatedMachine(TWO, [5, 7], noise=0.005)
    given = {"machine": machine, "half_width": 0.05, **options}
    return run(simulated_jobs(2), store, **given)


def test_store_of_other_machine_needs_the_option(tmp_path: Path) -> None:
    store = tmp_path / "lab.db"
    measured(store)
    other = type("AnotherMachine", (SimulatedMachine,), {})(TWO, [5, 7], noise=0.005)
    with refused(InvalidFile):
        measured(store, machine=other)
    found = measured(store, machine=other, other_machine=True)
    assert found.stop == "reached"
    with opened(store) as rows:
        assert len(rows.looks(1)) == len(rows.looks(2)) > 0


def test_store_of_other_version_or_program_is_refused(tmp_path: Path) -> None:
    measured(tmp_path / "lab.db")
    with sqlite3.connect(tmp_path / "lab.db") as rows:
        rows.execute("PRAGMA user_version = 99")
    with sqlite3.connect(tmp_path / "other.db") as rows:
        rows.execute("CREATE TABLE t (x)")
    (tmp_path / "text.db").write_text("no database, but text" * 100)
    with opened(tmp_path / "empty.db", new=True):
        pass
    for use, name in (
        (measured, "lab"), (profiles, "lab"), (measured, "other"), (profiles, "text"),
        (profiles, "empty"), (profiles, "nothing"),
    ):  # fmt: skip
        with refused(InvalidFile):
            use(tmp_path / f"{name}.db")


def test_full_disk_keeps_every_stored_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "lab.db"
    measured(store)
    before = profiles(store).surroundings["ok"]
    connect = sqlite3.connect

    def small(*given: Any, **keywords: Any) -> sqlite3.Connection:
        made = connect(*given, **keywords)
        pages = made.execute("PRAGMA page_count").fetchone()[0]
        made.execute(f"PRAGMA max_page_count = {pages}")
        return made

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        with refused(InvalidFile):
            measured(store, half_width=0.001)
    after = profiles(store).surroundings["ok"]
    assert after >= before
    with sqlite3.connect(store) as rows:  # whole visits only
        assert rows.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        lonely = "SELECT COUNT(*) FROM visit WHERE id NOT IN (SELECT visit FROM run)"
        assert rows.execute(lonely).fetchone() == (0,)


def test_measure_refuses_other_systems_and_missing_psutil(
    monkeypatch: pytest.MonkeyPatch, not_installed: Any
) -> None:
    not_installed("psutil")
    with refused(InvalidOption):
        command.require_linux()
    monkeypatch.setattr(sys, "platform", "darwin")
    with refused(InvalidOption):
        command.require_linux()
