"""Linear programs of time shares as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...instances.accelerators.feasible import within_limits
from ...instances.accelerators.instance import Accelerators, Floats, Integers, TimeShares
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from ..program import LinearProgram, ProgramBuilder, Term


class Prices(NamedTuple):
    """Dual prices of each job's steps, of a device of each kind, and of the time of each job.

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
    """Linear program of time shares; its first columns are the placements' shares, each divided by
    the largest that it could be.

    Rows, in this order: all devices of each kind are in use or idle; all jobs of each type run or
    wait (both divided by their number); the throughput of each type is what its jobs have to get,
    or more (divided by `unit` for all of them).

    Attributes
    ----------
    program : the arrays; all rows are equalities.
    types : those that the program places.
    placements : (k,) indices of their placements.
    width : (k,) the most jobs or pairs that each could have: its share is its column times that.
    unit : (T,) steps a second that make the throughput of a job of the type 1.
    theta : the column of the ratio that is maximized; None where there is none.
    """

    program: LinearProgram
    types: Integers
    placements: Integers
    width: Floats
    unit: Floats
    theta: int | None

    def answer(
        self,
        instance: Accelerators,
        point: Floats,
        others: tuple[Integers, Integers, Floats] | None = None,
    ) -> TimeShares:
        """Time shares from the values of the program's columns, scaled so that no limit is broken.

        `others` holds given shares of further types: the types, kinds of device and shares.
        """
        first, second, device = (each[self.placements] for each in instance.placements[:3])
        share = point[: len(first)] * self.width
        if others is not None:
            first = np.append(first, others[0])
            second = np.append(second, np.full(len(others[0]), -1))
            device, share = np.append(device, others[1]), np.append(share, others[2])
        return within_limits(instance, first, second, device, share)

    def prices(self, instance: Accelerators, row_dual: Floats) -> Prices:
        """Dual prices of the time-share program, from the dual values of its rows."""
        kinds, types = len(instance.devices), self.types
        device, job, step = np.split(row_dual, [kinds, kinds + len(types)])
        jobs, there = np.maximum(instance.count[types], 1), instance.count[types] > 0
        prices = Prices(
            np.zeros(instance.types),
            np.maximum(-device, 0.0) / np.maximum(instance.devices, 1) * (instance.devices > 0),
            np.zeros(instance.types),
        )
        prices.step[types] = np.maximum(step, 0.0) / (jobs * self.unit[types]) * there
        prices.job[types] = np.maximum(-job, 0.0) / jobs * there
        return prices


@validate_options
def share_program(
    instance: Accelerators,
    unit: Floats,
    *,
    floor: Floats | None = None,
    rate: Floats | None = None,
    cost: Floats | None = None,
    types: Integers | None = None,
    others: Floats | None = None,
) -> ShareProgram:
    """Build the program that raises the throughput of all jobs together, or is cheapest.

    Each job of a type has at least floor + theta x rate times its `unit` of throughput, with the
    largest theta. With `cost`, each job has the floor, at least cost.

    Parameters
    ----------
    unit : (T,) steps a second, above 0.
    floor : (T,) in that unit; 0 when not given.
    rate : (T,) in that unit, 0 or more; 1 when not given.
    cost : (k,) of one job or pair at each placement; may be below 0.
    types : those that are placed, of an instance without pairs; all when not given.
    others : (2, D) devices that the other types use, and how many more for each 1 of theta.
    """
    # 1. the placements of the types wanted
    kinds, count = len(instance.devices), instance.types
    unit, there = shaped("unit", unit, count), instance.count > 0
    floor = np.where(there, 0.0 if floor is None else shaped("floor", floor, count), 0.0)
    rate = np.where(there, 1.0 if rate is None else shaped("rate", rate, count), 0.0)
    placed = np.arange(count) if types is None else types
    row = np.full(count + 1, -1)
    row[placed] = np.arange(len(placed))
    chosen = np.flatnonzero(row[instance.placements.first] >= 0)
    first, second, device = (each[chosen] for each in instance.placements[:3])
    first_rate, second_rate = (each[chosen] for each in instance.placements[3:5])
    workers = instance.placements.workers[chosen]
    pair = second >= 0
    jobs, devices = np.maximum(instance.count, 1.0), np.maximum(instance.devices, 1)
    used, more = np.zeros((2, kinds)) if others is None else others / devices
    width = _most(instance)[chosen]
    # 2. columns: times of placements, slacks, theta
    builder = ProgramBuilder()
    columns = builder.columns(len(width), cost=0.0 if cost is None else cost[chosen] * width)

    def of_types(amount: Floats, one: Floats, two: Floats) -> list[Term]:
        """Terms of rows that sum a type's throughput over its placements, over `amount` (T,)."""
        return [
            (row[first], columns, width * one / amount[first]),
            (row[second[pair]], columns[pair], (width * two / amount[second])[pair]),
        ]

    spare, idle = builder.columns(kinds), builder.columns(len(placed))
    beyond, each = builder.columns(len(placed)), np.ones(len(width))
    theta = None if cost is not None else int(builder.columns(1, cost=-1.0)[0])
    # 3. rows: devices, time of jobs, progress
    work: list[Term] = [(device, columns, width * workers / devices[device])]
    work.append((np.arange(kinds), spare, 1.0))
    time = [*of_types(jobs, each, each), (np.arange(len(placed)), idle, 1.0)]
    progress = of_types(jobs * unit, first_rate, second_rate)
    progress.append((np.arange(len(placed)), beyond, -1.0))
    if theta is not None:
        if more.any():
            work.append((np.arange(kinds), np.full(kinds, theta), more))
        progress.append((np.arange(len(placed)), np.full(len(placed), theta), -rate[placed]))
    builder.sums(kinds, *work, lower=1 - used, upper=1 - used)
    builder.sums(len(placed), *time, lower=1.0, upper=1.0)
    builder.sums(len(placed), *progress, lower=floor[placed], upper=floor[placed])
    return ShareProgram(builder.build(), placed, chosen, width, unit, theta)


def _most(instance: Accelerators) -> Floats:
    """Largest number (k,) of jobs or pairs that can run at a time, for each placement."""
    first, second, device, _, _, workers = instance.placements
    jobs = instance.count[first].astype(float)
    other = np.where(second < 0, jobs, instance.count[second])
    other = np.where(second == first, jobs / 2, other)
    most: Floats = np.minimum(np.minimum(jobs, other), instance.devices[device] / workers)
    return most
