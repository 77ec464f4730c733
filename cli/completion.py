"""What a shell completes: commands, options, problems, methods and bundled instances."""

from __future__ import annotations

import os
from enum import StrEnum

VARIABLE = "_COTENANT_COMPLETE"
"""What the shell's script sets when it asks what could come next."""


class Shell(StrEnum):
    """A shell that has a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def script(shell: Shell) -> str:
    """What the shell has to run to complete `cotenant`."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    found: str = get_completion_script(
        prog_name="cotenant", complete_var=VARIABLE, shell=shell.value
    )
    return found


def prepare() -> None:
    """Let the command line answer a shell that asks."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def problems(incomplete: str) -> list[str]:
    """Problems that begin so."""
    from ..instances.problem.lookup import PROBLEM_NAMES

    return _beginning(list(PROBLEM_NAMES), incomplete)


def methods(incomplete: str) -> list[str]:
    """Methods that begin so."""
    from .. import catalog

    return _beginning([entry.name for entry in catalog.METHODS], incomplete)


def problems_and_methods(incomplete: str) -> list[str]:
    """Problems and methods that begin so."""
    return problems(incomplete) + methods(incomplete)


def instances(incomplete: str) -> list[str]:
    """Bundled instances that begin so, and files and folders of this machine."""
    from glob import escape, glob

    from ..instances.problem import bundled

    found = [f"{path}/" if os.path.isdir(path) else path for path in glob(f"{escape(incomplete)}*")]
    return _beginning(list(bundled()), incomplete) + sorted(found)


def _beginning(words: list[str], incomplete: str) -> list[str]:
    return list(dict.fromkeys(word for word in words if word.startswith(incomplete)))
