"""Mixed-integer linear programs as arrays, a builder close to mathematical notation, and conversion
from Pyomo.

One form serves every engine: minimize cost x + offset subject to row_lower <= A x <= row_upper,
lower <= x <= upper, some columns whole numbers. A Pyomo model becomes the same arrays
(`from_pyomo`), so that there is one route to each solver and not two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import validate_options

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

FEASIBILITY = 1e-6
"""A bound missed by no more than this is kept (unit: see `LinearProgram.violation`)."""


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Mixed-integer program: minimize `cost` x + `offset` over rows and columns.

    Attributes
    ----------
    matrix : (rows, columns) sparse A.
    row_lower, row_upper : (rows,) bounds of A x, -inf and inf for none.
    cost : (columns,) coefficients of the objective.
    lower, upper : (columns,) bounds of x.
    integer : (columns,) whether a column takes whole numbers only.
    offset : a constant added to the objective.
    names : (columns,) for people and for reading a point back; may be empty.
    implied : (columns,) integer columns that are whole by themselves once the others are (sums of
        them, say); HiGHS is quicker when it need not branch on them. None for none.
    products : (Q, 3) columns p, q, r with x[p] = x[q] x[r]; only CP-SAT takes a program that has
        any.
    """

    matrix: csr_array
    row_lower: Floats
    row_upper: Floats
    cost: Floats
    lower: Floats
    upper: Floats
    integer: Booleans
    offset: float = 0.0
    names: tuple[str, ...] = ()
    implied: Booleans | None = None
    products: Integers = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    @property
    def rows(self) -> int:
        """Number of rows of the program."""
        return len(self.row_lower)

    @property
    def columns(self) -> int:
        """Number of columns of the program."""
        return len(self.cost)

    def objective(self, point: npt.ArrayLike) -> float:
        """Objective value of a point, computed here and by no solver."""
        return float(self.cost @ np.asarray(point, dtype=float) + self.offset)

    def rounded(self, point: npt.ArrayLike) -> Floats:
        """Point with integer columns rounded to integers, all inside their bounds."""
        values = np.array(point, dtype=float)
        values[self.integer] = np.round(values[self.integer])
        return cast("Floats", np.clip(values, self.lower, self.upper))

    def violation(self, point: npt.ArrayLike) -> float:
        """Largest amount by which a point breaks a row, a column bound, a product or integrality.

        Rows of whole numbers are measured as they are (a million agents must not hide one); rows
        with continuous columns relative to 1 + |bound| + the largest coefficient of such a column.
        """
        values = np.asarray(point, dtype=float)
        if not np.isfinite(values).all():
            return np.inf
        continuous = abs(self.matrix[:, ~self.integer])
        mixed = np.diff(continuous.indptr) > 0
        largest = np.zeros(self.rows)
        if mixed.any():
            largest = np.asarray(continuous.max(axis=1).todense()).reshape(-1)
        worst = [0.0]
        for lower, upper, body, loose in (
            (self.row_lower, self.row_upper, self.matrix @ values, mixed),
            (self.lower, self.upper, values, ~self.integer),
        ):
            coefficient = largest if loose is mixed else np.zeros(len(values))
            for bound, excess in ((lower, lower - body), (upper, body - upper)):
                finite = np.isfinite(bound)
                unit = np.where(loose, 1 + np.abs(np.where(finite, bound, 0.0)) + coefficient, 1.0)
                worst.append(float(np.max(excess[finite] / unit[finite], initial=0.0)))
                if (excess == np.inf).any():  # a lower bound of +inf, or an upper one of -inf
                    worst.append(np.inf)
        product, left, right = self.products.T
        worst.append(
            float(np.max(np.abs(values[product] - values[left] * values[right]), initial=0.0))
        )
        whole = values[self.integer]
        worst.append(float(np.max(np.abs(whole - np.round(whole)), initial=0.0)))
        return max(worst)

    def holds(self, point: npt.ArrayLike) -> bool:
        """Whether a point satisfies every row, column bound and integrality, to `FEASIBILITY`."""
        return self.violation(point) <= FEASIBILITY


def unit_of(numbers: npt.ArrayLike) -> float:
    """Unit for absolute tolerances on some numbers, in which the largest of them is from 1 to
    2**31.

    A power of two, so that nothing is rounded; 1 where all numbers are 0 or infinite.
    """
    size = np.abs(np.asarray(numbers, dtype=float))
    largest = float(size.max(initial=0.0, where=np.isfinite(size)))
    exponent = int(np.frexp(largest)[1]) - 1
    return 2.0 ** (exponent - min(max(exponent, 0), 30)) if largest else 1.0


