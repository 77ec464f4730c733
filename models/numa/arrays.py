"""Fluid programs as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...instances.numa.instance import Booleans, Floats, Flow, Integers, Numa
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from ..program import LinearProgram, ProgramBuilder

ON_FACE = 1e-9
"""A price, or a difference of cost, below this fraction of the highest price is rounding."""


@dataclass(frozen=True, eq=False)
class FluidProgram:
    """Linear program whose first columns are work y[k, l, p] of class k, data at l, on processor p.

    Attributes
    ----------
    program : the arrays; all rows are equalities.
    capacity : (P,) the rows that say a processor's cores suffice.
    spare : (P,) the columns of its cores that are not needed.
    total : the column of the throughput; None where it is given.
    """

    program: LinearProgram
    capacity: Integers
    spare: Integers
    total: int | None = None

    def flow(self, instance: Numa, point: Floats, throughput: float) -> Flow:
        """Task flows [tasks/s] at a throughput, from the values of the program's columns.

        Each class and memory sends its share, divided over processors like its column values.
        """
        kinds, places = instance.classes, instance.processors
        work = np.maximum(point[: kinds * places * places], 0.0).reshape(kinds, places, places)
        total = work.sum(axis=2, keepdims=True)
        split = np.divide(work, total, out=np.zeros_like(work), where=total > 0)
        home = np.eye(places)[None]  # a memory without tasks, or rounding to nothing: at home
        split = np.where(total > 0, split, home)
        return Flow(
            throughput,
            throughput
            * instance.class_share[:, None, None]
            * instance.location_share[:, None]
            * split,
        )


@validate_options
def throughput_program(instance: Numa) -> FluidProgram:
    """Program that maximizes the throughput of any placement (its cost is the negative)."""
    builder, work = _work(instance, None)
    total = builder.columns(1, cost=-1.0, names=["throughput"])
    owed = _owed(instance, 1.0)
    kept = np.arange(len(owed))
    leaving, all_tasks = (
        (_supply_rows(instance), work, 1.0),
        (kept, np.repeat(total, len(kept)), -owed),
    )
    builder.sums(len(kept), leaving, all_tasks, lower=0.0, upper=0.0)
    capacity, spare = _capacity(instance, builder, work)
    return FluidProgram(builder.build(), capacity, spare, int(total[0]))


@validate_options
def power_program(instance: Numa, throughput: float, energy: Floats) -> FluidProgram:
    """Program of least link power [W] at a throughput [tasks/s]; `energy` as of `link_energy`."""
    builder, work = _work(instance, energy)
    owed = _owed(instance, throughput)
    builder.sums(len(owed), (_supply_rows(instance), work, 1.0), lower=owed, upper=owed)
    capacity, spare = _capacity(instance, builder, work)
    return FluidProgram(builder.build(), capacity, spare)


@validate_options
def most_power_program(instance: Numa, price: Floats, energy: Floats) -> FluidProgram:
    """Minimize link power [W] among the flows of maximum throughput.

    By complementary slackness, prices (P,) of cores' time that prove this maximum leave exactly
    these flows: processors of a price above 0 have no core idle, and tasks run only where their
    time costs least. Prices below `ON_FACE` of the highest are 0, and so are differences of cost.
    """
    program = throughput_program(instance)
    off = off_face(instance, price).reshape(-1)
    upper = program.program.upper.copy()
    upper[: len(off)][off] = 0.0
    upper[program.spare[price > ON_FACE * price.max()]] = 0.0
    cost = np.zeros(program.program.columns)
    cost[: len(off)] = _energy_cost(instance, energy)
    return replace(program, program=replace(program.program, cost=cost, upper=upper))


@validate_options
def off_face(instance: Numa, price: Floats) -> Booleans:
    """Where a task costs more, at the prices (P,) of cores' time, than on its cheapest processor.

    The table (K, L, P) is by class of tasks, memory of their data, and processor.
    """
    price = shaped("price", price, instance.processors)
    cost = instance.slowdown[:, instance.distance] * price
    away: Booleans = cost > cost.min(axis=2, keepdims=True) + ON_FACE * price.max()
    return away


def _energy_cost(instance: Numa, energy: Floats) -> Floats:
    """Energy (K L P,) of the links for a second of work [J]."""
    energy = shaped("energy", energy, instance.classes, instance.blade_distance + 1)
    cost: Floats = (energy / instance.service_mean[:, None])[:, instance.distance].reshape(-1)
    return cost


def _work(instance: Numa, energy: Floats | None) -> tuple[ProgramBuilder, Integers]:
    builder = ProgramBuilder()
    number = instance.classes * instance.processors**2
    return builder, builder.columns(
        number, cost=0.0 if energy is None else _energy_cost(instance, energy)
    )


def _owed(instance: Numa, throughput: float) -> Floats:
    """Work (K L,) [seconds of local service a second] of each class and memory at a throughput."""
    work = (
        throughput
        * (instance.class_share * instance.service_mean)[:, None]
        * instance.location_share
    )
    flat: Floats = work.reshape(-1)
    return flat


def _supply_rows(instance: Numa) -> Integers:
    return np.repeat(np.arange(instance.classes * instance.processors), instance.processors)


def _capacity(instance: Numa, builder: ProgramBuilder, work: Integers) -> tuple[Integers, Integers]:
    """Add rows that divide a processor's cores into work and slack, and columns of the slack."""
    places = instance.processors
    spare = builder.columns(places)
    every, cores = np.arange(places), float(instance.cores)
    slowdown = instance.slowdown[:, instance.distance].reshape(-1)
    busy = (np.tile(every, instance.classes * places), work, slowdown)
    rows = builder.sums(places, busy, (every, spare, 1.0), lower=cores, upper=cores)
    return rows, spare
