"""`cotenant new problem NAME`: the files of a problem that works, to be changed."""

from __future__ import annotations

import re
from pathlib import Path

from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.lookup import PROBLEM_NAMES

TEMPLATES = Path(__file__).with_name("templates")
"""The files, after their paths, with newproblem and NewProblem for the names."""

LINES: dict[str, tuple[tuple[str, str], ...]] = {
    "instances/problem/lookup.py": (
        (r"^(PROBLEM_NAMES: .* = \(\n(?:    .*\n)*)\)$", r'\1    "newproblem",\n)'),
    ),
    "catalog.py": (
        (
            r"^(METHODS: .* = \(\n(?:    .*\n)*)\)$",
            r'\1    Method("optimal", "newproblem", "solvers.newproblem:optimal", "exact",\n'
            r'           "value", "this package"),\n'
            r'    Method("greedy", "newproblem", "baselines.newproblem:greedy", "heuristic",\n'
            r'           "value", "this package"),\n)',
        ),
    ),
}
"""path -> (pattern, what takes its place)."""


def write_problem(name: str, root: Path) -> list[Path]:
    """Write the files of a problem into a checkout, and its lines into those that are there;
    returns what was written.

    Raises
    ------
    InvalidOption
        The name is no Python name in lower case, or is taken.
    InvalidFile
        `root` is no checkout, or a file is there already; nothing is written then.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InvalidOption(
            f"NAME is {name!r}; expected lower-case letters, digits and underscores, such as groups"
        )
    if name in PROBLEM_NAMES:
        raise InvalidOption(f"NAME is {name!r}, which is a problem already; choose another")
    if not (root / "tests").is_dir():
        raise InvalidFile(
            f"{root} is not a checkout of the sources: it has no tests; run this from an "
            "editable installation"
        )
    class_name = "".join(part.capitalize() for part in name.split("_"))

    def filled(text: str) -> str:
        return text.replace("newproblem", name).replace("NewProblem", class_name)

    made = {
        root / filled(str(path.relative_to(TEMPLATES).with_suffix(""))): filled(path.read_text())
        for path in sorted(TEMPLATES.rglob("*.txt"))
    }
    if there := [path for path in made if path.exists()]:
        raise InvalidFile(f"{there[0]} is there already; remove it or choose another name")
    for path, changes in LINES.items():
        text = (root / path).read_text()
        for pattern, new in changes:
            text, number = re.subn(pattern, filled(new), text, count=1, flags=re.MULTILINE)
            if number != 1:
                raise InvalidFile(
                    f"{root / path} has no line like {pattern}; the template is older than it"
                )
        made[root / path] = text
    for place, text in made.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return list(made)
