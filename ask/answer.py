"""The adapter that all questions share: a user's own container in, the same container out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ..analysis.run.conflict import Conflict, conflict
from ..analysis.run.proving import Proved, prove
from ..analysis.run.result import Result
from ..analysis.run.solve import solve
from ..instances.problem.base import Instance
from ..instances.problem.errors import InvalidInstance
from ..instances.problem.frames import labels_of
from ..solvers.outcome import Status

if TYPE_CHECKING:
    import pandas

Data = TypeVar("Data")
"""The container that a question is given, and that its answer has."""

CONTAINERS = "a pandas.DataFrame, a dict, a list of dicts, a numpy array or a networkx graph"

PATIENCE = 60.0
"""Seconds of a question whose time limit is not given."""


@dataclass(frozen=True, repr=False)
class Answer(Generic[Data]):
    """The answer to a question, in the container that the question was given.

    Attributes
    ----------
    data : what was given, with its own index and further columns, and the columns of the answer;
        those are empty where there is none. Of a numpy array: the first of these columns.
    result : the whole result, with every metric: see `cotenant.Result`.
    """

    data: Data
    result: Result[Any]

    @property
    def value(self) -> float | None:
        """The objective of the answer, None without one."""
        return self.result.objective

    @property
    def bound(self) -> float | None:
        """The proved bound: no answer is better; None without one."""
        return self.result.bound

    @property
    def gap(self) -> float | None:
        """|value - bound| / |value|, see `Result.gap`."""
        return self.result.gap

    @property
    def status(self) -> Status:
        """How good the answer is: optimal, feasible, infeasible or unknown."""
        return self.result.status

    @cached_property
    def certified(self) -> bool:
        """Whether the verifier, which uses no solver, accepts a proof of all that is claimed. The
        proof is made when this is first looked at.
        """
        return self.proof().proof_status == "certified"

    @cached_property
    def conflict(self) -> Conflict:
        """Of an infeasible question: what cannot hold together, in the names of the data."""
        assert self.result.given is not None
        return conflict(self.result.given, self.result)

    def proof(self, folder: str | None = None, *, time_limit: float | None = None) -> Proved:
        """The verdict on a proof of the answer, made now; see `cotenant.prove`.

        Parameters
        ----------
        folder : where the instance and its proof are kept; without it no file is.
        time_limit : seconds to make the proof.
        """
        assert self.result.given is not None
        if folder is not None:
            return prove(self.result.given, self.result, folder, time_limit=time_limit)
        with TemporaryDirectory() as place:
            verdict = prove(self.result.given, self.result, place, time_limit=time_limit)
        return replace(verdict, file=None)

    def __repr__(self) -> str:
        return f"Answer{repr(self.result).removeprefix('Result')}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts, then the table."""
        return self.result._repr_html_() + getattr(self.data, "to_html", str)()


@dataclass(frozen=True)
class Given(Generic[Data]):
    """What a user gave.

    Attributes
    ----------
    frame : it as a frame: a row for each thing, columns for what is known of it.
    square : the columns that have the names of rows, which stand in `frame` no more, where they
        are a matrix.
    back : makes the user's container of that frame and the columns of an answer.
    """

    frame: pandas.DataFrame
    square: pandas.DataFrame
    back: Callable[[Mapping[str, Sequence[Any]]], Data]

    @property
    def labels(self) -> list[Any]:
        """The names of the rows."""
        return list(self.frame.index)


