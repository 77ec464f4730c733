"""What the JSON documents of all instances have in common (pydantic lives only at this edge)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from .base import Instance

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class InstanceDocument(BaseModel):
    """The document of an instance: its problem's own declares the fields and names the class."""

    model_config = STRICT

    instance_type: ClassVar[type[Instance]]

    cotenant: Literal[1]
    problem: str
    name: str = ""
    source: str = Field(default="", description="where the numbers come from")

    def content(self) -> dict[str, Any]:
        """The instance's fields by name, those of `job` beside the others."""
        fields = {name: value for name, value in self if name not in ("cotenant", "problem")}
        return fields | dict(fields.pop("job", {}))

    def build(self) -> Instance:
        """The validated instance."""
        return self.instance_type(**self.content())
