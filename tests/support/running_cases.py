"""A coordinator on a store of three types, with machines on paper."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cotenant.baselines.colocation import greedy
from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measure import measure
from cotenant.cluster.measure.profiles import Predictor, profile_of
from cotenant.cluster.measure.store import Store, opened
from cotenant.cluster.run.coordinator import Coordinator, Summary
from cotenant.cluster.run.queue_store import QueuedJob, QueueStore
from cotenant.cluster.run.settings import Settings
from cotenant.instances.colocation import Colocation
from support.fake_machine import SimulatedMachine, simulated_jobs

TRUTH = np.array([[0.1, 0.3, 0.02], [0.05, 0.2, 0.01], [0.0, 0.15, 0.05]])


class Known(Predictor):
    """Predictor that knows every penalty exactly."""

    def __init__(self, profile: Any, matrix: Colocation) -> None:
        super().__init__(profile)
        self._known = matrix

    def instance(self) -> Colocation:
        return self._known


def lab(path: Path, truth: np.ndarray = TRUTH) -> None:
    """Write a measurement store in which every pair was measured almost exactly."""
    work = [5.0] * len(truth)
    machine = SimulatedMachine(truth, work, noise=1e-4)
    measure(simulated_jobs(len(truth)), path, machine=machine, half_width=0.02)


def settings(**changes: Any) -> Settings:
    return Settings(**{"epoch": 1.0, "pressure": 0.5, **changes})


def queued(kinds: Sequence[str]) -> list[QueuedJob]:
    return [
        QueuedJob(f"job-{place}", Job(kind, ("true",)), True) for place, kind in enumerate(kinds)
    ]


def once(name: str, kind: str) -> QueuedJob:
    """A job that may not be begun again."""
    return QueuedJob(name, Job(kind, ("true",)), False)


class Run:
    """Coordinator on a store with simulated machines, and jobs of given types."""

    def __init__(
        self,
        open_stores: ExitStack,
        path: Path,
        jobs: str | Sequence[QueuedJob],
        machines: Any,
        *,
        matrix: Colocation | None = None,
        policy: Callable[..., Any] = greedy,
        **changes: Any,
    ) -> None:
        self.rows: Store = open_stores.enter_context(opened(path, new=True))
        self.queue_store = QueueStore(self.rows)
        self.queue_store.prepare()
        self.queue_store.enqueue(queued(jobs) if isinstance(jobs, str) else jobs)
        profile = profile_of(self.rows)
        session = self.rows.begin_session(1, machines.now(), profile.settings)
        predictor = Predictor(profile) if matrix is None else Known(profile, matrix)
        self.lines: list[str] = []
        self.coordinator = Coordinator(
            self.rows, self.queue_store.entries(), self.queue_store.running(), predictor, machines, policy,
            settings(**changes), session, tell=self.lines.append,
        )  # fmt: skip

    def whole(self) -> Summary:
        return self.coordinator.run()

    def states(self) -> Counter[str]:
        return Counter(entry.state for entry in self.queue_store.entries())


Begin = Callable[..., Run]


@pytest.fixture(name="begin")
def runs_on_the_store(store: Path) -> Iterator[Begin]:
    """Make a `Run` of given jobs and machines on the store."""
    with ExitStack() as open_stores:
        yield partial(Run, open_stores, store)


@pytest.fixture(name="measured", scope="module")
def measured_lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "lab.db"
    lab(path)
    return path


@pytest.fixture(name="store")
def store_copied(measured: Path, tmp_path: Path) -> Path:
    path = tmp_path / "lab.db"
    with sqlite3.connect(measured) as source, sqlite3.connect(path) as target:
        source.backup(target)
    return path
