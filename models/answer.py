"""Conversion of a solved, possibly extended model to a checked solution of the instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..instances.accelerators.feasible import within_limits
from ..instances.accelerators.instance import Accelerators, TimeShares
from ..instances.admission.instance import Admission, Assignment
from ..instances.colocation.instance import Colocation, Pairing
from ..instances.groups.instance import Grouping, Groups
from ..instances.market.instance import Allocation, Market, total_by
from ..instances.numa.instance import Flow, Numa
from ..instances.packing.instance import Placement
from ..instances.problem.base import Instance, Solution
from ..instances.problem.errors import CotenantError, InvalidOption
from ..instances.problem.option_types import validate_options
from ..instances.problem.registry import check
from .accelerators import ShareProgram
from .admission import AdmissionProgram
from .colocation import PairingProgram
from .groups.columns import columns_of
from .numa import FluidProgram, throughput_program


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
        solution = _READERS[instance.problem](
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


def _time_shares(instance: Accelerators, built: Any, values: Any) -> TimeShares:
    """Time shares of a solved `ShareProgram`, or of a Pyomo model of `readable`."""
    if isinstance(built, ShareProgram):
        return built.answer(instance, values)
    first, second, device, *_ = instance.placements
    share = np.array([_number(built.share[key]) for key in built.placements])
    return within_limits(instance, first, second, device, share)


def _assignment(instance: Admission, built: Any, values: Any) -> Assignment:
    """Assignment of a solved `AdmissionProgram`, or of the Pyomo model of `readable`."""
    if isinstance(built, AdmissionProgram):
        return built.assignment(values)
    machine = np.full(instance.jobs, -1)
    cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
    for j in built.jobs:
        for v in built.machines:
            if _integer(built.x[j, v]):
                machine[j] = v
                cores[j] = [_integer(built.y[j, v, c]) for c in built.types]
    return Assignment(machine, cores)


def _pairing(instance: Colocation, built: Any, values: Any) -> Pairing:
    """Pairing of a solved `PairingProgram`, or of a Pyomo model of `readable`."""
    if isinstance(built, PairingProgram):
        return built.pairing(values)
    pairs = np.zeros((instance.types, instance.types), dtype=np.int64)
    single = np.zeros(instance.types, dtype=np.int64)
    for a, b in built.pairs:
        pairs[a, b] = _integer(built.x[a, b])
    for a in built.types:
        single[a] = _integer(built.single[a])
    return Pairing.from_matrix(pairs, single)


def _grouping(instance: Groups, built: Any, values: Any) -> Grouping:
    """Grouping of a solved array program, by its first columns, or of a Pyomo model."""
    columns = columns_of(instance)
    if values is None:
        values = [_integer(built.x[group]) for group in built.groups]
    return columns.grouping(instance, np.rint(values[: len(columns)]).astype(np.int64))


def _allocation(instance: Market, built: Any, values: Any) -> Allocation:
    """Allocation of an `EisenbergGale` program, or of shares given for its jobs; a server filled
    beyond its capacity by the solver's tolerance is scaled back.
    """
    share = built.share.value if values is None else values
    if share is None:
        raise InvalidOption("the program has no shares; solve it first")
    cores = np.zeros(instance.jobs)
    cores[built.job] = np.maximum(share, 0.0) * instance.capacity[instance.server[built.job]]
    filled = total_by(instance.server, cores, instance.servers) / instance.capacity
    if (filled > 1 + 1e-5).any():
        return Allocation(cores)  # more than a solver's tolerance: `check` says where
    return Allocation(cores / np.maximum(filled, 1.0)[instance.server])


def _flow(instance: Numa, built: Any, values: Any) -> Flow:
    """Flow of a solved `FluidProgram`, or of a Pyomo model of `readable`."""
    program = built if isinstance(built, FluidProgram) else throughput_program(instance)
    if program is not built:
        values = np.array([_number(built.work[key]) for key in built.routes])
    entries = instance.classes * instance.processors**2
    work = float(np.maximum(values[:entries], 0.0).sum())
    task = float(instance.class_share @ instance.service_mean)  # work of a mean task, at home
    return program.flow(instance, values, work / task)


_READERS: dict[str, Callable[[Any, Any, Any], Solution]] = {
    "accelerators": _time_shares,
    "admission": _assignment,
    "colocation": _pairing,
    "groups": _grouping,
    "market": _allocation,
    "numa": _flow,
    "packing": lambda _, built, values: Placement(built.counts(values), built.kind),
    "scheduling": lambda instance, built, values: built.schedule(values, instance),
}
"""By problem, the function of instance, model and values that reads the answer."""


def _integer(variable: Any) -> int:
    """Integer value of a Pyomo variable, 0 for one that occurs in no row and was left out; raises
    InvalidOption for other values, as in a relaxation.
    """
    value = _number(variable)
    if abs(value - round(value)) > 1e-4:
        raise InvalidOption(
            f"{variable.name} is {value:g}; expected a whole number, as a solved integer model has"
        )
    return round(value)


def _number(variable: Any) -> float:
    """Value of a Pyomo variable; raises InvalidOption for a model without a loaded answer."""
    if variable.value is None:
        raise InvalidOption(
            f"{variable.name} has no value; solve the model first, and load the answer into it: "
            "answer.load(model)"
        )
    return float(variable.value)
