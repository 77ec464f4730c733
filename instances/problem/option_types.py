"""Values that a function's options accept, declared in annotations and checked by one decorator.

`alpha: Annotated[float, AtLeast(0, "a least gain")] = 0.0` in a signature is all there is to say.
`validate_options` refuses other values when the function is called from Python; the command line
and the readers convert texts by the same rules (`options.parse_options`), and `options.described`
lists them beside the words of the docstring.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from numbers import Integral, Number, Real
from typing import Any, TypeVar

from .errors import InvalidOption, suggest
from .text import shortened, without_unit

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Range:
    """Interval of numbers that an option accepts; `AtLeast`, `Above` and `Between` make the common
    ones.

    Attributes
    ----------
    least, most : the ends, included; None where there is none. Without `most` an infinite value is
        refused unless `infinite`.
    above, below : the ends, excluded.
    what : what the number is, for the message, with its unit: "seconds", "a share of the tasks".
    cure : what else could be done, a clause that ends the message.
    infinite : whether inf is a value.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    what: str = ""
    cure: str = ""
    infinite: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is in the interval; NaN never is."""
        return (
            (
                isinstance(value, Integral)
                or math.isfinite(value)
                or (self.infinite and value == math.inf)
            )
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    @property
    def words(self) -> str:
        """Interval as error messages state it: "at least 1", "above 0 and at most 1"."""
        if self.least is not None and self.most is not None:
            return f"from {_number(self.least)} to {_number(self.most)}"
        low = "" if self.least is None else f"at least {_number(self.least)}"
        low = "0 or more" if self.least == 0 else low
        low = low if self.above is None else f"above {_number(self.above)}"
        high = "" if self.most is None else f"at most {_number(self.most)}"
        high = high if self.below is None else f"below {_number(self.below)}"
        return " and ".join(part for part in (low, high) if part)


def AtLeast(least: float, what: str = "", *, cure: str = "", infinite: bool = False) -> Range:
    """Interval of the numbers that are at least `least`."""
    return Range(least=least, what=what, cure=cure, infinite=infinite)


def Above(
    above: float,
    what: str = "",
    *,
    most: float | None = None,
    cure: str = "",
    infinite: bool = False,
) -> Range:
    """Interval of the numbers above `above` and at most `most`."""
    return Range(above=above, most=most, what=what, cure=cure, infinite=infinite)


def Between(least: float, most: float, what: str = "", *, cure: str = "") -> Range:
    """Interval of the numbers from `least` to `most`, both included."""
    return Range(least=least, most=most, what=what, cure=cure)


@dataclass(frozen=True)
class OptionType:
    """Type of one option: a union of plain types, each with its range.

    Attributes
    ----------
    branches : the types of the union, with the range of each, or None.
    """

    branches: tuple[tuple[Any, Range | None], ...]

    @classmethod
    def of(cls, hint: Any) -> OptionType:
        """Option type that an annotation states; a range around a union applies to its numbers."""
        return cls(tuple(_branches(hint, None)))

    @property
    def choices(self) -> tuple[Any, ...]:
        """Values that the Literal types of an option allow; an empty tuple without Literals."""
        return tuple(
            value
            for hint, _ in self.branches
            if typing.get_origin(hint) is typing.Literal
            for value in typing.get_args(hint)
        )

    @property
    def values(self) -> str:
        """Description of the values that this option accepts."""
        words = [*dict.fromkeys(filter(None, (_describe(*branch) for branch in self.branches)))]
        several = any("," in text or " or " in text for text in words)
        return (", or " if several else " or ").join(words)

    @property
    def words(self) -> str:
        """Expected values as a message states them, with the cures."""
        cures = filter(None, (_cure(*branch) for branch in self.branches))
        return "; ".join([self.values, *dict.fromkeys(cures)])

    @property
    def limited(self) -> bool:
        """Whether this type of option refuses any value; `object`, for example, refuses none."""
        return not self.takes(self)

    def takes(self, value: Any) -> bool:
        """Whether this option accepts a value."""
        return any(_takes(hint, limits, value) for hint, limits in self.branches)

    def check(self, name: str, value: Any) -> None:
        """Raise InvalidOption, with the expected value, if this option does not accept a value."""
        if not self.takes(value):
            offers = getattr(type(value), "offers", "")
            raise InvalidOption(
                f"{name} is {shortened(value)}; expected {self.words}{offers and f'; {offers}'}"
            )

    def array(self, value: Any) -> Any:
        """Convert a list to an array if the option expects one; other values unchanged."""
        if not isinstance(value, list | tuple) or not any(
            _is_ndarray(typing.get_origin(hint)) for hint, _ in self.branches
        ):
            return value
        import numpy as np

        return np.asarray(value)

    def parse(self, name: str, text: str, owner: str) -> Any:
        """Parse an option's value from text; raises InvalidOption for a text without one."""
        seen, cure = repr(text), ""
        for hint, limits in self.branches:
            found, value = _read(hint, text)
            if found and _takes(hint, limits, value):
                return value
            seen = text if found else seen
            if hint in (int, float):
                cure = without_unit(text, "" if limits is None else limits.what) or cure
        words = f"{self.words}; {cure}" if cure else self.words
        raise InvalidOption(f"{owner}: {name} is {seen}; expected {words}")


