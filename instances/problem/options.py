"""Options of methods, generators and readers: checked by name, and read from `key=value` text by annotation."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from .errors import InvalidOption, suggest

HOUSE = frozenset({"rng", "time_limit", "start", "report", "seed"})
"""Parameters the house fills itself; no options of methods, generators and readers."""


Takers = Callable[..., Any] | tuple[Callable[..., Any], ...]


def option_names(takers: Takers, house: Set[str] = HOUSE) -> list[str]:
    """The options that a method, generator or reader takes (or that any of several functions takes), in order."""
    names = (name for function in _several(takers) for name in _keywords(function))
    return list(dict.fromkeys(name for name in names if name not in house))


def accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Whether `function` takes `parameter` (or any keyword)."""
    parameters = inspect.signature(function).parameters
    return parameter in parameters or any(entry.kind is entry.VAR_KEYWORD for entry in parameters.values())


def check_options(takers: Takers, options: Mapping[str, Any], owner: str, house: Set[str] = HOUSE) -> None:
    """Refuse an option that none of the functions takes, before any work starts."""
    known = option_names(takers, house)
    for name in options:
        if name in house:
            raise InvalidOption(f"{name} is not an option of {owner}; it has a parameter of its own")
        if not any(accepts(function, name) for function in _several(takers)):
            raise InvalidOption(f"{owner} has no option {name!r}; {suggest(name, known)}")


def parse_options(takers: Takers, texts: Iterable[str], owner: str, house: Set[str] = HOUSE) -> dict[str, Any]:
    """Options from `key=value` texts, converted to the types that the takers' signatures name.

    Raises
    ------
    InvalidOption
        A text without "=", an unknown key, a key given twice, or a value that is not of its type.
    """
    options: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    for function in reversed(_several(takers)):
        hints.update(typing.get_type_hints(function))
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise InvalidOption(f"option {text!r} has no value; write {text}=VALUE")
        check_options(takers, {key: value}, owner, house)
        if key in options:
            raise InvalidOption(f"option {key!r} is given twice")
        options[key] = _convert(key, value.strip(), hints.get(key, str), owner)
    return options


def _several(takers: Takers) -> tuple[Callable[..., Any], ...]:
    return takers if isinstance(takers, tuple) else (takers,)


def _keywords(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY]


def _convert(key: str, text: str, hint: Any, owner: str) -> Any:
    choices = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    for choice in choices:
        if choice is type(None) and text.lower() in ("none", "null", ""):
            return None
        if typing.get_origin(choice) is typing.Literal:
            if text in typing.get_args(choice):
                return text
        elif choice is bool:
            if text.lower() in ("true", "false", "1", "0", "yes", "no"):
                return text.lower() in ("true", "1", "yes")
        elif choice in (int, float):
            try:
                return choice(text)
            except ValueError:
                continue
        elif choice is str or choice is Any:
            return text
    raise InvalidOption(f"{owner}: {key} is {text!r}; expected {_describe(choices)}")


def _describe(choices: tuple[Any, ...]) -> str:
    words: list[str] = []
    for choice in choices:
        if typing.get_origin(choice) is typing.Literal:
            words.extend(str(entry) for entry in typing.get_args(choice))
        else:
            words.append(
                {int: "a whole number", float: "a number", bool: "true or false", type(None): "none"}.get(choice, "a text")
            )
    return " or ".join(words)
