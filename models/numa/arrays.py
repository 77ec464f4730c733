"""The fluid programs as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.numa.answer import Flow
from ...instances.numa.instance import Floats, Integers, Numa
from ..program import LinearProgram, ProgramBuilder


@dataclass(frozen=True, eq=False)
class FluidProgram:
    """A linear program whose first columns are the work y[k, l, p], class by class and memory by memory.

    Attributes
    ----------
    program : the arrays; the throughput, when it is not given, is the last column.
    capacity : (P,) the rows that say a processor's cores suffice.
    """

    program: LinearProgram
    capacity: Integers

    def flow(self, instance: Numa, point: Floats, throughput: float) -> Flow:
        """The flows a point stands for, scaled so that each class and memory sends exactly its share."""
        kinds, places = instance.classes, instance.processors
        work = np.maximum(point[: kinds * places * places], 0.0).reshape(kinds, places, places)
        total = work.sum(axis=2, keepdims=True)
        split = np.divide(work, total, out=np.zeros_like(work), where=total > 0)
        home = np.eye(places)[None]  # a memory without tasks, or rounding to nothing: at home
        split = np.where(total > 0, split, home)
        return Flow(throughput, throughput * instance.class_share[:, None, None] * instance.location_share[:, None] * split)


def throughput_program(instance: Numa) -> FluidProgram:
    """Most throughput any placement can sustain; maximised, so the cost is its negative."""
    builder, work = _work(instance, None)
    total = builder.columns(1, cost=-1.0, names=["throughput"])
    owed = _owed(instance, 1.0)
    kept = np.arange(len(owed))
    builder.block(
        np.concatenate([_supply_rows(instance), kept]),
        np.concatenate([work, np.full(len(kept), total[0])]),
        np.concatenate([np.ones(len(work)), -owed]),
        np.zeros(len(kept)),
        np.zeros(len(kept)),
    )
    capacity = _capacity(instance, builder, work)
    return FluidProgram(builder.build(), capacity)


def power_program(instance: Numa, throughput: float, energy: Floats) -> FluidProgram:
    """Least link power [W] at a throughput [tasks/s]; `energy` (K, D) as `link_energy` gives it."""
    builder, work = _work(instance, energy)
    owed = _owed(instance, throughput)
    builder.block(_supply_rows(instance), work, 1.0, owed, owed)
    capacity = _capacity(instance, builder, work)
    return FluidProgram(builder.build(), capacity)


def _work(instance: Numa, energy: Floats | None) -> tuple[ProgramBuilder, Integers]:
    builder = ProgramBuilder()
    number = instance.classes * instance.processors**2
    cost = 0.0 if energy is None else (energy / instance.service_mean[:, None])[:, instance.distance].reshape(-1)
    return builder, builder.columns(number, cost=cost)


def _owed(instance: Numa, throughput: float) -> Floats:
    """(K L,) work of each class and memory at a throughput."""
    work = throughput * (instance.class_share * instance.service_mean)[:, None] * instance.location_share
    flat: Floats = work.reshape(-1)
    return flat


def _supply_rows(instance: Numa) -> Integers:
    return np.repeat(np.arange(instance.classes * instance.processors), instance.processors)


def _capacity(instance: Numa, builder: ProgramBuilder, work: Integers) -> Integers:
    places = instance.processors
    return builder.block(
        np.tile(np.arange(places), instance.classes * places),
        work,
        instance.slowdown[:, instance.distance].reshape(-1),
        -np.inf,
        np.full(places, float(instance.cores)),
    )
