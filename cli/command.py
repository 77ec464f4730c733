"""Commands of plain functions: options from the signature, help from the docstring."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from ..instances.problem.option_types import Range, meanings

SHARED = meanings("""
Parameters
----------
as_json : print JSON instead of tables
file : an instance file, or a bundled instance such as colocation/tiny
form : how tables are printed; 'wide' shows every column
method : a method, see `cotenant methods`; or your own, module:function
instances_shown : how many instances of a problem have their pictures on the page (4 if not given)
columns : the columns that tables show, by header, with commas between them or repeated; without
    it, all that fit
option : an option of the method, generator or reader; repeat it for more
rule : a rule of your own that answers must obey; repeat for more
seed : seed of all random draws
patience : let the verifier do N times its usual work, which takes some 20 seconds
states : what `kubectl get nodes,pods,pdb -A -o json` prints, or tables of hosts and VMs; - is
    standard input; several files are one state
table : the table's file
settings : take the rarer settings from this TOML file
source : read a file in another format, as `cotenant convert` does; -o has its options too
time_limit : seconds for each run
summary_only : leave the instances and the list of every run out of the page
width : width of the line that tables of --format latex must fit
""")
"""What parameters mean in every command whose docstring does not say it."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Convert a plain function to one that typer accepts as a command.

    The summary of its docstring is the command's help, and the entries under Parameters are the
    help of its arguments, which are the parameters before the `*`, and of its options. Beside the
    type, an annotation may hold a text with the option's own names and what help calls the value
    ("--from FORMAT"), a range, and the function that completes it. A parameter whose type is a
    dataclass stands for options of its fields that are annotated so, or are shared or flags, and
    receives an object of it; `Annotated[dict[str, Any], KIND]` receives them as a dict.
    """
    signature = inspect.signature(function, eval_str=True)
    text = inspect.cleandoc(function.__doc__ or "")
    given: list[inspect.Parameter] = []
    parts: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    for name, entry in signature.parameters.items():
        kinds = [
            each for each in (entry.annotation, *_marks(entry.annotation)) if isinstance(each, type)
        ]
        if kind := next(filter(is_dataclass, kinds), None):
            inner = list(_options_of(kind))
            parts[name] = (kind if kind is entry.annotation else dict, [one.name for one in inner])
            given += inner
        else:
            given.append(_declared(entry, meanings(text)))

    @functools.wraps(function)
    def call(**values: Any) -> None:
        plain = {
            name: each.value if type(each).__module__ == __name__ else each
            for name, each in values.items()
        }
        for name, (make, names) in parts.items():
            plain[name] = make(**{each: plain.pop(each) for each in names})
        function(**plain)

    call.__doc__ = re.split(r"\n+Parameters\n-+\n", text)[0]
    call.__annotations__ = {entry.name: entry.annotation for entry in given}
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[entry.replace(kind=entry.KEYWORD_ONLY) for entry in given]
    )
    return call


def _options_of(kind: type[Any]) -> Iterator[inspect.Parameter]:
    """Parameters of a command for those fields of a dataclass whose annotation holds a text."""
    hints = typing.get_type_hints(kind, include_extras=True)
    words: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        text = inspect.cleandoc(base.__doc__ or "")
        words |= meanings(text.replace("Attributes\n", "Parameters\n"))
    for field in fields(kind):
        if any(isinstance(mark, str) for mark in _marks(hints[field.name])):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            entry = inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=hints[field.name],
            )
            yield _declared(entry, words)


def _declared(entry: inspect.Parameter, words: Mapping[str, str]) -> inspect.Parameter:
    """Parameter of a command with the annotation that typer reads."""
    hint = entry.annotation
    if hint is typer.Context:
        return entry
    marks = _marks(hint)
    names = " ".join(mark for mark in marks if isinstance(mark, str)).split(" ")
    flags = [name for name in names if name.startswith("-")]
    more: dict[str, Any] = {"help": _sentence(words.get(entry.name) or SHARED[entry.name])}
    if metavar := " ".join(name for name in names if name and name not in flags):
        more["metavar"] = metavar
    for mark in marks:
        if isinstance(mark, Range) and mark.above is None:  # what is above is refused later on
            more |= {"min": mark.least, "max": mark.most}
        elif callable(mark):
            more["autocompletion"] = mark
    if entry.kind is not entry.KEYWORD_ONLY:
        return entry.replace(
            annotation=Annotated[_plain(hint, entry.name, metavar), typer.Argument(**more)]
        )
    if entry.default is False and not flags:
        flags = [f"--{entry.name.replace('_', '-')}"]
    option = typer.Option(*flags, **more)
    return entry.replace(annotation=Annotated[_plain(hint, entry.name, metavar), option])


def _marks(hint: Any) -> tuple[Any, ...]:
    """What an `Annotated` type hint holds beside the type; () for any other type hint."""
    return typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()


def _plain(hint: Any, name: str, metavar: str) -> Any:
    """Type that typer takes for a parameter: without metadata, a Literal as a text or as an
    enumeration.
    """
    if typing.get_origin(hint) is Annotated:
        return _plain(typing.get_args(hint)[0], name, metavar)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_plain(part, name, metavar) for part in typing.get_args(hint)]
        return functools.reduce(lambda one, other: one | other, parts)
    if typing.get_origin(hint) is typing.Literal:
        values = [str(value) for value in typing.get_args(hint)]
        return str if metavar else StrEnum(name, {value.upper(): value for value in values})
    return hint


def _sentence(words: str) -> str:
    """Entry of a docstring's Parameters section as a sentence."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
