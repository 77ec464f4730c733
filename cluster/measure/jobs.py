"""Jobs to measure: the user's commands, read from a TOML file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from ...instances.problem.documents import in_words, wrong_field
from ...instances.problem.errors import InvalidFile, InvalidInstance, suggest
from ...instances.problem.fields import repeated
from ...instances.problem.reading import read_toml

USUAL_COUNT = 2
"""Agents of a job whose file says nothing: two, so that a job beside itself is a pair too."""

LONGEST_NAME = 60
_HASHED = 64_000_000
"""Bytes of a file up to which its content is in a fingerprint; of more, size and time."""


@dataclass(frozen=True)
class Job:
    """Command of the user that does a fixed amount of work and ends.

    Attributes
    ----------
    name : by which the matrix knows it.
    command : the program and its arguments; no shell reads them.
    directory : where it runs.
    environment : variables beside those of this process.
    timeout : seconds that one run may take, beside another too; None for ten times its first run,
        at least a minute.
    count : agents of this type in the instance that is written.
    bandwidth : memory bandwidth demand [GB/s], for the policies that go by it; None when not given.
    """

    name: str
    command: tuple[str, ...]
    directory: Path = field(default_factory=Path.cwd)
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    count: int = USUAL_COUNT
    bandwidth: float | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Complete environment variables of a run of a job."""
        return {**os.environ, **self.environment}

    @property
    def program(self) -> str | None:
        """Path of the program that the command runs; None if there is no executable file."""
        name = self.command[0]
        if os.sep in name:
            file = os.path.join(self.directory, name)
            return file if os.path.isfile(file) and os.access(file, os.X_OK) else None
        variables = self.environment if "PATH" in self.environment else os.environ
        return shutil.which(name, path=variables.get("PATH"))

    @property
    def fingerprint(self) -> str:
        """Hash that identifies what is measured: command, directory, environment, and the content
        of the program and of the files named in its arguments.
        """
        files = [self.program, *(os.path.join(self.directory, word) for word in self.command[1:])]
        return self._digest([_content(path) for path in files if path and os.path.isfile(path)])

    @property
    def words_fingerprint(self) -> str:
        """Hash of the command, directory and environment without the content of files; measurements
        are not stored under it.
        """
        return self._digest(None)

    def document(self) -> dict[str, Any]:
        """Command, directory and environment of a job as JSON values."""
        return {
            "command": list(self.command),
            "directory": str(self.directory),
            "environment": dict(sorted(self.environment.items())),
        }

    def _digest(self, files: list[str] | None) -> str:
        content = self.document() | {"files": files}
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def read_jobs(path: str | os.PathLike[str]) -> list[Job]:
    """Read the jobs to measure from the `[[job]]` tables of a TOML file.

    Raises
    ------
    InvalidFile
        It cannot be read, is no TOML, or has no such table.
    InvalidInstance
        Naming the job, the field, the value seen, and what was expected.
    """

    def read(table: JobTable, folder: Path) -> Job:
        job = table.job(table.name, folder, count=table.count, bandwidth=table.bandwidth)
        require_program(job)
        return job

    jobs = read_tables(path, JobTable, read)
    with_bandwidth = [job for job in jobs if job.bandwidth is not None]
    if with_bandwidth and len(with_bandwidth) < len(jobs):
        lacking = next(job.name for job in jobs if job.bandwidth is None)
        raise InvalidInstance(
            "bandwidth", f"not given for {lacking!r}", "a number for every job, or for none"
        ).within(os.fspath(path))
    return jobs


