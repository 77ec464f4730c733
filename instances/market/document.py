"""The JSON document of a market instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ..problem.documents import Entries
from .instance import Market


class JobsDocument(BaseModel):
    """One entry per job in each list."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    user: Entries[int] = Field(description="whose job it is, from 0")
    server: Entries[int] = Field(description="the server it is bound to, from 0")
    parallel_fraction: Entries[float] = Field(description="Amdahl's parallel fraction, 0 to 1")
    work: Entries[float] = Field(description="work done per unit of time on one core, 0 or more")


class MarketDocument(BaseModel):
    """Users' jobs bound to servers, and the servers' cores."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, title="cotenant market instance"
    )

    cotenant: Literal[1]
    problem: Literal["market"]
    name: str = ""
    source: str = Field(default="", description="where the numbers come from")
    capacity: Entries[float] = Field(min_length=1, description="cores of each server, above 0")
    budget: Entries[float] = Field(
        min_length=1, description="money of each user, above 0; only ratios matter"
    )
    job: JobsDocument
    names: Entries[str] = Field(default_factory=list, description="names of the users")
    server_names: Entries[str] = Field(default_factory=list, description="names of the servers")

    def build(self) -> Market:
        """The validated instance."""
        return Market(
            capacity=self.capacity,  # type: ignore[arg-type]
            budget=self.budget,  # type: ignore[arg-type]
            user=self.job.user,  # type: ignore[arg-type]
            server=self.job.server,  # type: ignore[arg-type]
            parallel_fraction=self.job.parallel_fraction,  # type: ignore[arg-type]
            work=self.job.work,  # type: ignore[arg-type]
            names=tuple(self.names),
            server_names=tuple(self.server_names),
            name=self.name,
            source=self.source,
        )
