"""Measure time and memory of an epoch of a large queue, for decisions and for writing them.

    python benchmarks/bench_queue.py [--machines N] [--jobs N] [--types N] [--epochs N]
        [--forbidden SHARE] [METHOD...]

A simulated cluster: the store, the beliefs with their intervals, the queue and the coordinator are
the real ones; machines only say after a while that a group has ended. Types are measured in six
rounds; with `--forbidden` jobs of a share of them may be beside nobody. Columns: epoch; jobs
waiting and placed; seconds of the decision (beliefs, pairing and advice), and of the whole epoch
(what ended is written, the decision, what begins is written); the most memory of this process so
far [MB].
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from form import Rows, parser

from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measurement import JobRuns, Measurement, MeasurementRequest, Run
from cotenant.cluster.measure.profiles import Predictor, profile_of
from cotenant.cluster.measure.store import Store, opened
from cotenant.cluster.run.coordinator import Coordinator
from cotenant.cluster.run.dispatcher import Ended
from cotenant.cluster.run.queue_store import QueuedJob, QueueStore
from cotenant.cluster.run.run import policy_of
from cotenant.cluster.run.settings import Settings

ROUNDS = 6
LIMIT = 1.0


class Fleet:
    """Machines of which a tenth is done at every look."""

    def __init__(self, number: int) -> None:
        self.clock = 1e9
        self._machines = {f"m{place:06}": {"machine": str(place)} for place in range(number)}
        self._running: deque[tuple[str, int]] = deque()

    def now(self) -> float:
        return self.clock

    def all(self) -> Mapping[str, Mapping[str, str]]:
        return self._machines

    def start(self, machine: str, group: str, request: MeasurementRequest) -> None:
        self._running.append((group, len(request.members)))

    def ended(self, seconds: float) -> list[Ended]:
        self.clock += 10.0
        found = []
        for _ in range(max(1, len(self._running) // 10) if self._running else 0):
            group, jobs = self._running.popleft()
            member = JobRuns((Run(self.clock, 6.0, 6.0, float(jobs > 1)),))
            found.append(Ended(group, Measurement((member,) * jobs, self.clock, 6.0, 0.0)))
        return found

    def end_all(self) -> None:
        pass


def measured(rows: Store, types: int) -> None:
    """A store of so many types, every pair measured in every round."""
    rng = np.random.default_rng(0)
    loss = rng.gamma(2.0, 0.04, types)[None, :] * rng.uniform(0.5, 1.5, types)[:, None]
    place = rows.machine("bench", {"machine": "bench"}, other=True)
    ids = [rows.job(Job(str(kind), ("true",))) for kind in range(types)]
    session = rows.begin_session(
        place, 0.0,
        {"jobs": ids, "names": [str(kind) for kind in range(types)], "counts": [2] * types,
         "bandwidth": [None] * types, "time": "cpu", "confidence": 0.95, "pressure": 0.1},
    )  # fmt: skip

    def member(seconds: float, covered: float) -> JobRuns:
        noisy = float(seconds * np.exp(rng.normal(0, 0.01)))
        return JobRuns((Run(1e9, noisy, noisy, covered),))

    with rows.writing():
        for number in range(1, ROUNDS + 1):
            settings = {"session": session, "machine": place, "round": number, "most_pressure": 1.0}
            for a in range(types):
                alone = Measurement((member(5.0, 0.0),), 1e9, 5.0, 0.0)
                rows.add(alone, [ids[a]], **settings)
                for c in range(a, types):
                    both = (member(5 / (1 - loss[a, c]), 1.0), member(5 / (1 - loss[c, a]), 1.0))
                    visit = Measurement(both, 1e9, 5.0, 0.0)
                    rows.add(visit, [ids[a], ids[c]], **settings)


def main() -> None:
    """Run the queue for a few epochs, by each method."""
    command = parser(__doc__)
    command.add_argument("methods", nargs="*", default=["GR", "stable", "optimal"])
    command.add_argument("--machines", type=int, default=10_000)
    command.add_argument("--jobs", type=int, default=100_000)
    command.add_argument("--types", type=int, default=50)
    command.add_argument("--epochs", type=int, default=4)
    command.add_argument("--forbidden", type=float, default=0.0)
    chosen = command.parse_args()
    table = Rows(chosen.json)
    alone = range(round(chosen.forbidden * chosen.types))
    voids = {(a, c): "exit 1" for a in alone for c in range(a, chosen.types)}
    title = f"{chosen.machines} machines of 2 seats, {chosen.types} types"
    title += f", {len(alone)} of them beside nobody" if alone else ""
    kinds = np.random.default_rng(1).integers(0, chosen.types, chosen.jobs).tolist()
    for method in chosen.methods:
        with tempfile.TemporaryDirectory() as folder, opened(Path(folder) / "b.db", new=True) as db:
            measured(db, chosen.types)
            ledger, profile = QueueStore(db), replace(profile_of(db), voids=voids)
            ledger.prepare()
            ledger.enqueue(
                [
                    QueuedJob(f"job-{number}", Job(str(kind), ("true",)), True)
                    for number, kind in enumerate(kinds)
                ]
            )
            options = {"alpha": 0.03, "uncertainty": "certain"} if method == "stable" else {}
            fleet: Any = Fleet(chosen.machines)
            session = db.begin_session(1, fleet.now(), profile.settings)
            coordinator = Coordinator(
                db, ledger.entries(), [], Predictor(profile, "forbid"), fleet,
                policy_of(method, options, LIMIT),
                Settings(1.0, 0.5, "forbid"), session, alpha=0.03,
            )  # fmt: skip
            for number in range(1, chosen.epochs + 1):
                began = time.perf_counter()
                coordinator.step(fleet.ended(0.0))
                whole = time.perf_counter() - began
                waiting, placed, decided = db.rows(
                    "SELECT waiting, placed, decided FROM epoch WHERE id = ?", (number,)
                )[0]
                table.add(
                    title, method=method, epoch=number, waiting=waiting, placed=placed,
                    decided=decided, whole=whole,
                    memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                )  # fmt: skip


if __name__ == "__main__":
    main()
