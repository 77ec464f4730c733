"""The JSON document of a scheduling instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ..problem.documents import Entries
from .instance import Scheduling

_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class JobDocument(BaseModel):
    """The jobs, one entry of each list per job."""

    model_config = _STRICT

    organization: Entries[int] = Field(
        min_length=1, description="owner of each job, counted from 0"
    )
    release: Entries[int] = Field(description="when it may start, at least 0")
    processing: Entries[int] = Field(description="how long it runs, at least 1")


class SchedulingDocument(BaseModel):
    """Organizations that pool machines and send sequential jobs, in whole units of time."""

    model_config = ConfigDict(**_STRICT, title="cotenant scheduling instance")

    cotenant: Literal[1]
    problem: Literal["scheduling"]
    name: str = ""
    source: str = Field(default="", description="where the numbers come from")
    machines: Entries[int] = Field(min_length=1, description="machines each organization brings")
    job: JobDocument
    horizon: int = Field(description="the end of time; only work done before it counts")
    names: Entries[str] = Field(default_factory=list, description="names of the organizations")

    def build(self) -> Scheduling:
        """The validated instance."""
        return Scheduling(
            machines=self.machines,  # type: ignore[arg-type]
            organization=self.job.organization,  # type: ignore[arg-type]
            release=self.job.release,  # type: ignore[arg-type]
            processing=self.job.processing,  # type: ignore[arg-type]
            horizon=self.horizon,
            names=tuple(self.names),
            name=self.name,
            source=self.source,
        )
