"""The JSON document of a groups instance (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..problem.base_document import InstanceDocument
from ..problem.documents import Entries
from ..problem.errors import InvalidInstance
from .instance import Groups

Rows = Entries[Entries[float | None]] | Entries[Entries[Entries[float | None]]]


class Group(BaseModel):
    """What the members of one group lose."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    members: Entries[int] = Field(min_length=1, description="their types, numbers from 0")
    penalty: Entries[float] = Field(description="what each loses")
    place: int = Field(default=-1, alias="class", description="class of machines; -1 for all")


class GroupsDocument(InstanceDocument):
    """Jobs of T types to be grouped on machines of several seats."""

    model_config = ConfigDict(title="cotenant groups instance")
    instance_type = Groups

    problem: Literal["groups"]
    count: Entries[int] = Field(min_length=1, description="jobs of each type")
    seats: Entries[int] = Field(min_length=1, description="jobs that a machine of each class holds")
    machines: Entries[float | None] = Field(
        default=None,  # type: ignore[arg-type]
        description="machines of each class, null for as many as needed; absent: just enough",
    )
    penalty: Rows = Field(  # type: ignore[assignment]
        default=None,
        description="additive model: T x T, or one such table a class; null: never in one group",
    )
    pressure: Entries[float] = Field(
        default=None,  # type: ignore[arg-type]
        description="what each type puts on the jobs beside it",
    )
    knots: Entries[float] = Field(
        default=None,  # type: ignore[arg-type]
        description="pressure model: pressures at which the curves are given",
    )
    sensitivity: Rows = Field(  # type: ignore[assignment]
        default=None,
        description="pressure model: T x K penalties at the knots, or one such table a class",
    )
    table: Entries[Group] = Field(
        default=None,  # type: ignore[arg-type]
        min_length=1,
        description="table model: the groups that may be formed",
    )
    names: Entries[str] = Field(default_factory=list, description="names of the types")
    classes: Entries[str] = Field(default_factory=list, description="names of the classes")

    def content(self) -> dict[str, Any]:
        """The fields by name; null becomes infinity."""
        found = {name: value for name, value in super().content().items() if value is not None}
        for name in ("machines", "penalty", "sensitivity"):
            if name in found:
                found[name] = _infinite(getattr(self, name))
        if found.pop("table", None) is not None:
            for place, group in enumerate(self.table):
                if len(group.penalty) != len(group.members):
                    raise InvalidInstance(
                        f"table[{place}].penalty", f"of length {len(group.penalty)}",
                        f"a number for each of the {len(group.members)} members",
                    )  # fmt: skip
            width = max((len(group.members) for group in self.table), default=0)
            for name, fill in (("members", -1), ("penalty", 0.0)):
                rows = [getattr(group, name) for group in self.table]
                found["losses" if name == "penalty" else name] = [
                    [*row, *[fill] * (width - len(row))] for row in rows
                ]
            found["where"] = [group.place for group in self.table]
        return found


def _infinite(value: Any) -> Any:
    if isinstance(value, list):
        return [_infinite(entry) for entry in value]
    return np.inf if value is None else value
