"""The jobs that are to be done: commands of the user's own, each of a type, from a TOML file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from ..measure.jobs import (
    Job,
    command_fields,
    read_tables,
    require,
    require_program,
    valid_name,
)
from ..measure.store import parsed

FIELDS = ("name", "type", "command", "rerun", "directory", "environment", "timeout", "output")


class _Document(BaseModel, extra="forbid"):
    command: Annotated[list[str], Field(min_length=1)]
    directory: str
    environment: dict[str, str]
    timeout: Annotated[float, Field(gt=0)] | None
    output: str


@dataclass(frozen=True)
class QueuedJob:
    """A job that waits to be done once.

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
        """What a store keeps of its command."""
        job = self.job
        return json.dumps(
            {
                "command": list(job.command),
                "directory": str(job.directory),
                "environment": dict(sorted(job.environment.items())),
                "timeout": job.timeout,
                "output": self.output,
            }
        )

    @classmethod
    def from_document(cls, name: str, kind: str, rerun: bool, text: str, where: str) -> QueuedJob:
        """The job that a store keeps; `where` names the store and its column."""
        content = parsed(text, _Document, where)
        output = content.pop("output")
        fields = content | {
            "command": tuple(content["command"]),
            "directory": Path(content["directory"]),
        }
        return cls(name, Job(name=kind, **fields), rerun, output)


def read_queue(path: str | os.PathLike[str], *, here: bool = True) -> list[QueuedJob]:
    """The `[[job]]` tables of a queue.

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

    def read(table: dict[str, Any], folder: Path) -> QueuedJob:
        name, kind = valid_name(table.get("name")), valid_name(table.get("type"), "type")
        queued = QueuedJob(
            name=name,
            job=Job(name=kind, **command_fields(table, folder)),
            rerun=_rerun(table),
            output=_output(table.get("output", "")),
        )
        if here:
            require_program(queued.job)
        return queued

    return read_tables(path, FIELDS, read)


def _rerun(table: Mapping[str, Any]) -> bool:
    value = table.get("rerun")
    cure = "It says whether the job may be begun again after a run that was killed or failed"
    good = isinstance(value, str) and value in ("yes", "no")
    require(good, "rerun", value, '"yes" or "no"', cure)
    return value == "yes"


def _output(value: Any) -> str:
    good = isinstance(value, str) and "\0" not in value
    require(good, "output", value, "a file, seen from the job's directory")
    return str(value)
