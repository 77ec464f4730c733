"""What values an option takes, said once in its annotation and checked in one place.

`alpha: Annotated[float, AtLeast(0, "a least gain")] = 0.0` in a signature is all there is to say.
`checked` refuses other values when the function is called from Python; the command line and the
readers convert texts by the same rules (`options.parse_options`), and `options.described` lists
them beside the words of the docstring.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

from .errors import InvalidOption
from .text import without_unit

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Range:
    """The numbers an option takes; `AtLeast`, `Above` and `Between` make the common ones.

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
        """Whether a number is in the range; NaN never is."""
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
        """The range as a message says it: "at least 1", "above 0 and at most 1"."""
        if self.least is not None and self.most is not None:
            return f"from {_number(self.least)} to {_number(self.most)}"
        low = (
            ""
            if self.least is None
            else "0 or more"
            if self.least == 0
            else f"at least {_number(self.least)}"
        )
        low = low if self.above is None else f"above {_number(self.above)}"
        high = "" if self.most is None else f"at most {_number(self.most)}"
        high = high if self.below is None else f"below {_number(self.below)}"
        return " and ".join(part for part in (low, high) if part)


def AtLeast(least: float, what: str = "", *, cure: str = "", infinite: bool = False) -> Range:
    """A number that is `least` or more."""
    return Range(least=least, what=what, cure=cure, infinite=infinite)


def Above(
    above: float,
    what: str = "",
    *,
    most: float | None = None,
    cure: str = "",
    infinite: bool = False,
) -> Range:
    """A number above `above`, and at most `most`."""
    return Range(above=above, most=most, what=what, cure=cure, infinite=infinite)


def Between(least: float, most: float, what: str = "", *, cure: str = "") -> Range:
    """A number from `least` to `most`, both included."""
    return Range(least=least, most=most, what=what, cure=cure)


@dataclass(frozen=True)
class Rule:
    """What one option takes: a union of plain types, each with its range.

    Attributes
    ----------
    branches : the types of the union, with the range of each, or None.
    """

    branches: tuple[tuple[Any, Range | None], ...]

    @classmethod
    def of(cls, hint: Any) -> Rule:
        """The rule that an annotation states; a range around a union holds for each of its
        numbers.
        """
        return cls(tuple(_branches(hint, None)))

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of its Literal types."""
        return tuple(
            value
            for hint, _ in self.branches
            if typing.get_origin(hint) is typing.Literal
            for value in typing.get_args(hint)
        )

    @property
    def values(self) -> str:
        """What is taken, in words."""
        words = list(
            dict.fromkeys(
                text for hint, limits in self.branches if (text := _describe(hint, limits))
            )
        )
        return (", or " if any("," in text or " or " in text for text in words) else " or ").join(
            words
        )

    @property
    def words(self) -> str:
        """What is expected, as a message says it, with the cures."""
        return "; ".join(
            [
                self.values,
                *(limits.cure for _, limits in self.branches if limits is not None and limits.cure),
            ]
        )

    @property
    def limited(self) -> bool:
        """Whether it refuses anything at all: other types than the plain ones are left to the
        function to check.
        """
        return not any(_takes(hint, limits, self) for hint, limits in self.branches)

    def check(self, name: str, value: Any) -> None:
        """Raise InvalidOption with the name, the value and what was expected, unless the value is
        one of the rule's.
        """
        if not any(_takes(hint, limits, value) for hint, limits in self.branches):
            raise InvalidOption(f"{name} is {value!r}; expected {self.words}")

    def parse(self, name: str, text: str, owner: str) -> Any:
        """The value that a text stands for; raises InvalidOption when it stands for none."""
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


def rules_of(function: Callable[..., Any]) -> Mapping[str, Rule]:
    """The rule of each annotated parameter of a function; what it returns may be a name that only
    type checkers know.
    """
    given = function.func if isinstance(function, functools.partial) else function
    plain = inspect.unwrap(given)
    stated = {
        name: hint for name, hint in inspect.get_annotations(plain).items() if name != "return"
    }
    hints = typing.get_type_hints(
        types.SimpleNamespace(__annotations__=stated), plain.__globals__, include_extras=True
    )
    return {name: Rule.of(hint) for name, hint in hints.items()}


def checked(function: Function) -> Function:
    """The function or dataclass, refusing values that its annotations exclude before any work
    starts.

    Time limits of 0 or less are refused too.

    Raises
    ------
    InvalidOption
        From the function returned, with the option's name, the value, what was expected, and the
        cure.
    """
    if inspect.isclass(function):
        setattr(function, "__init__", checked(function.__init__))  # noqa: B010  not a method that subclasses may override
        return function
    entries = inspect.signature(function).parameters.values()
    places = [entry.name for entry in entries if entry.kind is not entry.KEYWORD_ONLY]

    @functools.cache
    def found() -> Mapping[
        str, Rule
    ]:  # annotations are resolved at the first call: they may be of later modules
        rules = {name: rule for name, rule in rules_of(function).items() if rule.limited}
        return rules | {"time_limit": SECONDS} if "time_limit" in rules else rules

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        rules = found()
        for name, value in (*zip(places, arguments, strict=False), *options.items()):
            if name in rules:
                rules[name].check(name, value)
        return function(*arguments, **options)

    return typing.cast("Function", call)


HOUSE = frozenset({"rng", "time_limit", "start", "report", "seed", "missing", "only"})
"""Parameters that `solve`, `generate` and `convert` fill themselves; no options of methods,
generators and readers.
"""


def _branches(hint: Any, limits: Range | None) -> typing.Iterator[tuple[Any, Range | None]]:
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        inner, *marks = typing.get_args(hint)
        yield from _branches(
            inner, next((mark for mark in marks if isinstance(mark, Range)), limits)
        )
    elif origin in (typing.Union, types.UnionType):
        for part in typing.get_args(hint):
            yield from _branches(part, limits)
    else:
        yield hint, limits if hint in (int, float) else None


def _takes(hint: Any, limits: Range | None, value: Any) -> bool:
    """Whether a value is of the type, if that is a plain one, and in the range."""
    if hint in (int, float):
        number = type(value) is hint or (
            isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
        )
        return number and (limits or _ANY).holds(value)
    if hint is type(None):
        return value is None
    if hint is bool:
        return type(value).__name__ in (
            "bool",
            "bool_",
        )  # numpy's as well, without importing numpy here
    if hint is str:
        return isinstance(value, str)
    if typing.get_origin(hint) is typing.Literal:
        return (
            isinstance(value, (str, Integral))
            and not isinstance(value, bool)
            and value in typing.get_args(hint)
        )
    return True


def _read(hint: Any, text: str) -> tuple[bool, Any]:
    """Whether a text is of a type, and its value."""
    if hint is type(None):
        return text.lower() in ("none", "null", ""), None
    if typing.get_origin(hint) is typing.Literal:
        named = {str(choice): choice for choice in typing.get_args(hint)}
        return text in named, named.get(text)
    if hint is bool:
        return text.lower() in ("true", "false", "1", "0", "yes", "no"), text.lower() in (
            "true",
            "1",
            "yes",
        )
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
    return {bool: "true or false", type(None): "none"}.get(
        hint, "a text" if hint in (str, Any) else ""
    )


def _number(value: float) -> str:
    return f"{value:g}" if value % 1 or abs(value) >= 1e15 else f"{value:.0f}"


_ANY = Range(infinite=True)

SECONDS = Rule.of(typing.Annotated[float, Above(0, "seconds", infinite=True)] | None)
"""What a time limit takes."""
