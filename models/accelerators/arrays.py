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
    rate: Floats | None = None,
    cost: Floats | None = None,
) -> ShareProgram:
    """Most theta such that each job of a type has at least floor + theta x rate times its `unit` of
    throughput; with `cost`, the least of it such that each has the floor.

    Parameters
    ----------
    unit : (T,) steps a second, above 0.
    floor : (T,) in that unit; 0 when not given.
    rate : (T,) in that unit, 0 or more; 1 when not given.
    cost : (k,) of one job or pair at each placement; may be below 0.
    """
    kinds, types = len(instance.devices), instance.types
    unit, there = shaped("unit", unit, types), instance.count > 0
    floor = np.where(there, 0.0 if floor is None else shaped("floor", floor, types), 0.0)
    rate = np.where(there, 1.0 if rate is None else shaped("rate", rate, types), 0.0)
    first, second, device, first_rate, second_rate, workers = instance.placements
    pair = second >= 0
    jobs, devices = np.maximum(instance.count, 1.0), np.maximum(instance.devices, 1)
    width = _most(instance)
    builder = ProgramBuilder()
    columns = builder.columns(len(width), cost=0.0 if cost is None else cost * width)

    def of_types(amount: Floats, one: Floats, two: Floats) -> list[Term]:
        """What each placement adds to the rows of its types, each divided by an amount."""
        return [
            (first, columns, width * one / amount[first]),
            (second[pair], columns[pair], (width * two / amount[second])[pair]),
        ]

    spare, idle = builder.columns(kinds), builder.columns(types)
    beyond, each = builder.columns(types), np.ones(len(width))
    used = (device, columns, width * workers / devices[device])
    builder.sums(kinds, used, (np.arange(kinds), spare, 1.0), lower=1.0, upper=1.0)
    time = [*of_types(jobs, each, each), (np.arange(types), idle, 1.0)]
    builder.sums(types, *time, lower=1.0, upper=1.0)
    progress = [*of_types(jobs * unit, first_rate, second_rate), (np.arange(types), beyond, -1.0)]
    theta = None
    if cost is None:
        theta = int(builder.columns(1, cost=-1.0)[0])
        progress.append((np.arange(types), np.full(types, theta), -rate))
    builder.sums(types, *progress, lower=floor, upper=floor)
    return ShareProgram(builder.build(), width, unit, theta)


def _most(instance: Accelerators) -> Floats:
    """(k,) the most jobs or pairs that each placement could have at a time."""
    first, second, device, _, _, workers = instance.placements
    jobs = instance.count[first].astype(float)
    other = np.where(second < 0, jobs, instance.count[second])
    other = np.where(second == first, jobs / 2, other)
    most: Floats = np.minimum(np.minimum(jobs, other), instance.devices[device] / workers)
    return most
