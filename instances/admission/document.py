"""The JSON document of an admission instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ..problem.documents import Entries
from .instance import Admission


class AdmissionDocument(BaseModel):
    """Jobs that apply to virtual machines with typed cores."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, title="cotenant admission instance"
    )

    cotenant: Literal[1]
    problem: Literal["admission"]
    name: str = ""
    source: str = Field(default="", description="where the numbers come from")
    cores: Entries[Entries[int]] = Field(
        min_length=1, description="V x C: cores of each type on each VM"
    )
    threads: Entries[int] = Field(
        min_length=1, description="the most cores each job can use, at least 1"
    )
    speed: Entries[Entries[float]] = Field(
        min_length=1, description="J x C: work per unit of time on one core of each type, above 0"
    )
    length: Entries[float] | None = Field(default=None, description="work of each job, above 0")
    names: Entries[str] = Field(default_factory=list, description="names of the jobs")
    machine_names: Entries[str] = Field(default_factory=list, description="names of the VMs")

    def build(self) -> Admission:
        """The validated instance."""
        return Admission(
            cores=self.cores,  # type: ignore[arg-type]
            threads=self.threads,  # type: ignore[arg-type]
            speed=self.speed,  # type: ignore[arg-type]
            length=self.length,  # type: ignore[arg-type]
            names=tuple(self.names),
            machine_names=tuple(self.machine_names),
            name=self.name,
            source=self.source,
        )
