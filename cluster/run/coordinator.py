"""Coordinator of a queue: in each epoch it pairs waiting jobs on free machines, starts them, and
records their ends.

Everything that is decided is in the store before it is done, and everything that is done once its
end is known: whoever dies, what is in the store is true, and the same command goes on from it.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...analysis.colocation.batches import Policy
from ...instances.problem.errors import InvalidFile
from ...solvers.interrupts import Interrupts
from ..measure.command import ENDED, fingerprint
from ..measure.measurement import JobRuns, MeasurementRequest
from ..measure.profiles import Predictor
from ..measure.store import Store, StoredMeasurement
from .dispatcher import Dispatcher, Ended
from .placement import WaitingQueue, losses, place
from .queue_store import Entry, PlacedGroup, QueuedJob, QueueStore, State
from .settings import Settings

Means = tuple[float | None, float | None, float | None]
"""Mean penalty predicted of the jobs that ended, half of its interval, and mean penalty measured,
over the jobs of which something could be measured; None while there are none.
"""


@dataclass
class QueueStatus:
    """Progress of a queue of jobs, and what the running command has done with it so far.

    Attributes
    ----------
    epoch : the number of the last one; `epochs` are those of this command.
    certain, possible : agents of the last epoch advised to leave.
    void : groups whose times did not count, and why the last one's did not.
    seen : of each job whose penalty could be measured, what `Means` are of.
    """

    machines: int = 0
    epoch: int = 0
    waiting: int = 0
    running: int = 0
    epochs: int = 0
    done: int = 0
    failed: int = 0
    certain: int = 0
    possible: int = 0
    void: int = 0
    why: str = ""
    seen: list[tuple[float, float, float]] = field(default_factory=list)

    def means(self) -> Means:
        """Mean predicted penalty of the measured jobs, half of its interval, and their mean
        measured penalty.
        """
        predicted, half, measured = np.mean(self.seen, axis=0).tolist() if self.seen else [None] * 3
        return predicted, half, measured


@dataclass(frozen=True)
class Summary:
    """Summary of a run of the queue: jobs by state, epochs, and mean penalties.

    Attributes
    ----------
    stop : "finished", or "interrupted".
    states : jobs of the queue by state.
    epochs, void : of this command; groups whose times did not count.
    predicted, half, measured : see `Means`.
    seconds : it took; 0 where all jobs were done before, and nothing was run.
    unfinished : jobs that failed or are lost, with the reason.
    """

    stop: Literal["finished", "interrupted"]
    states: Mapping[str, int]
    epochs: int
    void: int
    predicted: float | None
    half: float | None
    measured: float | None
    seconds: float
    unfinished: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls,
        stop: Literal["finished", "interrupted"],
        entries: Sequence[Entry],
        status: QueueStatus,
        seconds: float,
    ) -> Summary:
        """Summarize the run of the queue for these jobs."""
        states = dict(Counter[str](entry.state for entry in entries))
        unfinished = tuple(
            (entry.name, f"{entry.state}: {entry.reason}")
            for entry in entries
            if entry.state in ("failed", "lost")
        )
        means = status.means()
        return cls(stop, states, status.epochs, status.void, *means, seconds, unfinished)


MOST_ATTEMPTS = 3
"""Times that a job which may be begun again is begun in all."""

CUT_SECONDS = 10.0
"""Seconds for what was killed to end."""

_TICK = 0.5  # seconds between two looks at whether an epoch is due


class Coordinator:
    """Loop that runs the jobs of a queue in epochs of pairing and starting.

    Parameters
    ----------
    store : open to write, the queue entered.
    entries : the queue's jobs.
    running : groups that an earlier command began, which ended with it: lost.
    predictor : of the penalties.
    machines : where groups run.
    policy : pairs a batch; see `batches.Policy`.
    settings, session : of this command.
    alpha : the least gain for which an agent is advised to leave.
    progress : called when something changed.
    tell : called with a line that a person should read.
    """

    def __init__(
        self,
        store: Store,
        entries: Sequence[Entry],
        running: Sequence[PlacedGroup],
        predictor: Predictor,
        machines: Dispatcher,
        policy: Policy,
        settings: Settings,
        session: int,
        *,
        alpha: float = 0.0,
        progress: Callable[[QueueStatus], None] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.store, self.queue_store = store, QueueStore(store)
        self.predictor, self.machines = predictor, machines
        self.settings, self._session, self._alpha = settings, session, alpha
        self._progress = progress or (lambda status: None)
        self._tell = tell or (lambda line: None)
        self._policy = policy
        self._most_pressure = 1.0 if settings.pressure is None else settings.pressure
        self._status = QueueStatus(machines=len(machines.all()))
        self.jobs = WaitingQueue(predictor.instance().names)
        self._machine_rows = {
            machine: store.machine(fingerprint(dict(facts)), facts, other=True)
            for machine, facts in machines.all().items()
        }
        self._job_rows: dict[tuple[str, str], int] = {}
        self._commands = store.commands()
        self._pending: list[Ended] = []
        self._stopping = False
        self._epoch = 1 + store.rows("SELECT COALESCE(MAX(id), 0) FROM epoch")[0][0]
        self._last = -math.inf
        self._running: dict[str, PlacedGroup] = {}
        self.jobs.arrive(entries)
        for group in running:
            for entry in self.queue_store.entries_of(group.jobs):
                self.jobs.entries.setdefault(entry.number, entry)
                self.jobs.attempts.setdefault(entry.number, entry.attempts)
            self._running[group.id] = group
        self._hear([Ended(group.id, None, "the command that ran it ended") for group in running])

    def run(self) -> Summary:
        """Run until every job has ended; after Ctrl-C until the running jobs have, and a second
        Ctrl-C kills them.

        Raises
        ------
        InvalidFile
            The store cannot be written.
        """
        begin = self.machines.now()
        try:
            with Interrupts(self._stop):
                while self._going():
                    self.step(self.machines.ended(self._patience()))
        except KeyboardInterrupt:
            self._stopping = True
            self.machines.end_all()
            self._cut()
        self._show()
        stop: Literal["finished", "interrupted"] = "interrupted" if self._stopping else "finished"
        self.store.end_session(self._session, self.machines.now(), stop)
        entries = self.queue_store.entries_of(self.jobs.entries)
        return Summary.of(stop, entries, self._status, self.machines.now() - begin)

    def step(self, ended: Sequence[Ended]) -> None:
        """Record the ended groups, and decide an epoch if one is due."""
        try:
            self._hear([*self._pending, *ended])
            self._pending = []
            if self._due():
                self.decide()
        except InvalidFile:  # the disk is full: what runs goes on meanwhile
            self._last = self.machines.now()
            if not self._running.keys() - {one.group for one in self._pending}:
                raise
        self._show()

    def decide(self) -> None:
        """Decide one epoch: pair the oldest jobs on the free machines, advise agents, start the
        groups.
        """
        free, begin = self._free(), self.machines.now()
        clock = time.perf_counter()
        waiting = len(self.jobs.waiting)
        whole = self.predictor.instance()
        found = place(whole, self._policy, self.jobs, len(free), self.random(), self._alpha)
        if found is None:
            return
        together, agents = found
        placed = self._references(together, len(free) - len(together), begin)
        certain, possible = agents.advised("certain"), agents.advised("possible")
        predicted = [losses(whole, self.jobs.kinds(numbers)) for numbers in placed]
        decided = time.perf_counter() - clock
        jobs = [one for lost in predicted for one in lost]
        penalty, low, high = np.mean(jobs, axis=0).tolist()
        row = {
            "id": self._epoch, "session": self._session, "begin": begin, "decided": decided,
            "waiting": waiting, "placed": len(jobs), "penalty": penalty, "low": low, "high": high,
            "certain": certain, "possible": possible,
        }  # fmt: skip
        try:
            groups = list(map(self._group, free, placed, predicted))
            self.queue_store.begin_epoch(row, [group for group, _ in groups], begin)
        except InvalidFile:  # nothing was begun
            self.jobs.put_back(number for numbers in placed for number in numbers)
            raise
        self._epoch, self._last = self._epoch + 1, begin
        self._status.epochs += 1
        self._status.certain, self._status.possible = certain, possible
        for group, queued in groups:
            self._begin(group, queued)

    def random(self) -> np.random.Generator:
        """Random generator of this epoch; it gives the same draws if the epoch is decided again."""
        return np.random.default_rng([self.settings.seed, self._epoch])

    def _stop(self) -> None:
        self._stopping = True

    def _going(self) -> bool:
        if self._running or self._pending:
            return True
        return not self._stopping and bool(self.jobs.waiting)

    def _patience(self) -> float:
        """Seconds that the coordinator waits for the end of a group of jobs."""
        if self._stopping or not self.jobs.waiting or not self._free():
            return _TICK
        return min(_TICK, max(0.0, self._last + self.settings.epoch - self.machines.now()))

    def _due(self) -> bool:
        if self._stopping or not self.jobs.waiting:
            return False
        free = len(self._free())
        waited = self.machines.now() - self._last >= self.settings.epoch
        return free > 0 and (waited or not self._running)

    def _free(self) -> list[str]:
        """Names of the machines on which no job runs."""
        busy = {group.machine for group in self._running.values()}
        return sorted(self._machine_rows.keys() - busy)

    def _references(
        self, groups: list[tuple[int, ...]], spare: int, now: float
    ) -> list[tuple[int, ...]]:
        """Split pairs of jobs, so that both run alone, while machines are spare. A pair is split
        where a job's type has no run alone of the last hour to compare its runs with.
        """
        alone = {self.jobs.kinds(one)[0] for one in groups if len(one) == 1}
        split: list[tuple[int, ...]] = []
        for one in groups:
            if len(one) == 2 and spare > 0:
                jobs, kinds = self.queue_store.jobs(one), self.jobs.kinds(one)
                if any(
                    kind not in alone
                    and _words(jobs[number]) in self._commands  # else nothing is like it
                    and not self.predictor.seen.fresh(self._job_row(jobs[number]), now)
                    for number, kind in zip(one, kinds, strict=True)
                ):
                    alone |= set(kinds)
                    split += [(number,) for number in one]
                    spare -= 1
                    continue
            split.append(one)
        return split

    def _group(
        self, machine: str, numbers: tuple[int, ...], losses: list[tuple[float, float, float]]
    ) -> tuple[PlacedGroup, list[QueuedJob]]:
        """Describe a group of jobs before it starts, and look up its commands by seat."""
        queued = [*self.queue_store.jobs(numbers).values()]
        commands = tuple(map(self._job_row, queued))
        name = uuid.uuid4().hex
        return PlacedGroup(name, self._epoch, machine, numbers, tuple(losses), commands), queued

    def _begin(self, group: PlacedGroup, queued: Sequence[QueuedJob]) -> None:
        """Start a group of jobs on its machine."""
        self._running[group.id] = group
        for number in group.jobs:
            self.jobs.attempts[number] += 1
        request = MeasurementRequest.once([one.job for one in queued], [q.output for q in queued])
        self.machines.start(group.machine, group.id, request)

    def _job_row(self, queued: QueuedJob) -> int:
        """Row of a queued job's command in the store's table of jobs, to which it is added if it is
        new.
        """
        job = queued.job
        key = _words(queued)
        if key not in self._commands:  # there is nothing to compare it with: its inputs stay unread
            self._commands.add(key)
            return self.store.job(job, words=True)
        document = (job.name, queued.document())
        if document not in self._job_rows:
            self._job_rows[document] = self.store.job(job)
        return self._job_rows[document]

    def _hear(self, ended: Sequence[Ended]) -> None:
        """Record the results of ended groups of jobs in one transaction, and return jobs to the
        queue that run again.
        """
        ours = [one for one in ended if one.group in self._running]
        if not ours:
            return
        self._pending = ours
        complaints, seen = [], []
        outcomes: dict[int, tuple[State, str]] = {}
        with self.store.writing():
            for one in ours:
                group = self._running[one.group]
                states, look, why = self._written(one, group)
                outcomes |= states
                if look is not None:
                    seen.append((group, look))
                if why:
                    complaints.append(why)
        self._pending = []
        for one in ours:
            del self._running[one.group]
        for group, look in seen:
            pairs = zip(group.losses, self._measured(group, look), strict=True)
            for (predicted, low, high), measured in pairs:
                if measured is not None:
                    self._status.seen.append((predicted, (high - low) / 2, measured))
            self.predictor.add(look)
        for why in complaints:
            self._status.void += 1
            self._status.why = why
        for number, (state, why) in outcomes.items():
            self._status.done += state == "done"
            self._status.failed += state in ("failed", "lost")
            if state == "waiting" and self.jobs.entries[number].kind in self.jobs.types:
                self.jobs.put_back([number])
            if state != "done":
                again = "; it waits again" if state == "waiting" else ""
                self._tell(f"{self.jobs.entries[number].name} {state}: {why}{again}")

    def _written(
        self, one: Ended, group: PlacedGroup
    ) -> tuple[dict[int, tuple[State, str]], StoredMeasurement | None, str]:
        """Record the result of a group: outcome by job, the measurement if it counts, and the
        reason if not.
        """
        now, visit = self.machines.now(), one.visit
        lost = one.reason if visit is None else visit.error * visit.error.startswith(ENDED)
        if visit is None or lost:
            outcomes = {number: self._after_loss(number, lost) for number in group.jobs}
            self.queue_store.end_group(group, now, outcomes, reason=lost or "lost")
            return outcomes, None, lost
        outcomes = {
            number: self._after_run(number, visit.members[seat])
            for seat, number in enumerate(group.jobs)
        }
        look = self.store.add(
            visit,
            group.commands,
            session=self._session,
            machine=self._machine_rows[group.machine],
            round=-group.epoch,
            most_pressure=self._most_pressure,
        )
        measured = self._measured(group, look) if look.state == "ok" else []
        self.queue_store.end_group(group, now, outcomes, visit=look.number, measured=measured)
        if look.state == "ok":
            return outcomes, look, ""
        names = " and ".join(self.jobs.entries[job].kind for job in group.jobs)
        why = visit.error or f"pressure {visit.pressure:.2f}"
        return outcomes, None, f"{names}: {why}"

    def _after_run(self, number: int, member: JobRuns) -> tuple[State, str]:
        if member.error:
            again = self.jobs.entries[number].rerun and self.jobs.attempts[number] < MOST_ATTEMPTS
            never = member.error.startswith("cannot ")  # nothing was begun, and nothing will be
            return ("waiting" if again and not never else "failed"), member.error
        left = f"left {member.left} processes running, which were killed" if member.left else ""
        return "done", left

    def _after_loss(self, number: int, why: str) -> tuple[State, str]:
        if not self.jobs.entries[number].rerun:
            return "lost", f"{why}; it may not be begun again"
        again = self.jobs.attempts[number] < MOST_ATTEMPTS
        return ("waiting" if again else "failed"), why

    def _measured(self, group: PlacedGroup, look: StoredMeasurement) -> list[float | None]:
        """Measured penalty of each job of a group; None if it ran too little beside the other."""
        seen = self.predictor.seen
        penalties: list[float | None] = [None] * len(group.jobs)
        for run in look.runs if len(group.jobs) == 2 else ():
            loss = seen.loss(group.commands[run[0]], look.begin, seen.seconds(run), run[3])
            penalties[run[0]] = None if loss is None else -math.expm1(-loss)
        return penalties

    def _cut(self) -> None:
        """Record the groups of jobs that were killed at the end of the command."""
        end = self.machines.now() + CUT_SECONDS
        with suppress(KeyboardInterrupt):
            while self._running and self.machines.now() < end:
                self._hear_cut(self.machines.ended(_TICK))
        self._hear_cut([Ended(group, None, "it was cut") for group in self._running])

    def _hear_cut(self, ended: Sequence[Ended]) -> None:
        """Record the results of killed groups of jobs; a killed attempt does not count."""
        for one in ended:
            for number in self._running[one.group].jobs:
                self.jobs.attempts[number] = min(self.jobs.attempts[number], MOST_ATTEMPTS - 1)
        self._hear(ended)

    def _show(self) -> None:
        self._status.epoch, self._status.running = self._epoch - 1, len(self._running)
        self._status.waiting = len(self.jobs.waiting)
        self._progress(self._status)


def _words(queued: QueuedJob) -> tuple[str, str, str]:
    """Key that distinguishes the commands of jobs without reading their files."""
    return queued.job.name, json.dumps(queued.job.command), str(queued.job.directory)
