"""Store of all measurements: an SQLite database to which rows are added and never changed."""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, Field

from ...instances.problem.documents import in_words, shortened, wrong_field
from ...instances.problem.errors import InvalidFile
from ...instances.problem.reading import require_regular
from .jobs import Job
from .measurement import Measurement

SCHEMA = 3
"""Version of the tables, in the file's `user_version`."""

APPLICATION = 0x0C07E7A7
"""By which a database is known as one of ours, in its `application_id`."""

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE machine (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, facts TEXT NOT NULL);
CREATE TABLE job (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL, command TEXT NOT NULL,
    directory TEXT NOT NULL, environment TEXT NOT NULL, UNIQUE (name, fingerprint));
CREATE TABLE session (
    id INTEGER PRIMARY KEY, machine INTEGER NOT NULL REFERENCES machine, begin REAL NOT NULL,
    end REAL, settings TEXT NOT NULL, stop TEXT NOT NULL DEFAULT '');
CREATE TABLE visit (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session,
    machine INTEGER NOT NULL REFERENCES machine,
    round INTEGER NOT NULL CHECK (abs(round) < 1e15),
    first INTEGER NOT NULL REFERENCES job, second INTEGER REFERENCES job,
    kind TEXT NOT NULL CHECK (kind IN ('alone', 'pair', 'control')),
    begin REAL NOT NULL CHECK (abs(begin) < 1e15),
    seconds REAL NOT NULL CHECK (seconds BETWEEN 0 AND 1e15),
    pressure REAL CHECK (pressure BETWEEN 0 AND 1),
    state TEXT NOT NULL CHECK (state IN ('ok', 'busy', 'failed')), reason TEXT NOT NULL,
    CHECK ((kind = 'pair') = (second IS NOT NULL)));
CREATE TABLE run (
    visit INTEGER NOT NULL REFERENCES visit, member INTEGER NOT NULL CHECK (member IN (0, 1)),
    number INTEGER NOT NULL, job INTEGER NOT NULL REFERENCES job,
    wall REAL CHECK (wall BETWEEN 0 AND 1e15), cpu REAL CHECK (cpu BETWEEN 0 AND 1e15),
    covered REAL CHECK (covered BETWEEN 0 AND 1e15),
    state TEXT NOT NULL CHECK (state IN ('ok', 'busy', 'void', 'failed')),
    CHECK ((state = 'failed') = (wall IS NULL)),
    CHECK ((wall IS NULL) = (cpu IS NULL) AND (wall IS NULL) = (covered IS NULL)),
    PRIMARY KEY (visit, member, number));
CREATE INDEX visit_of_machine ON visit (machine, round);
"""
# A visit's row and its runs' are added in one transaction. A run that failed has no numbers; whole
# runs beside one that failed are void, and under too much pressure busy: kept, and never used.

QUEUE_TABLES = """
CREATE TABLE queued (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, type TEXT NOT NULL, spec TEXT NOT NULL,
    rerun INTEGER NOT NULL, age INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'running', 'done', 'failed', 'lost')),
    reason TEXT NOT NULL DEFAULT '');
CREATE TABLE epoch (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES session, begin REAL NOT NULL,
    decided REAL NOT NULL, waiting INTEGER NOT NULL, placed INTEGER NOT NULL,
    penalty REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
    certain INTEGER NOT NULL, possible INTEGER NOT NULL);
CREATE TABLE placed (
    id TEXT PRIMARY KEY, epoch INTEGER NOT NULL REFERENCES epoch, machine TEXT NOT NULL,
    begin REAL NOT NULL, end REAL, visit INTEGER REFERENCES visit, reason TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'ended', 'lost')));
CREATE TABLE seat (
    placed TEXT NOT NULL REFERENCES placed, number INTEGER NOT NULL,
    queued INTEGER NOT NULL REFERENCES queued, predicted REAL NOT NULL, measured REAL,
    PRIMARY KEY (placed, number));
