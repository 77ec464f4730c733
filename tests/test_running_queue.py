"""The coordinator on a cluster on paper: what it decides, what it writes down, and what it does when
jobs, machines and disks fail.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_cluster import SimulatedMachines
from support.messages import approved, refused
from support.oracles.epochs import run_epochs
from support.running_cases import (  # noqa: F401
    Begin,
    Run,
    lab,
    measured_lab,
    once,
    queued,
    runs_on_the_store,
    settings,
    store_copied,
)

from cotenant.baselines.colocation import greedy
from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.profiles import Predictor, profile_of, profiles
from cotenant.cluster.run.coordinator import Coordinator
from cotenant.cluster.run.placement import WaitingQueue
from cotenant.cluster.run.queue_store import QueuedJob
from cotenant.instances.colocation import Colocation
from cotenant.instances.problem.errors import InvalidFile, InvalidInstance


@pytest.mark.parametrize("seed", range(6))
def test_coordinator_with_known_penalties_equals_simulator(begin: Begin, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = Colocation(rng.uniform(0, 0.4, (3, 3)), np.full(3, 2), names=("0", "1", "2"))
    arrivals = rng.integers(0, 4, (12, 3))
    arrivals[0] += 1
    length = rng.integers(1, 4, 3)
    simulated, real = list[Any](), list[Any]()

    def policy(into: list[Any]) -> Callable[..., Any]:
        def asked(problem: Colocation, *, rng: np.random.Generator) -> Any:
            answer = greedy(problem, rng=rng)
            into.append((problem.count.tolist(), problem.machines, answer.document()))
            return answer

        return asked

    run_epochs(
        matrix, policy(simulated), processors=4, arrivals=arrivals, duration=length.tolist(),
        rng=np.random.default_rng(7),
    )  # fmt: skip
    machines = SimulatedMachines(4, lambda kinds: float(max(length[int(kind)] for kind in kinds)))
    kinds = "".join(str(kind) * counts[kind] for counts in arrivals for kind in range(3))
    ages = np.repeat(np.arange(12), arrivals.sum(axis=1)).tolist()
    run = begin(kinds, machines, matrix=matrix, policy=policy(real))
    entries = [*zip(run.queue_store.entries(), ages, strict=True)]
    whole = run.coordinator
    draws = np.random.default_rng(7)
    whole.random = lambda: draws  # type: ignore[method-assign]
    whole.jobs = WaitingQueue("012")
    start = machines.clock
    for epoch in range(200):
        machines.clock = start + epoch
        whole.jobs.arrive(entry for entry, age in entries if age == epoch)
        whole.step(machines.due())
    assert real == simulated
    assert run.states() == {"done": len(kinds)}


def test_queue_runs_oldest_jobs_first_each_once(begin: Begin) -> None:
    machines = SimulatedMachines(3)
    run = begin("012" * 7, machines)
    before = len(run.rows.looks(1))
    summary = run.whole()
    assert (summary.stop, summary.states) == ("finished", {"done": 21})
    assert {entry.attempts for entry in run.queue_store.entries()} == {1}
    assert sum(len(kinds) for _, kinds in machines.begun) == 21
    assert sorted(machines.begun[0][1] + machines.begun[1][1] + machines.begun[2][1]) == [*"001122"]
    assert len(run.rows.looks(1)) == before  # what was measured stays what it was
    assert len(machines.begun) == 11
    rows = run.rows.rows("SELECT placed, waiting, certain, possible FROM epoch ORDER BY id")
    assert [row[0] for row in rows] == [6, 6, 6, 3]
    assert [row[1] for row in rows] == [21, 15, 9, 3]
    assert all(row[2] <= row[3] for row in rows)


def test_failed_job_restarts_only_with_rerun(begin: Begin) -> None:
    def crash(kind: str, begun: int) -> str:
        return "exit 139" if kind == "0" and begun <= 2 else ""

    machines = SimulatedMachines(1, error=crash)
    run = begin("01", machines)
    summary = run.whole()
    assert summary.states == {"done": 2}
    assert [kinds for _, kinds in machines.begun] == [("0", "1"), ("0",), ("0",)]
    approved(run.lines[0])
    assert summary.void == 2
    assert not run.rows.produced(1) or run.rows.produced(1)[0].kind == "alone"


@pytest.mark.parametrize(
    ("why", "rerun", "times"),
    [("exit 1", True, 3), ("cannot be started: gone", True, 1), ("exit 3", False, 1)],
)
def test_job_that_always_fails_ends_unfinished(
    begin: Begin, why: str, rerun: bool, times: int
) -> None:
    machines = SimulatedMachines(1, error=lambda kind, begun: why)
    summary = begin([QueuedJob("bad", Job("1", ("true",)), rerun)], machines).whole()
    assert summary.unfinished == (("bad", f"failed: {why}"),)
    assert len(machines.begun) == times


def test_jobs_of_killed_supervisor_are_lost_or_rerun(begin: Begin) -> None:
    jobs = [*queued(["0"]), once("side-effect", "1")]
    machines = SimulatedMachines(
        1, error=lambda kind, begun: "the supervisor ended" if begun == 1 else ""
    )
    run = begin(jobs, machines)
    assert run.whole().states == {"done": 1, "lost": 1}
    assert [kinds for _, kinds in machines.begun] == [("0", "1"), ("0",)]
    assert run.rows.rows("SELECT state FROM placed ORDER BY begin") == [("lost",), ("ended",)]
    assert run.rows.rows("SELECT COUNT(*) FROM visit WHERE round < 0") == [(1,)]


def test_lost_machine_loses_only_jobs_of_its_group(begin: Begin) -> None:
    jobs = [*queued(["0", "1"]), once("side-effect", "2")]
    jobs.append(QueuedJob("other", Job("2", ("true",)), True))
    machines = SimulatedMachines(2)
    run = begin(jobs, machines)
    whole = run.coordinator
    whole.step([])
    assert run.states() == {"running": 4}
    (machine,) = run.rows.rows(
        "SELECT machine FROM placed JOIN seat ON placed = placed.id JOIN queued ON "
        "queued.id = queued WHERE name = 'side-effect'"
    )[0]
    whole.step(machines.lose(machine))
    assert [entry.name for entry in run.queue_store.entries("state = 'lost'")] == ["side-effect"]
    assert run.whole().states == {"done": 3, "lost": 1}
    begun = Counter(kind for _, kinds in machines.begun for kind in kinds)
    assert sum(begun.values()) == 5  # of the two that were lost one is begun again
    rows = run.rows.rows("SELECT state, COUNT(*) FROM placed GROUP BY state ORDER BY state")
    assert dict(rows)["lost"] == 1


def test_groups_of_killed_coordinator_are_lost_and_queue_continues(store: Path) -> None:
    jobs = [once("side-effect", "1"), *queued("0120")]
    with ExitStack() as first:
        Run(first, store, jobs, SimulatedMachines(2)).coordinator.step([])
    with ExitStack() as second:
        machines = SimulatedMachines(2)
        run = Run(second, store, jobs, machines)
        assert run.queue_store.running() == []
        assert run.states() == {"waiting": 4, "lost": 1}
        assert run.whole().states == {"done": 4, "lost": 1}
        assert [line for line in run.lines if line.startswith("side-effect lost: the command")]
    assert sorted(kind for _, kinds in machines.begun for kind in kinds) == [*"0012"]


def test_run_queue_on_full_disk_starts_no_job_group_and_delays_writes(begin: Begin) -> None:
    machines = SimulatedMachines(2, lambda kinds: 5.0 if "0" in kinds else 9.0)
    run = begin("012211", machines)
    whole = run.coordinator
    whole.step([])
    begun, good, full = len(machines.begun), whole.queue_store.end_group, itertools.count()

    def no_room(*arguments: Any, **named: Any) -> None:
        if next(full) < 2:
            raise InvalidFile("lab.db cannot be used: database or disk is full")
        good(*arguments, **named)

    whole.queue_store.end_group = no_room  # type: ignore[method-assign]
    seen = run.rows.rows("SELECT COUNT(*) FROM visit")
    machines.clock += 5
    ended = machines.due()
    assert len(ended) == 1
    whole.step(ended)  # another group runs: not the end
    assert run.rows.rows("SELECT COUNT(*) FROM visit") == seen  # all of it or nothing
    assert len(machines.begun) == begun
    assert run.whole().states == {"done": 6}


@pytest.mark.parametrize("later", [0.0, 1e5])
def test_production_runs_update_penalty_estimates(begin: Begin, later: float) -> None:
    # what was measured says 0.3 and 0.05
    machines = SimulatedMachines(2, lambda kinds: 5 / (1 - 0.25 * (set(kinds) == {"0", "1"})))
    machines.clock += later
    run = begin("01" * 7, machines)
    before = profile_of(run.rows).estimates
    assert run.whole().states == {"done": 14}
    produced = run.rows.produced(1)
    alone = [look for look in produced if look.kind == "alone"]
    # a spare machine at the end of the queue serves as reference, if none is of this hour
    assert bool(alone) == bool(later)
    shown = profiles(run.rows.path)
    after = shown.estimates
    for a, c in ((0, 1), (1, 0), (0, 0), (1, 1)):
        pairs = [look for look in produced if look.jobs in ((a + 1, c + 1), (c + 1, a + 1))]
        sides = len(pairs) * (2 if a == c else 1)
        most = len(run.rows.looks(1)) if not later else len(alone)
        assert after.samples[a, c] <= before.samples[a, c] + min(sides, most)
        if pairs and not later:
            assert after.samples[a, c] > before.samples[a, c]
            towards = 0.25 if a != c else 0.0
            assert abs(after.mid[a, c] - towards) < abs(before.mid[a, c] - towards)
    assert shown.surroundings["ok"] == len([*run.rows.looks(1)])  # production is counted apart
    epochs = run.rows.rows("SELECT low, penalty, high FROM epoch")
    assert all(low <= middle <= high for low, middle, high in epochs)


def test_job_marked_unique_is_not_fingerprinted_by_its_files(begin: Begin, tmp_path: Path) -> None:
    jobs = []
    for place, word in enumerate(["input", "other", "input"]):
        (tmp_path / word).write_text("much")
        jobs.append(QueuedJob(f"job-{place}", Job("0", ("true", word), directory=tmp_path), True))
    machines = SimulatedMachines(1)
    machines.clock += 1e5
    run = begin(jobs, machines)
    assert run.whole().states == {"done": 3}
    assert [len(kinds) for _, kinds in machines.begun] == [2, 1]  # alone, like the first one
    fingerprints = {row[0] for row in run.rows.rows("SELECT fingerprint FROM job")}
    assert {jobs[0].job.fingerprint, jobs[1].job.words_fingerprint} <= fingerprints
    assert jobs[1].job.fingerprint not in fingerprints
    assert len([name for name in run.rows.names().values() if name == "0"]) == 4


def test_queue_accepts_changes_of_waiting_jobs_only(begin: Begin) -> None:
    run = begin(queued(["0"]), SimulatedMachines(1))
    changed = [QueuedJob("job-0", Job("1", ("false",)), True)]
    run.queue_store.enqueue(changed)
    assert run.queue_store.entries()[0].kind == "1"
    run.rows._rows.execute("UPDATE queued SET attempts = 1")
    with refused(InvalidInstance):
        run.queue_store.enqueue(queued(["0"]))


def test_types_without_allowed_partner_run_alone(begin: Begin) -> None:
    from dataclasses import replace

    run = begin("001122", SimulatedMachines(3))
    voids = {(0, other): "exit 1" for other in range(3)}
    predictor = Predictor(replace(profile_of(run.rows), voids=voids), "forbid")
    whole = Coordinator(
        run.rows, run.queue_store.entries(), [], predictor, run.coordinator.machines, greedy,
        settings(voids="forbid"), 1,
    )  # fmt: skip
    assert whole.run().states == {"done": 6}
    sizes = run.rows.rows("SELECT COUNT(*) FROM seat JOIN queued ON queued.id = queued "
                          "WHERE type = '0' GROUP BY placed")  # fmt: skip
    assert sizes == [(1,), (1,)]