def given(data: Data, owner: str, *, square: bool = False) -> Given[Data]:
    """Read a user's container.

    Parameters
    ----------
    data : a frame; a dict or a list of dicts, each of one thing; a numpy array, two-dimensional or
        of records; a networkx graph, whose nodes are the things, with attributes as columns, and
        whose edges are a column for each node: their `weight`, inf where there is no edge.
    owner : what messages call it.
    square : whether columns with the names of rows are a matrix.

    Raises
    ------
    InvalidInstance
        It is none of these, or has no rows, or two of one name.
    """
    import pandas

    things: Any = data
    back: Callable[..., Any]
    if isinstance(things, pandas.DataFrame):
        frame = things
        back = lambda columns: _with_columns(things.drop(columns=matrix), columns)  # noqa: E731
    elif isinstance(things, Mapping) and all(isinstance(row, Mapping) for row in things.values()):
        frame = pandas.DataFrame(list(things.values()), index=list(things))
        back = lambda columns: dict(zip(things, joined(things.values(), columns), strict=True))  # noqa: E731
    elif isinstance(things, list) and all(isinstance(row, Mapping) for row in things):
        frame, back = pandas.DataFrame(things), lambda columns: joined(things, columns)
    elif isinstance(things, np.ndarray) and (things.ndim == 2 or things.dtype.names):
        frame, back = pandas.DataFrame(things), partial(_array, things)
    elif hasattr(things, "nodes") and hasattr(things, "edges"):
        frame, back = _of_graph(things)
    else:
        raise InvalidInstance(owner, f"a {type(things).__name__}", CONTAINERS)

    def joined(rows: Any, columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        kept = ({key: each for key, each in row.items() if key not in matrix} for row in rows)
        return [{**row, **found} for row, found in zip(kept, _records(columns), strict=True)]

    labels = set(labels_of(frame.index, owner))
    if not labels:
        raise InvalidInstance(owner, "empty", "a row or more")
    matrix = [name for name in frame.columns if name in labels] if square else []
    table = frame[matrix] if len(matrix) == len(labels) else frame  # what lacks is named there
    return Given(frame.drop(columns=matrix), table, back)


def _records(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The rows of some columns."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _with_columns(frame: Any, columns: Mapping[Any, Sequence[Any]]) -> Any:
    """A copy of a frame with some columns more, or in place of those of their names."""
    found = frame.copy()
    for name, values in columns.items():
        found[name] = values
    return found


def _array(things: Any, columns: Mapping[Any, Sequence[Any]]) -> Any:
    """The columns as an array where they replace those of an array, else the first of them, with -1
    for None.
    """
    if things.ndim == 2 and list(columns) == list(range(things.shape[1])):
        return np.array(list(columns.values())).T
    first = next(iter(columns.values()))
    return np.array([-1 if value is None else value for value in first])


def _of_graph(graph: Any) -> tuple[pandas.DataFrame, Callable[..., Any]]:
    """Nodes with their attributes and a column for each node, and the way back."""
    import networkx
    import pandas

    nodes = list(graph.nodes)
    weights = networkx.to_pandas_adjacency(graph, nodes, nonedge=np.inf)
    attributes = pandas.DataFrame([graph.nodes[node] for node in nodes], index=nodes)

    def back(columns: Mapping[str, Sequence[Any]]) -> Any:
        answered = graph.copy()
        networkx.set_node_attributes(answered, dict(zip(nodes, _records(columns), strict=True)))
        return answered

    return attributes.join(weights), back


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Errors of fields by the names of what the user gave: `penalty` is called `slowdowns`."""
    try:
        yield
    except InvalidInstance as error:
        field = next((each for each in names if error.field.startswith(each)), None)
        if field is None:
            raise
        raise error.of(names[field] + error.field.removeprefix(field)) from None


def answered(
    question: Given[Data], instance: Instance[Any], method: str,
    columns: Callable[[Any], Mapping[str, Sequence[Any]]], names: str | Iterable[Any],
    time_limit: float | None, seed: int, verbose: bool,
) -> Answer[Data]:  # fmt: skip
    """Solve an instance, and hand the answer back in the container of the question.

    Parameters
    ----------
    method, time_limit, seed : see `cotenant.solve`.
    columns : of a solution, the columns of the answer, with an entry for each row of the question.
    names : of these columns, for when there is no solution; a text of words, or one by one.
    verbose : print a line whenever value or bound moves.
    """
    report = Moves() if verbose else None
    result = solve(instance, method, seed=seed, time_limit=time_limit, report=report)
    if report is not None:
        report(result.seconds, result.objective, result.bound)
        print(result)
    keys = names.split() if isinstance(names, str) else names
    nothing = dict.fromkeys(keys, [None] * len(question.frame))
    found = nothing if result.solution is None else columns(result.solution)
    return Answer(question.back(found), result)


class Moves:
    """A report that prints a line whenever the value or the bound has moved."""

    def __init__(self) -> None:
        self._last: tuple[float | None, float | None] = (None, None)

    def __call__(
        self, seconds: float, value: float | None, bound: float | None, text: str = ""
    ) -> None:
        """Take the next value and bound, whatever the method does meanwhile."""
        if (value, bound) != self._last:
            self._last = (value, bound)
            print(f"{seconds:8.2f} s  value {_number(value)}  bound {_number(bound)}".rstrip())


def _number(value: float | None) -> str:
    return f"{'-' if value is None else format(value, '.6g'):<10}"