CREATE INDEX seat_of_queued ON seat (queued);
CREATE INDEX placed_of_epoch ON placed (epoch);
"""
"""Of a queue, in a store that one was run on; see `queue_store`."""


_TYPES = {"INTEGER": "'integer'", "REAL": "'real'", "TEXT": "'text'"}
_CHECK = re.compile(r"CHECK \(((?:[^()]|\([^()]*\))*)\)")


class MeasureSettings(BaseModel, extra="allow"):
    """Settings of a measurement command that the store keeps; a queue's session has more."""

    names: list[str]
    jobs: list[int]
    counts: list[Annotated[int, Field(ge=1, le=2**53)]]
    bandwidth: list[Annotated[float, Field(ge=0)] | None]
    time: Literal["cpu", "wall"]
    confidence: Annotated[float, Field(gt=0, lt=1)]
    pressure: Annotated[float, Field(ge=0)]


Failed = tuple[int, int | None, str, int, str, float]
"""A visit: rows of its jobs, kind, round, reason, begin."""


@dataclass(frozen=True)
class StoredMeasurement:
    """Measurement as stored: the run times of each job in it.

    Attributes
    ----------
    round : visits of one round are compared with each other.
    jobs : rows of the jobs; one alone and beside the control.
    kind : "alone", "pair", or "control".
    begin : seconds since 1970.
    runs : (member, wall seconds, processor seconds, covered share) of each whole run.
    number : of its row.
    state : "ok", "busy" or "failed"; only the first counts.
    """

    round: int
    jobs: tuple[int, ...]
    kind: str
    begin: float
    runs: tuple[tuple[int, float, float, float], ...]
    number: int = 0
    state: str = "ok"


OWN_FACTS = ("machine", "seats")
"""Facts by which machines of the same kind differ."""


def kind_of(facts: Mapping[str, str]) -> dict[str, str]:
    """Facts that machines of one kind have in common."""
    return {name: value for name, value in facts.items() if name not in OWN_FACTS}


