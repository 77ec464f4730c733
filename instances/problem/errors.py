"""Exceptions of the package, and the form of their messages.

::

    CotenantError
    ├── InvalidInstance     what is given breaks a rule of its problem (field, value, cure)
    ├── InvalidFile         a file cannot be read, is no document of ours, or cannot be written
    ├── InvalidOption       an option of a method, generator or reader is unknown or out of range
    │   └── TimeLimitTooShort  a policy that cannot be stopped would take longer than its limit
    ├── UnknownName         no problem, method, metric, data set or bundled instance has that name
    ├── InfeasibleSolution  an answer breaks a rule of its instance (raised by `check`)
    ├── NoSolution          a valid instance has no feasible answer (proved), or none was found
    ├── NotAdded            what is offered to a table of bounds is refused, or no better
    ├── EngineError         a solver library failed in a way that leaves nothing to report
    └── ShortOfMemory       the machine gives this process no more memory, threads or processes
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar


class CotenantError(Exception):
    """Base class of every exception that this package raises on purpose."""


class InvalidInstance(CotenantError, ValueError):
    """An instance breaks a rule of its problem; `field` is the name of the wrong field."""

    def __init__(self, field: str, seen: object, expected: str, cure: str = "") -> None:
        self.field = field
        self.seen = seen
        super().__init__(explain(field, seen, expected, cure))

    def within(self, place: str) -> InvalidInstance:
        """Copy the error with a place, such as a file and line, in front of its message."""
        placed = InvalidInstance(self.field, self.seen, "")
        placed.args = (f"{place}: {self}",)
        return placed

    def of(self, field: str) -> InvalidInstance:
        """Copy the error with another field name: penalty['web', 'batch'] for penalty[0, 1]."""
        named = InvalidInstance(field, self.seen, "")
        named.args = (str(self).replace(self.field, field, 1),)
        return named


class InvalidFile(CotenantError, OSError):
    """A file cannot be read or written, or is not a document of this package."""


class InvalidOption(CotenantError, ValueError):
    """An option is unknown, of the wrong type, or out of range."""


class TimeLimitTooShort(InvalidOption):
    """A policy that cannot be stopped early would exceed its time limit, and is not started."""


class UnknownName(CotenantError, LookupError):
    """A name is not in a table of names; the message suggests similar names.

    Parameters
    ----------
    what : what was looked for, such as "colocation method".
    elsewhere : the problems that have something of that kind and name.
    """

    def __init__(
        self,
        what: str,
        name: object,
        known: Iterable[str],
        listing: str = "",
        elsewhere: Iterable[str] = (),
    ) -> None:
        if others := ", ".join(elsewhere):
            problem, _, kind = what.partition(" ")
            text = f"{str(name)!r} is a {kind} of {others}, this is {problem}; {kind}s of {problem}"
            super().__init__(f"{text}: {', '.join(known)}")
        else:
            super().__init__(
                f"no {what} is named {str(name)!r}; {suggest(str(name), known, listing)}"
            )


class InfeasibleSolution(CotenantError):
    """A solution breaks a constraint of its instance."""


class NoSolution(CotenantError):
    """The instance has no feasible solution, or a heuristic found none."""


class NotAdded(CotenantError):
    """A proof or answer that changes no row of a table of bounds; the message says why."""


class EngineError(CotenantError):
    """A solver library failed without a result."""


class ShortOfMemory(CotenantError, MemoryError):
    """The operating system refused this process memory, threads or processes."""


at_command_line = ContextVar("at_command_line", default=False)
"""Whether a command runs, so that messages name options as they are typed there."""


def spelled(typed: str, python: str = "") -> str:
    """Hint of an error message for the command line (`-o name=value`) or else for Python."""
    return typed if at_command_line.get() else python or typed.replace("-o ", "")


def explain(field: str, seen: object, expected: str, cure: str = "") -> str:
    """Compose an error message of one sentence: field, value seen, expected value, and cure."""
    text = f"{field} is {seen}; expected {expected}"
    return f"{text}. {cure}" if cure else text


def install(extra: str) -> str:
    """Shell command that installs the libraries of an extra, as this package was installed."""
    from importlib.metadata import requires

    needed = (line.partition(";") for line in requires("cotenant") or ())
    names = [name.strip() for name, _, marker in needed if f'extra == "{extra}"' in marker]
    return f"python -m pip install {' '.join(map(repr, names))}"


_LONGEST = 100
"""Letters of a name that are looked at: a file may give one of millions."""

_NEAR, _MOST_NAMED, _ALL_NAMED = 0.6, 4, 24
"""Likeness (of difflib, 0 to 1) from which a name may be meant, how many such names are said, and
how many known ones where none is.
"""


def suggest(name: str, known: Iterable[str], listing: str = "", also: Iterable[str] = ()) -> str:
    """Message that suggests the known names nearest to `name` or in `also`; if none is near, all
    known names or the command that lists them.
    """
    from difflib import SequenceMatcher

    names = list(known)
    name = name[:_LONGEST]
    alike = {
        entry: SequenceMatcher(None, entry.lower(), name.lower()).ratio()
        for entry in (*names, *sorted(also))
    }
    near = [
        entry for entry in sorted(alike, key=lambda entry: -alike[entry]) if alike[entry] >= _NEAR
    ][:_MOST_NAMED]
    if near:
        return "did you mean " + " or ".join(near) + "?"
    if listing:
        return f"`{listing}` lists all"
    if len(names) > _ALL_NAMED:
        nearest = sorted(dict.fromkeys(names), key=lambda entry: -alike[entry])[:5]
        return f"the nearest of {len(names)} are {', '.join(nearest)}"
    return "known: " + (", ".join(names) if names else "none")