def read_tables(
    path: str | os.PathLike[str], kind: type[Table], read: Callable[[Table, Path], Read]
) -> list[Read]:
    """Read each `[[job]]` table of a TOML file with `read`, and require distinct names; see
    `read_jobs`.

    Parameters
    ----------
    kind : the fields that a table has.
    read : of a table, and of the folder that its paths are seen from.
    """
    content, where = read_toml(path), os.fspath(path)
    for name in content:
        if name != "job":
            raise InvalidFile(f"{where}: unknown table {name!r}; expected [[job]] tables only")
    tables = content.get("job")
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise InvalidFile(
            f'{where} has no [[job]] table; expected one a job, as in [[job]] name = "sort" '
            'command = ["sort", "big.txt"]'
        )
    folder = Path(where).resolve().parent if os.path.isfile(where) else Path.cwd()
    jobs = []
    for number, table in enumerate(tables, 1):
        try:
            jobs.append(read(_validated(kind, table), folder))
        except InvalidInstance as error:
            given = table.get("name")
            short = isinstance(given, str) and len(given) <= LONGEST_NAME
            called = f" ({given!r})" if short else ""
            raise error.within(f"{where}: job {number}{called}") from None
    if (twice := repeated(table["name"] for table in tables)) is not None:
        raise InvalidInstance(
            "name", f"{twice!r} given twice", "a name of its own for every job"
        ).within(where)
    return jobs


def _validated(kind: type[Table], table: dict[str, Any]) -> Table:
    """Validate a table; raises InvalidInstance for the first wrong field, with its description."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        place, seen, _ = wrong_field(error)
    known, name = kind.model_fields, str(place[0])
    if name not in known:
        expected, cure = f"one of {', '.join(known)}", suggest(name, known)
        raise InvalidInstance(f"field {name!r}", "unknown", expected, cure)
    raise InvalidInstance(in_words(place), seen, str(known[name].description))


def require_program(job: Job) -> None:
    """Raise InvalidInstance if the command of a job cannot be run on this computer."""
    if job.program is None:
        raise InvalidInstance(
            "command[0]", repr(job.command[0]), f"a program that can be run in {job.directory}"
        )


def _valid_name(value: str) -> str:
    odd = value.strip() != value or not value.isprintable() or value.startswith("-")
    if odd or not 0 < len(value) <= LONGEST_NAME:
        raise ValueError("no such name")
    return value


def _begins_with_program(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise ValueError("no program")
    return words


Name = Annotated[str, AfterValidator(_valid_name)]
NAME = f"a name of 1 to {LONGEST_NAME} printable letters that begins with no hyphen"
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class CommandTable(BaseModel, extra="forbid", strict=True):
    """Fields of a TOML file, or of a store, that describe how to run a job's command; see `Job`."""

    command: Annotated[tuple[Text, ...], AfterValidator(_begins_with_program)] = Field(
        strict=False,
        description='a list of strings, a program first, as in ["xz", "-k", "-c", "big"]. No shell '
        "reads it; for one: ['sh', '-c', '...']",
    )
    directory: Text = Field("", description="a folder that exists, seen from the file's own")
    environment: dict[Annotated[str, Field(pattern=r"^[^=\x00]+$")], Text] = Field(
        {}, description="a table of variables and texts in quotes"
    )
    timeout: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="seconds that one run may take, above 0"
    )

    def job(self, name: str, folder: Path, **others: Any) -> Job:
        """Job with this command; its directory is relative to `folder`."""
        directory = folder / self.directory
        if not directory.is_dir():
            expected = str(CommandTable.model_fields["directory"].description)
            raise InvalidInstance("directory", repr(self.directory)[:100], expected)
        return Job(
            name, self.command, directory.resolve(), self.environment, self.timeout, **others
        )


class JobTable(CommandTable):
    """Fields of a `[[job]]` table, which describes a job to measure."""

    name: Name = Field(description=NAME)
    count: int = Field(USUAL_COUNT, ge=1, description="an integer of agents, at least 1")
    bandwidth: float | None = Field(None, ge=0, allow_inf_nan=False, description="GB/s, 0 or more")


Table = TypeVar("Table", bound=CommandTable)
Read = TypeVar("Read")


def _content(path: str) -> str:
    """Short hash of the content of a file."""
    facts = os.stat(path)
    if facts.st_size <= _HASHED:
        with suppress(OSError):  # a program may be for running only
            return _hashed(path, facts.st_size, facts.st_mtime_ns)
    return f"{facts.st_size} {facts.st_mtime_ns}"


@lru_cache(maxsize=1024)
def _hashed(path: str, size: int, changed: int) -> str:
    """Short hash of a file, cached because many jobs may name it."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
