"""Instances that commands read: files of this package, or of another format (`--from`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.report.console import say
from ..instances.problem.errors import UnknownName

if TYPE_CHECKING:
    from ..instances.problem import Gathered, Instance


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
    """Read the instances of files (without a format also of folders); see `read_one`."""
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
