"""JSON documents of instances as pydantic models, generated from the declared fields."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import typing
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, create_model

from .base import Instance
from .documents import Entries, from_json_value
from .fields import FieldType, field_types
from .lookup import resolve
from .option_types import meanings
from .registry import problem_named

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class InstanceDocument(BaseModel):
    """JSON document of an instance: the fields of its class, and the header of all documents."""

    model_config = STRICT

    instance_type: ClassVar[type[Instance]]

    cotenant: Literal[1]
    problem: str
    name: str = ""
    source: str = Field(default="", description="where the numbers come from")

    def content(self) -> dict[str, Any]:
        """Fields of the instance by name, with those of nested objects beside them; null becomes
        infinity where the field allows it.
        """
        found: dict[str, Any] = {}
        for name, value in self:
            if name not in ("cotenant", "problem"):
                found |= dict(value) if isinstance(value, BaseModel) else {name: value}
        for field in field_types(self.instance_type):
            value, name = found.get(field.name), field.name
            if value is None:
                if field.json.null == "infinity" and name in self.model_fields_set:
                    found[name] = np.inf
            elif isinstance(value, list) and field.infinite:
                found[name] = from_json_value(value)
            elif isinstance(value, list) and value and isinstance(value[0], BaseModel):
                found[name] = [dict(entry) for entry in value]
        return found

    def build(self) -> Instance:
        """Validated instance of the document."""
        return self.instance_type(**self.content())


def document_type(problem: str) -> type[InstanceDocument]:
    """Pydantic model of the JSON document of a problem's instances."""
    entry = problem_named(problem)
    if entry.document:
        found: type[InstanceDocument] = resolve(entry.document)
        return found
    return document_of(entry.instance)


@functools.cache
def document_of(instance_type: type[Instance]) -> type[InstanceDocument]:
    """Generate the pydantic model of an instance class's JSON from annotations and docstring."""

    class Titled(InstanceDocument):
        model_config = ConfigDict(title=f"cotenant {instance_type.problem} instance")

    inner = _entries(instance_type)
    own = inner.pop("") | {"problem": (Literal[instance_type.problem], ...)}
    for name, entries in inner.items():
        made = create_model(f"{name.capitalize()}Document", __config__=STRICT, **entries)
        own[name] = (made, ...)
    made = create_model(f"{instance_type.__name__}Document", __base__=Titled, **own)
    made.__doc__ = (instance_type.__doc__ or "").partition("\n")[0]
    made.instance_type = instance_type
    return made


def _entries(record: type) -> dict[str, dict[str, Any]]:
    """Fields of a document as pydantic expects them, grouped by the JSON object that holds them."""
    found: dict[str, dict[str, Any]] = {"": {}}
    # a type in the line of the name, and the text below it, are two sentences
    text = re.sub(
        r"(?m)^(\S.* : .*[^.,;:\s])\n(?= +[A-Z`])", r"\1.\n", inspect.getdoc(record) or ""
    )
    meaning = meanings(text)
    for field in field_types(record):
        if not field.json.hidden:
            text = meaning.get(field.name, "")
            if field.infinite or field.json.null == "infinity":
                text = f"{text} (JSON null: inf)"
            entry = Field(description=text or None, **_default(field))
            found.setdefault(field.json.under, {})[field.name] = (_json_type(field), entry)
    return found


def _json_type(field: FieldType) -> Any:
    """Python type that pydantic validates a field's JSON value with."""
    if field.axes is None:
        kind: Any = field.hint
        if typing.get_origin(kind) is tuple:
            entry: Any = typing.get_args(kind)[0]
            if isinstance(entry, type) and dataclasses.is_dataclass(entry):
                name = f"{entry.__name__}Document"
                entry = create_model(name, __config__=STRICT, **_entries(entry)[""])
            kind = Entries[entry]
        elif kind in (int, float):
            kind = _bounded(kind, field)
        return kind | None if field.json.null else kind
    kinds = {np.int64: int, np.bool_: bool}
    kind = int if field.json.integers else kinds.get(field.dtype, float)
    kind = _bounded(kind, field)
    kind = kind | None if field.infinite else kind
    for _ in field.axes.names.split():
        kind = Entries[kind]
    kind = kind | Entries[kind] if field.axes.also else kind
    return kind | None if field.json.null else kind


def _bounded(kind: Any, field: FieldType) -> Any:
    """Number type whose range the JSON Schema states; the instance refuses numbers outside it."""
    ends: dict[str, Any] = {"multipleOf": 1} if field.whole and kind is float else {}
    for limits in field.limits:
        for name, end in (
            ("minimum", limits.least),
            ("maximum", limits.most),
            ("exclusiveMinimum", limits.above),
            ("exclusiveMaximum", limits.below),
        ):
            if end is not None:
                ends[name] = end
    return Annotated[kind, Field(json_schema_extra=ends)] if ends else kind


def _default(field: FieldType) -> dict[str, Any]:
    """Keywords of pydantic's Field for an absent JSON field: a default, or that it is required."""
    if field.names is not None or field.default == ():
        return {"default_factory": list}
    if field.required or (field.default is not None and field.json.null):
        lists = field.axes is not None or typing.get_origin(field.hint) is tuple
        return {"min_length": 1} if lists else {}
    if field.default is None and field.json.null != "absent":
        # absent and null are two things: no tool that fills in defaults may turn one into the other
        return {"default_factory": lambda: None}
    return {"default": field.default}
