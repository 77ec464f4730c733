"""The JSON document of a scheduling instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ..problem.base_document import STRICT, InstanceDocument
from ..problem.documents import Entries
from .instance import Scheduling


class JobDocument(BaseModel):
    """The jobs, one entry of each list per job."""

    model_config = STRICT

    organization: Entries[int] = Field(
        min_length=1, description="owner of each job, counted from 0"
    )
    release: Entries[int] = Field(description="when it may start, at least 0")
    processing: Entries[int] = Field(description="how long it runs, at least 1")
    processors: Entries[int] | None = Field(
        default=None, description="machines it takes at once, at least 1; 1 when absent"
    )


class SchedulingDocument(InstanceDocument):
    """Organizations that pool machines and send jobs to them, in whole units of time."""

    model_config = ConfigDict(title="cotenant scheduling instance")
    instance_type = Scheduling

    problem: Literal["scheduling"]
    machines: Entries[int] = Field(min_length=1, description="machines each organization brings")
    job: JobDocument
    horizon: int = Field(description="the end of time; only work done before it counts")
    names: Entries[str] = Field(default_factory=list, description="names of the organizations")
    backfilling: bool = Field(
        default=False,
        description="whether jobs of several processors may pass one that does not fit",
    )
    speed: Entries[int] | None = Field(
        default=None,
        description="units of work each machine does in a unit of time, machines numbered "
        "organization by organization; 1 when absent; not with processors",
    )
