"""The programs of time shares as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.feasible import within_limits
from ...instances.accelerators.instance import Accelerators, Floats
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from ..program import LinearProgram, ProgramBuilder, Term


class Prices(NamedTuple):
    """What a step of a job, a device of a kind, and all of a job's time are worth.

    Attributes
    ----------
    step : (T,) of a step a second of each type.
    device : (D,) of a device of each kind.
    job : (T,) of the time of a job of each type.
    """

    step: Floats
    device: Floats
    job: Floats


@dataclass(frozen=True, eq=False)
class ShareProgram:
    """A linear program whose first columns are the placements, each in a unit of its own.

    The first D rows say what there is of each kind of device, the next T that of jobs, each divided
    by it; the last T are the throughputs of types, each divided by what its unit asks.

    Attributes
    ----------
    program : the arrays; all rows are equalities.
    width : (k,) the most jobs or pairs that a placement could have: its share is that times its
        column.
    unit : (T,) steps a second that make the throughput of a job of the type 1.
    theta : the column of the ratio that is to be the most; None where there is none.
    """

    program: LinearProgram
    width: Floats
    unit: Floats
    theta: int | None

    def answer(self, instance: Accelerators, point: Floats) -> TimeShares:
        """The time shares that a point stands for, within the limits exactly."""
        first, second, device, *_ = instance.placements
        return within_limits(instance, first, second, device, point[: len(first)] * self.width)

    def prices(self, instance: Accelerators, row_dual: Floats) -> Prices:
        """The prices that the multipliers of the rows are."""
        kinds, jobs = len(instance.devices), np.maximum(instance.count, 1)
        device, job, step = np.split(row_dual, [kinds, kinds + instance.types])
        return Prices(
            np.maximum(step, 0.0) / (jobs * self.unit) * (instance.count > 0),
            np.maximum(-device, 0.0) / np.maximum(instance.devices, 1) * (instance.devices > 0),
            np.maximum(-job, 0.0) / jobs * (instance.count > 0),
        )


@validate_options
def share_program(
    instance: Accelerators,
    unit: Floats,
    *,
    floor: Floats | None = None,
    cost: Floats | None = None,
) -> ShareProgram:
    """Least cost such that each job of a type has at least `floor` times its `unit` of throughput;
    without `cost`, the most theta that can be the floor where none is given.

    Parameters
    ----------
    unit : (T,) steps a second, above 0.
    floor : (T,) in that unit; NaN, or all of it None, for none.
    cost : (k,) of one job or pair at each placement; may be below 0.
    """
    unit = shaped("unit", unit, instance.types)
    there = instance.count > 0
    free = np.isnan(floor) if floor is not None else np.full(instance.types, True)
    least = np.zeros(instance.types) if floor is None else np.where(free | ~there, 0.0, floor)
    first, second, device, first_rate, second_rate, workers = instance.placements
    pair = second >= 0
    width = _most(instance)
    builder = ProgramBuilder()
    columns = builder.columns(len(width), cost=0.0 if cost is None else cost * width)
    jobs, devices = np.maximum(instance.count, 1), np.maximum(instance.devices, 1)
    kinds, types = np.arange(len(devices)), np.arange(instance.types)
    used = (device, columns, width * workers / devices[device])
    builder.sums(len(kinds), used, (kinds, builder.columns(len(kinds)), 1.0), lower=1.0, upper=1.0)

    builder.sums(
        len(types),
        (first, columns, width / jobs[first]),
        (second[pair], columns[pair], (width / jobs[second])[pair]),
        (types, builder.columns(len(types)), 1.0),
        lower=1.0,
        upper=1.0,
    )
    due = jobs * unit
    terms: list[Term] = [
        (first, columns, width * first_rate / due[first]),
        (second[pair], columns[pair], (width * second_rate / due[second])[pair]),
        (types, builder.columns(len(types)), -1.0),
    ]
    theta = None
    if cost is None:
        theta = int(builder.columns(1, cost=-1.0)[0])
        raised = np.flatnonzero(there & free)
        terms.append((raised, np.full(len(raised), theta), -1.0))
    builder.sums(len(types), *terms, lower=least, upper=least)
    return ShareProgram(builder.build(), width, unit, theta)


def _most(instance: Accelerators) -> Floats:
    """(k,) the most jobs or pairs that each placement could have at a time."""
    first, second, device, _, _, workers = instance.placements
    jobs = instance.count[first].astype(float)
    other = np.where(second < 0, jobs, instance.count[second])
    other = np.where(second == first, jobs / 2, other)
    most: Floats = np.minimum(np.minimum(jobs, other), instance.devices[device] / workers)
    return most
