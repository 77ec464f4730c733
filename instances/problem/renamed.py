"""Names of before: they work for one more release, and warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .lookup import resolve


def old_module(
    name: str, new: str, changed: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has another name now.

    Parameters
    ----------
    name : of the old module, its `__name__`.
    new : the dotted name that it has now, inside the package.
    changed : what has another name there too, old -> new.
    """

    def find(entry: str) -> Any:
        if entry.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {entry!r}")
        found = (changed or {}).get(entry, entry)
        value = resolve(f"{new}:{found}")
        _warn(f"{name}.{entry}", f"cotenant.{new}.{found}")
        return value

    return find


def old_names(name: str, changed: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module some of whose names have changed, old -> "module:new"."""

    def find(entry: str) -> Any:
        if entry not in changed:
            raise AttributeError(f"module {name!r} has no attribute {entry!r}")
        _warn(f"{name}.{entry}", f"cotenant.{changed[entry].replace(':', '.')}")
        return resolve(changed[entry])

    return find


def old_attributes(changed: Mapping[str, str]) -> Callable[[Any, str], Any]:
    """The `__getattr__` of a class some of whose attributes have changed, old -> new."""

    def find(self: Any, entry: str) -> Any:
        kind = type(self).__name__
        if entry not in changed:
            raise AttributeError(f"{kind!r} object has no attribute {entry!r}")
        _warn(f"{kind}.{entry}", f"{kind}.{changed[entry]}")
        return getattr(self, changed[entry])

    return find


def _warn(old: str, new: str) -> None:
    words = f"{old} is called {new} now; the old name goes with the next release"
    warnings.warn(words, DeprecationWarning, stacklevel=3)
