"""The JSON document of a packing instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from ..problem.base_document import InstanceDocument
from ..problem.documents import Entries
from .instance import Packing


class PackingDocument(InstanceDocument):
    """Virtual machines of s types on servers of p classes with k resources, in whole numbers."""

    model_config = ConfigDict(title="cotenant packing instance")
    made = Packing

    problem: Literal["packing"]
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

    def content(self) -> dict[str, Any]:
        """The fields by name; null becomes infinity."""
        found = super().content()
        for name in ("servers", "request"):
            if found[name] is not None:
                found[name] = [np.inf if value is None else value for value in found[name]]
        return found
