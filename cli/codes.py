"""Exit codes of commands, and the exit after an interrupt."""

from __future__ import annotations

from typing import NoReturn

DONE, NO_ANSWER, BAD_INPUT, NOT_KNOWN = 0, 1, 2, 3
"""Done; no solution, a check that fails or a method that failed; bad input or usage; neither yes
nor no is known of what was asked, or of a bound that is claimed.
"""

INTERRUPTED = 130
"""After Ctrl-C; after SIGTERM it is 143."""

kept: list[str] = []
"""What an interrupt left of the command that is running."""


def leave_interrupted(what: str) -> NoReturn:
    """Say what an interrupt left unfinished, and exit."""
    import typer

    from ..analysis.report.console import say
    from ..solvers.interrupts import exit_code

    kept.append(what)
    say(f"interrupted: {what}")
    raise typer.Exit(exit_code())
