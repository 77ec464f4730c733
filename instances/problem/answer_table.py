"""Answers as a sentence and as rows labeled by the names of the instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from .base import Instance, Solution
from .registry import check, problem_named

if TYPE_CHECKING:
    import pandas

SHOWN = 12
"""Rows of an answer that a terminal shows."""

KEPT = 10_000
"""Rows of an answer that a file keeps; its `solution` holds all of it."""

MAX_IN_SENTENCE = 3
"""Decisions that a sentence tells."""


@dataclass(frozen=True)
class AnswerTable:
    """Answer as a sentence and labeled rows.

    Attributes
    ----------
    sentence : the decision in a line; its first few parts where there are many.
    columns : names of the columns.
    rows : the first rows, the most telling first: texts, numbers and None.
    total : how many rows there are in all.
    """

    sentence: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int

    @property
    def left_out(self) -> int:
        """Number of rows that the table of an answer leaves out."""
        return self.total - len(self.rows)


def answer_table(instance: Instance, solution: Solution, most: int | None = None) -> AnswerTable:
    """Table of an answer labeled by the names of its instance, with at most `most` rows (all if
    None); raises InfeasibleSolution if the answer is not feasible for the instance.
    """
    check(instance, solution)
    own = problem_named(instance.problem).answer_table
    if own is None:
        fields = solution.document()
        return AnswerTable("", tuple(fields), (tuple(map(str, fields.values())),), 1)
    found: AnswerTable = own(instance, solution, most)
    return found


def to_frame(instance: Instance, solution: Solution) -> pandas.DataFrame:
    """All rows of an answer as a frame labeled by the names of its instance."""
    import pandas

    found = answer_table(instance, solution)
    frame = pandas.DataFrame(list(found.rows), columns=list(found.columns))
    for index, name in enumerate(found.columns):
        values = [row[index] for row in found.rows]
        if None in values and all(type(value) in (int, type(None)) for value in values):
            frame[name] = pandas.array(values, dtype="Int64")  # pandas would make floats of them
    return frame


def labels(kind: str, names: Sequence[str], length: int) -> list[str]:
    """Display names of `length` objects: their names, or "VM 3" where a name is only a number."""
    given = names or [str(index) for index in range(length)]
    return [f"{kind} {name}" if name.isdigit() else name for name in given]


def join_first(parts: Sequence[str], total: int, rest: str) -> str:
    """Join the first few decisions of an answer; then how many more, with the noun `rest`."""
    first = list(islice(parts, MAX_IN_SENTENCE))
    more = total - len(first)
    others = [f"and {more} more{f' {rest}' if more > 1 else ''}"] if more > 0 else []
    return "; ".join([*first, *others])
