"""The jobs that are measured: commands of the user's own, read from a TOML file."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ...instances.problem.errors import InvalidFile, InvalidInstance, suggest
from ...instances.problem.fields import repeated
from ...instances.problem.reading import read_text

FIELDS = ("name", "command", "directory", "environment", "timeout", "count", "bandwidth")
USUAL_COUNT = 2
"""Agents of a job whose file says nothing: two, so that a job beside itself is a pair too."""

LONGEST_NAME = 60
_HASHED = 64_000_000
"""Bytes of a file up to which its content is in a fingerprint; of more, size and time."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_Named)


@dataclass(frozen=True)
class Job:
    """A command that does a fixed amount of work and ends.

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
        """The whole environment of a run."""
        return {**os.environ, **self.environment}

    @property
    def program(self) -> str | None:
        """The file that its command runs; None when there is none that can be run."""
        variables = self.environment if "PATH" in self.environment else os.environ
        return find_program(self.command[0], str(self.directory), variables.get("PATH"))

    @property
    def fingerprint(self) -> str:
        """What a measurement of it belongs to: the command, its directory and environment, and the
        content of the program and of the files that its arguments name.
        """
        files = [self.program, *(os.path.join(self.directory, word) for word in self.command[1:])]
        return self._digest([_content(path) for path in files if path and os.path.isfile(path)])

    @property
    def words_fingerprint(self) -> str:
        """The same of its words alone, whatever its files hold: no measurement belongs to it."""
        return self._digest(None)

    def _digest(self, files: list[str] | None) -> str:
        content = {
            "command": list(self.command),
            "directory": str(self.directory),
            "environment": dict(sorted(self.environment.items())),
            "files": files,
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def find_program(name: str, directory: str, path: str | None) -> str | None:
    """The file that a command's first word names in a directory; None if none can run."""
    if os.sep in name:
        file = os.path.join(directory, name)
        return file if os.path.isfile(file) and os.access(file, os.X_OK) else None
    return shutil.which(name, path=path)


def read_jobs(path: str | os.PathLike[str]) -> list[Job]:
    """The `[[job]]` tables of a TOML file.

    Raises
    ------
    InvalidFile
        It cannot be read, is no TOML, or has no such table.
    InvalidInstance
        Naming the job, the field, the value seen, and what was expected.
    """
    jobs = read_tables(path, FIELDS, _job)
    with_bandwidth = [job for job in jobs if job.bandwidth is not None]
    if with_bandwidth and len(with_bandwidth) < len(jobs):
        lacking = next(job.name for job in jobs if job.bandwidth is None)
        raise InvalidInstance(
            "bandwidth", f"not given for {lacking!r}", "a number for every job, or for none"
        ).within(os.fspath(path))
    return jobs


def read_tables(
    path: str | os.PathLike[str],
    fields: Sequence[str],
    read: Callable[[dict[str, Any], Path], Named],
) -> list[Named]:
    """What is read of each `[[job]]` table of a TOML file, with names that differ; see `read_jobs`.

    Parameters
    ----------
    fields : that a table may have.
    read : of a table, and of the folder that its paths are seen from.
    """
    text, where = read_text(path), os.fspath(path)
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFile(f"{where} is not TOML: {error}") from None
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
            for name in table:
                if name not in fields:
                    raise InvalidInstance(
                        f"field {name!r}", "unknown", f"one of {', '.join(fields)}",
                        suggest(name, fields),
                    )  # fmt: skip
            jobs.append(read(table, folder))
        except InvalidInstance as error:
            given = table.get("name")
            short = isinstance(given, str) and len(given) <= LONGEST_NAME
            called = f" ({given!r})" if short else ""
            raise error.within(f"{where}: job {number}{called}") from None
    if (twice := repeated(job.name for job in jobs)) is not None:
        raise InvalidInstance(
            "name", f"{twice!r} given twice", "a name of its own for every job"
        ).within(where)
    return jobs


def command_fields(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What says how a job's command is run: command, directory, environment and timeout."""
    return {
        "command": _command(table.get("command")),
        "directory": _directory(table.get("directory", ""), folder),
        "environment": _environment(table.get("environment", {})),
        "timeout": _number(table, "timeout", "seconds that one run may take, above 0", above=0.0),
    }


def require_program(job: Job) -> None:
    """Refuse a job whose command cannot be run on this computer."""
    if job.program is None:
        raise InvalidInstance(
            "command[0]", repr(job.command[0]), f"a program that can be run in {job.directory}"
        )


def _job(table: dict[str, Any], folder: Path) -> Job:
    job = Job(
        name=valid_name(table.get("name")),
        **command_fields(table, folder),
        count=_count(table.get("count", USUAL_COUNT)),
        bandwidth=_number(table, "bandwidth", "GB/s, 0 or more"),
    )
    require_program(job)
    return job


def valid_name(value: Any, field: str = "name") -> str:
    """A name, checked."""
    good = isinstance(value, str) and value.strip() == value and value.isprintable()
    good = good and 0 < len(value) <= LONGEST_NAME and not value.startswith("-")
    expected = f"a name of 1 to {LONGEST_NAME} printable letters that begins with no hyphen"
    require(good, field, value, expected)
    return str(value)


def require(good: bool, field: str, value: Any, expected: str, cure: str = "") -> None:
    """Raise InvalidInstance for the value of a field that is not good."""
    if not good:
        seen = "missing" if value is None else repr(value)[:100]
        raise InvalidInstance(field, seen, expected, cure)


def _command(value: Any) -> tuple[str, ...]:
    words = isinstance(value, list) and value and all(isinstance(word, str) for word in value)
    cure = "No shell reads it; for one: ['sh', '-c', '...']" if isinstance(value, str) else ""
    example = 'a list of strings, as in ["xz", "-k", "-c", "big"]'
    require(bool(words), "command", value, example, cure)
    good = value[0] and not any("\0" in word for word in value)
    require(good, "command", value, "a program first, and no null letters")
    return tuple(value)


def _directory(value: Any, folder: Path) -> Path:
    good = isinstance(value, str) and "\0" not in value and (folder / value).is_dir()
    require(good, "directory", value, "a folder that exists, seen from the file's own")
    return folder.joinpath(str(value)).resolve()


def _environment(value: Any) -> dict[str, str]:
    require(isinstance(value, dict), "environment", value, "a table of variables and texts")
    for name, text in value.items():
        good = isinstance(text, str) and "\0" not in text and "=" not in name and bool(name)
        require(good, f"environment.{name}", text, "a text in quotes")
    return dict(value)


def _count(value: Any) -> int:
    good = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    require(good, "count", value, "a whole number of agents, at least 1")
    return int(value)


def _number(
    table: Mapping[str, Any], name: str, expected: str, above: float = -1.0
) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    require(number and math.isfinite(value) and value >= 0 and value > above, name, value, expected)
    return float(value)


def _content(path: str) -> str:
    """The content of a file in a few letters."""
    facts = os.stat(path)
    if facts.st_size <= _HASHED:
        with suppress(OSError):  # a program may be for running only
            return _hashed(path, facts.st_size, facts.st_mtime_ns)
    return f"{facts.st_size} {facts.st_mtime_ns}"


@lru_cache(maxsize=1024)
def _hashed(path: str, size: int, changed: int) -> str:
    """The hash of a file, read once for the thousands of jobs that name it."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
