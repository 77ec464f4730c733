"""The JSON document of a market instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ..problem.base_document import STRICT, InstanceDocument
from ..problem.documents import Entries
from .instance import Market


class JobsDocument(BaseModel):
    """One entry per job in each list."""

    model_config = STRICT

    user: Entries[int] = Field(description="whose job it is, from 0")
    server: Entries[int] = Field(description="the server it is bound to, from 0")
    parallel_fraction: Entries[float] = Field(description="Amdahl's parallel fraction, 0 to 1")
    work: Entries[float] = Field(description="work done per unit of time on one core, 0 or more")


class MarketDocument(InstanceDocument):
    """Users' jobs bound to servers, and the servers' cores."""

    model_config = ConfigDict(title="cotenant market instance")
    instance_type = Market

    problem: Literal["market"]
    capacity: Entries[float] = Field(min_length=1, description="cores of each server, above 0")
    budget: Entries[float] = Field(
        min_length=1, description="money of each user, above 0; only ratios matter"
    )
    job: JobsDocument
    names: Entries[str] = Field(default_factory=list, description="names of the users")
    server_names: Entries[str] = Field(default_factory=list, description="names of the servers")
