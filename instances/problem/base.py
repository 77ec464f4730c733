"""What every instance and every solution is: a frozen, validated, comparable dataclass of
arrays.
"""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from .documents import shortened
from .errors import InvalidInstance, InvalidOption
from .option_types import misfit
from .text import html_facts, without_unit

Made = TypeVar("Made")
Value = TypeVar("Value", bound=Hashable)

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


class _Fitting(type):
    """Of classes whose constructors refuse what does not fit them as every other wrong value."""

    def __call__(cls: type[Made], *values: Any, **fields: Any) -> Made:
        try:
            return cast("Made", type.__call__(cls, *values, **fields))
        except TypeError:
            if fault := misfit(cls, values, fields):
                raise InvalidOption(fault) from None
            raise

    @property
    def __signature__(cls) -> inspect.Signature:
        """Of the constructor: this class's `__call__` would hide it."""
        own = inspect.signature(cls.__init__)  # type: ignore[misc]
        return own.replace(parameters=list(own.parameters.values())[1:])


class _Record(metaclass=_Fitting):
    """Array-aware equality and representation for frozen dataclasses."""

    def __repr__(self) -> str:
        items = [f"{name}={value}" for name, value in self._repr_items().items()]
        items = [*items[:_MAX_IN_REPR], "..."] if len(items) > _MAX_IN_REPR + 1 else items
        return f"{type(self).__name__}({', '.join(items)})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_facts(type(self).__name__, self._repr_items())

    def _repr_items(self) -> dict[str, str]:
        """Every field, long ones by their shape."""
        return {f.name: _short(getattr(self, f.name)) for f in _fields(self) if f.repr}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in _fields(self) if f.compare
        )

    def __hash__(self) -> int:
        return hash(tuple(_hashable(getattr(self, f.name)) for f in _fields(self) if f.compare))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickled arrays are read-only again: what a method changed would be judged by what it
        made of it.
        """
        self.__dict__.update(state)
        for entry in _fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again."""
        known = [f.name for f in _fields(self) if f.init]
        if unknown := [name for name in changes if name not in known]:
            raise InvalidInstance(unknown[0], "given to replace", f"one of {', '.join(known)}")
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False, repr=False)
class Instance(_Record, Generic[Answer]):
    """What is given. Subclasses validate in `__post_init__` and never change afterwards;
    `Instance[Pairing]` is one that a Pairing answers.

    Attributes
    ----------
    name : str
        What tables and file names call it.
    source : str
        Where the numbers come from; generators say there that data is synthetic.
    """

    problem: ClassVar[str] = ""
    cure_for_others: ClassVar[str] = "cotenant.read returns one"

    name: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)

    @property
    def size(self) -> int:
        """What the time of a policy grows with, about: the entries of the tables that it reads."""
        return 0

    @property
    def beyond_proofs(self) -> str:
        """What of it the checker of proofs does not know, in words; "" where it knows all."""
        return ""

    def summary(self) -> dict[str, object]:
        """A few facts for people (`cotenant show`): name and size; subclasses add theirs."""
        return {"problem": self.problem, "name": self.name, "source": self.source}

    def _repr_items(self) -> dict[str, str]:
        """The first facts of the summary."""
        facts = {name: _cut(str(value)) for name, value in self.summary().items() if value != ""}
        shown = [name for name in facts if name not in ("problem", "source")]
        return {name: facts[name] for name in shown[:_MAX_REPR_ITEMS]}

    def document(self) -> dict[str, Any]:
        """The problem's own fields as plain JSON values, infinity written as None (JSON null)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class Solution(_Record):
    """What an answer is. Feasibility is the business of the problem's `check`."""

    problem: ClassVar[str] = ""
    cure_for_others: ClassVar[str] = "`solution` of a result is one"

    def to_frame(self, instance: Instance) -> pandas.DataFrame:
        """The answer as a labeled frame: who runs where, by the names of its instance.

        Raises
        ------
        InfeasibleSolution
            It is no answer to this instance.
        """
        tables = import_module(".answer_table", __package__)  # it stands on this module
        frame: pandas.DataFrame = tables.to_frame(instance, self)
        return frame

    def document(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {f.name: to_json_value(getattr(self, f.name)) for f in _fields(self)}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """The inverse of `document`."""
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := set(document) - known:
            raise InvalidInstance(
                "solution", f"given the field {min(unknown)!r}", f"only {', '.join(sorted(known))}"
            )
        return cls(**{key: from_json_value(value) for key, value in document.items()})


def frozen_array(
    owner: str, value: Any, dtype: Any, ndim: int, *, copy: bool = True
) -> np.ndarray[Any, Any]:
    """A read-only copy of `value` with the given type and number of dimensions, or a clear
    error; an empty list is one without rows and columns. Without `copy` it may be `value` itself,
    for a caller that copies it.
    """
    try:
        raw = np.asarray(value)
        if raw.dtype.kind == "c":
            raise TypeError
        if raw.dtype == object or (raw.dtype.kind not in "biuf" and raw.size):
            raw = np.asarray(value, dtype=float)
    except OverflowError:
        raise InvalidInstance(owner, "a number beyond every float", "numbers below 1e308") from None
    except (ValueError, TypeError):
        _refuse_entry(owner, value)
        raise InvalidInstance(
            owner,
            "ragged or not numeric",
            f"a {_shape_word(ndim)} of numbers",
            "Give every row the same length",
        ) from None
    if raw.shape == (0,):  # an array without rows, whatever its columns were, from a file
        raw = raw.reshape((0,) * ndim)
    if raw.ndim != ndim:
        raise InvalidInstance(
            owner, f"an array of shape {raw.shape}", f"a {_shape_word(ndim)} of numbers"
        )
    if (
        np.dtype(dtype).kind == "i" and raw.dtype.kind in "fu"
    ):  # an unsigned number would turn round
        broken = ~np.isfinite(raw) | (raw != np.floor(raw)) | (np.abs(raw) >= 2**62)
        if broken.any():
            place = tuple(int(i) for i in np.argwhere(broken)[0])
            raise InvalidInstance(
                f"{owner}[{', '.join(map(str, place))}]", raw[place], "a whole number"
            )
    if not copy:
        return raw.astype(dtype, copy=False)
    array = np.array(raw, dtype=dtype)
    array.flags.writeable = False
    return array


def _refuse_entry(owner: str, value: Any) -> None:
    """Raise InvalidInstance for the first entry of a regular array that is no number."""
    try:
        entries = np.array(value, dtype=object)
    except (ValueError, TypeError):
        return
    for place, entry in np.ndenumerate(entries) if entries.ndim else ():
        try:
            float(entry)
        except (ValueError, TypeError):
            if isinstance(entry, list | tuple):
                return
            cure = without_unit(entry) if isinstance(entry, str) else ""
            raise InvalidInstance(
                f"{owner}[{', '.join(map(str, place))}]",
                shortened(entry),
                "a number",
                cure.capitalize(),
            ) from None


def to_json_value(value: Any) -> Any:
    """JSON values of numpy arrays and scalars; infinity becomes None, NaN is refused."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            if np.isnan(value).any():
                raise ValueError("NaN has no JSON form")
            if np.isinf(value).any():
                return to_json_value(value.tolist())
        return value.tolist()
    if isinstance(value, np.generic):
        return to_json_value(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        if np.isnan(value) or value < 0:
            raise ValueError(f"{value} has no JSON form")
        return None
    if isinstance(value, dict):
        return {str(key): to_json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        if _PLAIN.issuperset(map(type, value)):  # millions of numbers, at once
            return list(value)
        return [to_json_value(entry) for entry in value]
    return value


_PLAIN = frozenset((int, str, bool, type(None)))


def from_json_value(value: Any) -> Any:
    """The inverse of `to_json_value` for the fields of a solution: None inside lists becomes
    infinity.
    """
    if isinstance(value, list):
        return [np.inf if entry is None else from_json_value(entry) for entry in value]
    return value


def repeated(values: Iterable[Value]) -> Value | None:
    """The first value that has been there before; None when all differ."""
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def set_field(instance: object, name: str, value: object) -> None:
    """Assign to a field of a frozen dataclass while it validates itself."""
    object.__setattr__(instance, name, value)


def _fields(record: object) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(record)  # type: ignore[arg-type]


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        left, right = np.asarray(left), np.asarray(right)
        same = np.array_equal(left, right, equal_nan=False) or left.size == right.size == 0
        return same and bool(left.dtype == right.dtype)
    return bool(left == right)


def _short(value: Any) -> str:
    """A field in a few letters."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"array{value.shape}"
    return _cut(str(value.tolist()) if isinstance(value, np.ndarray) else repr(value))


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


_MAX_REPR_ITEMS = 5
"""Facts of an instance that its representation tells."""

_MAX_IN_REPR = 6
"""Fields of an answer that its representation tells; a notebook shows all."""


def _hashable(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value


def _shape_word(ndim: int) -> str:
    return {0: "single number", 1: "list", 2: "matrix"}.get(ndim, f"{ndim}-dimensional array")
