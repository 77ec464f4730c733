"""Jobs of a queue: commands of the user, each of a measured type, from a TOML file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from ..measure.jobs import NAME, CommandTable, Job, Name, Text, read_tables, require_program
from ..measure.store import parsed


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
