"""The JSON document of a packing instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..problem.documents import Entries
from .instance import Packing


class PackingDocument(BaseModel):
    """Virtual machines of s types on servers of p classes with k resources, in whole numbers."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, title="cotenant packing instance"
    )

    cotenant: Literal[1]
    problem: Literal["packing"]
    name: str = ""
    source: str = Field(default="", description="where the numbers come from")
    capacity: Entries[Entries[int]] = Field(
        min_length=1, description="p x k: what one server of each class has free"
    )
    initial: Entries[Entries[int]] | None = Field(
        default=None,
        description="p x k: what it had before anything ran on it; as capacity when absent",
    )
    servers: Entries[int | None] | None = Field(
        default=None,
        description="servers of each class; null: as many as needed (all of them when absent)",
    )
    demand: Entries[Entries[int]] = Field(
        min_length=1, description="s x k: what one VM of each type takes"
    )
    request: Entries[int | None] | None = Field(
        default=None,
        description="VMs wanted of each type; null: elastic, as many as fit (all of them when "
        "absent)",
    )
    resources: Entries[str] = Field(default_factory=list, description="names of the k resources")
    names: Entries[str] = Field(default_factory=list, description="names of the s VM types (users)")
    class_names: Entries[str] = Field(
        default_factory=list, description="names of the p classes of servers"
    )
    cost: Entries[int] | None = Field(
        default=None, description="price of one server of each class; 1 when absent"
    )
    partial: bool = Field(
        default=False, description="whether a finite request may be served in part"
    )

    def build(self) -> Packing:
        """The validated instance; null becomes infinity."""

        def restored(values: list[int | None] | None) -> list[float] | None:
            return (
                None if values is None else [np.inf if value is None else value for value in values]
            )

        return Packing(
            capacity=self.capacity,  # type: ignore[arg-type]
            demand=self.demand,  # type: ignore[arg-type]
            request=restored(self.request),  # type: ignore[arg-type]
            servers=restored(self.servers),  # type: ignore[arg-type]
            initial=self.initial,  # type: ignore[arg-type]
            cost=self.cost,  # type: ignore[arg-type]
            partial=self.partial,
            resources=tuple(self.resources),
            names=tuple(self.names),
            class_names=tuple(self.class_names),
            name=self.name,
            source=self.source,
        )
