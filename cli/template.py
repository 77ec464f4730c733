"""`cotenant new problem NAME`: the files of a problem that works, to be changed into the one that
is meant.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.registry import PROBLEM_NAMES

FILES: dict[str, str] = {
    "instances/newproblem/__init__.py": '''\
"""Choose the items of most value that fit."""

from __future__ import annotations

from ..problem.registry import Problem
from .instance import Choice, NewProblem, check

PROBLEM = Problem(
    name="newproblem",
    title="choose the items of most value that fit",
    instance=NewProblem,
    solution=Choice,
    check=check,
    generators={"random": "instances.newproblem.generators:random"},
    scale="instances.newproblem.instance:scale",
)

__all__ = ["PROBLEM", "Choice", "NewProblem", "check"]
''',
    "instances/newproblem/instance.py": '''\
"""What is given, what an answer is, and whether one is feasible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution
from ..problem.errors import InfeasibleSolution
from ..problem.fields import Axes, set_fields
from ..problem.option_types import AtLeast


@dataclass(frozen=True, eq=False, repr=False)
class NewProblem(Instance["Choice"]):
    """Items with a value and a weight, of which some fit.

    Parameters
    ----------
    value, weight : (n,) of each item, whole numbers.
    capacity : the weight that fits in all.
    """

    problem: ClassVar[str] = "newproblem"
    counted: ClassVar[Mapping[str, str]] = {"items": "item"}

    value: Annotated[npt.NDArray[np.int64], Axes("items"), AtLeast(1, "what an item is worth")]
    weight: Annotated[npt.NDArray[np.int64], Axes("items"), AtLeast(1, "what an item weighs")]
    capacity: Annotated[int, AtLeast(0, "the weight that fits")]

    def __post_init__(self) -> None:
        """Raise InvalidInstance, naming the field, the value and what was expected."""
        set_fields(self)


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Solution):
    """The items chosen, by index."""

    problem: ClassVar[str] = "newproblem"
    items: npt.NDArray[np.int64] = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Keep the items sorted and read-only."""
        items = np.sort(np.array(self.items, dtype=np.int64).reshape(-1))
        items.flags.writeable = False
        object.__setattr__(self, "items", items)


def check(instance: NewProblem, solution: Choice) -> None:
    """Raise InfeasibleSolution, naming the first rule that is broken."""
    items = solution.items.tolist()
    if len(set(items)) < len(items):
        raise InfeasibleSolution(f"an item is chosen twice: {items}")
    if any(not 0 <= item < len(instance.value) for item in items):
        raise InfeasibleSolution(f"items are 0 to {len(instance.value) - 1}; got {items}")
    if (total := int(instance.weight[solution.items].sum())) > instance.capacity:
        raise InfeasibleSolution(
            f"the items chosen have weight {total}, and {instance.capacity} fits"
        )


def scale(instance: NewProblem, objective: str) -> float:
    """What the objective could be at most."""
    return float(instance.value.sum())
''',
    "instances/newproblem/generators.py": '''\
"""Generators."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.rules import AtLeast, checked
from .instance import NewProblem


