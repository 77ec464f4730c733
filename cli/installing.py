"""The commands `completion`, `warm` and `new problem`: once for an installation or a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import say, waiting
from ..instances.problem.lookup import PROBLEM_NAMES
from .codes import leave_interrupted
from .completion import Shell, script


def completion(shell: Shell) -> None:
    """Print the shell code for tab completion.

    It completes commands, options, problems and methods.

    For bash: eval "$(cotenant completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish:
    cotenant completion fish > ~/.config/fish/completions/cotenant.fish

    Parameters
    ----------
    shell : the shell
    """
    typer.echo(script(shell))


WARMING: tuple[str, ...] = (
    *(f"{problem}/tiny" for problem in PROBLEM_NAMES),
    "admission/hines-romano-I",
    "packing/vm-types-8",
    "colocation scores",
    "packing caprara-toth",
)
"""Bundled instances and generators whose runs, with every method, need every kernel."""


WARMING_JOBS = 8
"""Processes that compile at the same time: what all need, each compiles for itself."""


def warm() -> None:
    """Compile every kernel now, so that later runs start at once.

    Needed once for each installed version.
    """
    import numpy as np

    from ..analysis.run.compare import compare as run
    from ..instances.problem import problem_named, read
    from ..instances.problem.errors import InvalidFile
    from ..instances.problem.registry import resolve
    from ..solvers.compiled import cache_folder, why_uncached
    from ..solvers.cores import cores

    folder = cache_folder()
    if folder is None:
        raise InvalidFile(f"compiled kernels cannot be kept: {why_uncached()}")
    made = []
    for text in WARMING:
        problem, _, generator = text.partition(" ")
        draw = resolve(problem_named(problem).generators[generator]) if generator else None
        made.append(read(text) if draw is None else draw(rng=np.random.default_rng(0)))
    with waiting("compiling") as tell:
        done = run(
            made, None, time_limit=1.0, jobs=min(cores(), WARMING_JOBS),
            progress=lambda done, total, row: tell(f"{done} of {total} runs"),
        )  # fmt: skip
    kept = f"{sum(1 for _ in folder.rglob('*.nbc'))} compiled kernels are kept in {folder}"
    if done.interrupted:
        leave_interrupted(kept)
    typer.echo(kept)


def problem(name: Annotated[str, "NAME"]) -> None:
    """Write the files of a small problem that works, with its tests.

    Change them into the problem that you mean.

    Parameters
    ----------
    name : its name, in lower case
    """
    from .new_problem import write_problem

    root = Path(__file__).resolve().parents[1]
    for path in write_problem(name, root):
        typer.echo(path.relative_to(root))
    say(
        "install the checkout again, and run the tests: they name the pages that have to "
        "speak of it"
    )
