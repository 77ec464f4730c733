"""Options of a command that come from the settings it hands on: types, defaults and meanings."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import Field, fields
from enum import Enum, StrEnum
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from ..instances.problem.option_types import meanings


def options_of(kind: type, /, **shown: str | dict[str, Any] | None) -> Callable[..., Any]:
    """Give a command options for the fields of a dataclass, in the place of its `**settings`, or of
    its parameter of that type, which receives them as one.

    Type, default and help are the field's annotation, default and entry in the docstring; a text
    in the annotation is the metavar or the flag.

    Parameters
    ----------
    kind : the dataclass of the settings.
    shown : in the order of the help: a field and how its option is shown, by its metavar, by its
        flag ("--overlap"), by what else typer takes, or as typer shows it. With `read`, a function
        of the text that is given. A parameter of the command's own keeps its place among them.
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        hints = typing.get_type_hints(kind, include_extras=True)
        meaning: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            words = inspect.cleandoc(base.__doc__ or "")
            meaning |= meanings(words.replace("Attributes\n", "Parameters\n"))
        found = {field.name: field for field in fields(kind)}
        readers: dict[str, Callable[[str], Any]] = {}
        mine = {
            name: entry
            for name, entry in own.parameters.items()
            if entry.kind is not entry.VAR_KEYWORD
        }
        whole = next((name for name, entry in mine.items() if entry.annotation is kind), None)
        mine.pop(whole or "", None)
        derived: dict[str, inspect.Parameter] = {}
        complete = [name for name in found if name not in shown and _is_complete(hints[name])]
        marks = {name: _mark(hints[name]) for name in found if name not in shown}
        also = {name: mark for name, mark in marks.items() if mark or name in complete}
        for name, how in (shown | also).items():
            if name in mine:
                derived[name] = mine[name]
                continue
            if name in complete:
                derived[name] = _parameter(found[name], hints[name])
                continue
            settings = _settings(how)
            hint = _plain(hints[name], name, "metavar" in settings)
            if "read" in settings:
                readers[name], hint = settings.pop("read"), str | None
            flags = [flag] if (flag := settings.pop("flag", "")) else []
            option = typer.Option(*flags, **{"help": _sentence(meaning[name])} | settings)
            derived[name] = _parameter(found[name], Annotated[hint, option])
        before = {name: entry for name, entry in mine.items() if entry.default is entry.empty}
        parameters = before | derived | mine

        @functools.wraps(command)
        def call(**given: Any) -> None:
            for name, value in given.items():
                if name in readers and value is not None:
                    value = readers[name](value)
                given[name] = value.value if name in found and isinstance(value, Enum) else value
            if whole is not None:
                given[whole] = kind(**{name: given.pop(name) for name in found})
            command(**given)

        call.__annotations__ = {name: entry.annotation for name, entry in parameters.items()}
        keyword = inspect.Parameter.KEYWORD_ONLY
        call.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[entry.replace(kind=keyword) for entry in parameters.values()]
        )
        return call

    return give


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hint
    )


def _is_complete(hint: Any) -> bool:
    """Whether an annotation says itself how its option is shown."""
    return any(isinstance(mark, OptionInfo) for mark in typing.get_args(hint)[1:])


def _mark(hint: Any) -> str | None:
    """The metavar or flag that stands beside the type in an annotation."""
    marks = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, str)), None)


def _settings(how: str | dict[str, Any] | None) -> dict[str, Any]:
    if isinstance(how, str):
        return {"flag": how} if how.startswith("--") else {"metavar": how}
    return dict(how or {})


def _plain(hint: Any, name: str, text: bool) -> Any:
    """The type that typer knows: without ranges, named values as text or as a choice."""
    if typing.get_origin(hint) is Annotated:
        return _plain(typing.get_args(hint)[0], name, text)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_plain(part, name, text) for part in typing.get_args(hint)]
        return functools.reduce(lambda one, other: one | other, parts)
    if typing.get_origin(hint) is typing.Literal:
        values = [str(value) for value in typing.get_args(hint)]
        return str if text else StrEnum(name, {value.upper(): value for value in values})
    return hint


def _sentence(words: str) -> str:
    """An entry of a docstring as a sentence, the options it names as on the command line."""
    words = re.sub(r"`(\w+)`", r"--\1", words)
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
