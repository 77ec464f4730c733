"""The JSON document of a packing instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..problem.base_document import STRICT, InstanceDocument
from ..problem.documents import Entries
from .instance import Packing


class LimitDocument(BaseModel):
    """Most VMs of some types together on one server, or in one zone."""

    model_config = STRICT

    types: Entries[int] = Field(min_length=1, description="VM types that are counted together")
    most: int = Field(ge=1, description="VMs of them that may be there")
    within: Literal["server", "zone"] = "server"


class SpreadDocument(BaseModel):
    """Largest skew of some types together over zones."""

    model_config = STRICT

    types: Entries[int] = Field(min_length=1, description="VM types that are counted together")
    skew: int = Field(
        ge=1, description="VMs that a zone may have beyond the zone that has fewest of them"
    )
    zones: Entries[str] = Field(
        default_factory=list,
        description="those that count; when absent, all with a server on which one of the types is "
        "allowed",
    )


class PackingDocument(InstanceDocument):
    """Virtual machines of s types on servers of p classes with k resources, in whole numbers."""

    model_config = ConfigDict(title="cotenant packing instance")
    instance_type = Packing

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
    allowed: Entries[Entries[bool]] | None = Field(
        default=None, description="s x p: whether a type may run on a class; everywhere when absent"
    )
    most_per_server: Entries[int | None] | None = Field(
        default=None, description="VMs of each type that one server may hold; null: no limit"
    )
    apart: Entries[Entries[int]] | None = Field(
        default=None, description="pairs of types; no server holds VMs of both"
    )
    zone: Entries[str] = Field(
        default_factory=list, description='zone of the servers of each class; "" for none'
    )
    skew: Entries[int | None] | None = Field(
        default=None,
        description="VMs of each type that a zone may have beyond the zone that has fewest of "
        "them, over the zones with a server on which it is allowed; null: no limit",
    )
    limits: Entries[LimitDocument] = Field(
        default_factory=list, description="most VMs of several types on one server, or in one zone"
    )
    spreads: Entries[SpreadDocument] = Field(
        default_factory=list, description="largest skew of several types over zones"
    )
    placed: Entries[Entries[int]] | None = Field(
        default=None,
        description="what runs now: server (numbered class by class), VM type, how many VMs",
    )
    server_names: Entries[str] = Field(
        default_factory=list, description="names of all servers, class by class"
    )

    def content(self) -> dict[str, Any]:
        """The fields by name; null becomes infinity."""
        found = super().content()
        for name in ("limits", "spreads"):
            found[name] = [dict(entry) for entry in found[name]]
        for name in ("servers", "request", "most_per_server", "skew"):
            if found[name] is not None:
                found[name] = [np.inf if value is None else value for value in found[name]]
        return found
