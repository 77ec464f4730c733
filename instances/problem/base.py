"""Base classes of instances and solutions: frozen, validated dataclasses of arrays."""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from .documents import from_json_value, to_json_value, whole_json_numbers
from .errors import InvalidInstance, InvalidOption
from .fields import COUNTED, field_types
from .lookup import resolve
from .option_types import misfit
from .text import html_facts

Made = TypeVar("Made")

if TYPE_CHECKING:
    import pandas
    import typing_extensions  # checkers bring it; the default spares `Instance[Any]` everywhere

    Answer = typing_extensions.TypeVar(
        "Answer", bound="Solution", default="Solution", covariant=True
    )
else:
    Answer = TypeVar("Answer")

LOADED = time.time()
"""When this process loaded this module, which whatever makes answers imports (s since 1970)."""

NO_CONTENT_WHEN_ABSENT = {"absent is no content": True}
"""Metadata of a field that instances did not always have: at its default it leaves their
fingerprint, by which stored results know them, as it was.
"""


class _OfConstructor:
    """Descriptor that shows a class's constructor signature, which the metaclass's `__call__` would
    hide.
    """

    def __get__(self, made: Any, kind: type) -> inspect.Signature:
        if made is None:  # of the metaclass itself
            raise AttributeError("__signature__")
        own = inspect.signature(made.__init__)
        return own.replace(parameters=list(own.parameters.values())[1:])


class SignatureErrors(type):
    """Metaclass of classes whose constructor raises InvalidOption for arguments that do not fit its
    signature.
    """

    __signature__ = _OfConstructor()

    def __call__(cls: type[Made], *values: Any, **fields: Any) -> Made:
        """Construct the object; InvalidOption for arguments that do not fit the signature."""
        try:
            return cast("Made", type.__call__(cls, *values, **fields))
        except TypeError:
            if fault := misfit(cls, values, fields):
                raise InvalidOption(fault) from None
            raise


class _Record(metaclass=SignatureErrors):
    """Base class that gives frozen dataclasses with array fields equality and representation."""

    def __repr__(self) -> str:
        items = [f"{name}={value}" for name, value in self._repr_items().items()]
        items = [*items[:_MAX_IN_REPR], "..."] if len(items) > _MAX_IN_REPR + 1 else items
        return f"{type(self).__name__}({', '.join(items)})"

    def _repr_html_(self) -> str:
        """HTML representation of an instance or answer for a notebook."""
        return html_facts(type(self).__name__, self._repr_items())

    def _repr_items(self) -> dict[str, str]:
        """Fields of an instance or answer as short texts; long arrays as their shape."""
        return {f.name: _short(getattr(self, f.name)) for f in _fields(self) if f.repr}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in _fields(self) if f.compare
        )

    def __hash__(self) -> int:
        values = (getattr(self, f.name) for f in _fields(self) if f.compare)
        return hash(tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled object with read-only arrays, so that a method cannot change its
        instance.
        """
        self.__dict__.update(state)
        for entry in _fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def replace(self, **changes: Any) -> Self:
        """Copy an instance or answer with some fields changed, and validate it again."""
        known = [f.name for f in _fields(self) if f.init]
        if unknown := [name for name in changes if name not in known]:
            raise InvalidInstance(unknown[0], "given to replace", f"one of {', '.join(known)}")
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False, repr=False)
class Instance(_Record, Generic[Answer]):
    """Base of all instances; `Instance[Pairing]` is one whose solution is a Pairing.

    Subclasses never change and validate in `__post_init__`: a wrong field raises InvalidInstance,
    which names the field, the value seen, and the cure.

    Attributes
    ----------
    name : str
        What tables and file names call it.
    source : str
        Where the numbers come from; generators say there that data is synthetic.
    """

    problem: ClassVar[str] = ""
    cure_for_others: ClassVar[str] = "cotenant.read returns one"

    counted: ClassVar[Mapping[str, str]] = COUNTED
    """What its axes count, in words: "jobs" -> "job"."""

    name: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)

    @property
    def size(self) -> int:
        """Number to which a policy's time is about proportional, mostly the entries of the tables
        read.
        """
        return 0

    @property
    def beyond_proofs(self) -> str:
        """Features that the verifier of proofs does not support, as text; "" without any."""
        return ""

    @property
    def left_out(self) -> str:
        """Text on entries of the source list that were left out; "" without any."""
        return ""

    def summary(self) -> dict[str, object]:
        """Name and size of the instance for `cotenant show`; subclasses add facts of their
        problem.
        """
        return {"problem": self.problem, "name": self.name, "source": self.source}

    def _repr_items(self) -> dict[str, str]:
        """First facts of `summary`, cut short, for the `repr` of the instance."""
        facts = {name: _cut(str(value)) for name, value in self.summary().items() if value != ""}
        shown = [name for name in facts if name not in ("problem", "source")]
        return {name: facts[name] for name in shown[:_MAX_REPR_ITEMS]}

    def document(self) -> dict[str, Any]:
        """Fields of an instance as JSON values, without absent ones; null is infinity."""
        content: dict[str, Any] = {}
        for kind in field_types(type(self)):
            value = getattr(self, kind.name)
            if kind.json.hidden or value is None or value is False:
                continue
            if isinstance(value, str | tuple) and not value:
                continue
            value = to_json_value(value)
            place = content.setdefault(kind.json.under, {}) if kind.json.under else content
            place[kind.name] = whole_json_numbers(value) if kind.json.integers else value
        return content


@dataclass(frozen=True, eq=False, repr=False)
class Solution(_Record):
    """Base of all solutions, whose feasibility the problem's `check` decides."""

    cure_for_others: ClassVar[str] = "`solution` of a result is one"

    def to_frame(self, instance: Instance) -> pandas.DataFrame:
        """Answer as a frame labeled by the names of its instance; raises InfeasibleSolution if it
        is not feasible for the instance.
        """
        frame: pandas.DataFrame = resolve("instances.problem.answer_table:to_frame")(instance, self)
        return frame

    def document(self) -> dict[str, Any]:
        """Fields of the solution as plain JSON values."""
        return {f.name: to_json_value(getattr(self, f.name)) for f in _fields(self)}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Solution from its fields as JSON values; an unknown field raises InvalidInstance."""
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := set(document) - known:
            raise InvalidInstance(
                "solution", f"given the field {min(unknown)!r}", f"only {', '.join(sorted(known))}"
            )
        return cls(**{key: from_json_value(value) for key, value in document.items()})


def _fields(record: object) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(record)  # type: ignore[arg-type]


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        left, right = np.asarray(left), np.asarray(right)
        same = np.array_equal(left, right, equal_nan=False) or left.size == right.size == 0
        return same and bool(left.dtype == right.dtype)
    return bool(left == right)


def _short(value: Any) -> str:
    """Value of a field as a short text."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"array{value.shape}"
    return _cut(str(value.tolist()) if isinstance(value, np.ndarray) else repr(value))


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


_MAX_REPR_ITEMS = 5
"""Facts of an instance that its representation tells."""

_MAX_IN_REPR = 6
"""Fields of an answer that its representation tells; a notebook shows all."""
