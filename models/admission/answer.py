"""Conversion of a solved model to an assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.admission.instance import Admission, Assignment
from ..answer import whole
from .arrays import AdmissionProgram


def solution_of(instance: Admission, built: Any, values: Any) -> Assignment:
    """Assignment of a solved `AdmissionProgram`, or of the Pyomo model of `readable`."""
    if isinstance(built, AdmissionProgram):
        return built.assignment(values)
    machine = np.full(instance.jobs, -1)
    cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
    for j in built.jobs:
        for v in built.machines:
            if whole(built.x[j, v]):
                machine[j] = v
                cores[j] = [whole(built.y[j, v, c]) for c in built.types]
    return Assignment(machine, cores)
