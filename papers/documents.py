"""The JSON document of an experiment's row (pydantic lives only at this edge)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel

from ..analysis.run.documents import KEPT, Number, require_document
from ..instances.problem.documents import Entries
from .experiment import Verdict

ExperimentRow = dict[str, Any]
"""An experiment that was run, as a JSONL file keeps it: the fields of `ExperimentDocument`."""


class FindingDocument(BaseModel):
    """A finding."""

    model_config = KEPT | {"extra": "forbid"}

    what: str
    paper: str
    ours: str
    verdict: Verdict
    note: str = ""
    cause: str = ""


class FileDocument(BaseModel):
    """A measured file that was read."""

    model_config = KEPT

    file: str
    sha256: str


class ExperimentDocument(BaseModel):
    """An experiment that was run, as `cotenant reproduce --out` writes it.

    Attributes
    ----------
    data : option -> place in the folder and sha256 of the file that it read.
    findings : the paper's numbers beside ours.
    pictures : names.
    error, skipped : why it failed, or was skipped.
    """

    model_config = KEPT

    key: str
    problem: str
    experiment: str
    seed: int
    options: dict[str, Any]
    data: dict[str, FileDocument]
    command: str
    status: Literal["done", "failed", "skipped"]
    seconds: Number
    findings: Entries[FindingDocument]
    pictures: Entries[str]
    versions: dict[str, str]
    error: str | None = None
    skipped: str | None = None


def require_experiments(rows: Iterable[ExperimentRow], where: str) -> None:
    """Raise InvalidFile, naming `where`, for the first row not as this version writes it."""
    for row in rows:
        require_document(ExperimentDocument, row, where)
