"""The JSON document of a colocation instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from ..problem.base_document import InstanceDocument
from ..problem.documents import Entries
from .instance import Colocation

Penalty = float | None


def _without_default(schema: dict[str, Any]) -> None:
    """Absent and null are two things here: a tool that fills defaults in must not turn one into the
    other.
    """
    schema.pop("default", None)


class ColocationDocument(InstanceDocument):
    """Jobs of T types to be paired on processors that hold two jobs each."""

    model_config = ConfigDict(title="cotenant colocation instance")
    instance_type = Colocation

    problem: Literal["colocation"]
    penalty: Entries[Entries[Penalty]] = Field(
        min_length=1,
        description="T x T: throughput loss of a row-type job beside a column-type job, from "
        "-1 to 1; null forbids the pair",
    )
    count: Entries[Annotated[int, Field(json_schema_extra={"minimum": 0})]] = Field(
        min_length=1, description="agents of each type"
    )
    bandwidth: Entries[float] = Field(
        default=None,  # type: ignore[arg-type]
        json_schema_extra=_without_default,
        description="memory bandwidth demand of each type [GB/s]",
    )
    names: Entries[str] = Field(default_factory=list, description="names of the types")
    machines: float | None = Field(
        default=None,
        json_schema_extra=_without_default,
        description="processors; absent: half as many as agents, everyone is paired; null: as "
        "many as needed",
    )
    unpaired: float = Field(
        default=None,  # type: ignore[assignment]  # absent; a null would mean infinity, which is no penalty
        json_schema_extra=_without_default,
        description="penalty of an agent left without partner (preference lists), from -1 to 1",
    )
    low: Entries[Entries[Penalty]] = Field(
        default=None,  # type: ignore[arg-type]
        json_schema_extra=_without_default,
        description="T x T, with high: the lower end of the interval around each penalty; null "
        "where the pair is forbidden",
    )
    high: Entries[Entries[Penalty]] = Field(
        default=None,  # type: ignore[arg-type]
        json_schema_extra=_without_default,
        description="T x T, with low: the upper end of the interval around each penalty; null "
        "where the pair is forbidden",
    )
    looks: Entries[Entries[Annotated[int, Field(json_schema_extra={"minimum": 0})]]] = Field(
        default=None,  # type: ignore[arg-type]
        json_schema_extra=_without_default,
        description="T x T: how often each penalty was measured; 0 where it was not",
    )
    confidence: float = Field(
        default=None,  # type: ignore[assignment]
        json_schema_extra=_without_default,
        description="probability with which all intervals hold together, above 0 and at most 1",
    )
    intervals: str = Field(default="", description="how the intervals were made")

    def content(self) -> dict[str, Any]:
        """The fields by name; null becomes infinity, an absent `machines` stays None."""
        found = super().content()
        for name in ("penalty", "low", "high"):
            if found[name] is not None:
                found[name] = [
                    [np.inf if value is None else value for value in row] for row in found[name]
                ]
        if self.machines is None and "machines" in self.model_fields_set:
            found["machines"] = np.inf
        return found
