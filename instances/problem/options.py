"""Options of methods, generators and readers: names checked, texts converted by annotation."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, fields
from typing import Any

from .errors import InvalidOption, spelled, suggest
from .option_types import RESERVED_PARAMETERS, OptionType, meanings, option_types_of

_TEXT = OptionType.of(str)

Takers = Callable[..., Any] | tuple[Callable[..., Any], ...]


def option_names(takers: Takers, reserved: Set[str] = RESERVED_PARAMETERS) -> list[str]:
    """Names of the options that a function, or any of several functions, accepts, in order."""
    given = (inspect.signature(function).parameters.values() for function in _several(takers))
    keywords = (each for some in given for each in some if each.kind is each.KEYWORD_ONLY)
    return list(dict.fromkeys(each.name for each in keywords if each.name not in reserved))


def accepts(function: Callable[..., Any], parameter: str) -> bool:
    """Whether a function accepts a parameter (or any keyword)."""
    parameters = inspect.signature(function).parameters
    return parameter in parameters or any(
        entry.kind is entry.VAR_KEYWORD for entry in parameters.values()
    )


def accepted(takers: Takers, options: Mapping[str, Any]) -> dict[str, Any]:
    """Subset of the given options that one of the functions accepts."""
    functions = _several(takers)
    return {
        name: value
        for name, value in options.items()
        if any(accepts(function, name) for function in functions)
    }


def require_settings(
    function: Callable[..., Any],
    kind: type,
    settings: Mapping[str, Any],
) -> None:
    """Raise InvalidOption for a keyword that is neither a parameter of a function nor one of its
    settings.

    Parameters
    ----------
    kind : the dataclass of its settings.
    """
    names = [name for name in inspect.signature(function).parameters if name != "settings"]
    names += [entry.name for entry in fields(kind) if entry.name not in names]
    for name in settings:
        if name not in names:
            raise InvalidOption(f"{function.__name__} takes no {name!r}; {suggest(name, names)}")


def check_options(
    takers: Takers, options: Mapping[str, Any], owner: str, reserved: Set[str] = RESERVED_PARAMETERS
) -> None:
    """Raise InvalidOption for an option that none of the functions accepts, before any work
    starts.
    """
    known = option_names(takers, reserved)
    for name in options:
        if name in reserved:
            where = spelled(f"write --{name.replace('_', '-')}", "it has a parameter of its own")
            if name == "limits":
                where = "call the function itself with it"
            raise InvalidOption(f"{name} is not an option of {owner}; {where}")
        if not any(accepts(function, name) for function in _several(takers)):
            raise InvalidOption(
                f"{owner} has no option {name!r}; {suggest(name, known, also=reserved)}"
            )


def parse_options(
    takers: Takers, texts: Iterable[str], owner: str, reserved: Set[str] = RESERVED_PARAMETERS
) -> dict[str, Any]:
    """Parse options from `key=value` texts, converted to the types of the functions' annotations.

    Raises
    ------
    InvalidOption
        A text without "=", an unknown key, a key given twice, a value that is not of its type, or
        an option that is missing.
    """
    options: dict[str, Any] = {}
    rules: dict[str, OptionType] = {}
    for function in reversed(_several(takers)):
        rules.update(option_types_of(function))
    for text in texts:
        key, (_, equals, value) = option_name(text), text.partition("=")
        if not equals:
            raise InvalidOption(f"option {text!r} has no value; write {text}=VALUE")
        check_options(takers, {key: value}, owner, reserved)
        if key in options:
            raise InvalidOption(f"option {key!r} is given twice")
        options[key] = rules.get(key, _TEXT).parse(key, value.strip(), owner)
    for function in _several(takers):
        for entry in inspect.signature(function).parameters.values():
            needed = entry.kind is entry.KEYWORD_ONLY and entry.default is entry.empty
            if needed and entry.name not in reserved and entry.name not in options:
                raise InvalidOption(
                    f"{owner} needs the option {entry.name!r}; write -o {entry.name}=VALUE"
                )
    return options


def option_name(text: str) -> str:
    """Name of the option in a text `name=value`."""
    return text.partition("=")[0].strip().replace("-", "_")


def _several(takers: Takers) -> tuple[Callable[..., Any], ...]:
    return takers if isinstance(takers, tuple) else (takers,)


@dataclass(frozen=True)
class Option:
    """Name, meaning, default and values of one option, for listings.

    Attributes
    ----------
    name, meaning : as the docstring's Parameters section has them; the meaning is "" where it has
        none.
    default : as it is written, "" when the option must be given.
    takes : the values it takes, in words.
    choices : the values, when they are few and named.
    """

    name: str
    meaning: str
    default: str
    takes: str
    choices: tuple[str, ...]


def _meanings_of(function: Callable[..., Any]) -> dict[str, str]:
    """Meaning of each parameter of a function by its docstring; "see `module.function`" takes the
    meaning from the docstring of that function.
    """
    plain: Any = function.func if isinstance(function, functools.partial) else function
    own = meanings(inspect.getdoc(plain) or "")
    for name, text in own.items():
        if named := _SEE.fullmatch(text):
            module, _, target = named[1].rpartition(".")
            package, root = plain.__module__.rpartition(".")[0], __name__.partition(".")[0]
            places = (
                [f"{base}.{module}" for base in (package, root)] if module else [plain.__module__]
            )
            place = next(place for place in places if importlib.util.find_spec(place))
            other = getattr(importlib.import_module(place), target)
            own[name] = _meanings_of(other).get(name, text)
    return own


_SEE = re.compile(r"see `([\w.]+)`\.?")


def described(takers: Takers) -> list[Option]:
    """Options that some functions accept, with meaning, default and values of each."""
    found: dict[str, Option] = {}
    for function in _several(takers):
        rules, meaning_of = option_types_of(function), _meanings_of(function)
        for entry in inspect.signature(function).parameters.values():
            if (
                entry.kind is not entry.KEYWORD_ONLY
                or entry.name in RESERVED_PARAMETERS
                or entry.name in found
            ):
                continue
            rule = rules.get(entry.name, _TEXT)
            default = "none" if entry.default is None else str(entry.default)
            default = "" if entry.default is entry.empty else default
            choices = tuple(str(choice) for choice in rule.choices)
            found[entry.name] = Option(
                entry.name, meaning_of.get(entry.name, ""), default, rule.values, choices
            )
    return list(found.values())
