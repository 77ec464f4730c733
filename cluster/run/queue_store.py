"""Jobs of a queue: commands of the user, each of a measured type, from a TOML file; and the tables
of a store for them, with their states, epochs, and groups.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from ...instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption, suggest
from ..measure.jobs import NAME, CommandTable, Job, Name, Text, read_tables, require_program
from ..measure.store import QUEUE_TABLES, Store, parsed


class _Command(CommandTable):
    output: Text = Field("", description="a file, seen from the job's directory")


class _QueueTable(_Command):
    name: Name = Field(description=NAME)
    type: Name = Field(description=NAME)
    rerun: Literal["yes", "no"] = Field(
        description='"yes" or "no". It says whether the job may be begun again after a run that '
        "was killed or failed"
    )


@dataclass(frozen=True)
class QueuedJob:
    """Job of a queue, to be run once.

    Attributes
    ----------
    name : its own, by which it is known.
    job : its command; named after its type, by which penalties know it.
    rerun : whether it may be begun again after a run that did not end well.
    output : the file, seen from its directory, to which its standard output and error are added;
        "" for nowhere.
    """

    name: str
    job: Job
    rerun: bool
    output: str = ""

    def document(self) -> str:
        """Command of a queued job as the JSON text that a store keeps."""
        more = {"timeout": self.job.timeout, "output": self.output}
        return json.dumps(self.job.document() | more)

    @classmethod
    def from_document(cls, name: str, kind: str, rerun: bool, text: str, where: str) -> QueuedJob:
        """Read a job from the JSON of a store; `where` names the store and column for errors."""
        found = parsed(text, _Command, where)
        job = Job(kind, found.command, Path(found.directory), found.environment, found.timeout)
        return cls(name, job, rerun, found.output)


def read_queue(path: str | os.PathLike[str], *, here: bool = True) -> list[QueuedJob]:
    """Read the jobs of a queue from the `[[job]]` tables of a TOML file.

    Parameters
    ----------
    here : whether the commands are run on this computer, and have to be there.

    Raises
    ------
    InvalidFile
        It cannot be read, is no TOML, or has no such table.
    InvalidInstance
        Naming the job, the field, the value seen, and what was expected.
    """

    def read(table: _QueueTable, folder: Path) -> QueuedJob:
        job = table.job(table.type, folder)
        if here:
            require_program(job)
        return QueuedJob(table.name, job, table.rerun == "yes", table.output)

    return read_tables(path, _QueueTable, read)


State = Literal["waiting", "running", "done", "failed", "lost"]
"""Of a job. Lost: it was begun, how it ended is not known, and it may not be begun again."""


class RunSettings(BaseModel, extra="allow"):
    """Settings of a queue's session that are read again later."""

    alpha: Annotated[float, Field(ge=0)] = 0.0
    voids: Literal["forbid", "predict"] | None = None


class _RunOf(BaseModel, extra="allow"):
    run: RunSettings


@dataclass(frozen=True)
class Entry:
    """Job of a queue with its state.

    Attributes
    ----------
    number : its row, by which a person may name it too.
    age : those of a lower one go first.
    attempts : how often it was begun.
    """

    number: int
    name: str
    kind: str
    rerun: bool
    age: int
    attempts: int
    state: State
    reason: str


@dataclass(frozen=True)
class PlacedGroup:
    """Jobs placed together on one machine.

    Attributes
    ----------
    id : of the group, never used again.
    jobs : rows of the queue, by seat.
    losses : predicted penalty of each and the ends of its interval; () if read from the store.
    commands : rows of their commands in the table of jobs; () if read from the store.
    """

    id: str
    epoch: int
    machine: str
    jobs: tuple[int, ...]
    losses: tuple[tuple[float, float, float], ...] = ()
    commands: tuple[int, ...] = ()