@checked
def random(
    *, items: Annotated[int, AtLeast(1, "items")] = 10, rng: np.random.Generator
) -> NewProblem:
    """Values and weights drawn evenly from 1 to 20; half of the weights fit.

    Parameters
    ----------
    items : how many.
    """
    value, weight = rng.integers(1, 21, (2, items))
    return NewProblem(value, weight, int(weight.sum() // 2), source=f"synthetic: {items} items")
''',
    "instances/data/newproblem/tiny.json": """\
{"cotenant": 1, "problem": "newproblem", "name": "tiny", "source": "made by hand",
 "value": [7, 4, 4], "weight": [4, 3, 3], "capacity": 6}
""",
    "models/newproblem/__init__.py": '''\
"""The choice as an integer program."""

from __future__ import annotations

from ...instances.newproblem.instance import NewProblem
from ..program import LinearProgram, ProgramBuilder


def choice_program(instance: NewProblem) -> LinearProgram:
    """Most value (as least cost) within the capacity; a column for each item."""
    builder = ProgramBuilder()
    items = builder.columns(len(instance.value), upper=1.0, cost=-instance.value, integer=True)
    builder.row(items, instance.weight, upper=instance.capacity)
    return builder.build()
''',
    "solvers/newproblem/__init__.py": '''\
"""Exact methods."""

from __future__ import annotations

import numpy as np

from ...instances.newproblem.instance import Choice, NewProblem, scale
from ...models.newproblem import choice_program
from ..engines import solve_program
from ..outcome import Outcome, Report, Status, agree


def optimal(
    instance: NewProblem,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """The items of most value that fit.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("newproblem/tiny"), "optimal").objective
    8.0
    """
    answer = solve_program(choice_program(instance), time_limit=time_limit, report=report)
    chosen = Choice([] if answer.point is None else np.flatnonzero(answer.point > 0.5))
    value = float(instance.value[chosen.items].sum())
    bound = None if answer.bound is None else max(value, -answer.bound)
    proved = bound is not None and agree(value, bound, scale(instance, "value"))
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return Outcome(chosen, bound, status, answer.stop, {"engine": answer.message})
''',
    "baselines/newproblem/__init__.py": '''\
"""Heuristics."""

from __future__ import annotations

import numpy as np

from ...instances.newproblem.instance import Choice, NewProblem


def greedy(
    instance: NewProblem,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> Choice:
    """Items by decreasing value for their weight, each where it still fits.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("newproblem/tiny"), "greedy").objective
    7.0
    """
    room, items = instance.capacity, []
    for item in np.argsort(-instance.value / instance.weight, kind="stable").tolist():
        if instance.weight[item] <= room:
            room -= int(instance.weight[item])
            items.append(item)
    return Choice(items)
''',
    "analysis/newproblem/__init__.py": '''\
"""Metrics of a choice."""

from __future__ import annotations

from ..registry import Analysis

ANALYSIS = Analysis(
    metric_table_at="analysis.newproblem.metrics:METRICS",
    metrics_at="analysis.newproblem.metrics:metrics",
)
''',
    "analysis/newproblem/metrics.py": '''\
"""The metrics of a choice."""

from __future__ import annotations

from ...instances.newproblem.instance import Choice, NewProblem
from ..metric import Metric

METRICS: tuple[Metric, ...] = (Metric("value", "value of the items", "max", digits=0),)


def metrics(instance: NewProblem, solution: Choice) -> dict[str, float]:
    """Every metric of a feasible answer."""
    return {"value": float(instance.value[solution.items].sum())}
''',
    "tests/test_newproblem.py": '''\
"""Choosing items: the optimum against every choice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cotenant
from cotenant.instances.newproblem import Choice
from cotenant.instances.newproblem.generators import random


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_equals_enumeration(seed: int) -> None:
    instance = random(items=7, rng=np.random.default_rng(seed))
    every = [list(s) for number in range(8) for s in itertools.combinations(range(7), number)]
    fitting = [items for items in every if instance.weight[items].sum() <= instance.capacity]
    most = max(instance.value[items].sum() for items in fitting)
    result = cotenant.solve(instance, "optimal")
    assert (result.status, result.objective) == ("optimal", most)
    assert cotenant.solve(instance, "greedy").objective <= most


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(cotenant.CotenantError, match="weight 7, and 6 fits"):
        cotenant.check(cotenant.read("newproblem/tiny"), Choice([0, 1]))
''',
}
"""path -> text, with newproblem and NewProblem for the problem's name and its class's."""

LINES: dict[str, tuple[tuple[str, str], ...]] = {
    "instances/problem/registry.py": (
        (r"^(PROBLEM_NAMES: .* = \(\n(?:    .*\n)*)\)$", r'\1    "newproblem",\n)'),
    ),
    "catalog.py": (
        (
            r"^(METHODS: .* = \(\n(?:    .*\n)*)\)$",
            r'\1    Method("optimal", "newproblem", "solvers.newproblem:optimal", "exact",\n'
            r'           "value", "this package", ("greedy",)),\n'
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

    made = {root / filled(path): filled(text) for path, text in FILES.items()}
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
