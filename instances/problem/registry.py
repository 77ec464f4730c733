"""Table of problems: the classes and functions of each by name, imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from math import inf
from typing import Annotated, Any

from .base import Instance, Solution
from .errors import InfeasibleSolution, UnknownName
from .lookup import PROBLEM_NAMES as PROBLEM_NAMES
from .lookup import resolve as resolve
from .option_types import validate_options
from .options import accepts


@dataclass(frozen=True)
class CsvForm:
    """CSV tables of a problem with plain headers, which `cotenant convert --from csv` recognizes.

    Attributes
    ----------
    form : the format, a key of the problem's `formats`.
    file : name of the main table in a folder.
    columns : those by which the main table is known, in lower case.
    header : all it may have, for people; brackets for what may be missing.
    enough : columns by which a table is known that is called `file`; `columns` when empty.
    """

    form: str
    file: str
    columns: tuple[str, ...]
    header: str
    enough: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Functions and names of a problem for reading, writing, checking and generating instances.

    What reads and draws is named by text, "module:function" inside the package, resolved on use.
    """

    title: str
    instance: type[Instance]
    solutions: tuple[type[Solution], ...]
    """The types of an answer; the first is that of a result without `answer`."""
    check: Callable[[Any, Any], None]
    document: str = ""
    """the model of its JSON documents, where its fields alone do not make it."""
    generators: Mapping[str, str] = field(default_factory=dict)
    """kind -> function(*, rng, **options) -> Instance; the first is the default."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """foreign format -> function(path, **options) -> Instance."""
    answer_table: Callable[..., Any] | None = None
    """f(instance, solution, most) -> AnswerTable; None: fields will do."""
    read_table: Callable[..., Solution] | None = None
    """f(instance, CsvTable) -> Solution, of a CSV answer."""
    answer_columns: str = ""
    """of that table; in brackets what may be missing."""
    csv_form: CsvForm | None = None
    scale: Callable[..., float] | None = None
    """f(instance, objective, **options), see `scale`; None for 1."""

    @property
    def name(self) -> str:
        """Name of the problem, such as "packing", as its instances have it in `problem`."""
        return self.instance.problem

    def solution_named(self, name: str | None) -> type[Solution]:
        """Solution class of a name, or the first one if None; raises UnknownName."""
        known = {kind.__name__: kind for kind in self.solutions}
        if name is not None and name not in known:
            raise UnknownName(f"{self.name} answer", name, known)
        return self.solutions[0] if name is None else known[name]

    def require(self, instance: Instance, solution: Any) -> None:
        """Raise InfeasibleSolution unless a solution has a class of the problem and is feasible."""
        if not isinstance(solution, self.solutions):
            wanted = " or ".join(kind.__name__ for kind in self.solutions)
            offers = getattr(type(solution), "offers", "")
            raise InfeasibleSolution(
                f"a {wanted} answers a {self.name} instance; got {type(solution).__name__}"
                f"{offers and f'; {offers}'}"
            )
        self.check(instance, solution)

    def unit(self, instance: Instance, objective: str, options: Mapping[str, Any]) -> float:
        """Largest value of an objective, by which accuracy is judged; 1 if it is 0 or infinite."""
        size = 1.0 if self.scale is None else float(self.scale(instance, objective, **options))
        return size if 0 < size < inf else 1.0


@validate_options
def problem_named(name: str) -> Problem:
    """Problem by name; raises UnknownName with similar names."""
    if name not in PROBLEM_NAMES:
        raise UnknownName("problem", name, PROBLEM_NAMES)
    problem: Problem = import_module(f"..{name}", __package__).PROBLEM
    return problem


@validate_options
def check(instance: Instance, solution: Annotated[Solution, object]) -> None:
    """Raise InfeasibleSolution unless a solution is feasible for an instance, naming the first
    broken constraint, where, and by how much.
    """
    problem_named(instance.problem).require(instance, solution)


def feasible(instance: Instance, solution: Any) -> bool:
    """Whether `check` accepts a solution for an instance."""
    try:
        problem_named(instance.problem).check(instance, solution)
    except InfeasibleSolution:
        return False
    return True


@validate_options
def scale(instance: Instance, objective: str, /, **options: Any) -> float:
    """Largest absolute value of an objective on an instance, or a quick bound on it: above 0.

    A value and a bound on it agree when they differ by a tiny fraction of this
    (`solvers.outcome.agree`), so that neither the unit that work, money or time is counted in nor
    an optimum that happens to be tiny decides what is proved. It is 1 for whole numbers (of pairs,
    servers, jobs), where one more or less always counts, and for shares.

    Parameters
    ----------
    options : of the method or the metrics; those that change what the objective is are looked at.
    """
    return problem_named(instance.problem).unit(instance, objective, options)


def known_formats(options: Iterable[str] = ()) -> dict[str, str]:
    """Formats of `cotenant convert`, each with the function that reads it.

    Parameters
    ----------
    options : names of those that will be given. Of two problems with a format of one name it is the
        first whose reader takes them all, or the first.
    """
    found: dict[str, str] = {}
    given = frozenset(options)
    for problem in PROBLEM_NAMES:
        for name, path in problem_named(problem).formats.items():
            if name not in found or (not _takes(found[name], given) and _takes(path, given)):
                found[name] = path
    return found


def _takes(path: str, options: Iterable[str]) -> bool:
    return all(accepts(resolve(path), name) for name in options)
