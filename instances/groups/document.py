"""Pydantic model of the JSON document of a groups instance, with its table of measured groups."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..problem.base_document import document_of
from ..problem.documents import Entries
from ..problem.errors import InvalidInstance
from .instance import Groups


class Group(BaseModel):
    """Penalties of the members of one group in the JSON document of an instance."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    members: Entries[int] = Field(min_length=1, description="their types, numbers from 0")
    penalty: Entries[float] = Field(description="what each loses")
    place: int = Field(default=-1, alias="class", description="class of machines; -1 for all")


class GroupsDocument(document_of(Groups)):  # type: ignore[misc]
    """Jobs of T types to be grouped on machines of several seats."""

    table: Entries[Group] = Field(
        default_factory=list, min_length=1, description="table model: the groups that may be formed"
    )

    def content(self) -> dict[str, Any]:
        """Fields of the instance by name, with the table of measured groups as arrays."""
        found: dict[str, Any] = super().content()
        if found.pop("table"):
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
