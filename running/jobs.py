"""The jobs that are measured: commands of the user's own, read from a TOML file."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..instances.problem.base import repeated
from ..instances.problem.errors import InvalidFile, InvalidInstance, suggest
from ..instances.problem.reading import read_text

FIELDS = ("name", "command", "directory", "environment", "timeout", "count", "bandwidth")
USUAL_COUNT = 2
"""Agents of a job whose file says nothing: two, so that a job beside itself is a pair too."""

LONGEST_NAME = 60
_HASHED = 64_000_000
"""Bytes of a file up to which its content is in a job's fingerprint; of larger ones size and time
are.
"""


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
        name = self.command[0]
        if os.sep in name:
            path = os.path.join(self.directory, name)
            return path if os.path.isfile(path) and os.access(path, os.X_OK) else None
        return shutil.which(name, path=self.variables.get("PATH"))

    @property
    def fingerprint(self) -> str:
        """What a measurement of it belongs to: the command, its directory and environment, and the
        content of the program and of the files that its arguments name.
        """
        files = [self.program, *(os.path.join(self.directory, word) for word in self.command[1:])]
        content = {
            "command": list(self.command),
            "directory": str(self.directory),
            "environment": dict(sorted(self.environment.items())),
            "files": [_content(path) for path in files if path and os.path.isfile(path)],
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def read_jobs(path: str | os.PathLike[str]) -> list[Job]:
    """The `[[job]]` tables of a TOML file.

    Raises
    ------
    InvalidFile
        It cannot be read, is no TOML, or has no such table.
    InvalidInstance
        Naming the job, the field, the value seen, and what was expected.
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
    jobs = [_job(table, number, folder, where) for number, table in enumerate(tables, 1)]
    if (twice := repeated(job.name for job in jobs)) is not None:
        raise InvalidInstance(
            "name", f"{twice!r} given twice", "a name of its own for every job"
        ).within(where)
    with_bandwidth = [job for job in jobs if job.bandwidth is not None]
    if with_bandwidth and len(with_bandwidth) < len(jobs):
        lacking = next(job.name for job in jobs if job.bandwidth is None)
        raise InvalidInstance(
            "bandwidth", f"not given for {lacking!r}", "a number for every job, or for none"
        ).within(where)
    return jobs


def _job(table: dict[str, Any], number: int, folder: Path, where: str) -> Job:
    try:
        for name in table:
            if name not in FIELDS:
                raise InvalidInstance(
                    f"field {name!r}",
                    "unknown",
                    f"one of {', '.join(FIELDS)}",
                    suggest(name, FIELDS),
                )
        job = Job(
            name=_name(table.get("name")),
            command=_command(table.get("command")),
            directory=_directory(table.get("directory", ""), folder),
            environment=_environment(table.get("environment", {})),
            timeout=_number(table, "timeout", "seconds that one run may take, above 0", above=0.0),
            count=_count(table.get("count", USUAL_COUNT)),
            bandwidth=_number(table, "bandwidth", "GB/s, 0 or more"),
        )
        if job.program is None:
            raise InvalidInstance(
                "command[0]", repr(job.command[0]), f"a program that can be run in {job.directory}"
            )
    except InvalidInstance as error:
        given = table.get("name")
        named = f" ({given!r})" if isinstance(given, str) and len(given) <= LONGEST_NAME else ""
        raise error.within(f"{where}: job {number}{named}") from None
    return job


def _name(value: Any) -> str:
    good = isinstance(value, str) and value.strip() == value and value.isprintable()
    if not good or not 0 < len(value) <= LONGEST_NAME:
        seen = "missing" if value is None else repr(value)[:100]
        raise InvalidInstance("name", seen, f"a name of 1 to {LONGEST_NAME} printable letters")
    return str(value)


def _command(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        seen = "missing" if value is None else repr(value)[:100]
        cure = "No shell reads it; for one: ['sh', '-c', '...']" if isinstance(value, str) else ""
        raise InvalidInstance(
            "command", seen, 'a list of strings, as in ["xz", "-k", "-c", "big"]', cure
        )
    if not value[0] or any("\0" in word for word in value):
        raise InvalidInstance("command", repr(value)[:100], "a program first, and no null letters")
    return tuple(value)


def _directory(value: Any, folder: Path) -> Path:
    path = folder / value if isinstance(value, str) and "\0" not in value else None
    if path is None or not path.is_dir():
        raise InvalidInstance(
            "directory", repr(value)[:200], "a folder that exists, seen from the file's own"
        )
    return path.resolve()


def _environment(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInstance("environment", repr(value)[:100], "a table of variables and texts")
    for name, text in value.items():
        if not isinstance(text, str) or "\0" in text or "=" in name or not name:
            raise InvalidInstance(f"environment.{name}", repr(text)[:100], "a text in quotes")
    return dict(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInstance("count", repr(value), "a whole number of agents, at least 1")
    return value


def _number(table: dict[str, Any], name: str, expected: str, above: float = -1.0) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0 or value <= above:
        raise InvalidInstance(name, repr(value), expected)
    return float(value)


def _content(path: str) -> str:
    """The content of a file in a few letters."""
    found = os.stat(path)
    if found.st_size <= _HASHED:
        with suppress(OSError), open(path, "rb") as stream:  # a program may be for running only
            return hashlib.file_digest(stream, "sha256").hexdigest()
    return f"{found.st_size} {found.st_mtime_ns}"
