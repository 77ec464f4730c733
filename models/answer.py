"""Conversion of a solved, possibly extended model to a checked solution of the instance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instances.problem.base import Instance, Solution
from ..instances.problem.errors import CotenantError, InvalidOption
from ..instances.problem.option_types import validate_options
from ..instances.problem.registry import check, resolve


@validate_options
def instance_answer(instance: Instance, built: Any, values: Any = None) -> Solution:
    """Read the solution of an instance from a solved model.

    Parameters
    ----------
    instance : what the model was made of.
    built : the model: a Pyomo model of `models.<problem>.readable`, a program of arrays
        (`PairingProgram`, `AdmissionProgram`, `FluidProgram`, `ShareProgram`), a
        CP-SAT model (`AssignmentModel`, `IntervalModel`), or the `EisenbergGale` program.
        Variables and rows may have been added to it.
    values : of the model's variables: an answer of `cotenant.solvers.engines`, or an array with one
        number for each column or variable; None for a Pyomo or CVXPY model, which holds its own
        (see `EngineAnswer.load`).

    Raises
    ------
    InvalidOption
        There are no values, too few, or the model is none of the instance's problem.
    InfeasibleSolution
        What the values stand for breaks a rule of the instance.

    Examples
    --------
    >>> import cotenant
    >>> from cotenant.models.answer import instance_answer
    >>> from cotenant.models.colocation.readable import predictor
    >>> from cotenant.models.program import from_pyomo
    >>> from cotenant.solvers.engines import solve_program
    >>> tiny = cotenant.read("colocation/tiny")
    >>> model = predictor(tiny)
    >>> solve_program(from_pyomo(model)).load(model)
    >>> pairing = instance_answer(tiny, model)
    >>> cotenant.check(tiny, pairing)
    >>> len(pairing.first)
    2
    """
    found = getattr(values, "point", None)
    found = getattr(values, "values", None) if found is None else found
    if values is not None and (hasattr(values, "point") or hasattr(values, "values")):
        if found is None:
            raise InvalidOption(
                f"the answer is {values.status}: it has no point; expected one with values"
            )
        values = found
    try:
        solution = resolve(f"models.{instance.problem}.answer:solution_of")(
            instance, built, None if values is None else np.asarray(values, dtype=float)
        )
    except CotenantError:
        raise
    except (IndexError, AttributeError, TypeError, KeyError, ValueError) as error:
        raise InvalidOption(
            f"{type(built).__name__} with these values is not a solved model of {instance.problem} "
            f"({error!r}); expected one of cotenant.models.{instance.problem}, of this instance"
        ) from None
    assert isinstance(solution, Solution)
    check(instance, solution)
    return solution


def whole(variable: Any) -> int:
    """Integer value of a Pyomo variable, 0 for one that occurs in no row and was left out; raises
    InvalidOption for other values, as in a relaxation.
    """
    value = number(variable)
    if abs(value - round(value)) > 1e-4:
        raise InvalidOption(
            f"{variable.name} is {value:g}; expected a whole number, as a solved integer model has"
        )
    return round(value)


def number(variable: Any) -> float:
    """Value of a Pyomo variable; raises InvalidOption for a model without a loaded answer."""
    if variable.value is None:
        raise InvalidOption(
            f"{variable.name} has no value; solve the model first, and load the answer into it: "
            "answer.load(model)"
        )
    return float(variable.value)