def option_types_of(function: Callable[..., Any]) -> Mapping[str, OptionType]:
    """Option type of each annotated parameter; the return annotation is not evaluated."""
    given = function.func if isinstance(function, functools.partial) else function
    plain = inspect.unwrap(given)
    stated = {
        name: hint for name, hint in inspect.get_annotations(plain).items() if name != "return"
    }
    found = {}
    for name, hint in stated.items():
        with suppress(NameError):  # of a library that is imported for type checkers only
            hints = typing.get_type_hints(
                types.SimpleNamespace(__annotations__={name: hint}),
                plain.__globals__,
                include_extras=True,
            )
            found[name] = OptionType.of(hints[name])
    return found


def validate_options(function: Function) -> Function:
    """Decorate a function or dataclass so that it refuses wrong calls, and values that its
    annotations exclude, before any work starts.

    Time limits of 0 or less are refused too.

    Raises
    ------
    InvalidOption
        From the function returned, with the option's name, the value, what was expected, and the
        cure.
    """
    if inspect.isclass(function):
        setattr(function, "__init__", validate_options(function.__init__))  # noqa: B010  not a method that subclasses may override
        return function
    entries = inspect.signature(function).parameters.values()
    places = [entry.name for entry in entries if entry.kind is not entry.KEYWORD_ONLY]

    @functools.cache
    # annotations are resolved at the first call: they may be of later modules
    def found() -> Mapping[str, OptionType]:
        rules = {name: rule for name, rule in option_types_of(function).items() if rule.limited}
        return rules | {"time_limit": SECONDS} if "time_limit" in rules else rules

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        rules = found()
        for name, value in (*zip(places, arguments, strict=False), *options.items()):
            if name in rules:
                rules[name].check(name, value)
        arguments = tuple(
            rules[name].array(value) if name in rules else value
            for name, value in zip_longest(places[: len(arguments)], arguments)
        )
        options = {
            name: rules[name].array(value) if name in rules else value
            for name, value in options.items()
        }
        try:
            return function(*arguments, **options)
        except TypeError:
            if fault := misfit(function, arguments, options):
                raise InvalidOption(fault) from None
            raise

    return typing.cast("Function", call)


def misfit(
    function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any]
) -> str:
    """Reason why a call does not fit the signature of a function or class; "" if it fits.

    The first of: a keyword that is none of its own, with the nearest; too many values without a
    name; one that is given twice; one that is missing.
    """
    entries = list(inspect.signature(function).parameters.values())
    if entries and entries[0].name in ("self", "cls"):
        entries, arguments = entries[1:], arguments[1:]
    owner = getattr(function, "__qualname__", "it").removesuffix(".__init__")
    named = [entry.name for entry in entries if entry.kind in (_PLACED, _KEYWORD)]
    places = [entry.name for entry in entries if entry.kind in (_PLACED, _ONLY_PLACED)]
    kinds = {entry.kind for entry in entries}
    taken = dict(zip(places, arguments, strict=False))
    for name in options:
        if name not in named and inspect.Parameter.VAR_KEYWORD not in kinds:
            return f"{owner} takes no {name!r}; {suggest(name, named)}"
        if name in taken:
            return f"{owner} is given {name!r} twice: by its place and by its name"
    if len(arguments) > len(places) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        rest = [name for name in named if name not in places]
        cure = f"; name the others: {', '.join(f'{name}=...' for name in rest)}" if rest else ""
        return f"{owner} is given {len(arguments)} values, and takes {len(places)} by place{cure}"
    for entry in entries:
        needed = entry.kind in (_PLACED, _KEYWORD, _ONLY_PLACED) and entry.default is entry.empty
        if needed and entry.name not in taken and entry.name not in options:
            meaning = meanings(inspect.getdoc(function) or "").get(entry.name, "")
            return f"{owner} needs {entry.name!r}{meaning and f': {meaning}'}"
    return ""


