"""Readers of the instances (`--from`) and of the user's own functions that commands are given."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..analysis.report.console import say
from ..instances.problem.errors import CotenantError, InvalidOption, NoSolution, UnknownName

if TYPE_CHECKING:
    from ..instances.problem import Gathered, Instance


def given_method(text: str) -> str | Callable[..., Any]:
    """Return a method's name unchanged, or load the function that "module:function" names."""
    if ":" not in text:
        _require_one_name(text)
        return text
    return given_function(text, "method")


def given_function(text: str, what: str) -> Callable[..., Any]:
    """Load the function that "module:function" names, also of the current folder; raises
    InvalidOption when there is none, or it cannot be loaded.
    """
    name, colon, attribute = text.partition(":")
    if not colon:
        raise InvalidOption(f"{what} is {text!r}; expected module:function")
    if name.endswith(".py"):
        meant = name.removesuffix(".py").replace("/", ".")
        raise InvalidOption(f"{what} {text!r}: {name} is a file; write {meant}:{attribute}")
    where = os.getcwd()
    if where not in sys.path:  # processes that run the cells get it too
        sys.path.insert(0, where)
    try:
        module = import_module(name)
    except CotenantError:
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise InvalidOption(
            f"{what} {text!r}: {name or 'nothing'} cannot be imported ({why}); expected "
            "module:function, the module in this folder or installed"
        ) from None
    function = getattr(module, attribute, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and key[0] != "_"]
        raise InvalidOption(
            f"{what} {text!r}: {name} has no function {attribute!r}; it has "
            f"{', '.join(known[:8]) or 'none'}"
        )
    found: Callable[..., Any] = function
    return found


def _require_one_name(text: str) -> None:
    """Raise InvalidOption for a text that cannot be a method's name, with what was meant."""
    if "," in text:
        names = " ".join(f"-m {name.strip()}" for name in text.split(","))
        raise InvalidOption(f"method is {text!r}; expected one name. Repeat -m: {names}")
    module, dot, function = text.rpartition(".")
    if dot:
        raise InvalidOption(
            f"no method is named {text!r}; a function of your own is module:function, here "
            f"{module}:{function}"
        )


def given_rules(texts: list[str] | None) -> list[Callable[..., Any]]:
    """Load the functions that `--rule` options name."""
    return [given_function(text, "rule") for text in texts or []]


def broken_of(instance: Any, solution: Any, rules: list[Callable[..., Any]]) -> list[str]:
    """List the user's own rules that an answer breaks, in sentences."""
    from ..analysis.run.own_functions import broken_rules, own_name

    broken: dict[str, str] = {}
    for rule in rules if solution is not None else []:
        with failing_in(rule, own_name(rule), "rule"):
            broken |= broken_rules(instance, solution, [rule])
    return [f"rule {name!r}: {text}" for name, text in broken.items()]


@contextmanager
def failing_in(method: str | Callable[..., Any], name: str, what: str = "method") -> Iterator[None]:
    """Say where in a function of the user's own an error came up, instead of a traceback."""
    try:
        yield
    except CotenantError:
        raise
    except Exception as error:
        if isinstance(method, str):
            raise
        from ..analysis.run.cell import failure

        raise NoSolution(f"{what} {name!r} failed: {failure(error, [method])}") from error


def reader_of(form: str, source: str, texts: Sequence[str]) -> tuple[str, Callable[..., Any]]:
    """Look up a format and its reader function; "csv" stands for the one that the headers say."""
    from ..instances.problem import read
    from ..instances.problem.options import option_name
    from ..instances.problem.registry import known_formats, resolve
    from ..instances.problem.tables import plain_form

    known = known_formats(map(option_name, texts))
    form = plain_form(source) if form == "csv" else form
    if form not in known and form != "json":
        raise UnknownName("format", form, [*known, "csv", "json"])
    return form, read if form == "json" else resolve(known[form])


def read_one(file: str, form: str | None, option: list[str] | None) -> tuple[Any, list[str]]:
    """Read the instance of a file, and return it with the options that its reader does not take.

    Parameters
    ----------
    form : its format; None for a file of this package.
    option : `key=value` of readers and methods; a name that both take is the reader's.
    """
    from ..instances.problem import read
    from ..instances.problem.option_types import RESERVED_IN_READERS
    from ..instances.problem.options import accepts, option_name, parse_options

    texts = option or []
    form, function = reader_of(form, file, texts) if form else ("json", read)
    own = [text for text in texts if form != "json" and accepts(function, option_name(text))]
    options = parse_options(function, own, f"format {form!r}", RESERVED_IN_READERS)
    instance = function(file, **options)
    _say_left_out(instance)
    return instance, [text for text in texts if text not in own]


def read_several(
    files: list[str], form: str | None, option: list[str] | None
) -> tuple[Gathered, list[str]]:
    """Read instances of files (folders too if `form` is None), and return the options left over."""
    from ..instances.problem import Gathered, read_all

    if form is None:
        given = read_all(files)
        for instance in given.instances:
            _say_left_out(instance)
        return given, option or []
    found = {file: read_one(file, form, option) for file in files}
    left = [text for text in option or [] if all(text in rest for _, rest in found.values())]
    return Gathered({file: instance for file, (instance, _) in found.items()}), left


def _say_left_out(instance: Instance) -> None:
    if instance.left_out:
        say(f"{instance.name}: {instance.left_out}")
