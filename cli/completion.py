"""What a shell completes: commands, options and their names, methods and bundled instances."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from typer import Context

VARIABLE = "_COTENANT_COMPLETE"
"""What the shell's script sets when it asks what could come next."""


def prepare() -> None:
    """Set up the command line to answer the completion requests of a shell."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def problems(incomplete: str) -> list[str]:
    """Complete the name of a problem."""
    from ..instances.problem.lookup import PROBLEM_NAMES

    return beginning(list(PROBLEM_NAMES), incomplete)


def methods(ctx: Context, incomplete: str) -> list[str]:
    """Complete the name of a method, of the problem named earlier in the command if any."""
    from .. import catalog

    problem = _problem(ctx)
    known = [entry.name for entry in catalog.METHODS if problem in (None, entry.problem)]
    return beginning(known, incomplete)


def kinds(ctx: Context, incomplete: str) -> list[str]:
    """Complete the name of a generator of the problem named earlier in the command."""
    from ..instances.problem import problem_named

    problem = _problem(ctx)
    return beginning(list(problem_named(problem).generators) if problem else [], incomplete)


def formats(incomplete: str) -> list[str]:
    """Complete the name of a file format."""
    from ..instances.problem.registry import known_formats

    return beginning([*known_formats(), "csv", "game", "json"], incomplete)


def options(ctx: Context, incomplete: str) -> list[str]:
    """Complete an option, with its "=", of the method, generator or format given before."""
    from ..instances.problem.options import described

    functions = _functions(ctx, _problem(ctx))
    return beginning([f"{each.name}=" for each in described(functions)], incomplete)


def _functions(ctx: Context, problem: str | None) -> tuple[Callable[..., Any], ...]:
    """Functions whose options the command line may set: readers, generator or methods."""
    from .. import catalog
    from ..instances.problem.registry import known_formats, problem_named, resolve

    given = ctx.params
    if ctx.command.name == "generate" and problem is not None:
        kinds = problem_named(problem).generators
        chosen = given["kind"] or next(iter(kinds))
        return tuple(resolve(path) for kind, path in kinds.items() if kind == chosen)
    source = given["form"] if ctx.command.name == "convert" else given.get("source")
    readers = [resolve(path) for form, path in known_formats().items() if form == source]
    names = given.get("method") or []
    named = [names] if isinstance(names, str) else names
    rows = (each for each in catalog.METHODS if each.problem == problem and each.name in named)
    return (*readers, *(each.resolve() for each in rows))


def _problem(ctx: Context) -> str | None:
    """Problem named earlier in the command, also by a bundled instance; None without one."""
    from ..instances.problem.lookup import PROBLEM_NAMES

    for given in (ctx.args, *ctx.params.values()):  # args: where the last option has no value yet
        for text in given if isinstance(given, list | tuple) else [given]:
            if (name := str(text).partition("/")[0]) in PROBLEM_NAMES:
                return name
    return None


def problems_and_methods(ctx: Context, incomplete: str) -> list[str]:
    """Complete the name of a problem or of a method."""
    return problems(incomplete) + methods(ctx, incomplete)


def instances(incomplete: str) -> list[str]:
    """Complete names of bundled instances, and paths of files and folders."""
    from glob import escape, glob

    from ..instances.problem import bundled

    found = [f"{path}/" if os.path.isdir(path) else path for path in glob(f"{escape(incomplete)}*")]
    return beginning(list(bundled()), incomplete) + sorted(found)


def beginning(words: list[str], incomplete: str) -> list[str]:
    """Names that begin with the incomplete word, each once."""
    return list(dict.fromkeys(word for word in words if word.startswith(incomplete)))
