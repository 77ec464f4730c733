"""Answers to questions about a user's containers, such as data frames, in the same containers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np

from ..analysis.run.conflict import Conflict, conflict
from ..analysis.run.proving import Proved, prove
from ..analysis.run.result import Result
from ..analysis.run.solve import solve
from ..instances.problem.base import Instance
from ..instances.problem.errors import InvalidInstance
from ..instances.problem.frames import first_labels, labels_of
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
    """Answer to a question that a user asked, in a container like the one with the user's data.

    Attributes
    ----------
    data : what was given, with its own index and further columns, and the columns of the answer;
        those are empty where there is none. Of a numpy array: the first of these columns.
    value : the objective of the answer, None without one.
    bound : the proved bound: no answer is better; None without one.
    gap : |value - bound| / |value|, see `Result.gap`.
    status : how good the answer is: optimal, feasible, infeasible or unknown.
    result : the whole result, with every metric: see `cotenant.Result`.
    """

    data: Data
    value: float | None
    bound: float | None
    gap: float | None
    status: Status
    result: Result[Any]

    @cached_property
    def certified(self) -> bool:
        """Whether the verifier, which runs no solver, accepts a proof of all claims; the proof is
        made on first access.
        """
        return self.proof().proof_status == "certified"

    @cached_property
    def conflict(self) -> Conflict:
        """For an infeasible question, the constraints that cannot hold together, in the names of
        the data.
        """
        assert self.result.given is not None
        return conflict(self.result.given, self.result)

    def proof(self, folder: str | None = None, *, time_limit: float | None = None) -> Proved:
        """Make a proof of the answer, and return the verifier's verdict; see `cotenant.prove`.

        Parameters
        ----------
        folder : where the instance and its proof are kept; without it no file is.
        time_limit : seconds to make the proof.
        """
        assert self.result.given is not None
        with TemporaryDirectory() as place:
            where = place if folder is None else folder
            verdict = prove(self.result.given, self.result, where, time_limit=time_limit)
        return replace(verdict, file=None) if folder is None else verdict

    def __repr__(self) -> str:
        return f"Answer{repr(self.result).removeprefix('Result')}"

    def _repr_html_(self) -> str:
        """HTML for a notebook: the facts, then the table."""
        return self.result._repr_html_() + getattr(self.data, "to_html", str)()


@dataclass(frozen=True)
class Given(Generic[Data]):
    """Container that a user passed, with its values and labels.

    Attributes
    ----------
    data : the user's container.
    frame : it as a frame: a row for each thing, columns for what is known of it.
    square : the columns that have the names of rows, which stand in `frame` no more, where they
        are a matrix.
    """

    data: Data
    frame: pandas.DataFrame
    square: pandas.DataFrame

    @property
    def labels(self) -> list[Any]:
        """Names of the rows of the user's container."""
        return list(self.frame.index)

    def back(self, columns: Mapping[Any, Sequence[Any]]) -> Data:
        """Return a container of the user's type with the columns of an answer. They take the place
        of the columns of a matrix.
        """
        import pandas

        things: Any = self.data
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        if isinstance(things, pandas.DataFrame):
            found: Any = self.frame.copy()
            for name, values in columns.items():
                found[name] = values
        elif isinstance(things, np.ndarray):  # an array of the same columns, or the first, -1: none
            whole = things.ndim == 2 and [*columns] == [*range(things.shape[1])]
            first = [-1 if value is None else value for value in next(iter(columns.values()))]
            found = np.array(first if not whole else list(columns.values())).T
        elif hasattr(things, "nodes"):
            import networkx

            found = things.copy()
            networkx.set_node_attributes(found, dict(zip(self.labels, rows, strict=True)))
        else:
            matrix = {*self.square} - {*self.frame}
            given = things.values() if isinstance(things, Mapping) else things
            own = ({key: one for key, one in row.items() if key not in matrix} for row in given)
            joined = [{**row, **more} for row, more in zip(own, rows, strict=True)]
            found = (
                dict(zip(things, joined, strict=True)) if isinstance(things, Mapping) else joined
            )
        return cast("Data", found)


