"""The JSON document of an admission instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from ..problem.base_document import InstanceDocument
from ..problem.documents import Entries
from .instance import Admission


class AdmissionDocument(InstanceDocument):
    """Jobs that apply to virtual machines with typed cores."""

    model_config = ConfigDict(title="cotenant admission instance")
    instance_type = Admission

    problem: Literal["admission"]
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
