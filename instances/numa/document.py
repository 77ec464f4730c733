"""The JSON document of a NUMA instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from ..problem.base_document import InstanceDocument
from ..problem.documents import Entries
from .instance import Law, Numa, Queues


class NumaDocument(InstanceDocument):
    """Tasks of K classes on a blade server, each with its data in one memory."""

    model_config = ConfigDict(title="cotenant numa instance")
    instance_type = Numa

    problem: Literal["numa"]
    blades: int = Field(description="blades of the server")
    rows: int = Field(description="rows of a blade's mesh of processors")
    columns: int = Field(description="columns of a blade's mesh of processors")
    cores: int = Field(description="cores of a processor")
    location_share: Entries[float] = Field(
        description="share of tasks with data in each memory (blades x rows x columns); sums to 1"
    )
    class_share: Entries[float] = Field(
        min_length=1, description="share of each class of tasks; sums to 1"
    )
    service_mean: Entries[float] = Field(
        description="mean service time of each class with local data [s]"
    )
    ht1: Entries[float] = Field(
        description="service time one hop away over the local one, by class, at least 1"
    )
    pcie: Entries[float] = Field(
        description="service time on another blade over the local one, by class, at least 1"
    )
    bandwidth: Entries[float] = Field(description="demand for memory, by class [MB/s]")
    rate: float = Field(description="arrivals [tasks/s]")
    refusal_limit: float | None = Field(
        description="offers a task declines at most; null for no limit"
    )
    law: Law = Field(default="exponential", description="law of the service times")
    scv: float | None = Field(
        default=None, description="squared coefficient of variation (gamma and lognormal)"
    )
    queues: Queues = Field(default="one", description="one queue, or one per processor")
    arrival_law: Law = Field(default="exponential", description="law of the times between arrivals")
    arrival_scv: float | None = Field(
        default=None, description="its squared coefficient of variation (gamma and lognormal)"
    )
    names: Entries[str] = Field(default_factory=list, description="names of the classes")

    def content(self) -> dict[str, Any]:
        """The fields by name; a null limit becomes infinity."""
        limit = np.inf if self.refusal_limit is None else self.refusal_limit
        return super().content() | {"refusal_limit": limit}