def given(data: Data, owner: str, *, square: bool = False) -> Given[Data]:
    """Read the values and labels of a user's container.

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
    if isinstance(things, pandas.DataFrame):
        frame = things
    elif isinstance(things, Mapping) and all(isinstance(row, Mapping) for row in things.values()):
        frame = pandas.DataFrame(list(things.values()), index=list(things))
    elif (isinstance(things, list) and all(isinstance(row, Mapping) for row in things)) or (
        isinstance(things, np.ndarray) and (things.ndim == 2 or things.dtype.names)
    ):
        frame = pandas.DataFrame(things)
    elif hasattr(things, "nodes") and hasattr(things, "edges"):
        import networkx

        nodes = list(things.nodes)
        weights = networkx.to_pandas_adjacency(things, nodes, nonedge=np.inf)
        frame = pandas.DataFrame([things.nodes[node] for node in nodes], nodes).join(weights)
    else:
        raise InvalidInstance(owner, f"a {type(things).__name__}", CONTAINERS)
    labels = set(labels_of(frame.index, owner))
    if not labels:
        raise InvalidInstance(owner, "empty", "a row or more")
    matrix = [name for name in frame.columns if name in labels] if square else []
    table = frame[matrix] if len(matrix) == len(labels) else frame  # what lacks is named there
    return Given(data, frame.drop(columns=matrix), table)


@contextmanager
def called(**names: str) -> Iterator[None]:
    """Context in which errors about fields use the argument names of the question: `penalty` is
    called `slowdowns`.
    """
    try:
        yield
    except InvalidInstance as error:
        field = next((each for each in names if error.field.startswith(each)), None)
        if field is None:
            raise
        raise error.of(names[field] + error.field.removeprefix(field)) from None


def answered(
    question: Given[Data], instance: Instance[Any], method: str,
    columns: Callable[[Any], Mapping[Any, Sequence[Any]]], names: str | Iterable[Any],
    time_limit: float | None, seed: int, verbose: bool,
) -> Answer[Data]:  # fmt: skip
    """Solve an instance and return the answer in a container like the user's.

    Parameters
    ----------
    method, time_limit, seed : see `cotenant.solve`.
    columns : of a solution, the columns of the answer, with an entry for each row of the question.
    names : of these columns, for when there is no solution; a text of words, or one by one.
    verbose : print a line whenever value or bound moves.
    """
    last: list[Any] = []

    def moved(seconds: float, value: float | None, bound: float | None, text: str = "") -> None:
        if last != (now := [value, bound]):
            last[:] = now
            one, other = ("-" if each is None else format(each, ".6g") for each in now)
            print(f"{seconds:8.2f} s  value {one:<10}  bound {other}")

    report = moved if verbose else None
    found = solve(instance, method, seed=seed, time_limit=time_limit, report=report)
    if verbose:
        moved(found.seconds, found.objective, found.bound)
        print(found)
    keys = names.split() if isinstance(names, str) else names
    nothing = dict.fromkeys(keys, [None] * len(question.frame))
    data = question.back(nothing if found.solution is None else columns(found.solution))
    return Answer(data, found.objective, found.bound, found.gap, found.status, found)


def numbers(values: Any, column: str, owner: str) -> pandas.Series[Any]:
    """Read one number for each label from a Series, a dict, a flat list or array, or from a column
    of a table.
    """
    import pandas

    rows = values.values() if isinstance(values, Mapping) else values
    flat = isinstance(values, Mapping | Sequence) and not any(isinstance(r, Mapping) for r in rows)
    if flat or getattr(values, "ndim", 0) == 1:
        return pandas.Series(values)
    return required(given(values, owner).frame, column, owner)


def required(frame: pandas.DataFrame, name: str, owner: str) -> pandas.Series[Any]:
    """Return a column of a table; raises InvalidInstance if it is missing."""
    if name not in frame.columns:
        expected = f"one beside {first_labels(list(frame.columns))}"
        raise InvalidInstance(owner, f"without the column {name!r}", expected)
    return frame[name]


def optional(frame: pandas.DataFrame, name: str, default: Any = None) -> Any:
    """Return a column of a table as a list, or the default if it is missing."""
    return frame[name].tolist() if name in frame.columns else default


def shared(
    first: pandas.DataFrame, second: pandas.DataFrame, owners: tuple[str, str],
    apart: Sequence[str], chosen: Sequence[Any] | None, option: str,
) -> list[Any]:  # fmt: skip
    """Numeric columns that two tables have in common; raises InvalidInstance if either has others.

    Parameters
    ----------
    owners : what messages call the tables.
    apart : columns that mean something else.
    chosen, option : the columns that were chosen by that option; None for all.
    """
    if chosen is not None:
        for frame, owner in zip((first, second), owners, strict=True):
            for name in chosen:
                required(frame, name, owner)
        return list(chosen)
    of_each = [
        [name for name in frame.select_dtypes("number").columns if name not in apart]
        for frame in (first, second)
    ]
    both = [name for name in of_each[1] if name in of_each[0]]
    for lacking, names in zip(owners, reversed(of_each), strict=True):
        other = owners[1 - owners.index(lacking)]
        if unknown := [name for name in names if name not in both]:
            cure = f"Rename it, or name those that count: {option}={both}"
            expected = f"the columns of numbers that {other} has"
            raise InvalidInstance(lacking, f"without numbers {unknown[0]!r}", expected, cure)
    return both
