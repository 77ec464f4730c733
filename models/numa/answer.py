"""Conversion of a solved model to a flow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.numa.instance import Flow, Numa
from ..answer import number
from .arrays import FluidProgram, throughput_program


def solution_of(instance: Numa, built: Any, values: Any) -> Flow:
    """Flow of a solved `FluidProgram`, or of a Pyomo model of `readable`."""
    program = built if isinstance(built, FluidProgram) else throughput_program(instance)
    if program is not built:
        values = np.array([number(built.work[key]) for key in built.routes])
    entries = instance.classes * instance.processors**2
    work = float(np.maximum(values[:entries], 0.0).sum())
    task = float(instance.class_share @ instance.service_mean)  # work of a mean task, at home
    return program.flow(instance, values, work / task)