RESERVED_PARAMETERS = frozenset(
    {"rng", "time_limit", "start", "previous", "report", "limits", "seed", "missing", "only"}
)
"""Parameters that `solve`, `generate` and `convert` fill themselves; no options of methods,
generators and readers. `limits` of a method are the numbers that steer its search, for who calls
it in Python.
"""

RESERVED_IN_READERS = RESERVED_PARAMETERS - {"seed"}
"""The same of readers, one of which draws by a seed of its own."""


def unaliased(hint: Any) -> Any:
    """Type that a `type` alias stands for, as numpy uses aliases from 2.5 on."""
    named, given = typing.get_origin(hint) or hint, typing.get_args(hint)
    if not hasattr(named, "__value__"):
        return hint
    return unaliased(named.__value__[given] if given else named.__value__)


def _branches(hint: Any, limits: Range | None) -> typing.Iterator[tuple[Any, Range | None]]:
    hint = unaliased(hint)
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        inner, *marks = typing.get_args(hint)
        if object in marks:  # the function itself refuses what is not of the type
            inner = object
        yield from _branches(
            inner, next((mark for mark in marks if isinstance(mark, Range)), limits)
        )
    elif origin in (typing.Union, types.UnionType):
        parts = typing.get_args(hint)
        if any("_SupportsArray" in str(part) for part in parts):  # numpy's ArrayLike
            parts = (_ARRAY, *(part for part in parts if part is type(None)))
        for part in parts:
            yield from _branches(part, limits)
    else:
        yield hint, limits if hint in (int, float) else None


def _takes(hint: Any, limits: Range | None, value: Any) -> bool:
    """Whether a value has a type and lies in its range."""
    return _is(hint, value) and (hint not in (int, float) or (limits or _ANY).holds(value))


def _is(hint: Any, value: Any) -> bool:
    """Whether a value is an instance of a type; True for types that only type checkers evaluate."""
    if hint in (int, float):  # 1. Numbers, None and Booleans.
        return type(value) is hint or (
            isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
        )
    if hint is type(None):
        return value is None
    if hint is bool:  # numpy's as well, without importing numpy here
        return type(value).__name__ in ("bool", "bool_")
    kind = typing.get_origin(hint) or hint  # 2. Literals, arrays and lists.
    if kind is typing.Literal:
        return (
            isinstance(value, (str, Integral))
            and not isinstance(value, bool)
            and value in typing.get_args(hint)
        )
    if hint is _ARRAY:
        return _is_array(value)
    if _is_ndarray(kind):
        return not isinstance(value, Number) and _is_array(value, *typing.get_args(hint)[1:])
    if kind in _LISTS:
        items = hasattr(type(value), "__iter__") and not isinstance(value, (str, bytes, Mapping))
        if kind is not Iterable:
            items = items and hasattr(type(value), "__len__")
        items = items and getattr(value, "ndim", 1) > 0
        entries = value[:1].tolist() if items and hasattr(value, "tolist") else value
        if not items or not isinstance(entries, (Sequence, Set)):
            return items  # an iterator is not used up
        parts = [part for part in typing.get_args(hint) if part is not ...] or [object]
        branches = [branch for part in parts for branch, _ in OptionType.of(part).branches]
        kinds = {type(entry): entry for entry in entries}  # one of each type: there may be many
        return all(any(_is(branch, entry) for branch in branches) for entry in kinds.values())
    if kind is type:  # 3. Classes, and types of which a value is an instance.
        known = [part for part in typing.get_args(hint) if isinstance(part, type)]
        return isinstance(value, type) and (not known or issubclass(value, tuple(known)))
    if not isinstance(kind, type) or kind in (object, Any) or _only_for_checkers(kind):
        return True
    if kind in (Mapping, dict):
        entries_of = typing.get_args(hint)[1:]
        return isinstance(value, Mapping) and (
            not entries_of or _is(types.GenericAlias(list, entries_of), list(value.values()))
        )
    return isinstance(value, kind)


def _only_for_checkers(kind: type) -> bool:
    """Whether a type is a TypedDict or a protocol, of which no value is an instance."""
    return typing.is_typeddict(kind) or getattr(kind, "_is_protocol", False)


def _is_ndarray(kind: Any) -> bool:
    """Whether a type is numpy's array."""
    return getattr(kind, "__name__", "") == "ndarray"


