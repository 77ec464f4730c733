"""Experiments on something made from options, which become the experiment's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import Signature, signature
from typing import Any

from ..analysis.report.picture import Picture
from .registry import Finding

Yields = Callable[..., Iterable[Finding | Picture]]
Figure = Callable[..., list[Finding | Picture]]


def given_by(
    make: Callable[..., Any], defaults: Mapping[str, Any], fixed: Collection[str] = ()
) -> Callable[[Yields], Figure]:
    """Make an experiment of a function of what `make` gives: what `make` takes become options of
    the experiment too.

    Parameters
    ----------
    defaults : the experiment's own, of options of `make`. An option that the function names as well
        is handed on to it.
    fixed : what of `make` is no option here and stays at its default.
    """

    def decorate(function: Yields) -> Figure:
        own = signature(function, eval_str=True)
        shared = {
            name: entry.replace(default=defaults.get(name, entry.default), kind=entry.KEYWORD_ONLY)
            for name, entry in signature(make, eval_str=True).parameters.items()
        }
        options = {name: entry for name, entry in shared.items() if name not in fixed}
        options |= {
            name: entry
            for name, entry in own.parameters.items()
            if entry.kind is entry.KEYWORD_ONLY and name not in shared
        }

        @wraps(function)
        def run(**given: Any) -> list[Finding | Picture]:
            if unknown := set(given) - set(options):
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {min(unknown)!r}"
                )
            values = {name: given.get(name, entry.default) for name, entry in options.items()}
            chosen = {name: values.get(name, entry.default) for name, entry in shared.items()}
            rest = {name: values[name] for name in own.parameters if name in values}
            return list(function(make(**chosen), **rest))

        del run.__wrapped__
        shown = Signature(list(options.values()), return_annotation=list[Finding | Picture])
        run.__signature__ = shown  # type: ignore[attr-defined]
        run.__annotations__ = {name: entry.annotation for name, entry in options.items()}
        return run

    return decorate
