"""The commands `completion`, `warm` and `new problem`: once for an installation or a checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..analysis.report.console import say, waiting
from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.lookup import PROBLEM_NAMES
from .codes import leave_interrupted
from .completion import VARIABLE


def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the shell code for tab completion.

    It completes commands, options, problems and methods.

    For bash: eval "$(cotenant completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish:
    cotenant completion fish > ~/.config/fish/completions/cotenant.fish

    Parameters
    ----------
    shell : the shell
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    code = get_completion_script(prog_name="cotenant", complete_var=VARIABLE, shell=shell)
    typer.echo(code)


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


TEMPLATES = Path(__file__).with_name("templates")
"""The files, after their paths, with newproblem and NewProblem for the names."""

LINES = {
    "instances/problem/lookup.py": (
        r"^(PROBLEM_NAMES: .* = \(\n(?:    .*\n)*)\)$", r'\1    "newproblem",\n)'
    ),
    "catalog.py": (
        r"^(METHODS: .* = \(\n(?:    .*\n)*)\)$",
        r'\1    Method("optimal", "newproblem", "solvers.newproblem:optimal", "exact",\n'
        r'           "value", "this package"),\n'
        r'    Method("greedy", "newproblem", "baselines.newproblem:greedy", "heuristic",\n'
        r'           "value", "this package"),\n)',
    ),
}  # fmt: skip
"""path -> pattern, and what takes its place."""


def problem(name: Annotated[str, "NAME"]) -> None:
    """Write the files of a small problem that works, with its tests.

    Change them into the problem that you mean.

    Parameters
    ----------
    name : its name, in lower case
    """
    # 1. A name that is no Python name in lower case or is taken is refused; so is no checkout.
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InvalidOption(
            f"NAME is {name!r}; expected lower-case letters, digits and underscores, such as groups"
        )
    if name in PROBLEM_NAMES:
        raise InvalidOption(f"NAME is {name!r}, which is a problem already; choose another")
    root = Path(__file__).resolve().parents[1]
    if not (root / "tests").is_dir():
        raise InvalidFile(
            f"{root} is not a checkout of the sources: it has no tests; run this from an "
            "editable installation"
        )
    class_name = "".join(part.capitalize() for part in name.split("_"))

    def filled(text: str) -> str:
        return text.replace("newproblem", name).replace("NewProblem", class_name)

    # 2. The files of the problem, and its lines in those that are there.
    made = {
        root / filled(str(path.relative_to(TEMPLATES).with_suffix(""))): filled(path.read_text())
        for path in sorted(TEMPLATES.rglob("*.txt"))
    }
    if there := [path for path in made if path.exists()]:
        raise InvalidFile(f"{there[0]} is there already; remove it or choose another name")
    for place, (pattern, new) in LINES.items():
        path = root / place
        made[path], number = re.subn(
            pattern, filled(new), path.read_text(), count=1, flags=re.MULTILINE
        )
        if number != 1:
            raise InvalidFile(f"{path} has no line like {pattern}; the template is older than it")
    # 3. Nothing is written where one of them cannot be.
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        typer.echo(path.relative_to(root))
    say(
        "install the checkout again, and run the tests: they name the pages that have to "
        "speak of it"
    )