def _is_array(value: Any, of: Any = None) -> bool:
    """Whether numpy converts a value to an array of numbers or of booleans.

    Parameters
    ----------
    of : the dtype of the array that is meant; None for whatever makes one, also a single number.
    """
    import numpy as np

    try:
        found = np.asarray(value)
    except Exception:  # ragged rows, and whatever an object's own methods raise when asked
        return False
    if of is None or not found.size:
        return found.dtype.kind in "biuf"
    meant = np.dtype(typing.get_args(of)[0]) if typing.get_args(of) != (Any,) else found.dtype
    kinds = {"b": "b", "i": "biu"}.get(meant.kind, "biuf")
    return found.ndim > 0 and found.dtype.kind in kinds


def _read(hint: Any, text: str) -> tuple[bool, Any]:
    """Whether a text can be converted to a type, and the converted value."""
    if hint is type(None):
        return text.lower() in ("none", "null", ""), None
    if typing.get_origin(hint) is typing.Literal:
        named = {str(choice): choice for choice in typing.get_args(hint)}
        return text in named, named.get(text)
    if hint is bool:
        true = text.lower() in ("true", "1", "yes")
        return true or text.lower() in ("false", "0", "no"), true
    if hint in (int, float):
        try:
            return True, hint(text)
        except ValueError:
            return False, None
    return hint is str or hint is Any, text


def _describe(hint: Any, limits: Range | None) -> str:
    if typing.get_origin(hint) is typing.Literal:
        *others, last = [str(entry) for entry in typing.get_args(hint)]
        return f"{', '.join(others)} or {last}" if others else last
    if hint in (int, float):
        what, words = (limits.what, limits.words) if limits is not None else ("", "")
        kind = "a whole number" if hint is int else "" if what else "a number"
        return ", ".join(part for part in (what, kind, words) if part)
    if hint in _WORDS:
        return _WORDS[hint]
    kind = typing.get_origin(hint) or hint
    if kind in _LISTS:
        parts = [part for part in typing.get_args(hint) if part is not ...]
        entries = OptionType.of(parts[0]).values if parts else ""
        return f"a list{entries and f', each entry {entries}'}"
    if _is_ndarray(kind):
        return _WORDS[_ARRAY]
    name = getattr(kind, "__name__", "")
    plain = {"Callable": "a function", "PathLike": "a path", "Mapping": "a dict"}
    plain |= {"type": "a class, such as cotenant.Colocation"}
    known = isinstance(kind, type) and kind not in (object, Any) and not _only_for_checkers(kind)
    return plain.get(name, f"a{'n' * (name[:1] in 'AEIOU')} {name}" if known else "")


def _cure(hint: Any, limits: Range | None) -> str:
    """Advice that follows a refused value, from its range or its class; empty if there is none."""
    if limits is not None:
        return limits.cure
    return getattr(typing.get_origin(hint) or hint, "cure_for_others", "")


def meanings(text: str) -> dict[str, str]:
    """Meaning of each name in a numpydoc Parameters section; `a, b : text` gives both."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", text, re.MULTILINE | re.DOTALL
    )
    entries = re.findall(
        r"^(\S[^\n]*?) : (.*?)(?=^\S|\Z)",
        section.group(1) if section else "",
        re.MULTILINE | re.DOTALL,
    )
    return {
        name.strip(" *"): " ".join(words.split())
        for names, words in entries
        for name in names.split(",")
    }


def _number(value: float) -> str:
    if value >= 2**31 and math.log2(value) % 1 == 0:
        return f"2**{math.log2(value):.0f}"
    return f"{value:g}" if value % 1 or abs(value) >= 1e15 else f"{value:.0f}"


_ANY = Range(infinite=True)

_PLACED = inspect.Parameter.POSITIONAL_OR_KEYWORD
_ONLY_PLACED = inspect.Parameter.POSITIONAL_ONLY
_KEYWORD = inspect.Parameter.KEYWORD_ONLY

_LISTS = (Sequence, Iterable, Collection, list, tuple, set, frozenset)

_ARRAY = typing.NewType("_ARRAY", object)
"""Stands for numpy's ArrayLike in a rule."""

_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    type(None): "none",
    str: "a text",
    Any: "a text",
    _ARRAY: "an array of numbers, its rows of one length",
}

SECONDS = OptionType.of(typing.Annotated[float, Above(0, "seconds", infinite=True)] | None)
"""What a time limit takes."""