Term = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""Rows, columns and coefficients of some entries."""


class ProgramBuilder:
    """Builder of a program: collects columns and rows; `build` makes the arrays.

    Columns are numbers, so a row is written as coefficients times columns, one row at a time
    (`row`) or many rows at once (`sums`), which is what makes half a million of them cheap.
    """

    def __init__(self) -> None:
        empty, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._columns = [(empty, empty, empty, empty.astype(bool), empty.astype(bool))]
        self._names: list[str] = []
        self._width = 0
        self._height = 0
        self._triplets = [(none, none, empty)]
        self._bounds = [(empty, empty)]
        self._products = [np.zeros((0, 3), dtype=np.int64)]

    def columns(
        self,
        number: int,
        *,
        lower: npt.ArrayLike = 0.0,
        upper: npt.ArrayLike = np.inf,
        cost: npt.ArrayLike = 0.0,
        integer: bool = False,
        implied: bool = False,
        names: Iterable[str] = (),
    ) -> Integers:
        """Add columns, with bounds and costs as numbers or arrays; returns their indices."""
        shape = (number,)
        spread = [
            np.broadcast_to(np.asarray(value, dtype=float), shape) for value in (lower, upper, cost)
        ]
        self._columns.append(
            (spread[0], spread[1], spread[2], np.full(number, integer), np.full(number, implied))
        )
        self._names.extend(names)
        first, self._width = self._width, self._width + number
        return np.arange(first, self._width)

    def row(
        self,
        columns: npt.ArrayLike,
        coefficients: npt.ArrayLike = 1.0,
        *,
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> int:
        """Add the row lower <= sum of coefficients x columns <= upper. Returns the row's index."""
        where = np.atleast_1d(np.asarray(columns, dtype=np.int64))
        return int(self.sums(1, (0, where, coefficients), lower=lower, upper=upper)[0])

    def sums(
        self,
        number: int,
        *terms: Term,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
    ) -> Integers:
        """Add a block of rows lower <= sum of terms <= upper; returns their indices.

        Terms count rows from 0 within the block. One bound, coefficient or row may serve for all.
        """
        for row, column, values in terms:
            where = np.asarray(column, dtype=np.int64)
            rows = np.asarray(row, dtype=np.int64) + self._height
            coefficients = np.broadcast_to(np.asarray(values, dtype=float), where.shape)
            self._triplets.append((np.broadcast_to(rows, where.shape), where, coefficients))
        low, high = (
            np.broadcast_to(np.asarray(bound, dtype=float), (number,)) for bound in (lower, upper)
        )
        self._bounds.append((low, high))
        first, self._height = self._height, self._height + number
        return np.arange(first, self._height)

    def at_most(self, upper: npt.ArrayLike, *terms: tuple[Integers, npt.ArrayLike]) -> None:
        """Add rows sum of coefficients x columns <= upper, each term with an entry in each row."""
        row = np.arange(len(terms[0][0]))
        self.sums(len(row), *((row, columns, values) for columns, values in terms), upper=upper)

    def products(self, product: npt.ArrayLike, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        """Add constraints product = left x right, column by column."""
        self._products.append(
            np.stack([np.asarray(part, dtype=np.int64) for part in (product, left, right)], axis=1)
        )

    def build(self, offset: float = 0.0) -> LinearProgram:
        """Build the linear program; repeated entries of a row are added."""
        from scipy.sparse import coo_array

        rows, columns, values = map(np.concatenate, zip(*self._triplets, strict=True))
        row_lower, row_upper = map(np.concatenate, zip(*self._bounds, strict=True))
        lower, upper, cost, integer, implied = map(np.concatenate, zip(*self._columns, strict=True))
        matrix = coo_array((values, (rows, columns)), shape=(self._height, self._width)).tocsr()
        matrix.eliminate_zeros()
        names, products = tuple(self._names), np.concatenate(self._products)
        bounds = row_lower, row_upper, cost, lower, upper
        return LinearProgram(matrix, *bounds, integer, offset, names, implied, products)


@validate_options
def from_pyomo(model: Any) -> LinearProgram:
    """Arrays of a linear Pyomo model; a maximization is negated, so its bound and value are
    negative.

    Columns that stand in no row and no objective, and fixed variables, are left out; `names` says
    which remain.

    Raises
    ------
    InvalidOption
        It is no Pyomo model.
    ValueError
        The model does not have exactly one active objective.
    pyomo.common.errors.InvalidConstraintError, InvalidExpressionError
        It is not linear.
    """
    if not hasattr(model, "block_data_objects"):
        raise InvalidOption(f"model is a {type(model).__name__}; expected a Pyomo model")
    from pyomo.common.enums import ObjectiveSense
    from pyomo.common.errors import InfeasibleConstraintException
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    try:
        form = LinearStandardFormCompiler().write(
            model, mixed_form=True, set_sense=ObjectiveSense.minimize
        )
    except InfeasibleConstraintException:
        return _impossible()  # a constraint such as 1 <= 0, which has no columns left
    if len(form.objectives) != 1:
        raise ValueError(
            f"the model has {len(form.objectives)} active objectives; expected exactly one"
        )
    right = np.asarray(form.rhs, dtype=float)
    kind = np.array([row.bound_type for row in form.rows], dtype=np.int64)
    bounds = [variable.bounds for variable in form.columns]
    return LinearProgram(
        matrix=form.A.tocsr(),
        row_lower=np.where(kind <= 0, right, -np.inf),
        row_upper=np.where(kind >= 0, right, np.inf),
        cost=np.asarray(form.c.todense(), dtype=float).reshape(-1),
        lower=np.array([-np.inf if low is None else low for low, _ in bounds], dtype=float),
        upper=np.array([np.inf if high is None else high for _, high in bounds], dtype=float),
        integer=np.array([not variable.is_continuous() for variable in form.columns], dtype=bool),
        offset=float(np.asarray(form.c_offset).reshape(-1)[0]),
        names=tuple(variable.name for variable in form.columns),
    )


def _impossible() -> LinearProgram:
    """Build a linear program without a feasible point."""
    builder = ProgramBuilder()
    builder.row(builder.columns(1, upper=1.0, names=["contradiction"]), lower=2.0)
    return builder.build()