class Store:
    """SQLite database of measurements; create it by `opened`."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self._rows = connection
        self.path = path

    @property
    def token(self) -> str:
        """Token that identifies the processes started for this store."""
        return str(self._one("SELECT value FROM meta WHERE name = 'token'"))

    def machine(self, fingerprint: str, facts: Mapping[str, str], *, other: bool = False) -> int:
        """Row number of a machine; raises InvalidFile if the store has measurements of another
        machine and `other` is false.
        """
        machines = self.rows("SELECT id, fingerprint FROM machine ORDER BY id")
        for number, name in machines:
            if name == fingerprint:
                return int(number)
        if machines and not other:
            before = self.facts(machines[-1][0])
            differs = [name for name in facts if facts[name] != before.get(name)]
            changed = "; ".join(f"{n} {before.get(n, 'unknown')}, now {facts[n]}" for n in differs)
            raise InvalidFile(
                f"{self.path} was measured on another machine ({changed}); measurements of two do "
                "not mix. Give another --store, or --other-machine to begin a second matrix in it"
            )
        return self.insert("machine", fingerprint=fingerprint, facts=json.dumps(dict(facts)))

    def job(self, job: Job, *, words: bool = False) -> int:
        """Row number of a job; a changed command, program or input is another job of the same name.

        Parameters
        ----------
        words : whether its files are left unread, for a command of which nothing is known.
        """
        fingerprint = job.words_fingerprint if words else job.fingerprint
        number = self._one(
            "SELECT id FROM job WHERE name = ? AND fingerprint = ?", (job.name, fingerprint)
        )
        if number is not None:
            return int(number)
        return self.insert(
            "job", name=job.name, fingerprint=fingerprint, command=json.dumps(job.command),
            directory=str(job.directory), environment=json.dumps(dict(job.environment)),
        )  # fmt: skip

    def begin_session(self, machine: int, begin: float, settings: Mapping[str, Any]) -> int:
        """Add a row for one command's session and return its number."""
        return self.insert(
            "session", machine=machine, begin=begin, settings=json.dumps(dict(settings))
        )  # fmt: skip

    def end_session(self, session: int, end: float, stop: str) -> None:
        """Record when and why a measurement session ended."""
        with self.writing() as rows:
            rows.execute("UPDATE session SET end = ?, stop = ? WHERE id = ?", (end, stop, session))

    def last_session(self) -> tuple[int, dict[str, Any], str]:
        """Machine, settings and end of the last session; raises InvalidFile if there is none."""
        sessions = self.rows("SELECT machine, settings, stop FROM session ORDER BY id DESC LIMIT 1")
        if not sessions:
            raise InvalidFile(f"{self.path} holds no measurement yet; run cotenant measure")
        machine, text, stop = sessions[0]
        found = parsed(text, MeasureSettings, f"{self.path}: session.settings")
        settings: dict[str, Any] = found.model_dump(exclude_unset=True)
        several = {len(settings[name]) for name in ("names", "jobs", "counts", "bandwidth")}
        if len(several) > 1 or not set(settings["jobs"]) <= set(self.names()):
            raise InvalidFile(
                f"{self.path}: session.settings does not name each job once, with its count and "
                f"bandwidth; {_DAMAGED}"
            )
        return machine, settings, stop

    def facts(self, machine: int) -> dict[str, str]:
        """Hardware and software facts of a machine in the store."""
        text = self._one("SELECT facts FROM machine WHERE id = ?", (machine,))
        facts: dict[str, str] = parsed(text, dict[str, str], f"{self.path}: machine.facts")
        return facts

    def add(
        self,
        visit: Measurement,
        jobs: Sequence[int],
        *,
        session: int,
        machine: int,
        round: int,
        most_pressure: float,
        control: bool = False,
    ) -> StoredMeasurement:
        """Add a measurement with the runs of its jobs to the store, in one transaction.

        Parameters
        ----------
        jobs : rows of the members that are jobs.
        most_pressure : above which the machine was busy, and the visit does not count.
        control : whether the only job ran beside the control.
        """
        pressed = visit.pressure is not None and visit.pressure > most_pressure
        state = "failed" if visit.error else "busy" if pressed else "ok"
        kind = "control" if control else "alone" if len(jobs) == 1 else "pair"
        of_runs = "void" if state == "failed" else state
        runs: list[tuple[Any, ...]] = []  # rows of the table `run` without their first column
        for index, (job, member) in enumerate(zip(jobs, visit.members, strict=False)):
            runs += [
                (index, number, job, run.wall, run.cpu, run.covered, of_runs)
                for number, run in enumerate(member.runs)
            ]
            if member.error:
                runs.append((index, len(member.runs), job, None, None, None, "failed"))
        with self.writing() as rows:
            number = self.insert(
                "visit", session=session, machine=machine, round=round, first=jobs[0],
                second=jobs[1] if len(jobs) > 1 else None, kind=kind,
                begin=visit.begin, seconds=visit.seconds, pressure=visit.pressure, state=state,
                reason=visit.error,
            )  # fmt: skip
            rows.executemany(
                f"INSERT INTO run VALUES ({', '.join('?' * 8)})", [(number, *run) for run in runs]
            )
        times = tuple((r[0], r[3], r[4], r[5]) for r in runs if r[-1] == "ok")
        return StoredMeasurement(round, tuple(jobs), kind, visit.begin, times, number, state)

    def looks(self, machine: int) -> list[StoredMeasurement]:
        """Valid measurements of a machine in order, without those of jobs in production."""
        return self._looks("machine = ? AND round > 0", (machine,))

    def produced(self, machine: int) -> list[StoredMeasurement]:
        """Valid measurements of jobs in production on machines of the same kind. Instead of a round
        they have the number of their epoch, negated.
        """
        alike = json.dumps(self.alike(machine))
        return self._looks("machine IN (SELECT value FROM json_each(?)) AND round < 0", (alike,))

    def alike(self, machine: int) -> list[int]:
        """Row numbers of the machines of the same kind as a given one."""
        wanted = kind_of(self.facts(machine))
        machines = self.rows("SELECT id FROM machine")
        return [number for (number,) in machines if kind_of(self.facts(number)) == wanted]

    def commands(self) -> set[tuple[str, str, str]]:
        """Name, command and directory of every job in the store."""
        return set(self.rows("SELECT name, command, directory FROM job"))

    def names(self) -> dict[int, str]:
        """Map row numbers of the store to names of jobs."""
        return dict(self.rows("SELECT id, name FROM job"))

    def _looks(self, which: str, values: Sequence[Any]) -> list[StoredMeasurement]:
        visits: dict[int, StoredMeasurement] = {}
        for number, round, kind, begin, first, second, *run in self.rows(
            "SELECT visit.id, round, kind, visit.begin, first, second, member, wall, cpu, "
            "covered FROM visit JOIN run ON run.visit = visit.id "
            f"WHERE visit.state = 'ok' AND {which} ORDER BY visit.id, number, member",
            values,
        ):
            pair = (first,) if second is None else (first, second)
            before = visits.get(number) or StoredMeasurement(round, pair, kind, begin, (), number)
            visits[number] = replace(before, runs=(*before.runs, tuple(run)))
        for number, visit in visits.items():
            if not all(0 <= run[0] < len(visit.jobs) for run in visit.runs):
                raise InvalidFile(
                    f"{self.path}: visit {number} has a run of none of its jobs; {_DAMAGED}"
                )
        return list(visits.values())

    def failed(self, machine: int) -> list[Failed]:
        """Failed measurements of a machine: (job, other job, kind, round, reason, begin) each."""
        return self.rows(
            "SELECT first, second, kind, round, reason, begin FROM visit "
            "WHERE machine = ? AND state = 'failed' AND round > 0 ORDER BY id",
            (machine,),
        )

    def last_visit(self, machine: int) -> tuple[int, float]:
        """Round and end time (seconds since 1970) of a machine's last measurement, or (0, 0.0)."""
        visits = self.rows(
            "SELECT round, begin + seconds FROM visit WHERE machine = ? AND round > 0 "
            "ORDER BY id DESC LIMIT 1",
            (machine,),
        )
        return visits[0] if visits else (0, 0.0)

    def surroundings(self, machine: int) -> dict[str, float | None]:
        """Number of measurements by state, and the median and maximum pressure on the CPUs during
        them.
        """
        visits = self.rows(
            "SELECT state, pressure FROM visit WHERE machine = ? AND round > 0", (machine,)
        )
        states = [state for state, _ in visits]
        pressures = sorted(pressure for _, pressure in visits if pressure is not None)
        return {
            **{state: states.count(state) for state in ("ok", "busy", "failed")},
            "median pressure": pressures[len(pressures) // 2] if pressures else None,
            "most pressure": pressures[-1] if pressures else None,
        }

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Context of a transaction; nested transactions are part of the outer one."""
        if self._rows.in_transaction:
            yield self._rows
            return
        with sqlite_errors_as_invalid_file(self.path), self._rows:
            self._rows.execute("BEGIN IMMEDIATE")
            yield self._rows

    def insert(self, table: str, **values: Any) -> int:
        """Add a row to a table of the store and return its number."""
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        with self.writing() as rows:
            added = rows.execute(
                f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())
            )
        return int(added.lastrowid or 0)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query; values have the types of their columns, see `_require_sound`."""
        with sqlite_errors_as_invalid_file(self.path):
            return self._rows.execute(query, values).fetchall()

    def _one(self, query: str, values: Sequence[Any] = ()) -> Any:
        rows = self.rows(query, values)
        return rows[0][0] if rows else None


def parsed(text: str, kind: Any, where: str) -> Any:
    """Parse a JSON text from a column of the store of measurements.

    Parameters
    ----------
    kind : its type, as an annotation.
    where : the file, table and column.

    Raises
    ------
    InvalidFile
        It is not JSON, or of another type.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        place, seen, expected = wrong_field(error)
        at = f"{where}: {in_words(place)}" if place else where
        raise InvalidFile(f"{at} is {seen}; expected {expected}; {_DAMAGED}") from None


_DAMAGED = "the store was changed or damaged: take an earlier copy of it"


@contextmanager
def opened(path: str | os.PathLike[str], *, new: bool = False) -> Iterator[Store]:
    """Open the SQLite store of measurements in a file.

    Parameters
    ----------
    new : to write; it is made when it is not there. Otherwise it is read only.

    Raises
    ------
    InvalidFile
        It is missing, none of ours, of another version, or cannot be read or written.
    """
    where = os.fspath(path)
    if os.path.exists(where):
        require_regular(where)
    elif not new:
        raise InvalidFile(f"{where} does not exist; `cotenant measure --store` writes it")
    with sqlite_errors_as_invalid_file(where):
        mode = "rwc" if new else "ro"
        connection = sqlite3.connect(
            f"file:{quote(os.path.abspath(where))}?mode={mode}", uri=True, isolation_level=None
        )
    try:
        with sqlite_errors_as_invalid_file(where):
            _prepare(connection, where, new)
        with sqlite_errors_as_invalid_file(where):
            yield Store(connection, where)
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, where: str, new: bool) -> None:
    """Create the tables of an empty file, or require that the file is a store."""
    empty = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0
    if empty and new:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN; {_TABLES} INSERT INTO meta VALUES ('token', '{secrets.token_hex(16)}'); "
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT;"
        )
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise InvalidFile(f"{where} is a database, but not one that cotenant measure wrote")
    schema = connection.execute("PRAGMA user_version").fetchone()[0]
    if schema != SCHEMA:
        raise InvalidFile(
            f"{where} is a store of version {schema}; this package reads version {SCHEMA}. Give "
            "another --store, or use the package's version that wrote it"
        )
    _require_sound(connection, where)
    if new:
        # A power cut may lose the last visits, a crash of this program none.
        connection.execute("PRAGMA synchronous = NORMAL")


def _require_sound(connection: sqlite3.Connection, where: str) -> None:
    """Raise InvalidFile if a file has anything that this package does not write: other tables,
    views, triggers, or values of a wrong type.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    schema = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    there = set(connection.execute(schema))
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(_TABLES)
        ours = set(model.execute(schema))
        if any(name == "queued" for name, _ in there):
            model.executescript(QUEUE_TABLES)
            ours = set(model.execute(schema))
    if other := sorted(str(name) for name, _ in there ^ ours):
        raise InvalidFile(f"{where}: {other[0]!r} is not as a store has it; {_DAMAGED}")
    for name, sql in sorted(there):  # SQLite knows no checks of a file that it only reads
        rules = _CHECK.findall(sql)
        columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
        for _, column, kind, filled, _, key in columns if sql.startswith("CREATE TABLE") else ():
            types = _TYPES[kind] if filled or key else f"{_TYPES[kind]}, 'null'"
            rules.append(f"typeof({column}) IN ({types})")
        for rule in rules:
            if connection.execute(f"SELECT 1 FROM {name} WHERE NOT ({rule}) LIMIT 1").fetchone():
                raise InvalidFile(f"{where}: {name} has a row without {rule}; {_DAMAGED}")
    for (fault,) in connection.execute("PRAGMA quick_check(1)"):
        if fault != "ok":
            raise InvalidFile(f"{where}: {shortened(fault)}; {_DAMAGED}")
    for table, _, other_table, _ in connection.execute("PRAGMA foreign_key_check"):
        raise InvalidFile(f"{where}: {table} names a row that {other_table} lacks; {_DAMAGED}")


@contextmanager
def sqlite_errors_as_invalid_file(where: str) -> Iterator[None]:
    """Context that turns SQLite errors into InvalidFile with a cure."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        words = str(error)
        cures = {
            "full": "make room and give the same command again; every row so far is kept",
            "not a database": "give the store that cotenant measure wrote",
            "locked": "another program has it open; wait for it",
            "unable to open": "choose a file in a folder that exists and is writable",
            "readonly": "choose a file that can be written",
        }
        cure = next((text for part, text in cures.items() if part in words), "check the disk")
        raise InvalidFile(f"{where} cannot be used: {words}; {cure}") from None