class QueueStore:
    """Queue tables of a store; they are created at the first write."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def prepare(self) -> None:
        """Create the tables of a queue in the store if they are missing."""
        with self.store.writing() as rows:
            for statement in QUEUE_TABLES.split(";") if not self.exists() else ():
                rows.execute(statement)

    def exists(self) -> bool:
        """Return whether the store has a queue."""
        return bool(self.store.rows("SELECT 1 FROM sqlite_master WHERE name = 'queued'"))

    def require(self) -> None:
        """Raise InvalidFile if the store has no queue."""
        if not self.exists():
            raise InvalidFile(
                f"{self.store.path} has no queue; `cotenant run queue QUEUE.toml --store` writes it"
            )

    def enqueue(self, queue: Sequence[QueuedJob]) -> None:
        """Add new jobs in order, and require that known jobs are unchanged.

        Raises
        ------
        InvalidInstance
            A job that was begun has another command now, or another type or rerun.
        """
        entered = {
            row[0]: row[1:]
            for row in self.store.rows("SELECT name, type, spec, rerun, attempts FROM queued")
        }
        last = self.store.rows("SELECT COALESCE(MAX(age), 0) FROM queued")[0][0]
        new, changed = [], []
        for index, one in enumerate(queue):
            values = (one.job.name, one.document(), int(one.rerun))
            before = entered.get(one.name)
            if before is None:
                new.append((one.name, *values, last + 1 + index))
            elif before[:3] != values and before[3]:
                raise InvalidInstance(
                    f"job {one.name!r}", "no longer the job that was begun",
                    "the same type, command and rerun, or a name of its own for a new job",
                )  # fmt: skip
            elif before[:3] != values:
                changed.append((*values, one.name))
        with self.store.writing() as rows:
            rows.executemany(
                "INSERT INTO queued (name, type, spec, rerun, age) VALUES (?, ?, ?, ?, ?)", new
            )
            rows.executemany(
                "UPDATE queued SET type = ?, spec = ?, rerun = ? WHERE name = ?", changed
            )

    def entries(self, which: str = "1", values: Sequence[Any] = ()) -> list[Entry]:
        """Queue entries that satisfy a condition, the oldest first."""
        return [
            Entry(row[0], row[1], row[2], bool(row[3]), *row[4:])
            for row in self.store.rows(
                "SELECT id, name, type, rerun, age, attempts, state, reason FROM queued "
                f"WHERE {which} ORDER BY age, id",
                values,
            )
        ]

    def entries_of(self, numbers: Iterable[int]) -> list[Entry]:
        """Read the queue entries of the jobs with these row numbers, the oldest first."""
        return self.entries("id IN (SELECT value FROM json_each(?))", (json.dumps([*numbers]),))

    def jobs(self, numbers: Iterable[int]) -> dict[int, QueuedJob]:
        """Read the jobs of the queue with the given row numbers, with their commands."""
        where = f"{self.store.path}: queued.spec"
        return {
            number: QueuedJob.from_document(name, kind, bool(rerun), spec, where)
            for number in numbers
            for name, kind, rerun, spec in self.store.rows(
                "SELECT name, type, rerun, spec FROM queued WHERE id = ?", (number,)
            )
        }

    def named(self, text: str) -> Entry:
        """Entry of the job with a number or name; raises InvalidOption if there is none."""
        entries = self.entries("name = ?", (text,))
        if not entries and text.isdecimal():
            entries = self.entries("id = ?", (int(text),))
        if not entries:
            names = [row[0] for row in self.store.rows("SELECT name FROM queued LIMIT 1000")]
            raise InvalidOption(
                f"job is {text!r}; expected a number or name; {suggest(text, names)}"
            )
        return entries[0]

    def groups_beside(self, number: int) -> list[PlacedGroup]:
        """Groups of the epoch in which a job was last placed; none if it never was."""
        return self._groups(
            "epoch = (SELECT MAX(epoch) FROM placed JOIN seat ON placed = placed.id WHERE "
            "queued = ?)",
            (number,),
        )

    def run_settings(self) -> RunSettings:
        """Settings of the last command that ran the queue."""
        rows = self.store.rows(
            "SELECT settings FROM session WHERE json_extract(settings, '$.run') IS NOT NULL "
            "ORDER BY id DESC LIMIT 1"
        )
        where = f"{self.store.path}: session.settings"
        found = _RunOf(run=RunSettings()) if not rows else parsed(rows[0][0], _RunOf, where)
        return found.run

    def begin_epoch(
        self, epoch: Mapping[str, Any], groups: Sequence[PlacedGroup], now: float
    ) -> None:
        """Record an epoch's decision before any group starts."""
        with self.store.writing() as rows:
            self.store.insert("epoch", **epoch)
            rows.executemany(
                "INSERT INTO placed (id, epoch, machine, begin) VALUES (?, ?, ?, ?)",
                [(group.id, group.epoch, group.machine, now) for group in groups],
            )
            rows.executemany(
                "INSERT INTO seat (placed, number, queued, predicted) VALUES (?, ?, ?, ?)",
                [
                    (group.id, seat, job, predicted)
                    for group in groups
                    for seat, (job, (predicted, _, _)) in enumerate(
                        zip(group.jobs, group.losses, strict=True)
                    )
                ],
            )
            rows.executemany(
                "UPDATE queued SET state = 'running', attempts = attempts + 1, reason = '' "
                "WHERE id = ?",
                [(job,) for group in groups for job in group.jobs],
            )

    def running(self) -> list[PlacedGroup]:
        """Groups of jobs without a recorded end."""
        return self._groups("placed.state = 'running'")

    def _groups(self, which: str, values: Sequence[Any] = ()) -> list[PlacedGroup]:
        """Groups of jobs that satisfy a condition, in the order of their starts."""
        jobs: dict[tuple[str, int, str], list[int]] = defaultdict(list)
        for *group, job in self.store.rows(
            "SELECT placed.id, epoch, machine, queued FROM placed JOIN seat ON placed = placed.id "
            f"WHERE {which} ORDER BY placed.begin, placed.id, number",
            values,
        ):
            jobs[tuple(group)].append(job)
        return [PlacedGroup(*group, tuple(seated)) for group, seated in jobs.items()]

    def end_group(
        self,
        group: PlacedGroup,
        now: float,
        outcomes: Mapping[int, tuple[State, str]],
        *,
        reason: str = "",
        visit: int | None = None,
        measured: Sequence[float | None] = (),
    ) -> None:
        """Record the end of a group of jobs and the states of its jobs, within the transaction that
        stores its measurement.

        Parameters
        ----------
        reason : why nothing is known of its end; "" when it is.
        measured : the penalty seen of each job.
        """
        with self.store.writing() as rows:
            rows.execute(
                "UPDATE placed SET end = ?, state = ?, reason = ?, visit = ? WHERE id = ?",
                (now, "lost" if reason else "ended", reason, visit, group.id),
            )
            rows.executemany(
                "UPDATE seat SET measured = ? WHERE placed = ? AND number = ?",
                [(value, group.id, seat) for seat, value in enumerate(measured)],
            )
            rows.executemany(
                "UPDATE queued SET state = ?, reason = ? WHERE id = ?",
                [(state, why, job) for job, (state, why) in outcomes.items()],
            )
