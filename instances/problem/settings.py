"""Decorator that turns the fields of a frozen settings dataclass into keywords of a function."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from .option_types import RESERVED_PARAMETERS

Returned = TypeVar("Returned")


def with_settings(
    *, hide: Collection[str] = ()
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Decorate a function so that it accepts the fields of its settings as keywords.

    Settings are the parameters whose default is an instance of a dataclass, but for `limits`.
    Signature and docstring have the fields in their place, with that instance's values as defaults;
    a call gives fields, or the whole settings.

    Parameters
    ----------
    hide : fields that are no keywords of the function.
    """

    def give(function: Callable[..., Returned]) -> Callable[..., Returned]:
        own = inspect.signature(function)  # 1. Settings among the parameters.
        hints = typing.get_type_hints(function, include_extras=True)
        document = inspect.getdoc(function) or ""
        settings = {
            name: entry.default
            for name, entry in own.parameters.items()
            if is_dataclass(entry.default) and name not in RESERVED_PARAMETERS
        }
        owner: dict[str, str] = {}  # 2. A keyword for each of their fields.
        parameters: list[inspect.Parameter] = []
        for name, entry in own.parameters.items():
            if name not in settings:
                parameters.append(entry)
                continue
            kind = type(entry.default)
            stated = typing.get_type_hints(kind, include_extras=True)
            shown = [field.name for field in fields(kind) if field.name not in hide]
            for field in shown:
                owner[field], hints[field] = name, stated[field]
                default = getattr(entry.default, field)
                parameters.append(
                    entry.replace(name=field, default=default, annotation=stated[field])
                )
            document = _with_fields(document, name, kind, shown)

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Returned:
            given: dict[str, dict[str, Any]] = {}  # 3. Keywords back to settings.
            for name in [name for name in keywords if name in owner]:
                given.setdefault(owner[name], {})[name] = keywords.pop(name)
            for name, values in given.items():
                keywords[name] = replace(keywords.get(name, settings[name]), **values)
            return function(*arguments, **keywords)

        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {name: hint for name, hint in hints.items() if name not in settings}
        call.__doc__ = document
        del call.__wrapped__  # what reads its source would miss fields
        return call

    return give


def _with_fields(document: str, name: str, kind: type, shown: Collection[str]) -> str:
    """Replace the entry of a settings parameter in a docstring by the entries of its fields."""
    section = re.search(
        r"^(?:Attributes|Parameters)\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)",
        inspect.getdoc(kind) or "",
        re.MULTILINE | re.DOTALL,
    )
    entries = ""
    for names, words in re.findall(
        r"^(\S[^\n]*?) : (.*?)(?=^\S|\Z)", section[1] if section else "", re.MULTILINE | re.DOTALL
    ):
        kept = [each for each in names.split(", ") if each in shown]
        entries += f"{', '.join(kept)} : {words.rstrip()}\n" if kept else ""
    pattern = rf"^{name} : .*?(?=^\S|^\n|\Z)"
    return re.sub(pattern, lambda _: entries, document, flags=re.MULTILINE | re.DOTALL)
