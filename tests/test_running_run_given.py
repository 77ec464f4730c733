"""What `cotenant measure` and `cotenant run` are given (jobs, CPUs, a queue, a store): each wrong input
is refused in one line, before any job.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine, simulated_jobs
from support.files import text_file
from support.messages import approved, refused
from support.terminal import run

from cotenant.analysis.run.lock import locked
from cotenant.cluster.measure import command
from cotenant.cluster.measure.jobs import Job, read_jobs
from cotenant.cluster.measure.measure import Summary, measure
from cotenant.cluster.measure.measure import measure as measure_jobs
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
from cotenant.cluster.run.job_advice import job_advice
from cotenant.cluster.run.queue_store import PlacedGroup, QueuedJob, QueueStore, read_queue
from cotenant.cluster.run.run import policy_of, sbatch_script
from cotenant.instances.problem.errors import (
    CotenantError,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
)

pytest.importorskip("psutil", reason="python -m pip install '.[measure]'")

GOOD = '[[job]]\nname = "j"\ntype = "0"\ncommand = ["true"]\nrerun = "yes"\n'


def written(folder: Path, text: str = GOOD) -> Path:
    return text_file(folder, text, "queue.toml")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    machine = SimulatedMachine(np.array([[0.1, 0.3], [0.1, 0.05]]), [5.0, 5.0], noise=1e-3)
    path = tmp_path / "lab.db"
    measure([Job(name, ("true",)) for name in "01"], path, machine=machine, half_width=0.05)
    return path


def test_queued_job_is_read_and_restored_from_store(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = GOOD + 'directory = "in"\nenvironment = {A = "1"}\ntimeout = 9\noutput = "o.txt"\n'
    (one,) = read_queue(written(tmp_path, text))
    assert (one.name, one.job.name, one.rerun, one.output) == ("j", "0", True, "o.txt")
    assert (one.job.directory, one.job.timeout) == (tmp_path / "in", 9.0)
    assert QueuedJob.from_document("j", "0", True, one.document(), "x.db") == one
    (plain,) = read_queue(written(tmp_path, GOOD.replace("yes", "no")))
    assert (plain.rerun, plain.output, plain.job.timeout) == (False, "", None)


@pytest.mark.parametrize(
    "text",
    ["", GOOD + GOOD, GOOD.replace('"yes"', "true"), GOOD.replace('"true"', '"no-such-program"'),
     GOOD + "count = 3\n", GOOD + "output = 3\n"],
)  # fmt: skip
def test_invalid_queue_file_is_refused(tmp_path: Path, text: str) -> None:
    with refused(CotenantError):
        read_queue(written(tmp_path, text))


def test_queue_for_other_machines_may_name_unknown_programs(tmp_path: Path) -> None:
    queue = written(tmp_path, GOOD.replace('"true"', '"no-such-program"'))
    assert read_queue(queue, here=False)[0].job.command == ("no-such-program",)


def test_run_refuses_invalid_options_before_any_job(store: Path, tmp_path: Path) -> None:
    queue = written(tmp_path)
    words = ("run", "queue", str(queue), "--store", str(store))
    wrong = tmp_path / "settings.toml"
    wrong.write_text("epoch = 0")
    for options in (
        "--local 0", "--local 1 -m stabel", "--local 1 -o alpha=x", "--local 1 -o alfa=1",
        "--local 1 -o alpha=-1", f"--settings {wrong}", "--local 1 -m core",
    ):  # fmt: skip
        done = run(*words, *options.split())
        assert done.returncode == 2, (options, done.stderr)
        approved(done.stderr[done.stderr.index("error:") :])  # what is loaded may come first
    assert "machines of two seats" in run(*words, "--local", "9999").stderr
    with opened(store) as rows:
        assert not QueueStore(rows).exists() or not rows.rows(
            "SELECT 1 FROM queued WHERE attempts > 0"
        )


def test_run_refuses_missing_or_locked_store_and_unknown_type(store: Path, tmp_path: Path) -> None:
    def refusal(text: str, path: Path, *options: str) -> str:
        words = ("run", "queue", str(written(tmp_path, text)), "--store", str(path), "--local", "1")
        done = run(*words, *options)
        assert done.returncode == 2
        return done.stderr

    approved(refusal(GOOD, tmp_path / "no.db"))
    unknown = GOOD.replace('type = "0"', 'type = "2"')
    approved(refusal(unknown, store))
    with locked(store):
        assert f"process {os.getpid()}" in refusal(GOOD, store)


NAMES = ["plain", "a 'b' $(touch owned)", "x;y#z"]


def hostile_queue(folder: Path) -> Path:
    """Jobs whose names, words, folder and files hold what a shell takes for its own."""
    work = folder / "my $HOME; folder"
    work.mkdir()
    (work / "tool").write_text(
        '#!/bin/sh\nprintf "%s|" "$A" "$@" "$SLURM_JOB_ID" >> done\necho >> done\nexit 0\n'
    )
    (work / "tool").chmod(0o755)
    text = "".join(
        f'[[job]]\nname = {json.dumps(name)}\ntype = "{place % 2}"\nrerun = "no"\n'
        f'command = ["./tool", "--wrap=$(id)", "\'", {json.dumps(name)}]\ntimeout = 60\n'
        f'directory = "my $HOME; folder"\noutput = "o %j $x"\nenvironment = {{A = "`id` $A"}}\n'
        for place, name in enumerate(NAMES)
    )
    return written(folder, text)


def lines_done(folder: Path) -> list[list[str]]:
    text = (folder / "my $HOME; folder" / "done").read_text()
    return sorted(line.split("|")[:-1] for line in text.splitlines())


def test_sbatch_script_runs_each_job_once_with_exact_arguments(store: Path, tmp_path: Path) -> None:
    queue = hostile_queue(tmp_path)
    done = run(
        "run", "queue", str(queue), "--store", str(store), "--emit", "sbatch", "-m", "optimal"
    )
    assert done.returncode == 0, done.stderr
    approved(done.stdout)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {
        "sbatch": "n=$(ls ../ids | wc -l); touch ../ids/$n; SLURM_JOB_ID=$n sh",
        "srun": 'while test "$1" != --; do shift; done; shift; exec "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "ids").mkdir()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(
        ["sh"], input=done.stdout.encode(), cwd=programs, env=environment, check=True, timeout=60
    )
    found = lines_done(tmp_path)
    assert [words[:4] for words in found] == [
        ["`id` $A", "--wrap=$(id)", "'", name] for name in sorted(NAMES)
    ]
    assert sorted(Counter(words[4] for words in found).values()) == [1, 2]  # jobs of a node
    assert not list(tmp_path.rglob("owned"))


def test_multiline_arguments_are_refused_in_sbatch_script(store: Path, tmp_path: Path) -> None:
    for field in ('command = ["true", "a\\nb"]', 'command = ["true"]\noutput = "a\\nEND_OF_JOB"'):
        queue = written(tmp_path, GOOD.replace('command = ["true"]', field))
        with refused(InvalidInstance):
            sbatch_script(queue, store)


def test_method_without_answer_in_time_is_replaced_by_policy() -> None:
    from cotenant import read
    from cotenant.solvers.outcome import Outcome, Status, Stop

    tiny = read("colocation/tiny")

    def slow(problem: Any, *, rng: Any, time_limit: float | None = None) -> Outcome:
        assert time_limit == 0.5
        return Outcome(None, None, Status.UNKNOWN, Stop.TIME_LIMIT)

    answer = policy_of(slow, {}, 0.5)(tiny, rng=np.random.default_rng(0))
    assert answer.pairs.sum() == tiny.agents // 2


def test_queue_status_fits_80_columns() -> None:
    from cotenant.cli.running import status_words
    from cotenant.cluster.run.coordinator import QueueStatus

    status = QueueStatus(1000, 120, 31000, 800, 120, 160000, 12, 120, 1400, 7, "x264: exit 139")
    status.seen.append((0.021, 0.004, 0.019))
    shown = f"- running: {status_words(status)}".split("\n")
    assert len(shown) == 4
    assert max(map(len, shown)) <= 80
    assert shown[3] == "  void 7 (x264: exit 139)"


def enter_queue(store: Path) -> None:
    """Write a queue of five jobs, four of them placed on two machines."""
    with opened(store, new=True) as rows:
        queue_store = QueueStore(rows)
        queue_store.prepare()
        jobs = [QueuedJob(f"j{n}", Job(kind, ("true",)), True) for n, kind in enumerate("01010")]
        queue_store.enqueue(jobs)
        epoch = {
            "id": 1, "session": 1, "begin": 0.0, "decided": 0.0, "waiting": 5, "placed": 4,
            "penalty": 0.2, "low": 0.1, "high": 0.3, "certain": 0, "possible": 0,
        }  # fmt: skip
        groups = [
            PlacedGroup("g", 1, "m", (1, 2), ((0.3, 0.3, 0.3), (0.1, 0.1, 0.1))),
            PlacedGroup("h", 1, "n", (3, 4), ((0.3, 0.3, 0.3), (0.1, 0.1, 0.1))),
        ]
        queue_store.begin_epoch(epoch, groups, 0.0)


def test_run_advice_prints_recommendation_for_one_job(store: Path) -> None:
    approved(run("run", "advice", str(store), "1").stderr)
    enter_queue(store)
    done = run("run", "advice", str(store), "j0")
    assert done.returncode == 0, done.stderr
    approved(done.stdout)
    found = json.loads(run("run", "advice", str(store), "2", "--json").stdout)
    assert found["action"] == "participate" or found["certain"]
    approved(run("run", "advice", str(store), "j0", "--alpha", "0.3").stdout)
    approved(run("run", "advice", str(store), "j4").stdout)
    gone = run("run", "advice", str(store), "nobody")
    assert gone.returncode == 2
    approved(gone.stderr)


VALUES: tuple[Any, ...] = (
    "x", None, -1, 2**62, 1e300, b"\xff", "{}", "[]", '{"a": 1}', '["x", 1]', "nan", "",
)  # fmt: skip


def tampered(store: Path, copy: Path, table: str, column: str, value: Any) -> None:
    """A copy of a store in which a column of a table's rows is another value, whatever it may hold
    by its declaration.
    """
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(store)) as rows:
        rows.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy)) as rows:
        (kept,) = rows.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()

    def declare(text: str) -> None:
        with closing(sqlite3.connect(copy)) as rows:
            rows.execute("PRAGMA writable_schema = ON")
            rows.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (text, table))
            rows.commit()

    declare(re.sub("(?<!IS) NOT NULL| (INTEGER|REAL|TEXT)(?! PRIMARY)", "", kept))
    with closing(sqlite3.connect(copy)) as rows:
        rows.execute("PRAGMA ignore_check_constraints = ON")
        with suppress(sqlite3.IntegrityError):  # rows of one name
            rows.execute(f"UPDATE {table} SET {column} = ?", (value,))
        rows.commit()
    declare(kept)


def read_whole(store: Path) -> None:
    """Everything that is read of a store, for people and for machines."""
    found = profiles(store)
    json.dumps(found.document())
    found.tables()
    for job in "15":
        job_advice(store, job)
    with opened(store) as rows:
        queue_store = QueueStore(rows)
        queue_store.jobs(range(6))
        queue_store.running()
        queue_store.run_settings()


def columns(store: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(store)) as rows:
        tables = rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return [
            (name, row[1])
            for (name,) in tables
            for row in rows.execute(f"PRAGMA table_info({name})")
        ]


@pytest.mark.slow
def test_tampered_store_values_raise_own_errors(store: Path, tmp_path: Path) -> None:
    enter_queue(store)
    read_whole(store)
    copy, said, raised = tmp_path / "copy.db", list[str](), list[str]()
    for table, column in columns(store):
        for value in VALUES:
            tampered(store, copy, table, column, value)
            try:
                read_whole(copy)
            except CotenantError as error:
                said.append(str(error))
            except Exception as error:
                raised.append(f"{table}.{column} = {value!r}: {error!r}")
    assert raised == []
    assert len(said) > len(VALUES) * len(columns(store)) / 2
    assert not any("\n" in message for message in said)


def test_store_with_changed_bytes_views_or_triggers_is_refused(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    tampered(store, copy, "meta", "value", "x")
    whole = copy.read_bytes()
    copy.write_bytes(whole.replace(b"pressure REAL", b"pressur\xff REAL"))
    with refused(InvalidFile):
        profiles(copy)
    for statement in (
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
        "ALTER TABLE run RENAME COLUMN covered TO other",
    ):
        copy.write_bytes(whole)
        with closing(sqlite3.connect(copy)) as rows:
            rows.execute(statement)
        with refused(InvalidFile):
            profiles(copy)


GOOD_JOB = '[[job]]\nname = "a"\ncommand = ["true"]\n'
TWO = np.array([[0.1, 0.3], [0.05, 0.2]])


def job_file(folder: Path, text: str) -> Path:
    return text_file(folder, text, "jobs.toml")


def test_job_fields_are_read_with_folder_relative_to_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = GOOD_JOB + (
        'directory = "in"\nenvironment = {LEVEL = "3"}\ntimeout = 20\ncount = 5\nbandwidth = 1.5\n'
    )
    (job,) = read_jobs(job_file(tmp_path, text))
    assert (job.name, job.command, job.directory) == ("a", ("true",), tmp_path / "in")
    assert (job.environment, job.timeout, job.count, job.bandwidth) == ({"LEVEL": "3"}, 20, 5, 1.5)
    assert job.variables["LEVEL"] == "3"
    (plain,) = read_jobs(job_file(tmp_path, GOOD_JOB))
    assert (plain.timeout, plain.count, plain.bandwidth) == (None, 2, None)


WRONG = (
    "timeut = 3", "timeout = true", "count = 0", "bandwidth = nan", 'directory = "nowhere"',
    "environment = {LEVEL = 3}", GOOD_JOB, 'bandwidth = 1\n[[job]]\nname = "b"\ncommand = ["true"]',
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "", "[[job]", "[other]\n", "job = 3", GOOD_JOB.replace('"a"', '"a\\u001b"'), GOOD_JOB.replace('"a"', '"--help"'),
        GOOD_JOB.replace('["true"]', '"true"'), GOOD_JOB.replace('["true"]', "[]"),
        GOOD_JOB.replace('"true"', '"no-such-program"'), *(GOOD_JOB + field for field in WRONG),
    ],
)  # fmt: skip
def test_invalid_job_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with refused(CotenantError) as error:
        read_jobs(job_file(tmp_path, text))
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


def test_machine_with_unknown_caches_is_divided_by_processor_packages(tmp_path: Path) -> None:
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
    return measure_jobs(simulated_jobs(2), store, **given)


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
